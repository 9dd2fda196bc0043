// Pictures as SVG: lines with a band, maps, bars. Colours come from style.css, but for the maps.

import { show, svg, title } from "./dom.js";

const VIRIDIS = ["440154", "472d7b", "3b528b", "2c728e", "21918c", "28ae80", "5ec962", "addc30", "fde725"];
const CIVIDIS = ["00224e", "123570", "3b496c", "575d6d", "707173", "8a8678", "a59c74", "c3b369", "fee838"];
const W = 420, H = 300, LEFT = 58, RIGHT = 14, TOP = 12, BOTTOM = 44;

function range(values, include = []) {
  const all = [...values, ...include].filter(Number.isFinite);
  let low = Math.min(...all), high = Math.max(...all);
  if (!all.length) [low, high] = [0, 1];
  if (low === high) [low, high] = [low - 0.5 * (Math.abs(low) || 1), high + 0.5 * (Math.abs(high) || 1)];
  return [low, high];
}

function padded([low, high]) {
  return [low - 0.05 * (high - low), high + 0.05 * (high - low)];
}

function ticks([low, high], most = 5) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(each => each * power).find(each => each >= rough);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(i * step);
  return found;
}

// Axes with room to draw on; `names` instead of numbers for a choice.
function frame(xs, ys, xlabel, ylabel, { names = null, right = RIGHT, about = "" } = {}) {
  const sx = x => LEFT + (x - xs[0]) / (xs[1] - xs[0]) * (W - LEFT - right);
  const sy = y => H - BOTTOM - (y - ys[0]) / (ys[1] - ys[0]) * (H - TOP - BOTTOM);
  const inside = svg("g"), over = svg("g");
  const node = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": about }, inside);
  for (const y of ticks(ys)) {
    inside.append(svg("line", { class: "grid", x1: LEFT, x2: W - right, y1: sy(y), y2: sy(y) }));
    node.append(svg("text", { class: "tick", x: LEFT - 6, y: sy(y) + 4, "text-anchor": "end" }, show(y, 6)));
  }
  for (const x of names ? names.keys() : ticks(xs)) {
    const text = names ? String(names[x]) : show(x, 6);
    node.append(svg("text", { class: "tick", x: sx(x), y: H - BOTTOM + 16, "text-anchor": "middle" }, text));
  }
  const middle = (TOP + H - BOTTOM) / 2;
  node.append(
    svg("text", { x: (LEFT + W - right) / 2, y: H - 8, "text-anchor": "middle" }, xlabel),
    svg("text", { x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` }, ylabel),
    over,
  );
  return { node, inside, over, sx, sy };
}

// Paths over the places where values are known; the constraint may leave gaps.
function path(xs, ys, sx, sy) {
  let text = "", pen = "M";
  xs.forEach((x, i) => {
    if (ys[i] == null) { pen = "M"; return; }
    text += `${pen}${sx(x).toFixed(1)} ${sy(ys[i]).toFixed(1)}`;
    pen = "L";
  });
  return text;
}

function band(xs, low, high, sx, sy) {
  const parts = [];
  for (let i = 0; i < xs.length; i++) {
    if (low[i] == null || high[i] == null) continue;
    const begin = i;
    while (i + 1 < xs.length && low[i + 1] != null && high[i + 1] != null) i++;
    const up = [], down = [];
    for (let k = begin; k <= i; k++) {
      up.push(`${sx(xs[k]).toFixed(1)} ${sy(high[k]).toFixed(1)}`);
      down.unshift(`${sx(xs[k]).toFixed(1)} ${sy(low[k]).toFixed(1)}`);
    }
    parts.push(`M${[...up, ...down].join("L")}Z`);
  }
  return parts.join("");
}

function mark(over, sx, sy, x, y, text, right = W) {
  const last = sx(x) > right - 20; // then the number stands on the left
  over.append(
    svg("circle", { class: "dot", cx: sx(x), cy: sy(y), r: 3.5 }),
    svg("text", { class: "label", x: sx(x) + (last ? -5 : 5), y: sy(y) - 4, "text-anchor": last ? "end" : "start" }, text),
  );
}

function cross(over, x, y) {
  over.append(svg("path", { class: "failed", d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8` }));
}

function star(over, x, y, text, right) {
  let d = "";
  for (let i = 0; i < 10; i++) {
    const r = i % 2 ? 3.6 : 8, a = Math.PI * (i / 5 - 0.5);
    d += `${i ? "L" : "M"}${(x + r * Math.cos(a)).toFixed(1)} ${(y + r * Math.sin(a)).toFixed(1)}`;
  }
  const last = x > right - 30;
  over.append(
    svg("path", { class: "star", d: `${d}Z` }),
    svg("text", { class: "label", x: x + (last ? -9 : 9), y: y - 5, "text-anchor": last ? "end" : "start" }, text),
  );
}

