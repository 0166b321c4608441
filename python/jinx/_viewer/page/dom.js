/** Makes elements. Text only ever becomes text: nothing here parses HTML. */

/**
 * @param {string} tag
 * @param {Record<string, any>} [attributes] Attributes; `on` holds listeners, and `class` may be an array.
 * @param {...(Node | string | number | null | undefined | false)} children
 * @returns {any}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "class") {
      element.className = Array.isArray(value) ? value.filter(Boolean).join(" ") : value;
    } else if (name in element && typeof value === "boolean") {
      element[name] = value;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false).map(node));
  return element;
}

/** @param {any} child */
function node(child) {
  return child instanceof Node ? child : String(child);
}

/**
 * Gives an element its children. Those that it has already are left alone: they keep their focus, what is being typed
 * into them, and a click that has begun.
 * @param {HTMLElement} place
 * @param {HTMLElement[]} children
 */
export function arrange(place, children) {
  const wanted = new Set(children);
  for (const child of /** @type {HTMLElement[]} */ ([...place.children])) if (!wanted.has(child)) child.remove();
  children.forEach((child, i) => {
    if (place.children[i] !== child) place.insertBefore(child, place.children[i] ?? null);
  });
}

/**
 * Shows a value in a field, but not over what is being typed: answers come at any time.
 * @param {HTMLInputElement} field
 * @param {string} value
 */
export function fill(field, value) {
  const isTyped = field === document.activeElement && field.value !== field.defaultValue;
  field.defaultValue = value;
  if (!isTyped) field.value = value;
}

/**
 * What is in a field is no longer being typed: from now on `fill` may replace it.
 * @param {HTMLInputElement} field
 */
export function submitted(field) {
  field.defaultValue = field.value;
}

const SHAPES = {
  grid: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  table: "M4 5h16v14H4zM4 10h16M4 14.5h16M10 10v9",
  packs: "M4 6h9v4H4zM15 6h5v4h-5zM4 14h5v4H4zM11 14h9v4h-9z",
  beside: "M4 5h7v14H4zM13 5h7v14h-7z",
  report: "M5 20V10M12 20V4M19 20v-7",
  code: "M9 7l-5 5 5 5M15 7l5 5-5 5",
  light: "M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2",
  help: "M9 9a3 3 0 116 0c0 2-3 2.5-3 4.5M12 17.5v.5",
  close: "M6 6l12 12M18 6L6 18",
  left: "M15 5l-7 7 7 7",
  right: "M9 5l7 7-7 7",
  filters: "M4 6h16M7 12h10M10 18h4",
  up: "M12 19V5M6 11l6-6 6 6",
  down: "M12 5v14M6 13l6 6 6-6",
  missing: "M4 5h16v14H4zM4 15l5-5 4 4 3-3 4 4M3 3l18 18",
  file: "M7 3h7l4 4v14H7zM14 3v4h4",
  sound: "M5 9v6h4l5 4V5L9 9zM17 9a4 4 0 010 6",
  film: "M4 5h16v14H4zM10 9l5 3-5 3z",
};

/**
 * @param {keyof typeof SHAPES} name
 * @returns {SVGElement}
 */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", SHAPES[name]);
  svg.append(path);
  return svg;
}

/**
 * @param {string} name
 * @param {keyof typeof SHAPES} shape
 * @param {(event: MouseEvent) => void} press
 * @param {Record<string, any>} [more]
 */
export function iconButton(name, shape, press, more = {}) {
  return h("button", { type: "button", class: "icon-button", "aria-label": name, title: name, on: { click: press }, ...more }, icon(shape));
}

/** @param {string} text */
export function toast(text) {
  const place = /** @type {HTMLElement} */ (document.getElementById("toast"));
  place.textContent = text;
  place.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => place.classList.remove("shown"), 2500);
}
/** @type {any} */
let toastTimer;

const WHOLE = new Intl.NumberFormat("en-US");
const SHORT = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 5 });

/** @param {number} value */
export function count(value) {
  return WHOLE.format(value);
}

/** @param {number} value */
export function number(value) {
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return WHOLE.format(value);
  return Math.abs(value) >= 1e-3 && Math.abs(value) < 1e6 ? SHORT.format(value) : String(Number(value.toPrecision(5)));
}

/**
 * Calls `act` once things have been quiet for some time.
 * @param {number} milliseconds
 * @param {() => void} act
 */
export function afterQuiet(milliseconds, act) {
  /** @type {any} */
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, milliseconds);
  };
}
