/** Samples side by side: those that share a value with the present one, as columns of a table. */
import { ask } from "./api.js";
import { messagesOf } from "./chat.js";
import { changedWords } from "./difference.js";
import { count, h } from "./dom.js";
import { entriesOf, itemsOf, mediaIn, summary, valueElement } from "./value.js";

const MOST = 12;
const LONG_TEXT = 40;
const LIKELY = /cluster|group|duplicate|dup_|topic/i;

/**
 * The columns by which samples may belong together: the likely ones first.
 * @param {any} row
 * @returns {string[]}
 */
export function sharedColumns(row) {
  const names = (entriesOf(row) ?? []).filter(([name, value]) => isKey(value) && /^[A-Za-z_]\w*$/.test(name)).map(([name]) => name);
  return [...names.filter((name) => LIKELY.test(name)), ...names.filter((name) => !LIKELY.test(name))];
}

/** Whether other samples may have the same value. @param {any} value */
export function isKey(value) {
  return typeof value === "number" || typeof value === "boolean" || (typeof value === "string" && value.length <= 64);
}

/**
 * The condition that a column has a value.
 * @param {string} name
 * @param {any} value
 */
export function equals(name, value) {
  const written = typeof value === "string" ? `'${value.replace(/[\\']/g, "\\$&").replace(/\n/g, "\\n").replace(/\r/g, "\\r").replace(/\t/g, "\\t")}'` : typeof value === "boolean" ? (value ? "True" : "False") : String(value);
  return `${name} == ${written}`;
}

/**
 * @param {{dataset: string, sample: number}} place
 * @param {any} row
 * @param {string} by The column whose value the samples share.
 * @param {{choose: (column: string) => void, open: (sample: number) => void, all: (where: string) => void, columns: string[]}} how
 * @returns {Promise<HTMLElement>}
 */
export async function sideBySide(place, row, by, how) {
  const columns = sharedColumns(row);
  const members = Object.fromEntries(entriesOf(row) ?? []);
  const select = h("select", { "aria-label": "Column whose value is shared", on: { change: (/** @type {any} */ event) => how.choose(event.target.value) } }, !columns.includes(by) && h("option", { value: "" }, "Choose a column"), ...columns.map((name) => h("option", { value: name, selected: name === by }, name)));
  const head = h("div", { class: "beside-head" }, h("label", {}, "Samples with the same ", select));
  if (!columns.includes(by)) return h("div", { class: "beside" }, head, h("p", { class: "hint" }, columns.length ? "Choose the column by which samples belong together, such as a cluster." : "No column of this sample has a number or a short string."));
  const where = equals(by, members[by]);
  const answer = await ask(`${place.dataset}/rows?${new URLSearchParams({ where, count: String(MOST + 1) })}`);
  const others = answer.rows.map((/** @type {any} */ other) => other.sample).filter((/** @type {number} */ other) => other !== place.sample).slice(0, MOST - 1);
  const shown = [{ sample: place.sample, row }, ...(await Promise.all(others.map((/** @type {number} */ other) => ask(`${place.dataset}/sample/${other}`))))];
  const all = h("button", { type: "button", class: "quiet", on: { click: () => how.all(where) } }, `Show all ${count(answer.total)}`);
  head.append(h("span", { class: "none" }, `${by} = ${summary(members[by])}`), all);
  return h("div", { class: "beside" }, head, compared(place.dataset, shown, how));
}

/**
 * @param {string} dataset
 * @param {{sample: number, row: any}[]} shown
 * @param {{open: (sample: number) => void, columns: string[]}} how
 */
function compared(dataset, shown, how) {
  const rows = shown.map(({ row }) => Object.fromEntries(entriesOf(row) ?? []));
  const known = new Set(rows.flatMap((row) => Object.keys(row)));
  const names = [...how.columns.filter((name) => known.has(name)), ...[...known].filter((name) => !how.columns.includes(name))];
  // Pictures say most, and come first.
  names.sort((a, b) => Number(rows.some((row) => mediaIn(row[b], 1).length)) - Number(rows.some((row) => mediaIn(row[a], 1).length)));
  const heads = shown.map(({ sample }, i) => h("th", { scope: "col" }, i ? h("button", { type: "button", class: "quiet", on: { click: () => how.open(sample) } }, `Sample ${count(sample)}`) : `This sample, ${count(sample)}`));
  const lines = names.map((name) => {
    const cells = rows.map((row, i) => h("td", {}, cell({ dataset, sample: shown[i].sample }, name, row[name], i ? rows[0][name] : undefined)));
    const isSame = rows.every((row) => JSON.stringify(row[name]) === JSON.stringify(rows[0][name]));
    return h("tr", { class: [isSame && rows.length > 1 && "same"] }, h("th", { scope: "row" }, name), ...cells);
  });
  const table = h("table", {}, h("thead", {}, h("tr", {}, h("td", {}), ...heads)), h("tbody", {}, ...lines));
  return h("div", { class: "beside-table", tabindex: "0", role: "region", "aria-label": "Samples side by side" }, table);
}

/**
 * @param {import("./value.js").Place} place
 * @param {string} name
 * @param {any} value
 * @param {any} first The value of the present sample, with which texts are compared.
 */
function cell(place, name, value, first) {
  if (value === undefined) return h("span", { class: "none" }, "absent");
  const [text, other] = [plainText(value), plainText(first)];
  if (text !== null && other !== null && Math.max(text.length, other.length) > LONG_TEXT) return changedWords(other, text);
  return text !== null && text.includes("\n") ? h("span", { class: "text", dir: "auto" }, text) : valueElement(place, value, name);
}

/** A string, or what is said in a conversation; null for anything else. @param {any} value @returns {string | null} */
function plainText(value) {
  if (typeof value === "string") return value;
  const messages = messagesOf(value);
  return messages && messages.map(({ role, content }) => `${role}: ${itemsOf(content) ? itemsOf(content).map((/** @type {any} */ part) => part?.text ?? "").join(" ").trim() : summary(content)}`).join("\n\n");
}
