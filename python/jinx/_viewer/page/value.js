/** Shows values: text as text, binary values as what they are, and what JSON cannot hold by its name. */
import { ask, mediaAddress } from "./api.js";
import { count, h, icon, number } from "./dom.js";

/** @typedef {{dataset: string, sample: number}} Place */

/**
 * @param {any} value
 * @returns {value is Record<string, any>}
 */
export function isMarker(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) && typeof value.$ === "string";
}

/**
 * The names and values of a dict; null for anything else.
 * @param {any} value
 * @returns {[string, any][] | null}
 */
export function entriesOf(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return null;
  if (!isMarker(value)) return Object.entries(value);
  return value.$ === "dict" ? value.entries : null;
}

/** @param {any} value */
export function itemsOf(value) {
  if (Array.isArray(value)) return value;
  return isMarker(value) && value.$ === "list" ? value.items : null;
}

/**
 * The kind of media of a value, or null.
 * @param {any} value
 * @returns {"image" | "audio" | "video" | null}
 */
export function mediaKind(value) {
  if (!isMarker(value) || value.$ !== "bytes" || !value.type) return null;
  const kind = value.type.split("/")[0];
  return kind === "image" || kind === "audio" || kind === "video" ? kind : null;
}

/**
 * The media in a value, in order.
 * @param {any} value
 * @param {number} [limit]
 * @returns {Record<string, any>[]}
 */
export function mediaIn(value, limit = 100) {
  /** @type {Record<string, any>[]} */
  const found = [];
  const visit = (/** @type {any} */ inner) => {
    if (found.length >= limit) return;
    if (mediaKind(inner)) found.push(inner);
    else if (itemsOf(inner)) itemsOf(inner).forEach(visit);
    else entriesOf(inner)?.forEach(([, member]) => visit(member));
  };
  visit(value);
  return found;
}

/** One line for a value. @param {any} value @returns {string} */
export function summary(value) {
  if (value === null || value === undefined) return value === null ? "None" : "";
  if (typeof value === "string") return value;
  if (typeof value === "number") return number(value);
  if (typeof value === "boolean") return value ? "True" : "False";
  const items = itemsOf(value);
  if (items) return items.map(summary).join(" · ") || "[]";
  const entries = entriesOf(value);
  if (entries) return entries.map(([name, inner]) => `${name}: ${summary(inner)}`).join(", ") || "{}";
  return markerText(value);
}

/** @param {Record<string, any>} value */
function markerText(value) {
  switch (value.$) {
    case "text": return `${value.text}…`;
    case "number": return value.text;
    case "bytes": return value.name ?? value.type ?? "bytes";
    case "array": return `${value.dtype} array ${value.shape.join(" × ")}`;
    case "error": return value.text;
    case "cut": return "…";
    default: return value.text ?? value.$;
  }
}

/**
 * An image, which says what is wrong if it cannot be shown.
 * @param {Place} place
 * @param {Record<string, any>} media
 * @param {{isSmall?: boolean, alt?: string}} [how]
 */
export function image(place, media, { isSmall = false, alt = "" } = {}) {
  const frame = h("span", { class: "picture" });
  const address = mediaAddress(place.dataset, place.sample, media.path, isSmall);
  const shown = h("img", { alt, decoding: "async", draggable: "false", on: { error: () => failed(), load: () => frame.classList.add("loaded") } });
  shown.src = address;
  frame.append(shown);
  const failed = async () => {
    frame.replaceChildren(card("missing", "Cannot be shown", media.type));
    try {
      await ask(address);
    } catch (error) {
      const reason = String(/** @type {Error} */ (error).message);
      if (frame.isConnected && !reason.startsWith("The server answered")) frame.replaceChildren(card("missing", reason, media.type));
    }
  };
  return frame;
}

/**
 * @param {any} shape
 * @param {string} title
 * @param {string} [detail]
 */
export function card(shape, title, detail) {
  return h("span", { class: "plate" }, icon(shape), h("span", { class: "plate-title" }, title), detail && h("span", { class: "plate-detail" }, detail));
}

/**
 * @param {Place} place
 * @param {Record<string, any>} media
 * @param {string} name
 */
