/** The keyboard. */
import { askForHelp } from "./dialogs.js";

/** @type {[string[], string][]} */
export const KEYS = [
  [["j", "k"], "next and previous sample"],
  [["←", "↑", "↓", "→"], "move in the grid"],
  [["Enter"], "open the sample"],
  [["Esc"], "back to all samples"],
  [["/"], "search"],
  [["f"], "filter"],
  [["g"], "grid or table"],
  [["Home", "End"], "first and last sample"],
  [["1", "9"], "give or take a tag (with --notes)"],
  [["n", "u"], "write a note; undo"],
  [["?"], "this list"],
];

/** @param {any} page */
export function bindKeys(page) {
  addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    const isTyping = target.matches("input, textarea, select");
    if (event.key === "Escape" && isTyping) {
      target.blur();
      return;
    }
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (act(page, event.key, target)) event.preventDefault();
  });
}

/**
 * @param {any} page
 * @param {string} key
 * @param {HTMLElement} target
 */
function act(page, key, target) {
  const isOpen = Boolean(page.state.get("sample"));
  if (isOpen) {
    const step = { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1 }[key];
    if (step && !target.matches("video, audio")) {
      page.moveSample(step);
      return true;
    }
    if (key === "Escape") {
      page.closeSample();
      return true;
    }
    if (key === "/" || key === "f") page.closeSample();
    if (key === "g") return true;
  } else {
    const columns = page.scroller?.columns ?? 1;
    const rows = Math.max(1, Math.floor((page.scroller?.room ?? 1) / (page.scroller?.rowHeight ?? 1)));
    const steps = { j: 1, k: -1, ArrowDown: columns, ArrowUp: -columns, ArrowRight: 1, ArrowLeft: -1, PageDown: columns * rows, PageUp: -columns * rows };
    if (key in steps && !target.matches("#side *")) {
      page.select(page.selected < 0 ? page.scroller.first() : page.selected + steps[/** @type {keyof typeof steps} */ (key)]);
      return true;
    }
    if (key === "Enter" && page.selected >= 0 && !target.matches("button, a")) {
      page.openIndex(page.selected);
      return true;
    }
    if (key === "Home" || key === "End") {
      page.select(key === "Home" ? 0 : page.rows.total - 1);
      return true;
    }
  }
  switch (key) {
    case "/":
      document.getElementById("find")?.focus();
      return true;
    case "f":
      document.getElementById("where")?.focus();
      return true;
    case "g":
      page.state.set({ layout: page.layout === "grid" ? "table" : "grid" });
      return true;
    case "?":
      askForHelp();
      return true;
    default:
      return page.annotate?.(key) ?? false;
  }
}
