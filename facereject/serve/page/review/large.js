// The large view: one face with its landmarks, which can be dragged, and what is known about it.

import { ask } from "../api.js";
import { element, onClick, showFacts } from "../dom.js";
import { percent } from "../words.js";
import { ACCEPT, REJECT, UNDECIDED } from "./data.js";
import { LandmarkEditor } from "./landmarks.js";
import { clock, reasonOf } from "./words.js";

export class Large {
  #asked = 0;

  /** `onStep(steps)` goes to another face of the grid, `onDecide(face, decision)` saves a decision. */
  constructor(faces, saving, { onStep, onDecide, onClose, onTrouble }) {
    Object.assign(this, { faces, saving, onStep, onDecide, onClose, onTrouble });
    this.dialog = element("large");
    this.face = null;
    this.editor = new LandmarkEditor(element("large-view"), {
      onChange: () => this.#changed(),
      onSpeak: (text) => { element("announce").textContent = text; },
    });
    onClick({
      "large-close": () => this.dialog.close(),
      "large-previous": () => onStep(-1),
      "large-next": () => onStep(1),
      "large-accept": () => onDecide(this.crop, ACCEPT),
      "large-reject": () => onDecide(this.crop, REJECT),
      "large-undo": () => onDecide(this.crop, UNDECIDED),
      "large-save": () => this.save(),
      "large-reset": () => this.reset(),
      "large-in": () => this.editor.zoom(1.4),
      "large-out": () => this.editor.zoom(1 / 1.4),
      "frame-back": () => this.#frame(-1),
      "frame-on": () => this.#frame(1),
    });
    this.dialog.addEventListener("close", async () => {
      await this.save();
      this.face = null;
      onClose();
    });
    this.dialog.addEventListener("keydown", (event) => this.#key(event));
  }

  /** The face whose crop represents the one shown; decisions are about it. */
  get crop() {
    return this.faces.column.crop[this.face];
  }

  get open() {
    return this.dialog.open;
  }

  async show(face) {
    const mine = ++this.#asked;
    if (this.open) await this.save();
    this.face = face;
    if (!this.open) {
      this.dialog.showModal();
      element("large-view").focus();
    }
    this.describe();
    try {
      const answer = await ask(`/api/face/${face}`);
      if (mine !== this.#asked) return;
      this.#draw(answer);
    } catch (error) {
      this.onTrouble(error.message);
    }
  }

  #draw(answer) {
    this.answer = answer;
    const { rule, column } = this.faces;
    const limit = rule.key === "expected_error" ? rule.limit : column.expected_error[this.face];
    this.editor.show({
      href: `/api/view/${this.faces.facts.version}/${this.face}`,
      view: answer.view, points: answer.corrected ?? answer.predicted, errors: answer.errors,
      limit: Number.isFinite(limit) ? limit : 5,
    });
    this.#changed();
  }

  /** Words and numbers beside the image. */
  describe() {
    if (this.face === null) return;
    const { faces, face } = this;
    const { column } = faces;
    const accepted = faces.accepted(face);
    element("large-name").textContent = faces.name(face);
    element("large-decision").textContent = accepted ? "✓ Accepted" : "✕ Rejected";
    element("large-decision").dataset.state = accepted ? "accepted" : "rejected";
    element("large-why").textContent = reasonOf(faces, face);
    const number = (name, digits) => (Number.isFinite(column[name]?.[face]) ? column[name][face].toFixed(digits) : null);
    const rows = [
      ["Expected error", Number.isFinite(column.expected_error[face]) ? percent(column.expected_error[face], 2) : null],
      ["Interval", number("error_low", 1) && number("error_high", 1)
        ? `${number("error_low", 1)} to ${number("error_high", 1)} %` : null],
      ["Uncertainty", number("uncertainty", 3)],
      ["Typicality", number("typicality", 2)],
      ...["eyes", "mouth", "nose", "brows", "jaw"].map((name) => [
        `Error of ${name}`, Number.isFinite(column[`error_${name}`]?.[face]) ? percent(column[`error_${name}`][face]) : null]),
      ["Head", number("yaw", 0) === null ? null
        : `yaw ${number("yaw", 0)}°, pitch ${number("pitch", 0)}°, roll ${number("roll", 0)}°`],
      ["Size", `${Math.round(column.width[face])} × ${Math.round(column.height[face])} pixels`],
      ["Frame", faces.isVideo(face) ? `${column.frame[face]} at ${clock(column.time_s[face])}` : null],
    ].filter(([, value]) => value !== null);
    showFacts(element("large-facts"), rows);
    element("frames").hidden = !faces.isVideo(face);
  }

  #changed() {
    const { changed } = this.editor;
    const corrected = this.faces.corrected.has(this.face);
    element("large-save").disabled = !changed;
    element("large-reset").disabled = !changed && !corrected;
    element("large-file").textContent = changed ? "Not saved yet; saved when you go on."
      : corrected ? `Corrected, saved as ${this.answer?.file ?? ""}` : "As predicted. Drag a landmark to correct it.";
  }

  /** Save corrected landmarks; a corrected face is accepted unless it was decided otherwise. */
  async save() {
    if (this.face === null || !this.editor.changed) return;
    const { face, crop } = this;
    try {
      const answer = await this.saving.send(`/api/landmarks/${face}`, { points: this.editor.points });
      this.faces.corrected.add(face);
      if (this.faces.decided[crop] === UNDECIDED) this.onDecide(crop, ACCEPT);
      if (this.face === face) this.#draw(answer);
    } catch (error) {
      this.onTrouble(error.message);
    }
  }

  /** Back to the predicted landmarks. */
  async reset() {
    const { face } = this;
    try {
      if (this.faces.corrected.has(face)) {
        const answer = await this.saving.send(`/api/landmarks/${face}`, { points: null });
        this.faces.corrected.delete(face);
        this.#draw(answer);
      } else {
        this.#draw(this.answer);
      }
    } catch (error) {
      this.onTrouble(error.message);
    }
  }

  // the frame before or behind of the same track
  #frame(step) {
    const { source, track, face: number } = this.faces.column;
    const same = (k) => source[k] === source[this.face]
      && (track[this.face] < 0 ? number[k] === number[this.face] : track[k] === track[this.face]);
    for (let k = this.face + step; k >= 0 && k < this.faces.n && source[k] === source[this.face]; k += step) {
      if (same(k)) {
        this.show(k);
        return;
      }
    }
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey) {
      if (event.key.toLowerCase() !== "z") return;
      this.editor.undo();
    } else if (this.editor.key(event)) {
      // a landmark was moved, or the zoom
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      this.onStep(event.key === "ArrowLeft" ? -1 : 1);
    } else if (event.key === "[" || event.key === "]") {
      this.#frame(event.key === "[" ? -1 : 1);
    } else if (event.key.toLowerCase() === "s") {
      this.save();
    } else if (event.key === "Escape" && this.editor.deselect()) {
      // the first Escape lets go of the landmark, the second closes
    } else if (event.key === " " && !event.target.closest("button")) {
      this.dialog.close();
    } else {
      return;
    }
    event.preventDefault();
  }
}
