// Landmarks that can be dragged, over a part of an image: used by review and by annotate.

import { CHAINS, errorColor } from "../draw.js";

const SVG = "http://www.w3.org/2000/svg";
const PARTS = ["jaw", "right brow", "left brow", "nose bridge", "nose", "right eye", "left eye", "outer lips", "inner lips"];

const made = (name, attributes = {}) => {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};

export class LandmarkEditor {
  #history = [];
  #drag = null;
  #pinch = new Map();

  /** `onChange()` is called after every change, `onSpeak(text)` with what a screen reader should say. */
  constructor(svg, { onChange = () => {}, onSpeak = () => {} } = {}) {
    Object.assign(this, { svg, onChange, onSpeak });
    this.image = made("image", { preserveAspectRatio: "none" });
    this.lines = made("g", { class: "chains" });
    this.dots = made("g", { class: "dots" });
    svg.replaceChildren(this.image, this.lines, this.dots);
    this.points = null;
    this.selected = -1;
    svg.addEventListener("pointerdown", (event) => this.#down(event));
    svg.addEventListener("pointermove", (event) => this.#dragged(event));
    for (const name of ["pointerup", "pointercancel"]) svg.addEventListener(name, (event) => this.#up(event));
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, this.#at(event));
    }, { passive: false });
  }

  /** Show a square of an image with points in pixels of the whole image. */
  show({ href, view, points, errors = null, limit = 5 }) {
    Object.assign(this, { view, errors, limit });
    this.image.setAttribute("href", href);
    for (const [key, value] of Object.entries({ x: view.left - 0.5, y: view.top - 0.5, width: view.side, height: view.side })) {
      this.image.setAttribute(key, value);
    }
    this.points = points ? points.map(([x, y]) => [x, y]) : null;
    this.original = points ? points.map(([x, y]) => [x, y]) : null;
    this.#history = [];
    this.selected = -1;
    this.box = { x: view.left - 0.5, y: view.top - 0.5, side: view.side };
    this.#build();
    this.fit();
  }

  get changed() {
    return this.#history.length > 0;
  }

  /** The whole square again. */
  fit() {
    this.frame = { ...this.box };
    this.#look();
  }

  /** Closer or further away, around a place in the image. */
  zoom(factor, [x, y] = [this.frame.x + this.frame.side / 2, this.frame.y + this.frame.side / 2]) {
    const side = Math.min(this.box.side, Math.max(this.box.side / 12, this.frame.side / factor));
    const ratio = side / this.frame.side;
    this.frame = this.#inside({ x: x - (x - this.frame.x) * ratio, y: y - (y - this.frame.y) * ratio, side });
    this.#look();
  }

  /** Take the last change back. */
  undo() {
    const before = this.#history.pop();
    if (!before) return;
    this.points = before;
    this.#place();
    this.onChange();
  }

  /** Other points, such as the predicted ones. */
  replace(points) {
    this.#remember();
    this.points = points.map(([x, y]) => [x, y]);
    this.#place();
    this.onChange();
  }

  /** Select another landmark: the next one, or the one before. */
  select(step) {
    if (!this.points) return;
    const n = this.points.length;
    this.selected = this.selected < 0 ? (step > 0 ? 0 : n - 1) : (this.selected + step + n) % n;
    this.#place();
    this.onSpeak(`landmark ${this.selected + 1} of ${n}${this.#partName(this.selected)}`);
  }

  deselect() {
    if (this.selected < 0) return false;
    this.selected = -1;
    this.#place();
    return true;
  }

  /** Keys of the editor; true if the key was one of them. */
  key(event) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key in moves && this.selected >= 0) {
      // about a screen pixel at any zoom
      const step = (this.frame.side / 600) * (event.shiftKey ? 6 : 1);
      this.#remember();
      const [dx, dy] = moves[event.key];
      this.#shift([this.selected], dx * step, dy * step);
      this.onChange();
      return true;
    }
    const actions = {
      ".": () => this.select(1), ",": () => this.select(-1), "+": () => this.zoom(1.25), "=": () => this.zoom(1.25),
      "-": () => this.zoom(1 / 1.25), 0: () => this.fit(), z: () => this.undo(),
    };
    const action = actions[event.key.toLowerCase()];
    if (!action || (event.key === "0" && event.ctrlKey)) return false;
    action();
    return true;
  }

  #build() {
    this.dots.replaceChildren();
    this.lines.replaceChildren();
    if (!this.points) return;
    if (this.points.length === 68) this.chains = CHAINS.map(() => this.lines.appendChild(made("path")));
    else this.chains = [];
    this.points.forEach((_, k) => {
      const error = this.errors && this.errors[k] >= 0 ? this.errors[k] : null;
      this.dots.append(made("circle", { fill: errorColor(error, this.limit) }));
    });
    this.#place();
  }

  #place() {
    if (!this.points) return;
    const unit = this.frame ? this.frame.side / 600 : 1;
    this.points.forEach(([x, y], k) => {
      const dot = this.dots.children[k];
      dot.setAttribute("cx", x);
      dot.setAttribute("cy", y);
      dot.setAttribute("r", (k === this.selected ? 6 : 3.6) * unit);
      dot.setAttribute("stroke-width", (k === this.selected ? 2.5 : 1) * unit);
      dot.classList.toggle("selected", k === this.selected);
    });
    this.chains.forEach((path, c) => {
      const [first, last, closed] = CHAINS[c];
      const places = this.points.slice(first, last + 1).map(([x, y]) => `${x} ${y}`);
      path.setAttribute("d", `M${places.join("L")}${closed ? "Z" : ""}`);
      path.setAttribute("stroke-width", 1.1 * unit);
    });
  }

  #look() {
    this.svg.setAttribute("viewBox", `${this.frame.x} ${this.frame.y} ${this.frame.side} ${this.frame.side}`);
    this.#place();
  }

  #inside(frame) {
    const clamp = (value, start) => Math.min(start + this.box.side - frame.side, Math.max(start, value));
    return { x: clamp(frame.x, this.box.x), y: clamp(frame.y, this.box.y), side: frame.side };
  }

  #at(event) {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    return [place.x, place.y];
  }

  #remember() {
    this.#history.push(this.points.map(([x, y]) => [x, y]));
    if (this.#history.length > 200) this.#history.shift();
  }

  #shift(chosen, dx, dy) {
    for (const k of chosen) this.points[k] = [this.points[k][0] + dx, this.points[k][1] + dy];
    this.#place();
  }

  #partOf(k) {
    if (this.points.length !== 68) return [k];
    const [first, last] = CHAINS.find(([a, b]) => a <= k && k <= b);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  }

  #partName(k) {
    return this.points.length === 68 ? `, ${PARTS[CHAINS.findIndex(([a, b]) => a <= k && k <= b)]}` : "";
  }

  #down(event) {
    if (!this.frame) return;
    this.#pinch.set(event.pointerId, [event.clientX, event.clientY]);
    this.svg.setPointerCapture(event.pointerId);
    if (this.#pinch.size === 2) {
      this.#drag = null;
      return;
    }
    const [x, y] = this.#at(event);
    let nearest = -1, distance = (event.pointerType === "touch" ? 26 : 13) * (this.frame.side / this.svg.clientWidth);
    (this.points ?? []).forEach(([px, py], k) => {
      const away = Math.hypot(px - x, py - y);
      if (away < distance) [nearest, distance] = [k, away];
    });
    this.selected = nearest;
    this.#place();
    if (nearest < 0) {
      this.#drag = { x, y, pan: true };
      return;
    }
    // shift takes its part of the face along, alt all landmarks
    const chosen = event.altKey ? this.points.map((_, k) => k) : event.shiftKey ? this.#partOf(nearest) : [nearest];
    this.#drag = { x, y, chosen, moved: false };
  }

  #dragged(event) {
    if (this.#pinch.has(event.pointerId) && this.#pinch.size === 2) {
      const before = this.#span();
      this.#pinch.set(event.pointerId, [event.clientX, event.clientY]);
      if (before > 0) this.zoom(this.#span() / before);
      return;
    }
    if (!this.#drag) return;
    const [x, y] = this.#at(event);
    const [dx, dy] = [x - this.#drag.x, y - this.#drag.y];
    if (this.#drag.pan) {
      this.frame = this.#inside({ ...this.frame, x: this.frame.x - dx, y: this.frame.y - dy });
      this.#look();
      return;
    }
    if (!this.#drag.moved) this.#remember();
    this.#drag.moved = true;
    [this.#drag.x, this.#drag.y] = [x, y];
    this.#shift(this.#drag.chosen, dx, dy);
  }

  #span() {
    const [a, b] = [...this.#pinch.values()];
    return Math.hypot(a[0] - b[0], a[1] - b[1]);
  }

  #up(event) {
    this.#pinch.delete(event.pointerId);
    if (this.#drag?.moved) this.onChange();
    this.#drag = null;
  }
}
