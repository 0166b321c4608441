/** What the page shows, as its address has it: a link opens the same screen. */

const NAMES = ["d", "where", "find", "sort", "brush", "layout", "columns", "sample", "tab", "beside", "at"];
const NUMBERS = new Set(["d", "sample", "at"]);

/** @typedef {{range?: [number | null, number | null], names?: (string | boolean | null)[]}} Brush */

export class State {
  constructor() {
    /** @type {Set<(changed: Set<string>) => void>} */
    this.listeners = new Set();
    /** @type {Record<string, string>} */
    this.values = {};
    this.read();
    addEventListener("popstate", () => {
      const before = { ...this.values };
      this.read();
      this.tell(new Set(NAMES.filter((name) => before[name] !== this.values[name])));
    });
  }

  read() {
    const asked = new URLSearchParams(location.search);
    this.values = {};
    for (const name of NAMES) {
      const value = asked.get(name);
      // An address that someone has cut or changed still shows what it can.
      if (value && (!NUMBERS.has(name) || /^\d{1,15}$/.test(value))) this.values[name] = value;
    }
    if (!Object.keys(this.brushes).length) delete this.values.brush;
  }

  /** @param {string} name */
  get(name) {
    return this.values[name] ?? "";
  }

  /** @returns {Record<string, Brush>} */
  get brushes() {
    try {
      const brushes = JSON.parse(this.get("brush") || "{}");
      return brushes && typeof brushes === "object" && !Array.isArray(brushes) ? brushes : {};
    } catch {
      return {};
    }
  }

  /**
   * @param {Record<string, string | null>} changes
   * @param {{isStep?: boolean, isQuiet?: boolean}} [how] A step can be taken back; a quiet change tells no one.
   */
  set(changes, { isStep = false, isQuiet = false } = {}) {
    const changed = new Set(Object.keys(changes).filter((name) => (changes[name] ?? "") !== this.get(name)));
    if (!changed.size) return;
    for (const name of changed) {
      if (changes[name]) this.values[name] = /** @type {string} */ (changes[name]);
      else delete this.values[name];
    }
    const asked = new URLSearchParams();
    for (const name of NAMES) if (this.values[name]) asked.set(name, this.values[name]);
    const address = asked.size ? `?${asked}` : location.pathname;
    if (isStep) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    if (!isQuiet) this.tell(changed);
  }

  /**
   * @param {string} column
   * @param {Brush | null} brush
   */
  setBrush(column, brush) {
    const brushes = { ...this.brushes };
    if (brush) brushes[column] = brush;
    else delete brushes[column];
    this.set({ brush: Object.keys(brushes).length ? JSON.stringify(brushes) : null, at: null });
  }

  /** @param {Set<string>} changed */
  tell(changed) {
    for (const listener of this.listeners) listener(changed);
  }

  /** The part that selects samples, for the server. */
  query() {
    const asked = new URLSearchParams();
    for (const name of ["where", "find", "sort", "brush"]) if (this.get(name)) asked.set(name, this.get(name));
    return asked;
  }
}
