/** The page of one sample: its conversation, its media and its other columns; the stored line. */
import { ask, isAbort } from "./api.js";
import { isKey, sharedColumns, sideBySide } from "./beside.js";
import { conversation, messagesOf } from "./chat.js";
import { arrange, count, h, icon, iconButton } from "./dom.js";
import { entriesOf, itemsOf, mediaIn, mediaKind, player, valueElement } from "./value.js";
import { wordDifference } from "./difference.js";

const BEFORE_AFTER = [["before", "after"], ["original", "cleaned"], ["text_before", "text_after"]];

/**
 * @typedef {object} Source
 * @property {() => string} dataset
 * @property {() => string[]} columns
 * @property {(step: number) => void} move
 * @property {() => void} close
 * @property {(name: string) => boolean} isOwn
 * @property {(sample: number) => HTMLElement[]} extras
 * @property {() => import("./notes.js").Form | null} form What people are asked about the sample.
 * @property {() => [string, string][]} tabs
 * @property {() => string} tab The open tab.
 * @property {() => string} beside The column whose value the samples side by side share.
 * @property {(tab: string, beside?: string) => void} openTab
 * @property {(sample: number) => void} open
 * @property {(where: string) => void} filter
 * @property {(members: Record<string, any>) => HTMLElement | null} origin A way to the sample that a row is about.
 */

