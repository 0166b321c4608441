/** The samples of the present query, fetched in pages when they are needed and kept while they are near. */
import { ask, isAbort } from "./api.js";
import { entriesOf } from "./value.js";

const PAGE = 120;
const KEPT_PAGES = 24;
const RETRY_MS = 250;

/** @typedef {{sample: number, row?: Record<string, any>, error?: string}} Row */

export class Rows {
  /**
   * @param {import("./state.js").State} state
   * @param {() => void} changed Is called when rows have come.
   * @param {(error: Error | null) => void} failed
   */
  constructor(state, changed, failed) {
    this.state = state;
    this.changed = changed;
    this.failed = failed;
    this.total = 0;
    this.isComplete = true;
    this.isKnown = false;
    /** The query of the last reset: what belongs to an earlier one is of no use any more. */
    this.query = new URLSearchParams();
    /** @type {Map<number, Row[]>} */
    this.pages = new Map();
    /** @type {Map<number, AbortController>} */
    this.asked = new Map();
  }

  /** Forgets everything and asks for the first rows of the present query. */
  async reset(first = 0) {
    for (const controller of this.asked.values()) controller.abort();
    this.asked.clear();
    this.pages.clear();
    this.query = this.state.query();
    this.isKnown = false;
    await this.fetch(Math.floor(first / PAGE));
  }

  /**
   * @param {number} index
   * @returns {Row | null}
   */
  at(index) {
    const page = this.pages.get(Math.floor(index / PAGE));
    return page?.[index % PAGE] ?? null;
  }

  /** Whether the row at a place has been asked for and has not come. @param {number} index */
  isAsked(index) {
    return this.asked.has(Math.floor(index / PAGE));
  }

  /**
   * Fetches what lies between two places, and gives up what is far from them.
   * @param {number} start
   * @param {number} stop
   */
  want(start, stop) {
    const first = Math.floor(start / PAGE);
    const last = Math.floor(Math.max(start, Math.min(stop, this.total) - 1) / PAGE);
    for (const [page, controller] of this.asked) {
      if (page < first - 1 || page > last + 1) {
        controller.abort();
        this.asked.delete(page);
      }
    }
    for (let page = first; page <= last; page++) {
      const kept = this.pages.get(page);
      if (kept) {
        this.pages.delete(page);
        this.pages.set(page, kept);
      } else if (!this.asked.has(page)) {
        this.fetch(page);
      }
    }
    for (const page of this.pages.keys()) {
      if (this.pages.size <= KEPT_PAGES) break;
      this.pages.delete(page);
    }
  }

  /** @param {number} page */
  async fetch(page) {
    const controller = new AbortController();
    const query = this.query;
    this.asked.set(page, controller);
    const asked = new URLSearchParams(query);
    asked.set("start", String(page * PAGE));
    asked.set("count", String(PAGE));
    try {
      const answer = await ask(`${this.state.get("d") || 0}/rows?${asked}`, { signal: controller.signal });
      if (query !== this.query) return;
      // A sample with a column named "$" comes as pairs.
      for (const row of answer.rows) if (row.row) row.row = Object.fromEntries(entriesOf(row.row) ?? []);
      // While a search goes on, the same rows come again: what shows them need not be made again.
      const known = this.pages.get(page);
      const rows = answer.rows.map((/** @type {Row} */ row, /** @type {number} */ i) => (known?.[i]?.sample === row.sample ? known[i] : row));
      this.total = answer.total;
      this.isComplete = answer.complete;
      this.isKnown = true;
      if (rows.length) this.pages.set(page, rows);
      this.failed(null);
      this.changed();
      if (!answer.complete) setTimeout(() => query === this.query && !this.asked.has(page) && this.fetch(page), RETRY_MS);
    } catch (error) {
      if (!isAbort(error) && query === this.query) this.failed(/** @type {Error} */ (error));
    } finally {
      if (this.asked.get(page) === controller) this.asked.delete(page);
    }
  }
}