export function player(place, media, name) {
  const kind = mediaKind(media);
  const address = mediaAddress(place.dataset, place.sample, media.path);
  if (kind === "image") {
    return h("a", { href: address, target: "_blank", rel: "noreferrer", class: "full-picture", title: "Open in a new tab" }, image(place, media, { alt: name }));
  }
  const element = h(/** @type {string} */ (kind), { controls: true, preload: "metadata", "aria-label": name });
  element.src = address;
  element.addEventListener("error", () => element.replaceWith(card(kind === "audio" ? "sound" : "film", "Cannot be played", media.type)));
  return element;
}

/**
 * A whole value.
 * @param {Place} place
 * @param {any} value
 * @param {string} name
 * @param {number} [depth]
 * @returns {HTMLElement}
 */
export function valueElement(place, value, name, depth = 0) {
  if (value === null) return h("span", { class: "none" }, "None");
  if (typeof value === "string") return value ? h("span", { class: "text", dir: "auto" }, value) : h("span", { class: "none" }, "empty");
  if (typeof value === "number") return h("span", { class: "number" }, number(value));
  if (typeof value === "boolean") return h("span", { class: "number" }, value ? "True" : "False");
  if (mediaKind(value)) return h("figure", { class: "media" }, player(place, value, name), value.name && h("figcaption", {}, value.name));
  const items = itemsOf(value);
  if (items) return list(place, value, items, name, depth);
  const entries = entriesOf(value);
  if (entries) return dict(place, entries, depth, value.length);
  if (value.$ === "text") return longText(place, value);
  if (value.$ === "bytes") return binary(place, value);
  if (value.$ === "error") return h("span", { class: "failure" }, value.text);
  return h("span", { class: "number" }, markerText(value));
}

/**
 * @param {Place} place
 * @param {any} value
 * @param {any[]} items
 * @param {string} name
 * @param {number} depth
 */
function list(place, value, items, name, depth) {
  if (!items.length) return h("span", { class: "none" }, "empty list");
  const more = (value.length ?? items.length) - items.length;
  const rest = more > 0 && h("span", { class: "none" }, `… ${count(more)} more`);
  if (items.every((item) => mediaKind(item))) {
    return h("div", { class: "gallery" }, ...items.map((item, i) => valueElement(place, item, `${name} ${i + 1}`, depth + 1)), rest);
  }
  if (items.every((item) => typeof item === "number" || item === null)) {
    return h("span", { class: "number" }, items.map((item) => (item === null ? "None" : number(item))).join(", "), rest && " ", rest);
  }
  return h("ol", { class: "items", start: 0 }, ...items.map((item, i) => h("li", {}, valueElement(place, item, `${name} ${i}`, depth + 1))), rest && h("li", {}, rest));
}

/**
 * @param {Place} place
 * @param {[string, any][]} entries
 * @param {number} depth
 * @param {number} [length]
 */
function dict(place, entries, depth, length) {
  if (!entries.length) return h("span", { class: "none" }, "empty dict");
  const more = (length ?? entries.length) - entries.length;
  const rows = entries.map(([name, value]) => h("div", { class: "member" }, h("dt", {}, name), h("dd", {}, valueElement(place, value, name, depth + 1))));
  return h("dl", { class: "members" }, ...rows, more > 0 && h("div", { class: "member" }, h("dt", {}, ""), h("dd", { class: "none" }, `… ${count(more)} more`)));
}

/**
 * @param {Place} place
 * @param {Record<string, any>} value
 */
function longText(place, value) {
  const text = h("span", { class: "text", dir: "auto" }, value.text, "…");
  const all = h("button", { type: "button", class: "quiet" }, `Show all ${count(value.length)} characters`);
  all.addEventListener("click", async () => {
    const asked = new URLSearchParams({ path: JSON.stringify(value.path) });
    try {
      const answer = await fetch(`${place.dataset}/text/${place.sample}?${asked}`);
      if (!answer.ok) return;
      text.textContent = await answer.text();
      all.remove();
    } catch {
      // The server has ended: the button stays.
    }
  });
  return h("div", {}, text, all);
}

/**
 * @param {Place} place
 * @param {Record<string, any>} value
 */
function binary(place, value) {
  const address = mediaAddress(place.dataset, place.sample, value.path);
  return h("a", { href: address, class: "file", download: "" }, icon("file"), value.name ?? "Binary value", h("span", { class: "none" }, value.type ?? "unknown type"));
}
