// The grid: a virtual list of crops, of which only those near the screen exist.

import { request } from "../api.js";
import { ACCEPT, UNDECIDED } from "./data.js";
import { reasonOf, shortName, spoken } from "./words.js";

const GAP = 8, TITLE = 40, TEXT = 40;

/** A crop with what is below it. */
export function makeCell(faces, face, plain, eager = true) {
  const cell = document.createElement("div");
  cell.className = "cell";
  cell.dataset.face = face;
  const image = new Image();
  image.alt = "";
  image.draggable = false;
  image.decoding = "async";
  image.fetchPriority = eager ? "high" : "low";
  image.addEventListener("load", () => cell.classList.add("loaded"));
  image.addEventListener("error", () => explain(cell, image));
  image.src = `/api/picture/${plain ? "plain" : "crop"}/${faces.facts.version}/${face}`;
  const badge = Object.assign(document.createElement("span"), { className: "badge" });
  const name = Object.assign(document.createElement("span"), { className: "name", textContent: shortName(faces, face) });
  const why = Object.assign(document.createElement("span"), { className: "why" });
  cell.append(image, badge, name, why);
  markCell(faces, cell, face);
  return cell;
}

/** Show the decision of a cell. */
export function markCell(faces, cell, face) {
  const state = faces.accepted(face) ? "accepted" : "rejected";
  const decided = faces.decided[faces.column.crop[face]];
  const shown = `${state} ${decided} ${faces.corrected.has(face)} ${faces.rule.limit}`;
  if (cell.dataset.shown === shown) return;
  cell.dataset.shown = shown;
  cell.dataset.state = state;
  cell.classList.toggle("decided", decided !== UNDECIDED);
  cell.classList.toggle("corrected", faces.corrected.has(face));
  cell.children[1].textContent = state === "accepted" ? "✓" : "✕";
  cell.children[3].textContent = reasonOf(faces, face);
  cell.title = faces.name(face);
  if (cell.getAttribute("role")) cell.setAttribute("aria-label", spoken(faces, face));
}

async function explain(cell, image) {
  image.remove();
  const note = Object.assign(document.createElement("span"), { className: "note", textContent: "cannot be shown" });
  cell.prepend(note);
  if (!image.src) return;
  try {
    await request(image.src);
  } catch (error) {
    note.textContent = error.message;
  }
}

export class Grid {
  #cells = new Map();
  #lines = [];
  #places = new Map();
  #pending = 0;

  /** `onOpen(face)` shows a face in large, `onDecide(faces, decision)` saves a decision. */
  constructor(box, faces, { onOpen, onDecide, onSelect }) {
    Object.assign(this, { box, faces, onOpen, onDecide, onSelect });
    this.sheet = box.querySelector(".sheet");
    this.order = [];
    this.current = 0;
    this.anchor = 0;
    this.selected = new Set();
    this.plain = false;
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

  /** Draw crops with landmarks or without. */
  setPlain(plain) {
    this.plain = plain;
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
    for (const cell of this.#cells.values()) drop(cell);
    this.#cells.clear();
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
        this.#lines.push({ top, height: TITLE, title: `${group.title} · ${group.faces.length}` });
        top += TITLE;
      }
      for (let k = 0; k < group.faces.length; k += this.wide) {
        const count = Math.min(this.wide, group.faces.length - k);
        this.#lines.push({ top, height: this.side + TEXT + GAP, first: place, count });
        place += count;
        top += this.side + TEXT + GAP;
      }
    }
    this.sheet.style.height = `${top}px`;
    this.#clear();
    this.#draw();
  }

  #later() {
    if (this.#pending) return;
    this.#pending = requestAnimationFrame(() => {
      this.#pending = 0;
      this.#draw();
    });
  }

  #lineAt(y) {
    let [low, high] = [0, this.#lines.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#lines[middle].top <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #draw() {
    const { scrollTop: top, clientHeight: height } = this.box;
    // half a screen before and a whole one behind, so that slow scrolling never meets an empty cell
    const [from, to] = [top - height / 2, top + 2 * height];
    const wanted = new Set();
    const titles = [];
    for (let k = this.#lines.length ? this.#lineAt(from) : 0; k < this.#lines.length; k += 1) {
      const line = this.#lines[k];
      if (line.top > to) break;
      if (line.title !== undefined) {
        titles.push(line);
        continue;
      }
      const near = line.top + line.height > top && line.top < top + height;
      for (let c = 0; c < line.count; c += 1) {
        const face = this.order[line.first + c];
        wanted.add(face);
        if (!this.#cells.has(face)) this.#add(face, line, c, near);
      }
    }
    for (const [face, cell] of this.#cells) {
      if (wanted.has(face)) continue;
      drop(cell);
      this.#cells.delete(face);
    }
    for (const old of this.sheet.querySelectorAll(".title")) old.remove();
    this.sheet.prepend(...titles.map((line) => {
      const title = Object.assign(document.createElement("div"), { className: "title", textContent: line.title });
      title.setAttribute("role", "presentation");
      title.style.transform = `translateY(${line.top}px)`;
      return title;
    }));
    this.#mark();
  }

  #add(face, line, c, near) {
    const cell = makeCell(this.faces, face, this.plain, near);
    cell.id = `face-${face}`;
    cell.setAttribute("role", "option");
    cell.setAttribute("aria-setsize", this.order.length);
    cell.setAttribute("aria-posinset", line.first + c + 1);
    cell.setAttribute("aria-label", spoken(this.faces, face));
    cell.style.width = `${this.side}px`;
    cell.style.height = `${this.side + TEXT}px`;
    cell.style.transform = `translate(${GAP + c * (this.side + GAP)}px, ${line.top}px)`;
    this.#cells.set(face, cell);
    this.sheet.append(cell);
  }

  #mark() {
    const current = this.face;
    for (const [face, cell] of this.#cells) {
      cell.classList.toggle("current", face === current);
      cell.setAttribute("aria-selected", String(this.selected.has(face)));
    }
    if (this.#cells.has(current)) this.box.setAttribute("aria-activedescendant", `face-${current}`);
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
    const line = this.#lines.find((each) => each.first !== undefined
      && each.first <= this.current && this.current < each.first + each.count);
    if (line) {
      const { scrollTop: top, clientHeight: height } = this.box;
      if (line.top < top) this.box.scrollTop = line.top - GAP;
      else if (line.top + line.height > top + height) this.box.scrollTop = line.top + line.height - height;
    }
    this.#draw();
    this.onSelect();
  }

  #click(event) {
    const cell = event.target.closest(".cell");
    if (!cell) return;
    const face = Number(cell.dataset.face);
    const place = this.#places.get(face);
    if (event.target.classList.contains("badge")) {
      this.current = this.anchor = place;
      this.onDecide([face], this.faces.accepted(face) ? 2 : ACCEPT);
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

// the browser need not fetch what is no longer wanted
function drop(cell) {
  const image = cell.querySelector("img");
  if (image && !image.complete) image.removeAttribute("src");
  cell.remove();
}
