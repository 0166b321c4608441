/** Wires the page: state in the address, rows from the server, and the keys. */
import { ask } from "./api.js";
import { grid, table, tableColumns, tableHead } from "./cards.js";
import { Charts, sideButton } from "./charts.js";
import { afterQuiet, arrange, count, fill, h, icon, iconButton, submitted, toast } from "./dom.js";
import { askForHelp, copyPython } from "./dialogs.js";
import { bindKeys } from "./keys.js";
import { Notes } from "./notes.js";
import { Packs, packRows } from "./packs.js";
import { Rows } from "./rows.js";
import { SamplePage } from "./sample.js";
import { Scroller } from "./scroller.js";
import { State } from "./state.js";

const LAYOUTS = { grid: { name: "Grid", make: grid }, table: { name: "Table", make: table } };
const PACKS = "packs";
const TYPING_MS = 350;
/** The values of the address that show a dataset from its start. */
const EVERYTHING = { where: null, find: null, sort: null, brush: null, sample: null, tab: null, beside: null, at: null };

const place = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

class Page {
  constructor() {
    this.state = new State();
    /** @type {any} */
    this.about = null;
    /** @type {Scroller | null} */
    this.scroller = null;
    this.selected = -1;
    /** @type {Promise<void>} */
    this.moving = Promise.resolve();
    /** What was chosen, as it is shown. @type {{key: string, element: HTMLElement} | null} */
    this.chips = null;
    this.rows = new Rows(this.state, () => this.rowsCame(), (error) => this.fail(error));
    this.notes = new Notes(() => this.notesChanged(), (sample) => this.answered(sample));
    this.charts = new Charts(place("side"), this.state, () => {});
    this.sample = new SamplePage(place("sample"), {
      dataset: () => this.dataset,
      columns: () => this.columns,
      move: (step) => this.moveSample(step),
      close: () => this.closeSample(),
      isOwn: (name) => this.info.own?.includes(name) ?? false,
      tab: () => this.state.get("tab"),
      beside: () => this.state.get("beside"),
      openTab: (tab, beside) => this.state.set({ tab, beside: beside ?? this.state.get("beside") }, { isStep: true }),
      open: (sample) => this.openSample(sample),
      filter: (where) => this.state.set({ ...EVERYTHING, where }, { isStep: true }),
      origin: (members) => this.origin(members),
      extras: (sample) => (this.takesNotes ? [this.notes.editor(sample)] : []),
      form: () => (this.takesNotes ? this.notes.form : null),
      tabs: () => (this.about.tokens ? [["tokens", "Tokens"]] : []),
    });
  }

  get dataset() {
    return this.state.get("d") || "0";
  }

  /** Notes are about the first dataset. */
  get takesNotes() {
    return this.notes.isOn && this.dataset === "0";
  }

  get info() {
    return this.about.datasets[Number(this.dataset)] ?? this.about.datasets[0];
  }

  /** All columns, the chosen ones first. */
  get columns() {
    const chosen = this.state.get("columns").split(",").filter((name) => this.info.columns.includes(name));
    return [...chosen, ...this.info.columns.filter((/** @type {string} */ name) => !chosen.includes(name))];
  }

  get layout() {
    const asked = this.state.get("layout");
    return asked in LAYOUTS ? /** @type {keyof typeof LAYOUTS} */ (asked) : this.info.media ? "grid" : "table";
  }

  /** Whether the packs of a plan are shown in place of samples. */
  get showsPacks() {
    return this.state.get("layout") === PACKS && Boolean(this.about.plan) && this.dataset === "0";
  }

  async start() {
    try {
      this.about = await ask("about");
      await this.notes.load();
    } catch (error) {
      this.fail(/** @type {Error} */ (error));
      return;
    }
    if (!location.search) this.state.set({ ...this.about.start, sample: this.firstTask() }, { isQuiet: true });
    if (!this.about.datasets[Number(this.dataset)]) this.state.set({ d: null }, { isQuiet: true });
    this.state.listeners.add((changed) => this.changed(changed));
    this.drawBar();
    bindKeys(this);
    await this.openDataset();
    if (this.state.get("sample")) this.sample.show(Number(this.state.get("sample")));
  }

