// The model: a line, two maps, or a slice for each input at the places of the sliders.

import { json } from "./api.js";
import { attempt, el, show, title } from "./dom.js";
import { curve, map } from "./draw.js";

const LINE = 121, SIDE = 41, SLICE = 31;

export function modelPictures(path, parent) {
  const note = el("p", { class: "soft", id: "note" }), body = el("div", { class: "maps" }), sliders = el("div", { class: "row" });
  parent.replaceChildren(el("h2", {}, "Model"), sliders, body, note);
  let place = null, last = null, next = [];

  function sides(input, count) {
    if (input.levels) return input.levels.map((level, i) => ({ at: i, value: level }));
    const whole = input.kind === "integer", steps = whole ? Math.min(count - 1, input.high - input.low) : count - 1;
    return Array.from({ length: steps + 1 }, (_, i) => {
      const value = input.low + (input.high - input.low) * i / steps;
      return { at: whole ? Math.round(value) : value, value: whole ? Math.round(value) : value };
    });
  }

  function allowed(state, x) {
    return state.constraints.every(({ coefficients, at_most }) =>
      Object.entries(coefficients).reduce((sum, [name, factor]) =>
        sum + factor * x[state.inputs.findIndex(each => each.name === name)], 0) <= at_most);
  }

  async function predict(state, rows, output) {
    const found = await json(`${path}/predict`, { x: rows });
    for (const name of Object.keys(found)) {
      found[name] = found[name].map((value, i) =>
        (allowed(state, rows[i]) ? (Array.isArray(value) ? value[output] : value) : null));
    }
    return found;
  }

  const numbered = (state, output) => state.points.map((each, i) => ({ x: each.x, y: [each.y].flat()[output], n: i + 1 }));

  // Draws points at once; the model follows in `refresh`.
  function draw(state, output, told) {
    const points = numbered(state, output), good = points.filter(each => each.y != null);
    const failed = points.filter(each => each.y == null).map(each => each.x);
    const upcoming = state.pending.length ? state.pending : next;
    const { inputs } = state, shape = kind(state);
    if (!told && last && last.id === state.id) told = last.told;
    if (shape === "line") {
      const x = sides(inputs[0], LINE).map(each => each.at);
      body.replaceChildren(curve(inputs[0], state.outputs[output], x, told, {
        points: good.map(each => ({ ...each, x: each.x[0] })), failed: failed.map(x => x[0]), next: upcoming.map(x => x[0]),
      }));
    } else if (shape === "maps") {
      const rows = values => (values ? Array.from({ length: SIDE }, (_, i) => values.slice(i * SIDE, (i + 1) * SIDE)) : null);
      const marks = { points: good, failed, next: upcoming };
      body.replaceChildren(
        el("figure", {}, el("figcaption", {}, title(state.outputs[output])),
          map(inputs, "mean", rows(told?.mean), marks)),
        el("figure", {}, el("figcaption", {}, `its standard deviation${state.outputs[output].unit ? ` [${state.outputs[output].unit}]` : ""}`),
          map(inputs, "standard deviation", rows(told?.sd), { ...marks, deviation: true })));
    } else if (told) {
      const known = told.flatMap(each => [...each.low, ...each.high]).filter(each => each != null);
      const limits = [Math.min(...known), Math.max(...known)];
      body.replaceChildren(...inputs.map((input, d) =>
        curve(input, state.outputs[output], sides(input, SLICE).map(each => each.at), told[d],
          { limits, next: input.levels ? [] : [place[d]] })));
      for (const label of body.querySelectorAll(".label")) label.textContent = "here";
    }
    const where = upcoming.length && shape === "slices"
      ? ` Next: ${upcoming.slice(0, 3).map(x => x.map(value => show(value, 5)).join(", ")).join("; ")}.` : "";
    note.textContent = (told ? (shape === "maps" ? "Numbers are the order of the points; a star is where to measure next." : "Line: mean; band: 90 % interval.")
      : "The model comes with the first points; the first time takes some seconds.") + where;
  }

  function drawSliders(state, again) {
    if (sliders.children.length) return;
    place = state.inputs.map(each => (each.levels ? each.levels[0] : (each.low + each.high) / 2));
    place = place.map((value, d) => (state.inputs[d].kind === "integer" ? Math.round(value) : value));
    sliders.replaceChildren(...state.inputs.map((each, d) => {
      const value = el("output", {}, each.levels ? "" : show(place[d]));
      const step = each.kind === "integer" ? 1 : (each.high - each.low) / 100;
      const input = each.levels
        ? el("select", {}, each.levels.map(level => el("option", {}, String(level))))
        : el("input", { type: "range", min: each.low, max: each.high, step, value: place[d] });
      input.addEventListener("input", () => {
        place[d] = each.levels ? each.levels[input.selectedIndex] : Number(input.value);
        if (!each.levels) value.textContent = show(place[d]);
        attempt(again);
      });
      return el("label", {}, `${title(each)} `, value, input);
    }));
  }

  async function refresh(state, output, peek) {
    const shape = kind(state);
    let told;
    if (shape === "slices") {
      drawSliders(state, () => refresh(state, output, null));
      const lines = state.inputs.map((each, d) => sides(each, SLICE).map(({ value }) => place.with(d, value)));
      const all = await predict(state, lines.flat(), output);
      let begin = 0;
      told = lines.map(rows => {
        const part = Object.fromEntries(Object.entries(all).map(([name, values]) => [name, values.slice(begin, begin + rows.length)]));
        begin += rows.length;
        return part;
      });
    } else {
      const [first, second] = state.inputs.map(each => sides(each, shape === "line" ? LINE : SIDE).map(({ value }) => value));
      const rows = second ? second.flatMap(b => first.map(a => [a, b])) : first.map(a => [a]);
      told = await predict(state, rows, output);
    }
    last = { id: state.id, told };
    draw(state, output, told);
    if (peek && !state.pending.length && state.remaining !== 0) {
      const { x } = await peek();
      next = x ? [x] : [];
      draw(state, output, told);
    } else if (state.pending.length || state.remaining === 0) next = [];
  }

  return { draw, refresh };
}

function kind(state) {
  const plain = state.inputs.every(each => (each.kind || "real") === "real");
  if (state.inputs.length === 1 && !state.inputs[0].levels) return "line";
  return state.inputs.length === 2 && plain ? "maps" : "slices";
}
