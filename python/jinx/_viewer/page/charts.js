/** Histograms of numbers and bars of strings. What is chosen in one filters all others. */
import { ask, isAbort } from "./api.js";
import { arrange, count, fill, h, icon, iconButton, number, submitted } from "./dom.js";

const HEIGHT = 64;
const FIRST_BARS = 7;
const FIRST_CHARTS = 12;

/** @typedef {{name: string, edges: number[], names: (string | boolean)[], all: number[], kept: number[], missing: number}} Chart */

export class Charts {
  /**
   * @param {HTMLElement} place
   * @param {import("./state.js").State} state
   * @param {(kept: number, isComplete: boolean) => void} counted
   */
  constructor(place, state, counted) {
    this.place = place;
    this.state = state;
    this.counted = counted;
    /** @type {{name: string, kind: string}[]} */
    this.columns = [];
    this.showsAll = false;
    /** @type {Map<string, Histogram | Bars>} */
    this.shown = new Map();
    /** @type {AbortController | null} */
    this.asked = null;
    this.list = h("div", { class: "charts" });
    const more = () => {
      this.showsAll = true;
      this.refresh();
    };
    this.more = h("button", { type: "button", class: "quiet", on: { click: more } });
  }

  /** @param {{name: string, kind: string}[]} columns */
  setColumns(columns) {
    this.columns = columns;
    this.shown.clear();
    this.list.replaceChildren();
    const title = h("div", { class: "side-head" }, h("h2", {}, "Columns"), iconButton("Close", "close", () => document.body.classList.remove("side-open"), { class: "icon-button side-close" }));
    this.place.replaceChildren(title, this.list);
    this.refresh();
  }

  get names() {
    const chosen = Object.keys(this.state.brushes);
    const first = this.showsAll ? this.columns : this.columns.slice(0, FIRST_CHARTS);
    const names = first.map((column) => column.name);
    return [...names, ...chosen.filter((name) => !names.includes(name))];
  }

  /** Asks for the counts of the present query. */
  async refresh() {
    this.asked?.abort();
    const controller = (this.asked = new AbortController());
    const asked = this.state.query();
    asked.set("columns", JSON.stringify(this.names));
    this.list.classList.add("stale");
    try {
      const answer = await ask(`${this.state.get("d") || 0}/charts?${asked}`, { signal: controller.signal });
      this.list.classList.toggle("waiting", answer.waiting);
      this.show(answer.charts);
      this.counted(answer.kept, answer.complete);
      if (!answer.complete) setTimeout(() => this.asked === controller && this.refresh(), 400);
    } catch (error) {
      if (isAbort(error)) return;
      if (!this.shown.size) this.list.replaceChildren(h("p", { class: "hint" }, "The charts follow once the filter is right."));
    }
    this.list.classList.remove("stale");
  }

  /** @param {Chart[]} charts */
  show(charts) {
    const brushes = this.state.brushes;
    /** @type {HTMLElement[]} */
    const elements = [];
    for (const chart of charts) {
      // A column in which all samples are alike tells nothing.
      const isConstant = chart.all.filter(Boolean).length < 2 && !chart.missing;
      if (isConstant && !brushes[chart.name] && charts.length > 1) continue;
      let shown = this.shown.get(chart.name);
      if (!shown) {
        const choose = (/** @type {import("./state.js").Brush | null} */ brush) => this.state.setBrush(chart.name, brush);
        const chosen = () => this.state.brushes[chart.name]?.names ?? [];
        shown = chart.edges.length ? new Histogram(chart.name, choose) : new Bars(chart.name, choose, chosen);
        this.shown.set(chart.name, shown);
      }
      shown.update(chart, brushes[chart.name] ?? null);
      elements.push(shown.element);
    }
    if (!charts.length && !this.list.classList.contains("waiting")) elements.push(h("p", { class: "hint" }, "No column has numbers or few different strings."));
    const hidden = this.columns.length - FIRST_CHARTS;
    if (hidden > 0 && !this.showsAll) {
      this.more.textContent = `${hidden} more columns`;
      elements.push(this.more);
    }
    arrange(this.list, elements);
  }
}

class Frame {
  /**
   * @param {string} name
   * @param {(brush: import("./state.js").Brush | null) => void} choose
   */
  constructor(name, choose) {
    this.choose = choose;
    this.clear = iconButton(`Clear the choice in ${name}`, "close", () => choose(null), { hidden: true });
    this.note = h("span", { class: "chart-note" });
    this.content = h("div", {});
    this.element = h("section", { class: "chart", "aria-label": name }, h("div", { class: "chart-head" }, h("h3", { title: name }, name), this.note, this.clear), this.content);
  }

  /** @param {Chart} chart @param {import("./state.js").Brush | null} brush */
  frame(chart, brush) {
    this.clear.hidden = !brush;
    this.element.classList.toggle("chosen", Boolean(brush));
    this.note.textContent = chart.missing ? `${count(chart.missing)} missing` : "";
  }
}