  /** With a form, the first sample that has no answer. */
  firstTask() {
    const first = this.notes.form ? this.notes.firstOpen(this.about.datasets[0].samples) : null;
    return first === null ? null : String(first);
  }

  /** An open sample that is answered gives way to the next one. @param {number} sample */
  answered(sample) {
    if (this.state.get("sample") === String(sample)) this.moveSample(1);
  }

  async openDataset() {
    document.title = `${this.info.name} · jinx view`;
    this.charts.setColumns(this.info.charts);
    this.makeList();
    await this.reload();
  }

  makeList() {
    this.scroller?.end();
    this.hasWidths = false;
    const list = place("list");
    list.replaceChildren();
    list.className = `list ${this.showsPacks ? PACKS : this.layout}`;
    list.setAttribute("role", this.layout === "table" ? "table" : "group");
    list.setAttribute("aria-label", "Samples");
    list.tabIndex = 0;
    if (this.showsPacks) {
      this.makePacks(list);
      return;
    }
    if (this.layout === "table") {
      const chartNames = new Set(this.info.charts.map((/** @type {any} */ chart) => chart.name));
      const key = (/** @type {string} */ name) => (chartNames.has(name) ? name : chartNames.has(`len(${name})`) ? `len(${name})` : null);
      list.append(tableHead(this.columns, key, this.state.get("sort"), (sort) => this.state.set({ sort, at: null })));
      this.setColumnWidths([]);
    }
    this.scroller = new Scroller(list, {
      ...LAYOUTS[this.layout].make({
        dataset: () => this.dataset,
        row: (index) => this.rows.at(index),
        open: (index) => this.openIndex(index),
        columns: () => this.columns,
        selected: () => this.selected,
        tags: (sample) => (this.takesNotes ? this.notes.of(sample).tags : []),
      }),
      want: (start, stop) => this.rows.want(start, stop),
    });
    this.keepPlace(list);
  }

  /** The address knows the first visible sample, or pack. @param {HTMLElement} list */
  keepPlace(list) {
    const { scroller } = this;
    list.addEventListener("scroll", afterQuiet(300, () => scroller && scroller === this.scroller && this.state.set({ at: String(scroller.first() || "") }, { isQuiet: true })), { passive: true, signal: scroller?.listening.signal });
  }

  /** @param {HTMLElement} list */
  makePacks(list) {
    const { plan } = this.about;
    const packs = new Packs(plan, () => this.scroller?.draw(false), (error) => this.fail(error));
    const source = { pack: (/** @type {number} */ index) => packs.at(index), open: (/** @type {number} */ sample) => this.openSample(sample), maxLength: plan.max_length };
    this.scroller = new Scroller(list, { ...packRows(source), want: (start, stop) => packs.want(start, stop) });
    this.scroller.resize();
    this.scroller.setTotal(packs.total);
    this.scroller.goTo(Math.min(Number(this.state.get("at")) || 0, packs.total - 1), false);
    this.keepPlace(list);
    this.drawStatus();
  }

  /** Fits the columns of the table to its first samples. */
  setWidths() {
    const sample = Array.from({ length: 20 }, (_, i) => this.rows.at((this.scroller?.first() ?? 0) + i)).filter((row) => row !== null);
    if (!sample.length) return;
    this.hasWidths = true;
    this.setColumnWidths(/** @type {any} */ (sample));
  }

  /** @param {import("./rows.js").Row[]} rows Samples to fit; without any, the names of columns alone. */
  setColumnWidths(rows) {
    const { template, width } = tableColumns(this.columns, rows);
    const list = place("list");
    list.style.setProperty("--columns", template);
    list.style.setProperty("--width", `${width}px`);
  }

