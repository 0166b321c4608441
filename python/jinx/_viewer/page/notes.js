/** Tags and notes about samples. A change is shown at once, and taken back if the server could not keep it. */
import { ask } from "./api.js";
import { arrange, h, toast } from "./dom.js";

const SAVE_MS = 600;
const MAX_UNDO = 200;

/** @typedef {{tags: string[], note: string}} Note */
/** @typedef {{kind: "choices" | "rating" | "pair" | "tags" | "text", question: string, choices: string[], columns: string[]}} Form */

export class Notes {
  /**
   * @param {() => void} changed
   * @param {(sample: number) => void} answered Is called when the question of the form has its answer.
   */
  constructor(changed, answered) {
    this.changed = changed;
    this.answered = answered;
    /** @type {Form | null} */
    this.form = null;
    /** @type {string[]} */
    this.tags = [];
    /** @type {Map<number, Note>} */
    this.notes = new Map();
    /** @type {[number, Note][]} */
    this.before = [];
    /** @type {Editor | null} */
    this.open = null;
    this.isOn = false;
    this.waiting = 0;
    /** @type {Promise<void>} */
    this.queue = Promise.resolve();
  }

  async load() {
    const answer = await ask("notes");
    if (!answer) return;
    this.isOn = true;
    this.by = answer.by;
    this.path = answer.path;
    this.tags = answer.tags;
    this.form = answer.form;
    for (const [sample, note] of Object.entries(answer.notes)) this.notes.set(Number(sample), /** @type {Note} */ (note));
  }

  /** @param {number} sample @returns {Note} */
  of(sample) {
    return this.notes.get(sample) ?? { tags: [], note: "" };
  }

  /** Whether the question of the form is answered. @param {number} sample */
  isAnswered(sample) {
    const { tags, note } = this.of(sample);
    return this.form?.kind === "text" ? note !== "" : tags.length > 0 || (this.form?.kind === "tags" && note !== "");
  }

  /** The first sample without an answer; null if there is none. @param {number} total @returns {number | null} */
  firstOpen(total) {
    for (let sample = 0; sample < total; sample++) if (!this.isAnswered(sample)) return sample;
    return null;
  }

  /** How many samples have an answer. */
  get answers() {
    return [...this.notes.keys()].filter((sample) => this.isAnswered(sample)).length;
  }

  /** @param {number} sample @param {string} tag */
  toggle(sample, tag) {
    const { tags, note } = this.of(sample);
    if (this.form && this.form.kind !== "tags") {
      const isNew = !tags.includes(tag);
      this.set(sample, { tags: isNew ? [tag] : [], note });
      if (isNew) this.answered(sample);
      return;
    }
    return this.set(sample, { tags: tags.includes(tag) ? tags.filter((other) => other !== tag) : [...tags, tag], note });
  }

  /** @param {number} sample @param {Note} note @param {boolean} [isUndo] */
  async set(sample, note, isUndo = false) {
    const before = this.of(sample);
    this.notes.set(sample, note);
    if (!isUndo) this.before = [...this.before.slice(1 - MAX_UNDO), [sample, before]];
    this.waiting++;
    this.changed();
    // One after another: of two changes of a sample, the later one must be written last.
    this.queue = this.queue.then(() => this.write(sample, note, before));
    await this.queue;
    this.waiting--;
    this.changed();
  }

  /** @param {number} sample @param {Note} note @param {Note} before */
  async write(sample, note, before) {
    try {
      await ask("notes", { method: "POST", body: JSON.stringify({ sample, ...note }), headers: { "content-type": "application/json" } });
    } catch (error) {
      if (this.notes.get(sample) === note) this.notes.set(sample, before);
      toast(`Not saved: ${/** @type {Error} */ (error).message}`);
    }
  }

  async undo() {
    const last = this.before.pop();
    if (!last) return null;
    await this.set(last[0], last[1], true);
    toast(`Taken back for sample ${last[0]}`);
    return last[0];
  }

  /**
   * The tags and the note of a sample, to press and to write.
   * @param {number} sample
   */
  editor(sample) {
    this.open = new Editor(this, sample);
    return this.open.element;
  }

  /** Shows in the open editor what has changed. */
  draw() {
    this.open?.draw();
  }
}

class Editor {
  /** @param {Notes} notes @param {number} sample */
  constructor(notes, sample) {
    this.notes = notes;
    this.sample = sample;
    /** @type {Map<string, HTMLElement>} */
    this.buttons = new Map();
    this.group = h("div", { class: "tag-buttons", role: "group", "aria-label": notes.form ? "Answers" : "Tags" });
    const label = notes.form?.kind === "text" ? "Answer" : "Note";
    this.text = h("input", { type: "text", id: "note", class: "note", placeholder: label, "aria-label": label, spellcheck: "true", maxlength: 20000 });
    this.state = h("span", { class: "none", role: "status" });
    /** @type {any} */
    this.timer = 0;
    this.text.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.save(), SAVE_MS);
    });
    this.text.addEventListener("change", () => this.save());
    /** @type {HTMLElement[]} */
    this.question = notes.form?.question ? [h("p", { class: "question" }, notes.form.question)] : [];
    this.element = h("div", { class: "notes" });
    this.draw();
  }

  save() {
    // Nothing may write this text later on, over an undo.
    clearTimeout(this.timer);
    const { tags, note } = this.notes.of(this.sample);
    if (this.text.value !== note) this.notes.set(this.sample, { tags, note: this.text.value });
  }

  draw() {
    const { tags, note } = this.notes.of(this.sample);
    const known = [...this.notes.tags, ...tags.filter((tag) => !this.notes.tags.includes(tag))];
    const buttons = known.map((tag, i) => this.button(tag, i));
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", tags.includes(known[i]) ? "true" : "false"));
    arrange(this.group, buttons);
    arrange(this.element, [...this.question, ...(buttons.length ? [this.group] : []), this.text, this.state]);
    if (document.activeElement !== this.text) this.text.value = note;
    this.state.textContent = this.notes.waiting ? "saving…" : tags.length || note ? "saved" : "";
  }

  /** @param {string} tag @param {number} place @returns {HTMLElement} */
  button(tag, place) {
    const known = this.buttons.get(tag);
    if (known) return known;
    const press = () => this.notes.toggle(this.sample, tag);
    const button = h("button", { type: "button", class: "tag-button", on: { click: press } }, place < 9 && h("kbd", {}, String(place + 1)), tag);
    this.buttons.set(tag, button);
    return button;
  }
}
