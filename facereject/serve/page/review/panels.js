// What the side panel offers beyond the slider: learning from decisions, near duplicates, export.

import { ask, post, sleep } from "../api.js";
import { element, make, onClick, showText } from "../dom.js";
import { percent, share } from "../words.js";
import { ACCEPT, REJECT, UNDECIDED } from "./data.js";

/** Ask again and again how far something is, until it has ended. */
async function followed(path, body, onStep) {
  let state = await post(path, body);
  while (state.running) {
    onStep(state);
    await sleep(0.3);
    state = await ask(path);
  }
  return state;
}

export class FitPanel {
  constructor(faces, rule) {
    Object.assign(this, { faces, rule });
    onClick({
      fit: () => this.#ask(),
      "fit-take": () => {
        rule.accept(this.found.threshold);
        element("fit-take").hidden = true;
      },
    });
    this.show();
  }

  show() {
    const { least_decisions: least } = this.faces.facts;
    const count = this.faces.decided.reduce((sum, each) => sum + (each !== UNDECIDED), 0);
    const enough = count >= least;
    element("fit").disabled = !enough;
    if (element("fit-words").dataset.count === String(count)) return;
    element("fit-words").dataset.count = count;
    element("fit-take").hidden = true;
    showText(element("fit-words"), enough
      ? `You have decided ${count} faces.`
      : `From ${least} decisions on (${count} so far), the limit can follow them. Decide faces that are right as well, `
        + "not only those to be changed.");
  }

  async #ask() {
    const found = this.found = await ask("/api/fit");
    if (!found) {
      showText(element("fit-words"), "All your decisions are alike. Decide some faces the other way as well.");
      return;
    }
    const { faces } = this;
    const numbers = [...faces.shown].filter((face) => faces.decided[face] !== UNDECIDED
      && Number.isFinite(faces.column.uncertainty[face]));
    const now = numbers.filter((face) => faces.byRule(face) === (faces.decided[face] === ACCEPT)).length / numbers.length;
    const rule = { key: "uncertainty", limit: found.threshold };
    const [before, after] = [faces.count(), faces.count(rule)];
    showText(element("fit-words"), `A limit fitted to your ${found.decisions} decisions would keep `
      + `${after.files.toLocaleString("en")} files (now ${before.files.toLocaleString("en")}) with a mean expected error of `
      + `${percent(after.mean, 2)} (now ${percent(before.mean, 2)}). On decisions it was not fitted to it agrees with you in `
      + `${share(found.agreement)} ± ${share(2 * found.error)}; the present limit in ${share(now)}; always deciding as you `
      + `mostly do in ${share(found.trivial)}. Estimated by cross-validation over files, for faces like those you decided.`);
    element("fit-take").hidden = false;
  }
}

export class DuplicatePanel {
  constructor(faces, { onFound, onDecide }) {
    Object.assign(this, { faces, onFound, onDecide });
    onClick({ "find-duplicates": () => this.#find(), "keep-best": () => this.#keepBest() });
  }

  async #find() {
    element("find-duplicates").disabled = true;
    const words = element("duplicate-words");
    try {
      const state = await followed("/api/duplicates", {}, ({ done, total }) => {
        words.textContent = `Looking at ${done.toLocaleString("en")} of ${total.toLocaleString("en")} faces …`;
      });
      if (state.error) throw new Error(state.error);
      this.groups = state.groups;
      this.faces.duplicateOf = new Map(this.groups.flatMap((group, k) => group.map((face) => [face, k])));
      const count = this.groups.reduce((sum, group) => sum + group.length, 0);
      words.textContent = this.groups.length
        ? `${count} faces in ${this.groups.length} groups of near duplicates.` : "No near duplicates found.";
      element("keep-best").hidden = !this.groups.length;
      if (this.groups.length) this.onFound();
    } catch (error) {
      words.textContent = error.message;
    }
    element("find-duplicates").disabled = false;
  }

  // of every group the accepted face with the lowest uncertainty stays, other accepted ones are rejected
  #keepBest() {
    const { uncertainty } = this.faces.column;
    const rejected = this.groups.flatMap((group) => group
      .filter((face) => this.faces.accepted(face))
      .sort((a, b) => uncertainty[a] - uncertainty[b])
      .slice(1));
    if (rejected.length) this.onDecide(rejected, REJECT);
    element("duplicate-words").textContent = rejected.length
      ? `Rejected ${rejected.length} faces; the best of each group stays. Ctrl+Z takes it back.`
      : "No group has more than one accepted face.";
  }
}

export class ExportPanel {
  constructor(faces, saving) {
    this.dialog = element("export");
    element("export-folder").textContent = faces.facts.export;
    element("open-export").addEventListener("click", () => {
      element("export-result").replaceChildren();
      this.dialog.showModal();
    });
    element("export-close").addEventListener("click", () => this.dialog.close());
    element("export-start").addEventListener("click", async () => {
      const bar = element("export-progress");
      const result = element("export-result");
      element("export-start").disabled = true;
      result.replaceChildren();
      try {
        if (saving.waiting) throw new Error("Some decisions are not saved yet. Try again when they are.");
        bar.hidden = false;
        const files = document.querySelector("input[name=files]:checked").value;
        const state = await followed("/api/export", { files }, ({ done, total, step }) => {
          bar.value = total ? done / total : 0;
          bar.setAttribute("aria-valuetext", step);
        });
        result.append(...[...state.lines, state.error].filter(Boolean).map((line) => make("li", {}, line)));
      } catch (error) {
        result.append(make("li", {}, error.message));
      }
      bar.hidden = true;
      element("export-start").disabled = false;
    });
  }
}