export class SamplePage {
  /**
   * @param {HTMLElement} place
   * @param {Source} source
   */
  constructor(place, source) {
    this.place = place;
    this.source = source;
    /** @type {number | null} */
    this.shown = null;
    /** @type {AbortController | null} */
    this.asked = null;
    /** @type {any} */
    this.answer = null;
    this.title = h("h2", {});
    /** @type {Map<string, HTMLElement>} */
    this.buttons = new Map();
    this.tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "Views of the sample" });
    this.body = h("div", { class: "sample-body", role: "tabpanel", tabindex: "0" });
    this.extras = h("div", { class: "sample-extras" });
    const head = h(
      "div",
      { class: "sample-head" },
      iconButton("Back to all samples", "close", () => source.close()),
      this.title,
      this.tabs,
      h("div", { class: "steps" }, iconButton("Previous sample", "left", () => source.move(-1)), iconButton("Next sample", "right", () => source.move(1))),
    );
    place.append(h("section", { class: "sample", "aria-label": "Sample" }, head, this.extras, this.body));
  }

  /** @param {number | null} sample */
  async show(sample) {
    this.asked?.abort();
    this.shown = sample;
    this.answer = null;
    this.place.hidden = sample === null;
    // What lies behind takes neither focus nor keys.
    for (const id of ["bar", "body"]) /** @type {HTMLElement} */ (document.getElementById(id)).inert = sample !== null;
    if (sample === null) {
      this.body.replaceChildren(); // ends what plays
      return;
    }
    const controller = (this.asked = new AbortController());
    this.title.replaceChildren("Sample ", h("span", { class: "id" }, count(sample)));
    // At once, so that no answer is given to the sample before.
    this.extras.replaceChildren(...this.source.extras(sample));
    this.body.classList.add("stale");
    try {
      this.answer = await ask(`${this.source.dataset()}/sample/${sample}`, { signal: controller.signal });
      this.draw();
    } catch (error) {
      if (isAbort(error)) return;
      this.tabs.replaceChildren();
      this.body.replaceChildren(problem("This sample cannot be read", error));
    }
    this.body.classList.remove("stale");
    this.body.scrollTop = 0;
  }

  draw() {
    if (!this.answer) return;
    const names = [["", "Sample"], ["raw", "Stored line"], ["beside", "Side by side"], ...this.source.tabs()];
    const tab = names.some(([key]) => key === this.source.tab()) ? this.source.tab() : "";
    const buttons = names.map(([key, name]) => this.button(key, name));
    buttons.forEach((button, i) => button.setAttribute("aria-selected", tab === names[i][0] ? "true" : "false"));
    arrange(this.tabs, buttons);
    if (tab === "raw") this.body.replaceChildren(h("pre", { class: "raw" }, this.answer.raw));
    else if (tab === "tokens") this.drawLater("Counting tokens…", () => this.tokens());
    else if (tab === "beside") this.drawLater("Reading the other samples…", () => this.beside());
    else this.body.replaceChildren(this.content());
  }

  /** @param {string} key @param {string} name @returns {HTMLElement} */
  button(key, name) {
    const known = this.buttons.get(key);
    if (known) return known;
    const button = h("button", { type: "button", role: "tab", class: "tab", on: { click: () => this.source.openTab(key) } }, name);
    this.buttons.set(key, button);
    return button;
  }

  /**
   * @param {string} waiting
   * @param {() => Promise<HTMLElement>} make
   */
  async drawLater(waiting, make) {
    const answer = this.answer;
    const hint = h("p", { class: "hint" }, waiting);
    this.body.replaceChildren(hint);
    let content;
    try {
      content = await make();
    } catch (error) {
      content = problem("This cannot be shown", error);
    }
    // Another sample or tab may be open by now.
    if (answer === this.answer && hint.isConnected) this.body.replaceChildren(content);
  }

  beside() {
    const { row, sample } = this.answer;
    const { source } = this;
    const by = source.beside() || (sharedColumns(row)[0] ?? "");
    return sideBySide({ dataset: source.dataset(), sample }, row, by, {
      choose: (column) => source.openTab("beside", column),
      open: (other) => source.open(other),
      all: (where) => source.filter(where),
      columns: source.columns(),
    });
  }

  content() {
    const { row, sample } = this.answer;
    const place = { dataset: this.source.dataset(), sample };
    const columns = this.source.columns();
    /** @type {[string, any][]} */
    const all = entriesOf(row) ?? [];
    const form = this.source.form();
    // Who answers sees what the question is about.
    const entries = form?.columns.length ? all.filter(([name]) => form.columns.includes(name)) : all;
    entries.sort(([a], [b]) => order(columns, a) - order(columns, b));
    const chats = entries.map(([name, value]) => /** @type {const} */ ([name, messagesOf(value)])).filter(([, messages]) => messages);
    const inChats = new Set(chats.map(([name]) => name));
    const media = entries.filter(([name]) => !inChats.has(name)).flatMap(([, value]) => (mediaKind(value) || itemsOf(value)?.every(mediaKind) ? mediaIn(value) : []));
    const used = new Set();
    const main = chats.map(([name, messages]) => {
      const drawn = conversation(place, messages ?? [], media);
      drawn.used.forEach((one) => used.add(one));
      return h("section", { class: "block" }, h("h3", {}, name), drawn.element);
    });
    const left = media.filter((one) => !used.has(one));
    if (left.length) main.unshift(h("section", { class: "block" }, h("div", { class: "gallery" }, ...left.map((one) => h("figure", { class: "media" }, player(place, one, one.path.join(".")), h("figcaption", {}, one.name ?? one.path.join(".")))))));
    const members = Object.fromEntries(entries);
    if (form?.kind === "pair") main.push(this.pair(place, members, form.columns.slice(-2), inChats));
    for (const [before, after] of BEFORE_AFTER) {
      if (typeof members[before] === "string" && typeof members[after] === "string") {
        main.push(h("section", { class: "block" }, h("h3", {}, `${before} → ${after}`), wordDifference(members[before], members[after])));
        inChats.add(before).add(after);
      }
    }
    const others = entries.filter(([name, value]) => !inChats.has(name) && !mediaKind(value) && !(itemsOf(value)?.length && itemsOf(value)?.every(mediaKind)));
    const origin = this.source.origin(members);
    if (origin) main.unshift(h("section", { class: "block" }, origin));
    const fields = h("dl", { class: "fields" }, ...others.map(([name, value]) => h("div", { class: ["field-row", this.source.isOwn(name) && "own"] }, h("dt", {}, name), h("dd", {}, valueElement(place, value, name), this.alike(name, value)))));
    return h("div", { class: ["sample-content", main.length && others.length && "split"] }, main.length ? h("div", { class: "sample-main" }, ...main) : null, others.length ? h("div", { class: "sample-side" }, h("h3", {}, main.length ? "Other columns" : "Columns"), fields) : null);
  }

  /**
   * Two columns side by side, of which people say which is better.
   * @param {import("./value.js").Place} place
   * @param {Record<string, any>} members
   * @param {string[]} names
   * @param {Set<string>} shown Gets the names of the columns.
   */
  pair(place, members, names, shown) {
    names.forEach((name) => shown.add(name));
    const sides = names.map((name) => h("div", { class: "side" }, h("h3", {}, name), valueElement(place, members[name] ?? null, name)));
    return h("section", { class: "block" }, h("div", { class: "difference" }, ...sides));
  }

  /**
   * A press shows the samples with the same value side by side.
   * @param {string} name
   * @param {any} value
   */
  alike(name, value) {
    if (!isKey(value) || !/^[A-Za-z_]\w*$/.test(name)) return null;
    const title = `Samples with this ${name}, side by side`;
    return h("button", { type: "button", class: "alike", title, "aria-label": title, on: { click: () => this.source.openTab("beside", name) } }, icon("beside"));
  }

  async tokens() {
    const answer = await ask(`${this.source.dataset()}/tokens/${this.answer.sample}`);
    const parts = answer.columns.map((/** @type {any} */ column) => {
      const token = (/** @type {[string, number]} */ [text, id], /** @type {number} */ i) => h("span", { class: `token token-${i % 4}`, title: `id ${id}` }, text);
      const texts = column.texts.map((/** @type {[string, number][]} */ tokens) => h("p", {}, ...tokens.map(token)));
      return h("section", { class: "block" }, h("h3", {}, column.name, " ", h("span", { class: "none" }, `${count(column.count)} tokens`)), h("div", { class: "tokens" }, ...texts));
    });
    return h("div", { class: "sample-content" }, h("p", { class: "hint" }, `Tokenizer: ${answer.tokenizer}`), ...parts);
  }
}

/** @param {string} title @param {unknown} error */
function problem(title, error) {
  return h("div", { class: "empty" }, h("h3", {}, title), h("p", {}, String(/** @type {Error} */ (error).message)));
}

/** @param {string[]} columns @param {string} name */
function order(columns, name) {
  const place = columns.indexOf(name);
  return place < 0 ? columns.length : place;
}