  async reload() {
    this.selected = -1;
    const at = Number(this.state.get("at")) || 0;
    this.pending = at;
    place("status").classList.add("stale");
    await this.rows.reset(at);
  }

  rowsCame() {
    place("status").classList.remove("stale");
    const { scroller, rows } = this;
    if (!scroller || this.showsPacks) {
      this.drawStatus();
      return;
    }
    if (this.layout === "table" && !this.hasWidths) this.setWidths();
    scroller.setTotal(rows.total);
    if (this.pending) {
      scroller.goTo(Math.min(this.pending, rows.total - 1), false);
      this.pending = 0;
    }
    this.drawStatus();
  }

  /** @param {Error | null} error */
  fail(error) {
    const problem = place("problem");
    problem.hidden = !error;
    problem.textContent = error?.message ?? "";
    place("where").setAttribute("aria-invalid", error && this.state.get("where") ? "true" : "false");
  }

  /** @param {Set<string>} changed */
  changed(changed) {
    this.fillForm();
    if (changed.has("d")) {
      this.drawBar();
      this.openDataset();
    } else if (changed.has("layout") || changed.has("columns") || changed.has("sort")) {
      this.drawTools();
      this.makeList();
      this.reload();
    } else if (["where", "find", "brush"].some((name) => changed.has(name))) {
      this.reload();
    }
    if (["where", "find", "brush"].some((name) => changed.has(name))) this.charts.refresh();
    if (changed.has("sample") || changed.has("d")) this.sample.show(this.state.get("sample") ? Number(this.state.get("sample")) : null);
    else if (changed.has("tab") || changed.has("beside")) this.sample.draw();
  }

  drawBar() {
    const choose = (/** @type {Event} */ event) => {
      const number = /** @type {HTMLSelectElement} */ (event.target).value;
      this.state.set({ ...EVERYTHING, columns: null, d: number === "0" ? null : number }, { isStep: true });
    };
    const names = this.about.datasets.map((/** @type {any} */ info, /** @type {number} */ i) => h("option", { value: i, selected: String(i) === this.dataset }, info.name));
    place("dataset").replaceChildren(this.about.datasets.length > 1 ? h("select", { "aria-label": "Dataset", on: { change: choose } }, ...names) : h("span", { class: "dataset-name", title: this.info.path }, this.info.name));
    this.fillForm();
    const form = place("query");
    form.onsubmit = (/** @type {Event} */ event) => {
      event.preventDefault();
      for (const name of ["where", "find"]) submitted(place(name));
      this.state.set({ where: place("where").value.trim(), find: place("find").value.trim(), at: null }, { isStep: true });
    };
    place("where").onchange = () => form.requestSubmit();
    place("find").oninput = afterQuiet(TYPING_MS, () => this.state.set({ find: place("find").value.trim(), at: null }));
    this.drawTools();
  }

  fillForm() {
    for (const name of ["where", "find"]) fill(place(name), this.state.get(name));
  }

  drawTools() {
    /** @type {[string, string][]} */
    const known = Object.entries(LAYOUTS).map(([key, { name }]) => [key, name]);
    if (this.about.plan && this.dataset === "0") known.push([PACKS, "Packs"]);
    const shown = this.showsPacks ? PACKS : this.layout;
    const layouts = known.map(([key, name]) => {
      const press = () => this.state.set({ layout: key, at: this.scroller && !this.showsPacks && key !== PACKS ? String(this.scroller.first() || "") : null });
      return h("button", { type: "button", class: "segment", "aria-pressed": shown === key ? "true" : "false", title: name, "aria-label": name, on: { click: press } }, icon(/** @type {any} */ (key)));
    });
    const orders = [["", "Stored order"]];
    for (const { name } of this.info.charts) orders.push([name, `${name} ↑`], [`-${name}`, `${name} ↓`]);
    const sort = this.state.get("sort");
    if (!orders.some(([key]) => key === sort)) orders.push([sort, sort]);
    const select = h("select", { "aria-label": "Order", on: { change: (/** @type {any} */ event) => this.state.set({ sort: event.target.value, at: null }) } }, ...orders.map(([key, name]) => h("option", { value: key, selected: key === sort }, name)));
    const tools = [
      sideButton(() => document.body.classList.toggle("side-open")),
      select,
      h("div", { class: "segments", role: "group", "aria-label": "Layout" }, ...layouts),
      this.about.report && h("a", { href: "report", class: "icon-button", "aria-label": "Report", title: "Report" }, icon("report")),
      iconButton("Copy as Python", "code", () => copyPython(this)),
      iconButton("Light or dark", "light", () => switchTheme()),
      iconButton("Keys and help", "help", () => askForHelp()),
    ];
    place("tools").replaceChildren(...tools.filter(Boolean));
  }

