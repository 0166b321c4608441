/** What opens over the page: help, and the present view as Python. */
import { ask } from "./api.js";
import { h, iconButton, toast } from "./dom.js";
import { KEYS } from "./keys.js";

/** @param {string} title @param {...Node} content */
export function openDialog(title, ...content) {
  const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("dialog"));
  const close = () => dialog.close();
  dialog.setAttribute("aria-label", title);
  dialog.replaceChildren(h("div", { class: "dialog-head" }, h("h2", {}, title), iconButton("Close", "close", close)), ...content);
  dialog.onclick = (event) => event.target === dialog && close();
  if (!dialog.open) dialog.showModal();
}

export function askForHelp() {
  const rows = KEYS.map(([keys, what]) => h("div", { class: "key-row" }, h("dt", {}, ...keys.map((key) => h("kbd", {}, key))), h("dd", {}, what)));
  openDialog(
    "Keys",
    h("dl", { class: "key-list" }, ...rows),
    h("h3", {}, "Filters"),
    h("p", {}, "Drag over a histogram, or press a bar, to keep what it shows. A filter is an expression: ", h("code", {}, "score > 0.5 and source in ('a', 'b')"), ", with ", h("code", {}, "len"), ", ", h("code", {}, "contains"), " and the like. The address of the page holds all of it: copy it to come back to this screen."),
  );
}

/** @param {any} page */
export async function copyPython(page) {
  let python;
  try {
    ({ python } = await ask(`${page.dataset}/python?${page.state.query()}`));
  } catch (error) {
    toast(/** @type {Error} */ (error).message);
    return;
  }
  const text = h("pre", { class: "code", tabindex: "0" }, python);
  try {
    await navigator.clipboard.writeText(python);
    toast("Copied");
  } catch {
    // A browser may refuse the clipboard: the text is there to be copied by hand.
  }
  openDialog("This view as Python", text);
}
