// What to accept: the target, the slider, the curve and the counts. Equal steps of the slider are equal numbers of
// faces, for every target.

import { drawCurve } from "../curve.js";
import { element } from "../dom.js";
import { dark } from "../draw.js";
import { percent, share } from "../words.js";

const STEPS = 1000;

// the targets: the column that decides, words for the value, and whether the table must have a unit
const KINDS = {
  mean_error: { key: "uncertainty", unit: true, digits: 2 },
  share: { key: "uncertainty", digits: 1 },
  expected_error: { key: "expected_error", unit: true, digits: 2 },
  error_high: { key: "error_high", unit: true, digits: 2 },
  uncertainty: { key: "uncertainty", digits: 4 },
};

export class RuleControl {
  constructor(faces, { onChange, onSave }) {
    Object.assign(this, { faces, onChange, onSave });
    const { keys } = faces.facts;
    for (const option of [...element("kind").options]) {
      const { key, unit } = KINDS[option.value];
      if (!keys.includes(key) || (unit && !faces.hasUnit)) option.remove();
    }
    this.kind = faces.rule.kind in KINDS ? faces.rule.kind : "share";
    if (![...element("kind").options].some((option) => option.value === this.kind)) this.kind = "share";
    element("kind").value = this.kind;
    element("kind").addEventListener("change", () => this.#change(element("kind").value));
    element("target").addEventListener("input", () => this.#slide());
    element("value").addEventListener("change", () => this.#type());
    new ResizeObserver(() => this.#draw()).observe(element("curve"));
    dark.addEventListener("change", () => this.#draw());
    this.#curve();
    this.show();
  }

  /** Take a rule, as from another window or the fit. */
  take(rule, { save = false } = {}) {
    this.faces.rule = rule;
    this.kind = [...element("kind").options].some((option) => option.value === rule.kind) ? rule.kind : this.kind;
    element("kind").value = this.kind;
    this.show();
    this.onChange();
    if (save) this.onSave(this.faces.rule);
  }

  /** Accept up to an uncertainty. */
  accept(uncertainty) {
    const rule = { key: "uncertainty", limit: uncertainty, kind: "share", value: 0 };
    rule.value = (100 * this.faces.rankOf(rule)) / Math.max(1, this.faces.ranked.length);
    this.take(rule, { save: true });
  }

  /** One step to more or less. */
  step(steps) {
    element("target").value = Number(element("target").value) + 10 * steps;
    this.#slide();
  }

  // the same faces, by another target
  #change(kind) {
    const before = this.faces.rankOf();
    this.kind = kind;
    this.#accept(Math.min(before, this.#order().length));
  }

  #order() {
    return this.faces.sorted(KINDS[this.kind].key);
  }

  #slide() {
    this.#accept(Math.round((Number(element("target").value) / STEPS) * this.#order().length));
  }

  // accept the first faces of the order, and those equal to the last of them
  #accept(rank) {
    const { key } = KINDS[this.kind];
    const order = this.#order();
    const values = this.faces.column[key];
    const limit = rank > 0 ? values[order[rank - 1]] : below(values[order[0]]);
    this.#set(key, limit);
  }

  #set(key, limit, value = null) {
    const rule = { key, limit, kind: this.kind, value: 0 };
    const rank = this.faces.rankOf(rule);
    rule.value = value ?? this.#valueAt(rank, limit);
    this.faces.rule = rule;
    this.show();
    this.onChange();
    this.onSave(rule);
  }

  #valueAt(rank, limit) {
    if (this.kind === "share") return (100 * rank) / Math.max(1, this.faces.ranked.length);
    if (this.kind === "mean_error") return rank ? this.faces.means[rank - 1] : 0;
    return limit;
  }

  // a value from the keyboard
  #type() {
    const value = Number(element("value").value.replace(",", "."));
    const { key } = KINDS[this.kind];
    const { ranked, means, column } = this.faces;
    if (!Number.isFinite(value)) {
      this.show();
    } else if (this.kind === "share") {
      this.#accept(Math.max(0, Math.min(ranked.length, Math.ceil((value / 100) * ranked.length - 1e-9))));
    } else if (this.kind === "mean_error") {
      let rank = means.findLastIndex((mean) => mean <= value) + 1;
      const values = column.uncertainty;
      // faces as certain as the last one are accepted with it, or none of them is
      while (rank > 0 && rank < ranked.length && values[ranked[rank]] === values[ranked[rank - 1]]) rank -= 1;
      this.#accept(rank);
    } else {
      this.#set(key, value, value);
    }
  }

  #curve() {
    const { ranked, means } = this.faces;
    const points = Math.min(160, ranked.length);
    this.curve = Array.from({ length: points }, (_, k) => {
      const rank = Math.max(1, Math.round(((k + 1) / points) * ranked.length));
      return { coverage: rank / ranked.length, error: means[rank - 1] };
    });
    for (const part of [element("curve-box"), element("mean-kept").parentElement]) part.hidden = !this.faces.hasUnit;
  }

  /** Show rule, counts and curve. */
  show() {
    const { faces } = this;
    const rank = faces.rankOf();
    const order = this.#order();
    const slider = element("target");
    if (document.activeElement !== slider) slider.value = (STEPS * rank) / Math.max(1, order.length);
    const value = faces.rule.kind === this.kind ? faces.rule.value : this.#valueAt(rank, faces.rule.limit);
    if (document.activeElement !== element("value")) element("value").value = value.toFixed(KINDS[this.kind].digits);
    document.querySelector(".limit .unit").hidden = this.kind === "uncertainty";
    const counted = faces.count();
    const { sources } = faces.facts;
    element("files-kept").textContent = counted.files.toLocaleString("en");
    element("files-all").textContent = `of ${sources.length.toLocaleString("en")} ${sources.length === 1 ? "file" : "files"} kept`;
    element("faces-kept").textContent = counted.faces.toLocaleString("en");
    element("faces-all").textContent = `of ${faces.n.toLocaleString("en")} ${faces.n === 1 ? "face" : "faces"} accepted`;
    element("mean-kept").textContent = percent(counted.mean, 2);
    slider.setAttribute("aria-valuetext", `${value.toFixed(KINDS[this.kind].digits)}: ${counted.files} files kept, `
      + `${counted.faces} faces accepted, mean expected error ${percent(counted.mean, 2)}`);
    this.#draw(rank);
  }

  #draw(rank = this.faces.rankOf()) {
    if (!this.faces.hasUnit) return;
    const { ranked, means } = this.faces;
    // by an upper bound the accepted faces are not the first ones
    const at = this.faces.rule.key === "error_high" ? this.faces.count() : { faces: rank, mean: means[rank - 1] ?? null };
    drawCurve(element("curve"), this.curve, { coverage: at.faces / ranked.length, error: at.mean });
    element("curve").setAttribute("aria-label", `Risk-coverage curve: ${share(at.faces / ranked.length)} of the faces `
      + `at a mean expected error of ${percent(at.mean, 2)}`);
  }
}

const below = (value) => (Number.isFinite(value) ? value - Math.max(1e-9, Math.abs(value) * 1e-9) : -1);
