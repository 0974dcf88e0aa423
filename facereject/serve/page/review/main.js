// The review page: ties grid, slider, large view and panels together.

import { element, make, onClick, showText, tell } from "../dom.js";
import { Crops } from "./crops.js";
import { ACCEPT, REJECT, UNDECIDED, loadFaces } from "./data.js";
import { Grid, makeCell, markCell } from "./grid.js";
import { Large } from "./large.js";
import { DuplicatePanel, ExportPanel, FitPanel } from "./panels.js";
import { RuleControl } from "./rule.js";
import { Saving } from "./saving.js";

const NEAR = 20;

async function start() {
  const faces = await loadFaces();
  const crops = new Crops(faces.facts.version);
  const undone = [];
  document.title = `${faces.facts.name} · facereject review`;
  element("table-name").textContent = faces.facts.name;
  if (faces.facts.unmatched) {
    tell(`${faces.facts.unmatched} saved decisions are about faces that are not in this table; they are kept.`);
  }

  const saving = new Saving(faces.facts.revision, {
    onState: (text, bad) => {
      showText(element("saved"), text);
      element("saved").classList.toggle("bad", bad);
    },
    onChanges: (changes) => {
      for (const [face, decision] of changes.decided) faces.decided[face] = decision;
      faces.corrected = new Set(changes.corrected);
      if (changes.rule && JSON.stringify(changes.rule) !== JSON.stringify(faces.rule)) rule.take(changes.rule);
      changed();
    },
  });

  function decide(numbers, decision, { remember = true } = {}) {
    const before = numbers.map((face) => [face, faces.decided[face]]).filter(([, was]) => was !== decision);
    if (!before.length) return;
    if (remember) undone.push(before);
    for (const [face] of before) faces.decided[face] = decision;
    saving.send("/api/decide", { numbers: before.map(([face]) => face), decision }).catch((error) => tell(error.message));
    const words = ["taken back", "accepted", "rejected"][decision];
    element("announce").textContent = before.length === 1 ? words : `${before.length} faces ${words}`;
    changed();
  }

  function undo() {
    const last = undone.pop();
    if (!last) return;
    for (const decision of [UNDECIDED, ACCEPT, REJECT]) {
      const numbers = last.filter(([, was]) => was === decision).map(([face]) => face);
      if (numbers.length) decide(numbers, decision, { remember: false });
    }
  }

  // decisions have changed: everything that shows them follows; the arrangement stays until it is asked for again
  function changed() {
    grid.refresh();
    rule.show();
    for (const cell of element("strip").querySelectorAll(".cell")) markCell(faces, cell, Number(cell.dataset.face));
    large.describe();
    fit.show();
  }

  let stripTimer = null;
  function showStrip() {
    const { below, above } = faces.around(NEAR);
    const wanted = JSON.stringify([below, above]);
    if (element("strip").dataset.shown === wanted) return;
    element("strip").dataset.shown = wanted;
    crops.want({ 1: [...below.slice(-NEAR / 2), ...above, ...below] });
    const cells = (list) => list.map((face) => {
      const button = make("button", {}, makeCell(faces, face, crops));
      button.dataset.face = face;
      return make("li", {}, button);
    });
    const line = make("li", { className: "cut" }, "cut-off");
    element("strip").replaceChildren(...cells(below), line, ...cells(above));
    // the cut-off in the middle
    const box = element("strip");
    box.scrollLeft = line.offsetLeft - box.offsetLeft - box.clientWidth / 2 + line.clientWidth / 2;
  }

  const arrange = () => grid.show(faces.arranged({
    sort: element("sort").value, group: element("group").value, show: element("show").value, search: element("search").value,
  }));

  const grid = new Grid(element("grid"), faces, crops, {
    onOpen: (face) => large.show(face),
    onDecide: decide,
    onSelect: () => {
      const count = grid.selected.size;
      element("selection").textContent = count ? `${count} selected` : "";
      for (const id of ["accept", "reject", "undecide", "open"]) element(id).disabled = !grid.order.length;
      element("empty").hidden = grid.order.length > 0;
    },
  });
  const large = new Large(faces, saving, {
    onStep: (steps) => {
      const place = Math.max(0, Math.min(grid.order.length - 1, grid.current + steps));
      grid.go(grid.order[place]);
      large.show(grid.face);
    },
    onDecide: (face, decision) => decide([face], decision),
    onClose: () => element("grid").focus({ preventScroll: true }),
    onTrouble: tell,
  });
  const rule = new RuleControl(faces, {
    onChange: () => {
      grid.refresh();
      for (const cell of element("strip").querySelectorAll(".cell")) markCell(faces, cell, Number(cell.dataset.face));
      clearTimeout(stripTimer);
      stripTimer = setTimeout(showStrip, 150);
    },
    onSave: (value) => {
      clearTimeout(rule.timer);
      rule.timer = setTimeout(() => saving.send("/api/rule", value, { replaces: true }).catch((error) => tell(error.message)), 250);
    },
  });
  const fit = new FitPanel(faces, rule);
  new DuplicatePanel(faces, {
    onFound: () => {
      element("group").querySelector("[value=duplicates]").disabled = false;
      element("group").value = "duplicates";
      arrange();
    },
    onDecide: decide,
  });
  new ExportPanel(faces, saving);

  for (const option of [...element("sort").options]) {
    const name = option.value.replace("-", "");
    if (name !== "file" && !faces.column[name]?.some(Number.isFinite)) option.remove();
  }
  if (!faces.shown.some((face) => faces.isVideo(face))) element("group").querySelector("[value=track]").remove();
  for (const id of ["sort", "group", "show"]) element(id).addEventListener("change", arrange);
  let typing = null;
  element("search").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(arrange, 200);
  });
  element("plain").addEventListener("change", () => {
    crops.setPlain(!element("plain").checked);
    grid.redraw();
    delete element("strip").dataset.shown;
    showStrip();
  });
  element("strip").addEventListener("click", (event) => {
    const face = event.target.closest("button")?.dataset.face;
    if (face === undefined) return;
    if (event.target.classList.contains("badge")) decide([Number(face)], faces.accepted(Number(face)) ? REJECT : ACCEPT);
    else {
      grid.go(Number(face));
      large.show(Number(face));
    }
  });
  element("confirm").addEventListener("click", () => {
    const { below, above } = faces.around(NEAR);
    decide(below.filter((face) => faces.decided[face] === UNDECIDED), ACCEPT);
    decide(above.filter((face) => faces.decided[face] === UNDECIDED), REJECT);
  });
  onClick({
    accept: () => decide(grid.chosen, ACCEPT),
    reject: () => decide(grid.chosen, REJECT),
    undecide: () => decide(grid.chosen, UNDECIDED),
    open: () => large.show(grid.face),
  });

  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input[type=search], input[type=text], select") || element("export").open) return;
    const key = event.key.toLowerCase();
    if ((event.ctrlKey || event.metaKey) && key === "z" && !large.open) {
      undo();
      event.preventDefault();
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const decision = { a: ACCEPT, r: REJECT, u: UNDECIDED }[key];
    if (decision !== undefined) {
      const near = event.target.closest("#strip button")?.dataset.face;
      if (large.open) decide([large.crop], decision);
      else decide(near === undefined ? grid.chosen : [Number(near)], decision);
    } else if (!large.open && ["+", "=", "-"].includes(event.key)) {
      rule.step(event.key === "-" ? -1 : 1);
    } else {
      return;
    }
    event.preventDefault();
  });

  arrange();
  showStrip();
  document.body.classList.add("ready");
  element("grid").focus({ preventScroll: true });
  // for tests and measurements
  window.facereject = { faces, crops, grid, large, rule, saving };
}

start().catch((error) => tell(error.message));