class Histogram extends Frame {
  /** @param {string} name @param {(brush: import("./state.js").Brush | null) => void} choose */
  constructor(name, choose) {
    super(name, choose);
    /** @type {Chart | null} */
    this.chart = null;
    /** @type {[number, number] | null} First and last chosen bin. */
    this.chosen = null;
    this.isDragged = false;
    this.canvas = h("canvas", { class: "histogram", role: "img" });
    this.tip = h("span", { class: "tip" });
    const limit = (/** @type {string} */ label) => h("input", { type: "text", inputmode: "decimal", "aria-label": `${name}, ${label}`, spellcheck: "false", on: { change: () => this.typed() } });
    [this.least, this.most] = [limit("at least"), limit("less than")];
    this.content.append(h("div", { class: "histogram-frame" }, this.canvas, this.tip), h("div", { class: "limits" }, this.least, h("span", { "aria-hidden": "true" }, "–"), this.most));
    this.canvas.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => this.drag(event));
    this.canvas.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => (this.tip.textContent = ""));
    new ResizeObserver(() => this.paint()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
    addEventListener("themechange", () => this.paint());
  }

  /** @param {Chart} chart @param {import("./state.js").Brush | null} brush */
  update(chart, brush) {
    this.chart = chart;
    this.frame(chart, brush);
    if (!this.isDragged) this.chosen = brush?.range ? this.binsOf(brush.range) : null;
    const [least, most] = brush?.range ?? [null, null];
    fill(this.least, least === null ? "" : String(least));
    fill(this.most, most === null ? "" : String(most));
    this.least.placeholder = number(chart.edges[0]);
    this.most.placeholder = number(chart.edges[chart.edges.length - 1]);
    this.canvas.setAttribute("aria-label", `Histogram of ${chart.name}`);
    this.paint();
  }

  /** @param {[number | null, number | null]} range @returns {[number, number]} */
  binsOf([least, most]) {
    const { edges } = /** @type {Chart} */ (this.chart);
    const first = least === null ? 0 : edges.findIndex((edge) => edge >= least);
    const last = most === null ? edges.length - 2 : edges.findLastIndex((edge) => edge <= most) - 1;
    return [Math.max(0, first), Math.max(0, last)];
  }

  /** @param {PointerEvent} event */
  binAt(event) {
    const bins = /** @type {Chart} */ (this.chart).kept.length;
    const box = this.canvas.getBoundingClientRect();
    return Math.max(0, Math.min(bins - 1, Math.floor(((event.clientX - box.left) / box.width) * bins)));
  }

  /** @param {PointerEvent} event */
  drag(event) {
    if (!this.chart) return;
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    const start = this.binAt(event);
    this.isDragged = true;
    const move = (/** @type {PointerEvent} */ moved) => {
      const end = this.binAt(moved);
      this.chosen = [Math.min(start, end), Math.max(start, end)];
      this.paint();
    };
    const done = () => {
      this.isDragged = false;
      this.canvas.removeEventListener("pointermove", move);
      this.canvas.removeEventListener("pointerup", done);
      this.canvas.removeEventListener("pointercancel", done);
      this.canvas.removeEventListener("lostpointercapture", done);
      if (!this.chosen || !this.chart) return;
      const [first, last] = this.chosen;
      const { edges, kept } = this.chart;
      // The outermost bins have no limit, so that infinities have a place.
      if (first === 0 && last === kept.length - 1) this.choose(null);
      else this.choose({ range: [first === 0 ? null : edges[first], last === kept.length - 1 ? null : edges[last + 1]] });
    };
    move(event);
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", done);
    this.canvas.addEventListener("pointercancel", done);
    this.canvas.addEventListener("lostpointercapture", done); // as when the canvas leaves the page
  }

  /** @param {PointerEvent} event */
  hover(event) {
    if (!this.chart) return;
    const bin = this.binAt(event);
    const { edges, kept } = this.chart;
    this.tip.textContent = `${number(edges[bin])} – ${number(edges[bin + 1])}: ${count(kept[bin])}`;
  }

  typed() {
    for (const field of [this.least, this.most]) submitted(field);
    const limit = (/** @type {string} */ text) => (text.trim() === "" || !Number.isFinite(Number(text)) ? null : Number(text));
    const range = /** @type {[number | null, number | null]} */ ([limit(this.least.value), limit(this.most.value)]);
    this.choose(range[0] === null && range[1] === null ? null : { range });
  }

  paint() {
    const { chart, canvas } = this;
    if (!chart || !canvas.clientWidth) return;
    const scale = devicePixelRatio || 1;
    const [width, height] = [Math.round(canvas.clientWidth * scale), Math.round(HEIGHT * scale)];
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const context = canvas.getContext("2d");
    const style = getComputedStyle(canvas);
    const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
    const bins = chart.kept.length;
    const top = Math.max(1, ...chart.all);
    const topKept = Math.max(1, ...chart.kept);
    // Under a filter that leaves little, its own bars would all be one pixel: they get their own scale.
    const keptTop = topKept * 20 < top ? topKept : top;
    const gap = width / bins > 4 * scale ? scale : 0;
    context.clearRect(0, 0, width, height);
    for (let bin = 0; bin < bins; bin++) {
      const [left, right] = [Math.round((bin * width) / bins), Math.round(((bin + 1) * width) / bins) - gap];
      const bar = (/** @type {number} */ value, /** @type {number} */ most) => (value ? Math.max(2 * scale, (value / most) * (height - 2 * scale)) : 0);
      const isChosen = !this.chosen || (bin >= this.chosen[0] && bin <= this.chosen[1]);
      context.fillStyle = colour("--bar-all");
      context.fillRect(left, height - bar(chart.all[bin], top), right - left, height);
      context.fillStyle = colour(isChosen ? "--bar" : "--bar-out");
      context.fillRect(left, height - bar(chart.kept[bin], keptTop), right - left, height);
    }
    if (this.chosen) {
      const [left, right] = [(this.chosen[0] * width) / bins, ((this.chosen[1] + 1) * width) / bins];
      context.fillStyle = colour("--brush");
      context.fillRect(left, 0, right - left - gap, height);
    }
  }
}

