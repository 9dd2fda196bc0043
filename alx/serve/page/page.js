// The list of experiments, the form for a new one, and which of them is shown.

import { get, json, watch } from "./api.js";
import { attempt, el, field } from "./dom.js";
import { openExperiment } from "./experiment.js";

const main = document.getElementById("main"), link = document.getElementById("link");
let shown = { changed() {}, close() {} };

async function listExperiments() {
  const list = el("ul", { class: "list", id: "list" });
  const page = el("div", { class: "cards" },
    el("section", { class: "card", id: "experiments" }, el("h1", {}, "Experiments"), list),
    createForm());
  main.replaceChildren(page);
  let busy = false, again = false;
  const refresh = async () => {
    if (busy) { again = true; return; }
    busy = true;
    do {
      again = false;
      const found = await attempt(() => get("/experiments"));
      if (found) list.replaceChildren(...found.experiments.reverse().map(line));
      if (found && !found.experiments.length) list.append(el("li", { class: "soft" }, "None yet."));
    } while (again);
    busy = false;
  };
  shown = { changed: refresh, close() {} };
  await refresh();
}

function line(each) {
  const of = each.remaining == null ? "" : ` of ${each.told + each.waiting + each.remaining}`;
  const rest = [each.waiting ? `${each.waiting} waiting` : "", each.failed ? `${each.failed} failed` : ""];
  const text = [`${each.told}${of} points`, ...rest.filter(Boolean)].join(", ");
  return el("li", {}, el("a", { href: `#/${each.id}` }, el("b", {}, each.name), el("span", { class: "soft" }, text)));
}

function inputRow() {
  const row = el("div", { class: "row input" });
  const kind = field("kind", { name: "kind", options: ["real", "integer", "choice"] }, true);
  const numbers = [field("from", { name: "low", inputmode: "decimal" }, true),
    field("to", { name: "high", inputmode: "decimal" }, true), field("unit", { name: "unit" }, true)];
  const levels = field("levels, separated by commas", { name: "levels" });
  levels.hidden = true;
  kind.querySelector("select").addEventListener("change", event => {
    const choice = event.target.value === "choice";
    numbers.forEach(each => { each.hidden = choice; });
    levels.hidden = !choice;
  });
  const remove = el("button", { type: "button", "aria-label": "remove this input", onclick: () => row.remove() }, "×");
  row.append(field("input", { name: "name", required: true }), kind, ...numbers, levels, remove);
  return row;
}

function createForm() {
  const inputs = el("fieldset", {}, el("legend", {}, "What is varied"), inputRow());
  const outputs = el("fieldset", {}, el("legend", {}, "What is measured"));
  const addOutput = () => outputs.append(el("div", { class: "row output" },
    field("output", { name: "name", required: true }), field("unit", { name: "unit" }, true)));
  addOutput();
  const form = el("form", { class: "card", id: "create" },
    el("h2", {}, "New experiment"),
    el("fieldset", {}, field("name", { name: "title", required: true, maxlength: 80 })),
    inputs,
    el("button", { type: "button", id: "more-inputs", onclick: () => inputs.append(inputRow()) }, "one more input"),
    outputs,
    el("button", { type: "button", onclick: addOutput }, "one more output"),
    el("fieldset", {},
      el("div", { class: "row" },
        field("points in all, if limited", { name: "budget", inputmode: "numeric" }),
        field("wanted error, if any", { name: "goal", inputmode: "decimal" })),
      el("label", {}, "constraints, one in a line, such as torque + 0.05 speed <= 480",
        el("textarea", { name: "constraints", rows: 2 }))),
    el("button", { class: "main" }, "create"));
  form.addEventListener("submit", event => {
    event.preventDefault();
    attempt(async () => {
      const made = await json("/experiments", described(form));
      location.hash = `#/${made.id}`;
    });
  });
  return form;
}

export function number(text, what) {
  const value = Number(text.trim().replace(",", "."));
  if (!text.trim() || !Number.isFinite(value)) throw new Error(`${what} must be a number, got "${text}"`);
  return value;
}

function described(form) {
  const value = (node, name) => node.querySelector(`[name=${name}]`).value.trim();
  const inputs = [...form.querySelectorAll(".input")].map(row => {
    const own = { name: value(row, "name"), kind: value(row, "kind") };
    if (own.kind === "choice") {
      return { ...own, levels: value(row, "levels").split(",").map(each => each.trim()).filter(Boolean) };
    }
    const limits = { low: number(value(row, "low"), "from"), high: number(value(row, "high"), "to") };
    return { ...own, ...limits, unit: value(row, "unit") };
  });
  const outputs = [...form.querySelectorAll(".output")].map(row => ({ name: value(row, "name"), unit: value(row, "unit") }))
    .filter(each => each.name);
  const body = { name: value(form, "title"), inputs, outputs };
  if (value(form, "budget")) body.budget = number(value(form, "budget"), "points in all");
  if (value(form, "goal")) body.goal = { error: number(value(form, "goal"), "wanted error") };
  const lines = value(form, "constraints").split("\n").filter(each => each.trim());
  if (lines.length) body.constraints = lines.map(line => constraint(line, inputs.map(each => each.name)));
  return body;
}

// "torque + 0.05 speed <= 480" or ">=", with the names of the inputs.
function constraint(line, names) {
  const [left, sign, right] = line.split(/(<=|>=)/);
  if (!right) throw new Error(`a constraint needs <= or >=, got "${line}"`);
  const turn = sign === ">=" ? -1 : 1, coefficients = {};
  let rest = left.replace(/\s*\*\s*/g, " ");
  for (const name of [...names].sort((a, b) => b.length - a.length)) {
    const at = rest.indexOf(name);
    if (at < 0) continue;
    const found = rest.slice(0, at).match(/([+-]?)\s*(\d*\.?\d*(?:e[+-]?\d+)?)\s*$/i);
    coefficients[name] = turn * (found[1] === "-" ? -1 : 1) * (found[2] ? Number(found[2]) : 1);
    rest = `${rest.slice(0, found.index)} ${rest.slice(at + name.length)}`;
  }
  if (rest.trim()) throw new Error(`a constraint is a sum of inputs, "${rest.trim()}" is not one`);
  return { coefficients, at_most: turn * number(right, "the right side of a constraint") };
}

async function route() {
  shown.close();
  const id = location.hash.slice(2);
  if (id) shown = await openExperiment(id, main) || { changed() {}, close() {} };
  else await listExperiments();
  window.scrollTo(0, 0);
}

window.addEventListener("hashchange", route);
await route();
watch(news => shown.changed(news), there => {
  link.textContent = there ? "live" : "the server is away, trying again";
  if (there) shown.changed({});
});
