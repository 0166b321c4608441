/** Tags and notes about samples. A change is shown at once, and taken back if the server could not keep it. */
import { ask } from "./api.js";
import { afterQuiet, h, toast } from "./dom.js";

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
    const { tags, note } = this.of(sample);
    const known = [...this.tags, ...tags.filter((tag) => !this.tags.includes(tag))];
    const buttons = known.map((tag, i) => {
      const press = () => this.toggle(sample, tag);
      return h("button", { type: "button", class: "tag-button", "aria-pressed": tags.includes(tag) ? "true" : "false", on: { click: press } }, i < 9 && h("kbd", {}, String(i + 1)), tag);
    });
    const label = this.form?.kind === "text" ? "Answer" : "Note";
    const text = h("input", { type: "text", id: "note", class: "note", placeholder: label, "aria-label": label, spellcheck: "true", maxlength: 20000 });
    text.value = note;
    const save = () => text.value !== this.of(sample).note && this.set(sample, { tags: this.of(sample).tags, note: text.value });
    text.addEventListener("input", afterQuiet(SAVE_MS, save));
    text.addEventListener("change", save);
    const question = this.form?.question && h("p", { class: "question" }, this.form.question);
    return h("div", { class: "notes" }, question, buttons.length > 0 && h("div", { class: "tag-buttons", role: "group", "aria-label": this.form ? "Answers" : "Tags" }, ...buttons), text, h("span", { class: "none", role: "status" }, this.waiting ? "saving…" : tags.length || note ? "saved" : ""));
  }
}