class Bar {
  /** @param {string | boolean} name @param {() => void} press */
  constructor(name, press) {
    this.name = name;
    const label = name === "" ? "(empty)" : typeof name === "boolean" ? (name ? "True" : "False") : name;
    this.count = h("span", { class: "bar-count" });
    [this.all, this.kept] = [h("span", { class: "fill all" }), h("span", { class: "fill kept" })];
    this.element = h("button", { type: "button", title: String(label), on: { click: press } }, h("span", { class: "bar-label" }, label), this.count, h("span", { class: "track" }, this.all, this.kept));
  }

  /**
   * @param {number} kept
   * @param {number} all
   * @param {number} top
   * @param {(string | boolean | null)[]} chosen
   */
  update(kept, all, top, chosen) {
    const isChosen = chosen.includes(this.name);
    this.element.className = ["bar", isChosen && "on", chosen.length && !isChosen && "off"].filter(Boolean).join(" ");
    this.element.setAttribute("aria-pressed", isChosen ? "true" : "false");
    this.count.textContent = count(kept);
    const width = (/** @type {number} */ value) => (value ? `max(2px, ${(100 * value) / top}%)` : "0");
    this.all.style.width = width(all);
    this.kept.style.width = width(kept);
  }
}

class Bars extends Frame {
  /**
   * @param {string} name
   * @param {(brush: import("./state.js").Brush | null) => void} choose
   * @param {() => (string | boolean | null)[]} chosen What is chosen now, of which the last answer may not know yet.
   */
  constructor(name, choose, chosen) {
    super(name, choose);
    this.chosen = chosen;
    this.showsAll = false;
    /** @type {Map<string | boolean, Bar>} */
    this.bars = new Map();
    this.more = h("button", { type: "button", class: "quiet" });
    this.content.className = "bars";
  }

  /** @param {Chart} chart @param {import("./state.js").Brush | null} brush */
  update(chart, brush) {
    this.frame(chart, brush);
    const chosen = brush?.names ?? [];
    const order = chart.names.map((_, i) => i).sort((a, b) => chart.all[b] - chart.all[a]);
    const visible = this.showsAll ? order : order.filter((i, place) => place < FIRST_BARS || chosen.includes(chart.names[i]));
    const top = Math.max(1, ...chart.all);
    const elements = visible.map((i) => {
      const bar = this.bar(chart.names[i]);
      bar.update(chart.kept[i], chart.all[i], top, chosen);
      return bar.element;
    });
    const more = order.length - visible.length;
    this.more.textContent = `${more} more`;
    this.more.onclick = () => {
      this.showsAll = true;
      this.update(chart, brush);
    };
    arrange(this.content, more > 0 ? [...elements, this.more] : elements);
  }

  /** @param {string | boolean} name @returns {Bar} */
  bar(name) {
    const known = this.bars.get(name);
    if (known) return known;
    const press = () => {
      const chosen = this.chosen();
      const names = chosen.includes(name) ? chosen.filter((other) => other !== name) : [...chosen, name];
      this.choose(names.length ? { names } : null);
    };
    const bar = new Bar(name, press);
    this.bars.set(name, bar);
    return bar;
  }
}

/** @param {() => void} press */
export function sideButton(press) {
  return h("button", { type: "button", class: "side-button", "aria-label": "Columns and filters", on: { click: press } }, icon("filters"), h("span", {}, "Columns"));
}
