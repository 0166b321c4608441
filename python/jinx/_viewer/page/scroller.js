/**
 * Scrolls through any number of rows with few elements. Browsers limit the height of an element, so that ten million
 * rows do not fit one: small moves are pixels, and large ones map to a place.
 */
import { h } from "./dom.js";

const MAX_HEIGHT = 8_000_000;
const FAST = 8; // pixels per millisecond
const QUIET_MS = 120;
const EXTRA_ROWS = 2;
/** The items before and after the visible ones that get their content in one frame: few while the list moves. */
const EXTRA_ITEMS = { moving: 2, still: 12 };

export class Scroller {
  /**
   * @param {HTMLElement} viewport The element that scrolls.
   * @param {{layout: (width: number) => {columns: number, rowHeight: number, head?: number}, make: () => any, want: (start: number, stop: number) => void}} list
   *   `make` returns `{element, show(index), hide()}`; `show` returns whether the content was made again.
   */
  constructor(viewport, list) {
    this.viewport = viewport;
    this.list = list;
    this.total = 0;
    this.columns = 1;
    this.rowHeight = 1;
    this.head = 0;
    this.viewportHeight = viewport.clientHeight;
    /** The first visible pixel, if all rows were one element. */
    this.top = 0;
    this.lastScroll = 0;
    this.lastTime = 0;
    this.speed = 0;
    this.frame = 0;
    this.extra = 0;
    /** @type {Map<number, any>} */
    this.shown = new Map();
    /** @type {any[]} */
    this.free = [];
    this.spacer = h("div", { class: "spacer" });
    viewport.append(this.spacer);
    this.listening = new AbortController();
    viewport.addEventListener("scroll", () => this.scrolled(), { passive: true, signal: this.listening.signal });
    this.resizing = new ResizeObserver(() => this.resize());
    this.resizing.observe(viewport);
    /** @type {any} */
    this.quiet = 0;
  }

  /** Removes everything. */
  end() {
    this.listening.abort();
    this.resizing.disconnect();
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.extra);
    clearTimeout(this.quiet);
    this.spacer.remove();
    this.total = 0;
  }

  get rows() {
    return Math.ceil(this.total / this.columns);
  }

  get fullHeight() {
    return this.rows * this.rowHeight;
  }

  get height() {
    return Math.min(this.fullHeight, MAX_HEIGHT);
  }

  get room() {
    return Math.max(1, this.viewportHeight - this.head);
  }

  resize() {
    const first = this.first();
    // Not read while items change: that would lay out the page each time.
    this.viewportHeight = this.viewport.clientHeight;
    const { columns, rowHeight, head = 0 } = this.list.layout(this.viewport.clientWidth);
    [this.columns, this.rowHeight, this.head] = [columns, rowHeight, head];
    this.spacer.style.height = `${this.height}px`;
    this.spacer.style.setProperty("--row", `${rowHeight}px`);
    this.spacer.style.setProperty("--card", `${100 / columns}%`);
    this.goTo(first, false);
  }

  /** @param {number} total */
  setTotal(total) {
    this.total = total;
    this.spacer.style.height = `${this.height}px`;
    this.top = Math.min(this.top, Math.max(0, this.fullHeight - this.room));
    this.draw(true);
  }

  /** The first visible sample. */
  first() {
    return Math.min(Math.max(0, this.total - 1), Math.round(this.top / this.rowHeight) * this.columns);
  }

  /**
   * Brings a sample into view.
   * @param {number} index
   * @param {boolean} isLazy Whether to stay if it is visible.
   */
  goTo(index, isLazy = true) {
    const y = Math.floor(index / this.columns) * this.rowHeight;
    const isVisible = y >= this.top && y + this.rowHeight <= this.top + this.room;
    if (!isLazy || !isVisible) {
      const below = isLazy && y > this.top ? this.room - this.rowHeight : 0;
      this.top = Math.max(0, Math.min(y - below, this.fullHeight - this.room));
      this.align();
    }
    this.draw(true);
  }

  /** Moves the scroll bar to where the first visible pixel maps. */
  align() {
    const hidden = Math.max(1, this.fullHeight - this.room);
    const place = this.fullHeight <= MAX_HEIGHT ? this.top : (this.top / hidden) * (this.height - this.room);
    this.viewport.scrollTop = place;
    this.lastScroll = this.viewport.scrollTop;
  }

  scrolled() {
    const now = performance.now();
    const place = this.viewport.scrollTop;
    const move = place - this.lastScroll;
    // A jump after a rest is a wish to be there; only a move that goes on passes by.
    const isJump = now - this.lastTime > QUIET_MS;
    this.speed = isJump ? 0 : Math.abs(move) / Math.max(1, now - this.lastTime);
    [this.lastScroll, this.lastTime] = [place, now];
    if (this.fullHeight <= MAX_HEIGHT) {
      this.top = place;
    } else if (Math.abs(move) < 2 * this.room) {
      this.top = Math.max(0, Math.min(this.top + move, this.fullHeight - this.room));
    } else {
      this.top = (place / Math.max(1, this.height - this.room)) * (this.fullHeight - this.room);
    }
    if (!this.frame) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.draw(this.speed < FAST);
      });
    }
    clearTimeout(this.quiet);
    this.quiet = setTimeout(() => {
      this.speed = 0;
      if (this.fullHeight > MAX_HEIGHT) this.align();
      this.draw(true);
    }, QUIET_MS);
  }

  /** @param {boolean} mayFetch */
  draw(mayFetch) {
    const firstRow = Math.max(0, Math.floor(this.top / this.rowHeight) - EXTRA_ROWS);
    const lastRow = Math.min(this.rows, Math.ceil((this.top + this.room) / this.rowHeight) + EXTRA_ROWS);
    const [start, stop] = [firstRow * this.columns, Math.min(this.total, lastRow * this.columns)];
    if (mayFetch && stop > start) this.list.want(start, stop);
    for (const [index, item] of this.shown) {
      if (index < start || index >= stop) {
        this.shown.delete(index);
        this.free.push(item);
      }
    }
    const offset = this.viewport.scrollTop - this.top;
    const firstVisible = Math.floor(this.top / this.rowHeight) * this.columns;
    const lastVisible = Math.ceil((this.top + this.room) / this.rowHeight) * this.columns;
    for (let index = start; index < stop; index++) {
      let item = this.shown.get(index);
      if (!item) {
        item = this.free.pop();
        if (!item) {
          item = this.list.make();
          this.spacer.append(item.element);
        }
        item.element.hidden = false;
        this.shown.set(index, item);
      }
      const y = Math.floor(index / this.columns) * this.rowHeight + offset;
      const x = (index % this.columns) / this.columns;
      const place = `translateY(${y}px)`;
      if (item.place !== place) {
        item.place = place;
        item.element.style.transform = place;
      }
      if (this.columns > 1) item.element.style.left = `${x * 100}%`;
      if (index >= firstVisible && index < lastVisible) item.show(index);
    }
    this.showExtra();
    for (const item of this.free) {
      if (!item.element.hidden) {
        item.element.hidden = true;
        item.hide();
      }
    }
  }

  /** What is seen comes first, also in the queue of the browser for pictures; the rest follows in the next frames. */
  showExtra() {
    this.extra ||= requestAnimationFrame(() => {
      this.extra = 0;
      const most = this.speed > 0 ? EXTRA_ITEMS.moving : EXTRA_ITEMS.still;
      let made = 0;
      for (const [index, item] of this.shown) {
        if (item.show(index)) made++;
        if (made === most) {
          this.showExtra();
          break;
        }
      }
    });
  }
}
