/** Conversations, with media where their placeholders stand. */
import { h } from "./dom.js";
import { entriesOf, isMarker, itemsOf, mediaIn, mediaKind, player, summary, valueElement } from "./value.js";

const PLACEHOLDER = /(<image>|<video>|<audio>|<\|image_pad\|>|<\|image\|>|<img>|\[IMG\])/;
const USERS = new Set(["user", "human"]);
const ASSISTANTS = new Set(["assistant", "gpt", "bot", "model"]);

/** The text without what stands for media. @param {string} text */
export function withoutPlaceholders(text) {
  return text.split(PLACEHOLDER).filter((piece) => !PLACEHOLDER.test(piece)).join("").trim();
}

/** @typedef {{role: string, content: any, rest: [string, any][]}} Message */

/**
 * The messages of a conversation; null for any other value.
 * @param {any} value
 * @returns {Message[] | null}
 */
export function messagesOf(value) {
  const items = itemsOf(value);
  if (!items?.length) return null;
  /** @type {Message[]} */
  const messages = [];
  for (const item of items) {
    const entries = entriesOf(item);
    if (!entries) return null;
    const members = Object.fromEntries(entries);
    if ("role" in members && "content" in members) {
      messages.push({ role: summary(members.role), content: members.content, rest: entries.filter(([name, inner]) => name !== "role" && name !== "content" && inner !== null) });
    } else if ("from" in members && "value" in members) {
      messages.push({ role: summary(members.from), content: members.value, rest: [] });
    } else if ("user" in members && "assistant" in members) {
      messages.push({ role: "user", content: members.user, rest: [] }, { role: "assistant", content: members.assistant, rest: [] });
    } else {
      return null;
    }
  }
  return messages;
}

/**
 * A conversation as bubbles.
 * @param {import("./value.js").Place} place
 * @param {Message[]} messages
 * @param {Record<string, any>[]} media The media of the sample, which stand for the placeholders in order.
 * @returns {{element: HTMLElement, used: Set<Record<string, any>>}} And the media that have a place in it.
 */
export function conversation(place, messages, media) {
  const waiting = [...media];
  const used = new Set();
  const next = () => {
    const one = waiting.shift();
    if (one) used.add(one);
    return one;
  };
  const bubbles = messages.map((message) => {
    const side = USERS.has(message.role) ? "user" : ASSISTANTS.has(message.role) ? "assistant" : "other";
    const body = h("div", { class: "bubble-body" }, ...content(place, message.content, next));
    const rest = message.rest.length ? h("dl", { class: "members" }, ...message.rest.map(([name, value]) => h("div", { class: "member" }, h("dt", {}, name), h("dd", {}, valueElement(place, value, name, 1))))) : null;
    return h("article", { class: `bubble ${side}` }, h("h4", {}, message.role), body, rest);
  });
  return { element: h("div", { class: "conversation" }, ...bubbles), used };
}

/**
 * @param {import("./value.js").Place} place
 * @param {any} value
 * @param {() => Record<string, any> | undefined} next
 * @returns {(HTMLElement | string)[]}
 */
function content(place, value, next) {
  const parts = itemsOf(value);
  if (parts) return parts.flatMap((/** @type {any} */ part) => contentPart(place, part, next));
  if (typeof value === "string") return spans(place, value, next);
  if (value === null) return [];
  return [valueElement(place, value, "content", 1)];
}

/**
 * @param {import("./value.js").Place} place
 * @param {any} part
 * @param {() => Record<string, any> | undefined} next
 */
function contentPart(place, part, next) {
  if (typeof part === "string") return spans(place, part, next);
  const members = Object.fromEntries(entriesOf(part) ?? []);
  if (typeof members.text === "string") return spans(place, members.text, next);
  const own = mediaIn(part, 4);
  if (own.length) return own.map((one) => block(place, one));
  const one = ["image", "video", "audio", "image_url"].includes(members.type) ? next() : undefined;
  return [one ? block(place, one) : valueElement(place, part, "content", 1)];
}

/**
 * @param {import("./value.js").Place} place
 * @param {string} text
 * @param {() => Record<string, any> | undefined} next
 */
function spans(place, text, next) {
  let isAfterMedia = false;
  const elements = text.split(PLACEHOLDER).filter(Boolean).map((piece) => {
    if (!PLACEHOLDER.test(piece)) {
      // The line break after a picture is the picture's own.
      const shown = isAfterMedia ? piece.replace(/^\n/, "") : piece;
      isAfterMedia = false;
      return shown && h("span", { class: "text", dir: "auto" }, shown);
    }
    const media = next();
    isAfterMedia = Boolean(media);
    return media ? block(place, media) : h("code", { class: "placeholder" }, piece);
  });
  return elements.filter(Boolean);
}

/** @param {import("./value.js").Place} place @param {Record<string, any>} media */
function block(place, media) {
  return h("span", { class: `inline-media ${mediaKind(media)}` }, player(place, media, media.name ?? mediaKind(media)));
}

/** @param {any} value */
export function isConversation(value) {
  return !isMarker(value) && messagesOf(value) !== null;
}