  drawStatus() {
    const { rows, info } = this;
    if (this.showsPacks) {
      const { plan } = this.about;
      const facts = ` packs of ${count(plan.max_length)} tokens, ${(100 * plan.efficiency).toFixed(2)} % of them used`;
      place("status").replaceChildren(h("p", { class: "total" }, h("strong", {}, count(plan.packs)), facts));
      return;
    }
    const isFiltered = rows.total !== info.samples;
    const total = h("p", { class: "total" }, h("strong", {}, count(rows.total)), isFiltered ? ` of ${count(info.samples)} samples` : rows.total === 1 ? " sample" : " samples", !rows.isComplete && h("span", { class: "searching" }, "searching…"));
    const brushes = Object.entries(this.state.brushes);
    const isNarrowed = brushes.length > 0 || Boolean(this.state.get("where") || this.state.get("find"));
    const answers = this.takesNotes && this.notes.form ? `${count(this.notes.answers)} of ${count(info.samples)} answered` : "";
    const key = JSON.stringify([brushes, isNarrowed, answers]);
    if (this.chips?.key !== key) this.chips = { key, element: this.chosen(brushes, isNarrowed, answers) };
    arrange(place("status"), [total, this.chips.element]);
    this.drawEmpty(isNarrowed);
  }

  /**
   * What was chosen, to take it back.
   * @param {[string, import("./state.js").Brush][]} brushes
   * @param {boolean} isNarrowed
   * @param {string} answers
   * @returns {HTMLElement}
   */
  chosen(brushes, isNarrowed, answers) {
    const chips = brushes.map(([name, brush]) => h("button", { type: "button", class: "chip", title: "Remove this choice", on: { click: () => this.state.setBrush(name, null) } }, h("span", {}, `${name} ${describe(brush)}`), icon("close")));
    const clear = isNarrowed && h("button", { type: "button", class: "quiet", on: { click: () => this.state.set({ where: null, find: null, brush: null, at: null }, { isStep: true }) } }, "Clear all");
    return h("div", { class: "chips" }, ...chips, clear, answers && h("span", { class: "none answers" }, answers));
  }

  /** @param {boolean} isNarrowed */
  drawEmpty(isNarrowed) {
    const { rows, info } = this;
    const list = place("list");
    list.querySelector(".empty")?.remove();
    if (!rows.total && rows.isComplete) {
      const empty = isNarrowed
        ? h("div", { class: "empty" }, h("h3", {}, "No sample matches"), h("p", {}, "Remove a choice, or make the filter wider."), h("button", { type: "button", class: "button", on: { click: () => this.state.set({ where: null, find: null, brush: null, at: null }, { isStep: true }) } }, "Clear all"))
        : h("div", { class: "empty" }, h("h3", {}, "This dataset is empty"), h("p", {}, info.path));
      list.append(empty);
    }
  }

  /** @param {number} index */
  openIndex(index) {
    const row = this.rows.at(index);
    if (!row) return;
    this.select(index);
    this.state.set({ sample: String(row.sample) }, { isStep: !this.state.get("sample") });
  }

  /** @param {number} sample */
  openSample(sample) {
    this.selected = -1;
    this.state.set({ sample: String(sample), tab: null }, { isStep: true });
  }

