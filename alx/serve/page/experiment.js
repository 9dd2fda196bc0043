// One experiment: what is known, what is waiting for a reading, and the pictures.

import { csv, download, get, json } from "./api.js";
import { attempt, el, field, message, show, title } from "./dom.js";
import { effects, errors } from "./draw.js";
import { modelPictures } from "./model.js";

const outcome = y => ([y].flat().every(each => each == null) ? ["failed", ...[y].flat().slice(1)] : [y].flat());
const numberOf = text => Number(text.trim().replace(",", "."));

export async function openExperiment(id, main) {
  const path = `/experiments/${id}`;
  let state = await attempt(() => get(path));
  if (!state) {
    main.replaceChildren(el("p", {}, "There is no such experiment. ", el("a", { href: "#/" }, "All experiments")));
    return null;
  }
  const head = el("div", { class: "wide" });
  const bench = el("section", { class: "card", id: "bench" });
  const pictures = el("section", { class: "card wide", id: "pictures" });
  const curves = el("section", { class: "card", id: "errors" }), matter = el("section", { class: "card", id: "effects" });
  const table = el("section", { class: "card wide", id: "points" });
  main.replaceChildren(el("div", { class: "cards" }, head, pictures, bench, curves, matter, table, danger(path, id)));
  let output = 0;
  const model = modelPictures(path, pictures);

  async function change(action, body) {
    return attempt(async () => {
      await json(`${path}/${action}`, body);
      await refresh();
    });
  }

  function drawHead(error) {
    const of = state.budget == null ? "" : ` of ${state.budget}`;
    const choose = field("output", { id: "output", options: state.outputs.map(each => each.name) }, true);
    choose.hidden = state.outputs.length < 2;
    choose.querySelector("select").selectedIndex = output;
    choose.addEventListener("change", event => { output = event.target.selectedIndex; refresh(); });
    const rmse = error && error.rmse[output];
    const text = rmse == null ? "no model yet" : `${show(rmse, 3)} ${state.outputs[output].unit || ""}`;
    const between = rmse == null ? "" : `probably ${show(error.low[output], 2)} to ${show(error.high[output], 2)}`;
    const goal = error && error.goal != null
      ? el("span", { class: error.reached ? "reached" : "soft", id: "goal" },
        error.reached ? ` · goal ${show(error.goal)} reached ✓` : ` · goal ${show(error.goal)}`) : null;
    head.replaceChildren(
      el("h1", {}, state.name),
      el("div", { class: "row spread" },
        el("div", {}, el("span", { class: "big", id: "told" }, `${state.told}${of} points`),
          el("div", { class: "soft" }, [state.waiting ? `${state.waiting} waiting` : "",
            state.failed ? `${state.failed} failed` : ""].filter(Boolean).join(", "))),
        el("div", {}, el("span", { class: "soft" }, "estimated error "), el("span", { class: "big", id: "error" }, text),
          el("div", { class: "soft" }, between, goal)),
        choose),
      state.budget == null ? el("span") : el("progress", { max: state.budget, value: state.told, "aria-label": "points told" }));
  }

  function readings(form) {
    const values = [...form.querySelectorAll(".reading")].map(each => (each.value.trim() ? numberOf(each.value) : null));
    if (values.some(each => Number.isNaN(each))) throw new Error("a reading must be a number");
    if (values.every(each => each == null)) throw new Error("type the reading, or press fail");
    return values.length === 1 ? values[0] : values;
  }

  function readingFields() {
    return state.outputs.map(each => field(title(each), { class: "reading", inputmode: "decimal", autocomplete: "off" }, true));
  }

  function answerForm(x) {
    const form = el("form", { class: "answer" },
      el("div", { class: "where" }, state.inputs.map((each, d) => `${each.name} ${show(x[d], 6)} ${each.unit || ""}`).join(" · ")),
      el("div", { class: "row" }, readingFields(),
        el("button", { class: "main tell" }, "tell"),
        el("button", { type: "button", class: "fail", onclick: () => change("fail", { x }) }, "fail"),
        el("button", { type: "button", class: "forget", onclick: () => change("forget", { x }) }, "forget")));
    form.dataset.x = JSON.stringify(x);
    form.addEventListener("submit", async event => {
      event.preventDefault();
      await attempt(async () => {
        await json(`${path}/tell`, { x, y: readings(form) });
        await refresh();
        bench.querySelector(".reading, #ask")?.focus();
      });
    });
    return form;
  }

  function ownForm() {
    const form = el("form", { id: "own" },
      el("div", { class: "row" },
        state.inputs.map(each => field(title(each), { class: "place", options: each.levels, autocomplete: "off" }, true)),
        readingFields(), el("button", {}, "tell")));
    form.addEventListener("submit", event => {
      event.preventDefault();
      attempt(async () => {
        const x = [...form.querySelectorAll(".place")].map((each, d) =>
          (state.inputs[d].levels ? state.inputs[d].levels[each.selectedIndex] : numberOf(each.value)));
        if (x.some(each => Number.isNaN(each))) throw new Error("each input must be a number");
        await json(`${path}/tell`, { x, y: readings(form) });
        form.reset();
        await refresh();
      });
    });
    return form;
  }

  const answers = el("div", { id: "answers" });
  const ask = el("button", { class: "main", id: "ask", onclick: () => change("ask", {}) }, "ask for a point");
  const file = el("input", { type: "file", accept: ".csv,text/csv", hidden: true });
  file.addEventListener("change", () => attempt(async () => {
    await csv(`${path}/csv`, await file.files[0].text());
    file.value = "";
    await refresh();
  }));
  bench.append(
    el("h2", {}, "Bench"), answers, el("div", { class: "row" }, ask),
    el("details", {}, el("summary", { class: "soft" }, "a point of your own"), ownForm()));

  function drawBench() {
    // Forms stay as they are while their points do, so that nothing is lost that is being typed.
    const old = new Map([...answers.children].map(each => [each.dataset.x, each]));
    const wanted = state.pending.map(x => old.get(JSON.stringify(x)) || answerForm(x));
    for (const each of answers.children) if (!wanted.includes(each)) each.remove();
    wanted.forEach((each, i) => { if (answers.children[i] !== each) answers.insertBefore(each, answers.children[i] || null); });
    ask.disabled = state.remaining === 0;
  }

  function drawTable() {
    const rows = state.points.map((each, i) => el("tr", {}, [i + 1, ...each.x, ...outcome(each.y)].map(value =>
      el("td", {}, show(value, 6))))).reverse();
    table.replaceChildren(
      el("div", { class: "row spread" }, el("h2", {}, "Points"),
        el("div", { class: "row" }, el("button", { id: "csv", onclick: () => attempt(() => download(`${path}/csv`, `${state.name}.csv`)) }, "CSV"),
          el("button", { onclick: () => file.click() }, "add a CSV"))),
      el("div", { class: "scroll", tabindex: 0 }, el("table", {},
        el("thead", {}, el("tr", {}, ["", ...state.inputs.map(title), ...state.outputs.map(title)].map(each => el("th", {}, each)))),
        el("tbody", {}, rows))));
  }

  async function drawModel() {
    const measured = state.points.length > state.failed && state.points.some(each => [each.y].flat()[output] != null);
    const wait = measured ? "working it out; the first time takes some seconds …" : "after the first points";
    if (!curves.children.length) curves.append(el("h2", {}, "Enough?"), el("p", { class: "soft" }, wait));
    if (!matter.children.length) matter.append(el("h2", {}, "Which inputs matter"), el("p", { class: "soft" }, wait));
    model.draw(state, output, null);
    const everything = state.outputs.every((_, p) => state.points.some(each => [each.y].flat()[p] != null));
    if (!everything) { drawHead(null); return; }
    const error = await get(`${path}/error`);
    drawHead(error);
    await model.refresh(state, output, () => get(`${path}/next`));
    const [found, kernels] = [await get(`${path}/curve`), await get(`${path}/model`)];
    if (found.outputs[output].points.length > 1) {
      curves.replaceChildren(el("h2", {}, "Enough?"), errors(state.outputs[output], found.outputs[output], error.goal));
    }
    const one = kernels.outputs[output];
    matter.replaceChildren(el("h2", {}, "Which inputs matter"), effects(state.inputs, one),
      el("p", { class: "soft" }, `noise of a reading about ${show(one.noise_sd, 2)} ${state.outputs[output].unit || ""}`));
  }

  let busy = false, again = false, closed = false;
  async function refresh() {
    state = await get(path);
    if (closed) return;
    if (!head.children.length) drawHead(null);
    document.getElementById("told").textContent = `${state.told}${state.budget == null ? "" : ` of ${state.budget}`} points`;
    drawBench();
    drawTable();
    if (busy) { again = true; return; }
    busy = true;
    try {
      do { again = false; await drawModel(); } while (again && !closed);
    } catch (error) {
      if (!closed) message(error.message || String(error));
    } finally {
      busy = false;
    }
  }

  drawHead(null);
  attempt(refresh);
  const changed = news => { if (news.experiment === undefined || news.experiment === id) attempt(() => news.version === -1 ? gone() : refresh()); };
  const gone = () => { location.hash = "#/"; };
  return { changed, close() { closed = true; } };
}

function danger(path, id) {
  const remove = el("button", { id: "delete", onclick: () => attempt(async () => {
    if (!confirm("Delete this experiment and all its points for ever?")) return;
    await json(path, { confirm: id }, "DELETE");
    location.hash = "#/";
  }) }, "delete this experiment");
  return el("section", { class: "wide" }, el("p", { class: "soft" }, `id for programs: ${id}`), remove);
}