// A curve with its interval; `points` are {x, y, n}, `failed` and `next` places.
export function curve(input, output, x, told, { points = [], failed = [], next = [], limits = null } = {}) {
  const known = told ? [...told.low, ...told.high] : [];
  const ys = limits || padded(range([...known, ...points.map(each => each.y)].filter(each => each != null)));
  const xs = input.levels ? [-0.5, input.levels.length - 0.5] : [input.low, input.high];
  const axes = frame(xs, ys, title(input), title(output), {
    names: input.levels, about: `${output.name} over ${input.name}: mean, interval and ${points.length} points`,
  });
  const { inside, over, sx, sy } = axes;
  if (told && input.levels) {
    x.forEach((at, i) => {
      if (told.mean[i] == null) return;
      inside.append(
        svg("line", { class: "mean", x1: sx(at), x2: sx(at), y1: sy(told.low[i]), y2: sy(told.high[i]) }),
        svg("circle", { class: "bar", cx: sx(at), cy: sy(told.mean[i]), r: 5 }),
      );
    });
  } else if (told) {
    inside.append(
      svg("path", { class: "band", d: band(x, told.low, told.high, sx, sy) }),
      svg("path", { class: "mean", d: path(x, told.mean, sx, sy) }),
    );
  }
  for (const at of next) {
    inside.append(svg("line", { class: "next", x1: sx(at), x2: sx(at), y1: TOP, y2: H - BOTTOM, "stroke-dasharray": "5 4" }));
    over.append(svg("text", { class: "label", x: sx(at) + 4, y: TOP + 10 }, "next"));
  }
  for (const at of failed) cross(over, sx(at), sy(ys[0]) - 6);
  for (const each of points) mark(over, sx, sy, each.x, each.y, each.n);
  return axes.node;
}

function colour(scale, part) {
  const at = Math.min(Math.max(part, 0), 1) * (scale.length - 1);
  const i = Math.min(Math.floor(at), scale.length - 2), rest = at - i;
  return [0, 2, 4].map(k => {
    const [a, b] = [scale[i], scale[i + 1]].map(each => parseInt(each.slice(k, k + 2), 16));
    return Math.round(a + (b - a) * rest);
  });
}

// A map of values[row of y][column of x]; null where nothing may be measured. Without values an empty one.
export function map(inputs, label, values, { deviation = false, points = [], failed = [], next = [] } = {}) {
  const scale = deviation ? CIVIDIS : VIRIDIS;
  const [xs, ys] = inputs.map(each => [each.low, each.high]);
  const { node, inside, over, sx, sy } = frame(xs, ys, title(inputs[0]), title(inputs[1]), {
    right: 74, about: `${label} over ${inputs[0].name} and ${inputs[1].name}, with ${points.length} points`,
  });
  over.setAttribute("class", "onmap");
  if (values) {
    const limits = range(values.flat().filter(each => each != null));
    const paint = (wide, high, at) => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [wide, high];
      const context = canvas.getContext("2d"), image = context.createImageData(wide, high);
      for (let row = 0; row < high; row++) {
        for (let column = 0; column < wide; column++) {
          const value = at(high - 1 - row, column);
          const part = value == null ? null : (value - limits[0]) / (limits[1] - limits[0]);
          image.data.set(part == null ? [0, 0, 0, 0] : [...colour(scale, part), 255], 4 * (row * wide + column));
        }
      }
      context.putImageData(image, 0, 0);
      return canvas.toDataURL();
    };
    const size = { x: sx(xs[0]), y: sy(ys[1]), width: sx(xs[1]) - sx(xs[0]), height: sy(ys[0]) - sy(ys[1]) };
    const href = paint(values[0].length, values.length, (row, column) => values[row][column]);
    inside.append(svg("image", { ...size, href, preserveAspectRatio: "none" }));
    const bar = paint(1, 64, row => limits[0] + (limits[1] - limits[0]) * row / 63);
    inside.append(svg("image", { ...size, x: W - 64, width: 12, href: bar, preserveAspectRatio: "none" }));
    for (const value of ticks(limits, 4)) {
      const y = sy(ys[0]) - (value - limits[0]) / (limits[1] - limits[0]) * size.height;
      inside.append(svg("text", { class: "tick", x: W - 48, y: y + 4 }, show(value, 4)));
    }
  }
  for (const [x, y] of failed) cross(over, sx(x), sy(y));
  for (const each of points) mark(over, sx, sy, ...each.x, each.n, sx(xs[1]));
  for (const [x, y] of next) star(over, sx(x), sy(y), "next", sx(xs[1]));
  return node;
}

// The error against the number of points, with the goal.
export function errors(output, found, goal) {
  const known = [...found.high, ...found.rmse].filter(each => each != null);
  const most = Math.max(...found.rmse.filter(each => each != null), goal || 0) * 1.6;
  const ys = [0, known.length ? Math.min(Math.max(...known), most) * 1.05 : 1];
  const last = Math.max(...found.points, 3);
  const { node, inside, sx, sy } = frame([1, last], ys, "points", title({ ...output, name: `error of ${output.name}` }), {
    about: `estimated error of ${output.name} against the number of points`,
  });
  const high = found.high.map(each => (each == null ? null : Math.min(each, ys[1])));
  inside.append(
    svg("path", { class: "band", d: band(found.points, found.low, high, sx, sy) }),
    svg("path", { class: "mean", d: path(found.points, found.rmse, sx, sy) }),
  );
  if (goal) {
    inside.append(
      svg("line", { class: "goal", x1: LEFT, x2: W - RIGHT, y1: sy(goal), y2: sy(goal) }),
      svg("text", { class: "label", x: LEFT + 6, y: sy(goal) - 5 }, `goal ${show(goal)}`),
    );
  }
  return node;
}

// How much each input matters: its range over its lengthscale.
export function effects(inputs, model) {
  const most = Math.max(...model.effect.filter(each => each != null), 1), line = 34;
  const node = svg("svg", { viewBox: `0 0 ${W} ${line * inputs.length}`, role: "img", "aria-label": "which inputs matter" });
  inputs.forEach((each, i) => {
    const width = (model.effect[i] || 0) / most * W;
    const over = model.lengthscales[i];
    const text = each.levels ? each.name : `${each.name}: changes over ${show(over, 3)} ${each.unit || ""}`;
    node.append(
      svg("text", { x: 0, y: line * i + 13 }, text),
      svg("rect", { class: "bar", x: 0, y: line * i + 18, width: Math.max(width, 2), height: 8, rx: 2 }),
    );
  });
  return node;
}
