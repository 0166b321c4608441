/** A packing plan: a row for each pack, a segment for each sample. */
import { ask, isAbort } from "./api.js";
import { count, h } from "./dom.js";

const PAGE = 120;
const ROW = 44;
const KEPT_PAGES = 24;
const COLOURS = 6;

/** @typedef {{samples: number[], tokens: number[]}} Pack */

/** The packs, fetched in pages when they are needed. */
export class Packs {
  /** @param {{packs: number, max_length: number, efficiency: number}} plan @param {() => void} changed @param {(error: Error | null) => void} failed */
  constructor(plan, changed, failed) {
    this.plan = plan;
    this.changed = changed;
    this.failed = failed;
    /** @type {Map<number, Pack[] | null>} */
    this.pages = new Map();
  }

  get total() {
    return this.plan.packs;
  }

  /** @param {number} index */
  at(index) {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE] ?? null;
  }

  /** @param {number} start @param {number} stop */
  want(start, stop) {
    for (let page = Math.floor(start / PAGE); page <= Math.floor((stop - 1) / PAGE); page++) {
      if (!this.pages.has(page)) this.fetch(page);
    }
    for (const page of this.pages.keys()) {
      if (this.pages.size <= KEPT_PAGES) break;
      if (this.pages.get(page)) this.pages.delete(page);
    }
  }

  /** @param {number} page */
  async fetch(page) {
    this.pages.set(page, null);
    try {
      const answer = await ask(`packs?start=${page * PAGE}&count=${PAGE}`);
      this.pages.set(page, answer.packs);
      this.failed(null);
    } catch (error) {
      this.pages.delete(page);
      if (!isAbort(error)) this.failed(/** @type {Error} */ (error));
      return;
    }
    this.changed();
  }
}

class PackRow {
  /** @param {{pack: (index: number) => Pack | null, open: (sample: number) => void, maxLength: number}} source */
  constructor(source) {
    this.source = source;
    this.element = h("div", { class: "pack" });
    this.index = -1;
    /** @type {Pack | null | undefined} */
    this.pack = undefined;
  }

  hide() {
    this.index = -1;
    this.element.replaceChildren();
  }

  /** @param {number} index @returns {boolean} Whether the content was made again. */
  show(index) {
    const pack = this.source.pack(index);
    if (index === this.index && pack === this.pack) return false;
    [this.index, this.pack] = [index, pack];
    const track = h("span", { class: ["pack-track", !pack && "skeleton"] });
    let used = 0;
    for (const [i, sample] of (pack?.samples ?? []).entries()) {
      const tokens = /** @type {Pack} */ (pack).tokens[i];
      used += tokens;
      const text = `Sample ${count(sample)}: ${count(tokens)} tokens`;
      const segment = h("button", { type: "button", class: `segment-of segment-${sample % COLOURS}`, title: text, "aria-label": text, on: { click: () => this.source.open(sample) } });
      segment.style.width = `${(100 * tokens) / this.source.maxLength}%`;
      track.append(segment);
    }
    const share = pack ? `${Math.round((1000 * used) / this.source.maxLength) / 10} %` : "";
    this.element.replaceChildren(h("span", { class: "id" }, count(index)), track, h("span", { class: "pack-note" }, pack ? `${pack.samples.length} · ${share}` : ""));
    return true;
  }
}

/**
 * How the scroller lays out the packs.
 * @param {{pack: (index: number) => Pack | null, open: (sample: number) => void, maxLength: number}} source
 */
export function packRows(source) {
  return { layout: () => ({ columns: 1, rowHeight: ROW }), make: () => new PackRow(source) };
}
