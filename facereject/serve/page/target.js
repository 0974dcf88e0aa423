// What to accept: the slider, the model and its risk-coverage curve. The server decides; this asks it.

import { ask } from "./api.js";
import { drawCurve } from "./curve.js";
import { element, make, showFacts, showText } from "./dom.js";
import { dark } from "./draw.js";
import { percent, share } from "./words.js";

export class Target {
  #request = {};
  #asking = 0;
  #timer = null;

  constructor({ onChange, onTrouble }) {
    Object.assign(this, { onChange, onTrouble });
    this.model = null;
    element("target").addEventListener("input", () => this.#slide());
    element("model").addEventListener("change", () => {
      // the errors of another model have another range
      this.#request = { model: element("model").value, ...this.#region() };
      this.load();
    });
    new ResizeObserver(() => this.draw()).observe(element("curve"));
    dark.addEventListener("change", () => this.draw());
  }

  /** Model, region and target, as the server takes them. */
  get request() {
    return this.#request;
  }

  /** The same as a query. */
  get query() {
    return new URLSearchParams(this.#request).toString();
  }

  /** The expected error up to which faces are accepted, in percent. */
  get limit() {
    return this.model?.target.expected_error ?? 5;
  }

  /** The landmarks that matter, null for all of them. */
  get points() {
    const chosen = this.model?.region_points?.[this.#request.region];
    return chosen ? new Set(chosen) : null;
  }

  /** Ask the server for the model under the present request and show it. */
  async load() {
    const mine = ++this.#asking;
    try {
      const model = await ask(`/api/model?${this.query}`);
      if (mine !== this.#asking) return;
      this.model = model;
      this.onTrouble("");
    } catch (error) {
      this.onTrouble(error.message);
      return;
    }
    this.#show();
    this.onChange();
  }

  /** One step to more or less. */
  step(steps) {
    element("target").value = Number(element("target").value) + 25 * steps;
    this.#slide();
  }

  /** Accept up to this expected error, in percent. */
  set(error) {
    this.#request = { ...this.#request, expected_error: error.toFixed(2) };
    element("target-value").textContent = percent(error);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.load(), 60);
  }

  // equal steps are equal ratios: most faces lie at the low end, and a few far above
  #slide() {
    const [low, high] = this.#range();
    const place = Number(element("target").value) / 1000;
    // at its end every face is accepted, in spite of rounding
    this.set(place === 1 ? Math.ceil(100 * high) / 100 : low * (high / low) ** place);
  }

  #range() {
    const [low, high] = this.model?.expected_errors ?? [1, 10];
    return [Math.max(low, 0.1), Math.max(high, low + 0.1, 0.2)];
  }

  #region() {
    return this.#request.region ? { region: this.#request.region } : {};
  }

  #show() {
    const { model } = this;
    const slider = element("target");
    const [low, high] = this.#range();
    const { coverage, error, expected_error: limit } = model.target;
    if (document.activeElement !== slider) {
      slider.value = (1000 * Math.log(Math.max(limit, low) / low)) / Math.log(high / low);
    }
    element("target-value").textContent = percent(limit);
    let words = `About ${share(coverage)} of faces like those the model was calibrated on are accepted, `
      + `with a mean error of ${percent(error)}.`;
    if (coverage === 0) words = "No face is accepted.";
    else if (model.target.accepts_all) words = `Every face is accepted, with a mean error of ${percent(error)}.`;
    element("target-words").textContent = words;
    slider.setAttribute("aria-valuetext", `${percent(limit)}. ${words}`);
    this.#showModels(model);
    this.#showRegions(model);
    this.draw();
  }

  #showModels(model) {
    const picker = element("model");
    picker.replaceChildren(...model.models.map((name) => new Option(name, name, false, name === model.name)));
    showText(element("unit"), `Errors are in ${model.unit}.`);
    showText(element("model-note"), model.notes?.[model.name] ?? "");
    showFacts(element("facts"), model.facts);
  }

  #showRegions(model) {
    const box = element("regions");
    const regions = model.regions ?? [];
    box.hidden = !regions.length;
    if (box.dataset.shown === regions.join()) return;
    box.dataset.shown = regions.join();
    const choices = ["", ...regions].map((name) => {
      const checked = name === (this.#request.region ?? "");
      const input = make("input", { type: "radio", name: "region", value: name, checked });
      input.addEventListener("change", () => {
        const { region, ...rest } = this.#request;
        this.#request = name ? { ...rest, region: name } : rest;
        this.load();
      });
      return make("label", {}, input, name || "whole face");
    });
    box.replaceChildren(box.querySelector("legend"), ...choices);
  }

  /** Draw the curve with the target. */
  draw() {
    if (!this.model) return;
    drawCurve(element("curve"), this.model.curve, this.model.target);
  }
}
