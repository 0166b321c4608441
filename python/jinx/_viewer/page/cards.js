/** Samples as cards in a grid, or as rows of a table. */
import { h, icon } from "./dom.js";
import { messagesOf, withoutPlaceholders } from "./chat.js";
import { card, image, isMarker, itemsOf, mediaIn, mediaKind, summary } from "./value.js";

const CARD_WIDTH = 212;
const CARD_FACTS = 4;
const TABLE_ROW = 60;
const TABLE_HEAD = 36;
const ID_WIDTH = 84;
const MAX_COLUMNS = 40;

/** @typedef {import("./rows.js").Row} Row */
/** @typedef {{dataset: () => string, row: (index: number) => Row | null, open: (index: number) => void, columns: () => string[], selected: () => number, tags: (sample: number) => string[]}} Source */

/**
 * The text that says most about a sample: its first longer string, or its conversation.
 * @param {Record<string, any>} row
 * @param {string[]} columns
 */
function caption(row, columns) {
  const chat = columns.map((name) => row[name]).find(messagesOf);
  if (chat) return oneLine(chat);
  const texts = columns.map((name) => row[name]).filter((value) => typeof value === "string" || (isMarker(value) && value.$ === "text"));
  const words = texts.map(summary).filter((text) => text.includes(" "));
  return words[0] ?? (texts.length ? summary(texts[0]) : "");
}

/** @param {any} content @returns {string} */
function textOf(content) {
  const items = itemsOf(content);
  return withoutPlaceholders(items ? items.map((/** @type {any} */ item) => item?.text ?? "").join(" ") : summary(content));
}

/** A value on one line; of a conversation what is said. @param {any} value */
function oneLine(value) {
  const messages = messagesOf(value);
  // Instructions of the system are the same in all samples.
  return messages ? messages.filter(({ role }) => role !== "system" || messages.length === 1).map(({ content }) => textOf(content)).filter(Boolean).join(" — ") : summary(value);
}

/** Small facts: numbers, and strings of few letters. @param {Record<string, any>} row @param {string[]} columns @param {string} shown */
function facts(row, columns, shown) {
  /** @type {[string, string][]} */
  const found = [];
  for (const name of columns) {
    const value = row[name];
    const isWord = typeof value === "string" && value.length <= 16 && value !== shown && !/\d{3}/.test(value);
    if (typeof value === "number" || isWord) found.push([name, summary(value)]);
    if (found.length === CARD_FACTS) break;
  }
  return found;
}

class Item {
  /** @param {Source} source @param {any} element */
  constructor(source, element) {
    this.source = source;
    this.element = element;
    this.index = -1;
    /** @type {Row | null | undefined} */
    this.row = undefined;
    this.tags = "";
    element.addEventListener("click", () => this.source.open(this.index));
  }

  hide() {
    this.row = undefined;
    this.index = -1;
    this.element.replaceChildren();
  }

  /** @param {number} index @returns {boolean} Whether the content was made again. */
  show(index) {
    const row = this.source.row(index);
    const isSelected = this.source.selected() === index;
    if (this.isSelected !== isSelected) {
      this.isSelected = isSelected;
      this.element.classList.toggle("selected", isSelected);
    }
    const tags = row ? this.source.tags(row.sample).join("\n") : "";
    if (index === this.index && row === this.row && tags === this.tags) return false;
    [this.index, this.row, this.tags] = [index, row, tags];
    this.element.classList.toggle("waiting", !row);
    this.element.dataset.index = String(index);
    this.fill(row);
    return true;
  }

  /** @param {Row | null} row */
  fill(row) {
    void row;
  }
}

class Card extends Item {
  /** @param {Source} source */
  constructor(source) {
    super(source, h("button", { type: "button", class: "card", tabindex: "-1" }));
  }

  /** @param {Row | null} row */
  fill(row) {
    if (!row) {
      this.element.setAttribute("aria-label", "Loading");
      this.element.replaceChildren(h("span", { class: "frame skeleton" }), h("span", { class: "line skeleton" }), h("span", { class: "line short skeleton" }));
      return;
    }
    this.element.setAttribute("aria-label", `Sample ${row.sample}`);
    if (!row.row) {
      this.element.replaceChildren(h("span", { class: "frame" }, card("missing", "This sample cannot be read", row.error)), h("span", { class: "facts" }, h("span", { class: "id" }, `#${row.sample}`)));
      return;
    }
    const columns = this.source.columns();
    const values = row.row;
    const media = columns.flatMap((name) => mediaIn(values[name], 4));
    const text = caption(values, columns);
    const frame = h("span", { class: ["frame", !media.length && "words"] });
    if (media.length) frame.append(this.picture(row, media[0]));
    else frame.append(h("span", { class: "excerpt", dir: "auto" }, text || summary(values)));
    if (media.length > 1) frame.append(h("span", { class: "badge" }, `${media.length}${media.length >= 4 ? "+" : ""}`));
    const tags = this.source.tags(row.sample);
    if (tags.length) frame.append(h("span", { class: "tags" }, ...tags.map((tag) => h("span", { class: "tag" }, tag))));
    const line = facts(values, columns, text).map(([name, value]) => h("span", { class: "fact", title: name }, h("span", { class: "fact-name" }, name), " ", value));
    this.element.replaceChildren(
      frame,
      media.length ? h("span", { class: "caption", dir: "auto" }, text) : "",
      h("span", { class: "facts" }, h("span", { class: "id" }, `#${row.sample}`), ...line),
    );
  }

