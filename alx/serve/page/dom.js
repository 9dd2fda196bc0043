// Elements from data. Texts are set as texts, so a name can never become markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter(each => each != null));
  return node;
}

export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function field(label, attributes = {}, narrow = false) {
  const input = el(attributes.options ? "select" : "input", { ...attributes, options: null });
  for (const each of attributes.options || []) input.append(el("option", { value: each }, String(each)));
  return el("label", { class: narrow ? "narrow" : null }, label, input);
}

export function show(value, digits = 4) {
  if (value == null) return "–";
  if (typeof value !== "number") return String(value);
  if (value !== 0 && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-4)) return value.toExponential(2);
  return String(Number(value.toPrecision(digits)));
}

export const title = each => (each.unit ? `${each.name} [${each.unit}]` : each.name);

export function message(text) {
  const node = document.getElementById("message");
  node.textContent = text;
  node.hidden = !text;
  clearTimeout(message.timer);
  if (text) message.timer = setTimeout(() => { node.hidden = true; }, 8000);
}

// Runs what a button does and says in a sentence when it went wrong.
export async function attempt(work) {
  try {
    message("");
    return await work();
  } catch (error) {
    message(error.message || String(error));
    return null;
  }
}
