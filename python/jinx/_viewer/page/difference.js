/** Texts side by side: words that only one of them has are marked. */
import { h } from "./dom.js";

const MAX_CELLS = 4_000_000;

/**
 * @param {string} before
 * @param {string} after
 * @returns {HTMLElement}
 */
export function wordDifference(before, after) {
  const [left, right] = [split(before), split(after)];
  const [isKeptLeft, isKeptRight] = common(left, right);
  return h("div", { class: "difference" }, side(left, isKeptLeft, "del"), side(right, isKeptRight, "ins"));
}

/**
 * The second text alone, with the words marked that the first has not.
 * @param {string} before
 * @param {string} after
 * @returns {HTMLElement}
 */
export function changedWords(before, after) {
  const [left, right] = [split(before), split(after)];
  return h("div", { class: "difference one" }, side(right, common(left, right)[1], "ins"));
}

/**
 * @param {string[]} words
 * @param {boolean[]} isKept
 * @param {"del" | "ins"} tag
 */
function side(words, isKept, tag) {
  return h("div", { class: "text side", dir: "auto" }, ...words.map((word, i) => (isKept[i] ? word : h(tag, {}, word))));
}

/** @param {string} text */
function split(text) {
  return text.match(/\s+|[^\s]+/g) ?? [];
}

/**
 * Which words belong to the longest common subsequence.
 * @param {string[]} left
 * @param {string[]} right
 * @returns {[boolean[], boolean[]]}
 */
export function common(left, right) {
  const isKept = /** @type {[boolean[], boolean[]]} */ ([left.map(() => false), right.map(() => false)]);
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start++;
  let end = 0;
  while (end < left.length - start && end < right.length - start && left[left.length - 1 - end] === right[right.length - 1 - end]) end++;
  for (let i = 0; i < start; i++) isKept[0][i] = isKept[1][i] = true;
  for (let i = 1; i <= end; i++) isKept[0][left.length - i] = isKept[1][right.length - i] = true;
  const [rows, columns] = [left.length - start - end, right.length - start - end];
  if (rows * columns > MAX_CELLS) return isKept;
  const width = columns + 1;
  const lengths = new Uint32Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      const isSame = left[start + i] === right[start + j];
      lengths[i * width + j] = isSame ? lengths[(i + 1) * width + j + 1] + 1 : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  for (let i = 0, j = 0; i < rows && j < columns; ) {
    if (left[start + i] === right[start + j]) isKept[0][start + i++] = isKept[1][start + j++] = true;
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i++;
    else j++;
  }
  return isKept;
}