  /** @param {Row} row @param {Record<string, any>} media */
  picture(row, media) {
    if (mediaKind(media) === "image") return image({ dataset: this.source.dataset(), sample: row.sample }, media, { isSmall: true });
    return card(mediaKind(media) === "audio" ? "sound" : "film", mediaKind(media) === "audio" ? "Audio" : "Video", media.type);
  }
}

class TableRow extends Item {
  /** @param {Source} source */
  constructor(source) {
    super(source, h("div", { class: "row", role: "row", tabindex: "-1" }));
  }

  /** @param {Row | null} row */
  fill(row) {
    const columns = this.source.columns().slice(0, MAX_COLUMNS);
    if (!row) {
      this.element.replaceChildren(h("span", { class: "cell id", role: "cell" }, ""), ...columns.map(() => h("span", { class: "cell", role: "cell" }, h("span", { class: "line skeleton" }))));
      return;
    }
    const place = { dataset: this.source.dataset(), sample: row.sample };
    const id = h("span", { class: "cell id", role: "cell" }, String(row.sample));
    if (!row.row) {
      this.element.replaceChildren(id, h("span", { class: "cell failure", role: "cell" }, row.error ?? ""));
      return;
    }
    const values = row.row;
    this.element.replaceChildren(id, ...columns.map((name) => this.cell(place, values[name])));
  }

  /** @param {import("./value.js").Place} place @param {any} value */
  cell(place, value) {
    const media = mediaIn(value, 3);
    if (media.length) {
      const shown = media.map((one) => (mediaKind(one) === "image" ? image(place, one, { isSmall: true }) : icon(mediaKind(one) === "audio" ? "sound" : "film")));
      return h("span", { class: "cell pictures", role: "cell" }, ...shown);
    }
    const isNumber = typeof value === "number";
    const kind = value === undefined || value === null ? "none" : isMarker(value) && value.$ === "error" ? "failure" : "";
    return h("span", { class: ["cell", isNumber && "number", kind], role: "cell", dir: isNumber ? undefined : "auto" }, oneLine(value));
  }
}

/**
 * How the scroller lays out the grid.
 * @param {Source} source
 */
export function grid(source) {
  return {
    layout: (/** @type {number} */ width) => {
      const columns = Math.max(width < 480 ? 2 : 1, Math.floor(width / CARD_WIDTH));
      const rowHeight = Math.round((width / columns) * 0.72) + 62;
      return { columns, rowHeight };
    },
    make: () => new Card(source),
  };
}

/**
 * How the scroller lays out the table.
 * @param {Source} source
 */
export function table(source) {
  return {
    layout: () => ({ columns: 1, rowHeight: TABLE_ROW, head: TABLE_HEAD }),
    make: () => new TableRow(source),
  };
}

/**
 * How wide the columns of the table are, by what the first samples hold.
 * @param {string[]} columns
 * @param {Row[]} rows
 * @returns {{template: string, width: number}}
 */
export function tableColumns(columns, rows) {
  const widths = columns.slice(0, MAX_COLUMNS).map((name) => {
    const values = rows.map((row) => row.row?.[name]).filter((value) => value !== null && value !== undefined);
    if (values.some((value) => mediaIn(value, 1).length)) return 104;
    if (values.every((value) => typeof value === "number" || typeof value === "boolean")) return Math.max(104, Math.min(200, name.length * 8 + 40));
    const longest = Math.max(0, ...values.map((value) => oneLine(value).length));
    return longest > 60 ? 300 : longest > 24 ? 220 : Math.max(120, Math.min(200, name.length * 8 + 40));
  });
  const all = [ID_WIDTH, ...widths];
  const template = all.map((width, i) => (i === 0 ? `${width}px` : `minmax(${width}px, ${width}fr)`)).join(" ");
  return { template, width: all.reduce((sum, width) => sum + width, 0) };
}

/**
 * The head of the table; a press sorts by the column.
 * @param {string[]} columns
 * @param {(name: string) => string | null} key The key that sorts by a column, or null.
 * @param {string} sort The present key.
 * @param {(key: string) => void} choose
 */
export function tableHead(columns, key, sort, choose) {
  const cells = columns.slice(0, MAX_COLUMNS).map((name) => {
    const by = key(name);
    const direction = sort === by ? "ascending" : sort === `-${by}` ? "descending" : null;
    if (!by) return h("span", { class: "cell", role: "columnheader" }, name);
    const arrow = direction && icon(direction === "ascending" ? "up" : "down");
    const press = () => choose(direction === "ascending" ? `-${by}` : direction === "descending" ? "" : by);
    return h("span", { class: "cell", role: "columnheader", "aria-sort": direction ?? "none" }, h("button", { type: "button", class: "head", title: `Sort by ${by}`, on: { click: press } }, name, arrow));
  });
  return h("div", { class: "row table-head", role: "row" }, h("span", { class: "cell id", role: "columnheader" }, "#"), ...cells);
}
