// The grid: a virtual list of crops, of which only those near the screen exist.

import { make } from "../dom.js";
import { ACCEPT, REJECT, UNDECIDED } from "./data.js";
import { reasonOf, shortName } from "./words.js";

const GAP = 8, TITLE = 40, TEXT = 40;

// screens whose cells exist before and behind the one that is seen; screens, or seconds at the present speed, whose crops
// are fetched where it is scrolled to, but no more screens than are kept
const NEAR = 0.5, AHEAD = 4, SECONDS = 2, MOST = 16;

/** A crop with what is below it. */
export function makeCell(faces, face, crops) {
  const cell = make("div", { className: "cell" });
  cell.dataset.face = face;
  const image = new Image();
  image.alt = "";
  image.draggable = false;
  image.decoding = "async";
  image.addEventListener("load", () => cell.classList.add("loaded"));
  const onError = (text) => image.replaceWith(make("span", { className: "note" }, text));
  image.addEventListener("error", () => onError("This crop cannot be shown."));
  const badge = make("span", { className: "badge" });
  badge.setAttribute("role", "img");
  cell.append(image, badge, make("span", { className: "name" }, shortName(faces, face)), make("span", { className: "why" }));
  cell.title = faces.name(face);
  markCell(faces, cell, face);
  crops.show(image, face, onError);
  return cell;
}

/** Show the decision of a cell; nothing is touched if it is the same. */
export function markCell(faces, cell, face) {
  const state = faces.accepted(face) ? "accepted" : "rejected";
  const decided = faces.decided[faces.column.crop[face]];
  const shown = `${state} ${decided} ${faces.corrected.has(face)}`;
  if (cell.dataset.shown === shown) return;
  cell.dataset.shown = shown;
  cell.dataset.state = state;
  cell.classList.toggle("decided", decided !== UNDECIDED);
  cell.classList.toggle("corrected", faces.corrected.has(face));
  cell.children[1].textContent = state === "accepted" ? "✓" : "✕";
  // what screen readers say before the name
  cell.children[1].setAttribute("aria-label", faces.corrected.has(face) ? `${state}, landmarks corrected` : state);
  cell.children[3].textContent = reasonOf(faces, face);
}

export class Grid {
  #cells = new Map();
  #rows = new Map();
  #lines = [];
  #places = new Map();
  #pending = 0;
  #top = 0;
  #at = 0;

