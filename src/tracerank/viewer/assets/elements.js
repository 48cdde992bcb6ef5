// Elements from text: every string becomes a text node, so nothing that a page said is ever read as markup.

/** An element with attributes; null, undefined and false leave an attribute or a child out. */
function element(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svgElement(tag, attributes) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, []);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** A CSS variable on the element; set through the object model, which the content policy allows. */
function withVariable(made, name, value) {
  made.style.setProperty(name, String(value));
  return made;
}

function button(attributes, onClick, ...children) {
  const made = element("button", { type: "button", ...attributes }, ...children);
  made.addEventListener("click", onClick);
  return made;
}

/** Foreign text: its direction is its own and does not leak into ours. */
function foreign(tag, className, text, attributes) {
  return element(tag, { class: className, dir: "auto", ...attributes }, text);
}

/** A link to http and https addresses only; any other address is plain text. */
function outwardLink(address, className) {
  const target = webAddress(address);
  if (target === null) return foreign("span", className, clipped(address, 300));
  const attributes = { class: className, href: target.href, target: "_blank", rel: "noopener noreferrer" };
  return element("a", { ...attributes, referrerpolicy: "no-referrer", dir: "auto" }, clipped(address, 300));
}

function webAddress(address) {
  let parsed;
  try {
    parsed = new URL(address);
  } catch {
    return null;
  }
  return parsed.protocol === "https:" || parsed.protocol === "http:" ? parsed : null;
}

/** At most so many characters: a page can hold a line of megabytes. */
function clipped(text, length) {
  return text.length <= length ? text : `${text.slice(0, length).trimEnd()}…`;
}