  /**
   * A way to the sample that a row is about: a row of a quarantine names its source.
   * @param {Record<string, any>} members
   */
  origin({ source, row }) {
    if (typeof source !== "string" || !Number.isInteger(row)) return null;
    const number = this.about.datasets.findIndex((/** @type {any} */ { path }) => path === source || path.endsWith(`/${source}`));
    if (number < 0) return null;
    const open = () => this.state.set({ ...EVERYTHING, columns: null, layout: null, d: number ? String(number) : null, sample: String(row) }, { isStep: true });
    return h("button", { type: "button", class: "button", on: { click: open } }, `Open row ${count(row)} of ${this.about.datasets[number].name}`);
  }

  closeSample() {
    this.state.set({ sample: null });
    place("list").focus();
  }

  /** The sample that keys are about. */
  get current() {
    return this.state.get("sample") ? Number(this.state.get("sample")) : (this.rows.at(this.selected)?.sample ?? null);
  }

  /** @param {string} key */
  annotate(key) {
    if (!this.takesNotes) return false;
    if (key === "u") {
      this.notes.undo();
      return true;
    }
    const sample = this.current;
    if (sample === null) return false;
    const tag = this.notes.tags[Number(key) - 1];
    if (tag) this.notes.toggle(sample, tag);
    else if (key === "n") this.writeNote(sample);
    return Boolean(tag) || key === "n";
  }

  /** @param {number} sample */
  writeNote(sample) {
    if (!this.state.get("sample")) this.state.set({ sample: String(sample) }, { isStep: true });
    document.getElementById("note")?.focus();
  }

  notesChanged() {
    this.notes.draw();
    this.scroller?.draw(false);
    if (this.notes.form) this.drawStatus();
  }

  /** @param {number} index */
  select(index) {
    if (!this.rows.total) return;
    if (this.showsPacks) return;
    this.selected = Math.max(0, Math.min(index, this.rows.total - 1));
    this.scroller?.goTo(this.selected);
  }

  /**
   * Steps are taken one after another: each begins where the one before it has ended.
   * @param {number} step
   */
  moveSample(step) {
    this.moving = this.moving.then(() => this.step(step)).catch((error) => toast(error.message));
  }

  /** @param {number} step */
  async step(step) {
    const from = this.state.get("sample");
    if (!from) return; // it was closed meanwhile
    if (this.selected < 0) {
      const asked = this.state.query();
      asked.set("sample", from);
      const { place: found } = await ask(`${this.dataset}/place?${asked}`);
      if (this.state.get("sample") !== from) return;
      this.selected = found ?? -1;
    }
    const next = this.selected + step;
    if (next < 0 || next >= this.rows.total) return;
    this.select(next);
    while (!this.rows.at(next) && this.rows.isAsked(next)) await new Promise((resolve) => setTimeout(resolve, 25));
    if (this.state.get("sample") !== from) return;
    if (this.rows.at(next)) this.openIndex(next);
    else this.selected = next - step; // the rows could not be read
  }
}

/** @param {import("./state.js").Brush} brush */
function describe(brush) {
  if (brush.range) {
    const [least, most] = brush.range;
    return [least !== null && `≥ ${least}`, most !== null && `< ${most}`].filter(Boolean).join(" and ");
  }
  return `= ${(brush.names ?? []).map((name) => (name === null ? "missing" : String(name))).join(" or ")}`;
}

const THEMES = ["auto", "light", "dark"];

function switchTheme() {
  const now = document.documentElement.dataset.theme ?? "auto";
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  setTheme(next);
  toast(next === "auto" ? "Theme: as the system" : `Theme: ${next}`);
}

/** @param {string} theme */
function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("jinx-view-theme", theme);
  } catch {
    // A frame may have no storage: the theme lasts as long as the page.
  }
  dispatchEvent(new Event("themechange"));
}

try {
  setTheme(localStorage.getItem("jinx-view-theme") ?? "auto");
} catch {
  setTheme("auto");
}
new Page().start();