  /** `onOpen(face)` shows a face in large, `onDecide(faces, decision)` saves a decision. */
  constructor(box, faces, crops, { onOpen, onDecide, onSelect }) {
    Object.assign(this, { box, faces, crops, onOpen, onDecide, onSelect });
    this.sheet = box.querySelector(".sheet");
    this.order = [];
    this.current = 0;
    this.anchor = 0;
    this.selected = new Set();
    box.addEventListener("scroll", () => this.#later(), { passive: true });
    box.addEventListener("click", (event) => this.#click(event));
    box.addEventListener("dblclick", (event) => event.target.closest(".cell") && onOpen(this.face));
    box.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#layout()).observe(box);
  }

  get face() {
    return this.order[this.current];
  }

  /** The faces a decision is about: the selection, or the one that has the focus. */
  get chosen() {
    return this.selected.size ? [...this.selected] : this.order.length ? [this.face] : [];
  }

  /** Show groups of faces; the current face stays current if it is among them. */
  show(groups) {
    const before = this.face;
    this.groups = groups;
    this.order = groups.flatMap((group) => [...group.faces]);
    this.#places = new Map(this.order.map((face, place) => [face, place]));
    this.selected = new Set([...this.selected].filter((face) => this.#places.has(face)));
    this.current = this.anchor = this.#places.get(before) ?? 0;
    this.#clear();
    this.#layout();
    this.onSelect();
  }

  /** Draw everything again, as with other crops. */
  redraw() {
    this.#clear();
    this.#draw();
  }

  /** Decisions have changed: what is on the screen follows at once. */
  refresh() {
    for (const [face, cell] of this.#cells) markCell(this.faces, cell, face);
  }

  /** Make a face the current one and bring it on the screen. */
  go(face, { extend = false } = {}) {
    const place = this.#places.get(face);
    if (place === undefined) return;
    this.#move(place, extend);
  }

  #clear() {
    this.#cells.clear();
    this.#rows.clear();
    this.sheet.replaceChildren();
  }

  #layout() {
    const width = this.box.clientWidth - 2 * GAP;
    if (width <= 0 || !this.groups) return;
    this.wide = Math.max(2, Math.floor((width + GAP) / (132 + GAP)));
    this.side = Math.floor((width + GAP) / this.wide) - GAP;
    this.#lines = [];
    let top = GAP, place = 0;
    for (const group of this.groups) {
      if (group.title) {
        this.#lines.push({ top, height: TITLE, place, title: `${group.title} · ${group.faces.length}` });
        top += TITLE;
      }
      for (let k = 0; k < group.faces.length; k += this.wide) {
        const count = Math.min(this.wide, group.faces.length - k);
        this.#lines.push({ top, height: this.side + TEXT + GAP, place, first: place, count });
        place += count;
        top += this.side + TEXT + GAP;
      }
    }
    this.sheet.style.height = `${top}px`;
    this.redraw();
  }

  #later() {
    if (this.#pending) return;
    this.#pending = requestAnimationFrame(() => {
      this.#pending = 0;
      this.#draw();
    });
  }

  // the last line for which something that holds for the first ones holds
  #last(holds) {
    let [low, high] = [0, this.#lines.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (holds(this.#lines[middle])) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // the lines that touch a part of the sheet, from top to bottom
  #between(from, to) {
    const found = [];
    for (let k = this.#lines.length ? this.#last((line) => line.top <= from) : 0; k < this.#lines.length; k += 1) {
      if (this.#lines[k].top > to) break;
      if (this.#lines[k].top + this.#lines[k].height > from) found.push(this.#lines[k]);
    }
    return found;
  }

  #facesOf(lines) {
    return lines.flatMap(({ first, count }) => (first === undefined ? [] : this.order.slice(first, first + count)));
  }

  #draw() {
    const { scrollTop: top, clientHeight: height } = this.box;
    const [moved, seconds] = [top - this.#top, (performance.now() - this.#at) / 1000];
    const down = moved >= 0;
    const near = this.#between(top - NEAR * height, top + (1 + NEAR) * height);
    const wanted = new Set(near);
    const same = near.length === this.#rows.size && near.every((line) => this.#rows.has(line));
    if (same && near.length) return;
    [this.#top, this.#at] = [top, performance.now()];
    for (const [line, row] of this.#rows) {
      if (wanted.has(line)) continue;
      row.remove();
      this.#rows.delete(line);
      for (const face of this.#facesOf([line])) this.#cells.delete(face);
    }
    for (const line of near) if (!this.#rows.has(line)) this.#add(line);
    this.#follow();
    // a jump is no speed
    const speed = Math.abs(moved) < height ? Math.abs(moved) / Math.max(seconds, 0.01) : 0;
    const reach = Math.min(MOST * height, Math.max(AHEAD * height, SECONDS * speed));
    const ahead = this.#facesOf(down ? this.#between(top + height, top + height + reach)
      : this.#between(top - reach, top).reverse());
    this.crops.want({ 0: this.#facesOf(this.#between(top, top + height)), 2: [...ahead, ...this.#facesOf(near)] });
  }

  #add(line) {
    const row = line.title === undefined ? make("div", { className: "row" }) : make("div", { className: "title" }, line.title);
    row.setAttribute("role", "presentation");
    row.style.transform = `translateY(${line.top}px)`;
    this.#facesOf([line]).forEach((face, c) => {
      const cell = makeCell(this.faces, face, this.crops);
      cell.id = `face-${face}`;
      cell.setAttribute("role", "option");
      cell.setAttribute("aria-setsize", this.order.length);
      cell.setAttribute("aria-posinset", line.first + c + 1);
      cell.style.width = `${this.side}px`;
      cell.style.height = `${this.side + TEXT}px`;
      this.#cells.set(face, cell);
      this.#markOne(face, cell);
      row.append(cell);
    });
    this.#rows.set(line, row);
    this.sheet.append(row);
  }

  #markOne(face, cell) {
    cell.classList.toggle("current", face === this.face);
    cell.setAttribute("aria-selected", String(this.selected.has(face)));
  }

  #mark() {
    for (const [face, cell] of this.#cells) this.#markOne(face, cell);
    this.#follow();
  }

  #follow() {
    if (this.#cells.has(this.face)) this.box.setAttribute("aria-activedescendant", `face-${this.face}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  #move(place, extend) {
    this.current = Math.max(0, Math.min(this.order.length - 1, place));
    if (extend) {
      const [from, to] = [Math.min(this.anchor, this.current), Math.max(this.anchor, this.current)];
      this.selected = new Set(this.order.slice(from, to + 1));
    } else {
      this.anchor = this.current;
      this.selected.clear();
    }
    const line = this.#lines[this.#last(({ place }) => place <= this.current)];
    if (line) {
      const { scrollTop: top, clientHeight: height } = this.box;
      if (line.top < top) this.box.scrollTop = line.top - GAP;
      else if (line.top + line.height > top + height) this.box.scrollTop = line.top + line.height - height;
    }
    this.#draw();
    this.#mark();
    this.onSelect();
  }

  #click(event) {
    const cell = event.target.closest(".cell");
    if (!cell) return;
    const face = Number(cell.dataset.face);
    const place = this.#places.get(face);
    if (event.target.classList.contains("badge")) {
      this.current = this.anchor = place;
      this.onDecide([face], this.faces.accepted(face) ? REJECT : ACCEPT);
    } else if (event.ctrlKey || event.metaKey) {
      if (!this.selected.size && this.face !== undefined && this.face !== face) this.selected.add(this.face);
      if (!this.selected.delete(face)) this.selected.add(face);
      this.current = this.anchor = place;
      this.onSelect();
    } else {
      this.#move(place, event.shiftKey);
    }
    this.#mark();
  }

  #key(event) {
    if (event.altKey || !this.order.length) return;
    if (event.ctrlKey || event.metaKey) {
      if (event.key.toLowerCase() !== "a") return;
      this.selected = new Set(this.order);
      this.#mark();
      this.onSelect();
      event.preventDefault();
      return;
    }
    const page = Math.max(1, Math.floor(this.box.clientHeight / (this.side + TEXT + GAP))) * this.wide;
    const steps = {
      ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.wide, ArrowDown: this.wide, PageUp: -page, PageDown: page,
      Home: -this.order.length, End: this.order.length,
    };
    if (event.key in steps) {
      const to = this.current + steps[event.key];
      // up and down stay where there is nothing more
      if (Math.abs(steps[event.key]) !== this.wide || (to >= 0 && to < this.order.length)) this.#move(to, event.shiftKey);
    } else if (event.key === " " || event.key === "Enter") {
      this.onOpen(this.face);
    } else if (event.key === "Escape" && this.selected.size) {
      this.selected.clear();
      this.#mark();
      this.onSelect();
    } else {
      return;
    }
    event.preventDefault();
  }
}
