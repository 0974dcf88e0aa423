// The annotation page: face after face, from the predicted landmarks.

import { ask } from "../api.js";
import { element, onClick, showText, tell } from "../dom.js";
import { LandmarkEditor } from "./landmarks.js";
import { Saving } from "./saving.js";

// annotated faces that `facereject calibrate --unit` needs
const LEAST = 10;

async function start() {
  const facts = await ask("/api/review");
  const { queue } = facts;
  const corrected = new Set(facts.corrected);
  let place = Math.max(0, queue.findIndex((face) => !corrected.has(face)));
  if (queue.every((face) => corrected.has(face))) place = queue.length;
  let answer = null;
  const editor = new LandmarkEditor(element("view"), {
    onChange: () => { element("undo").disabled = !editor.changed; },
    onSpeak: (text) => { element("announce").textContent = text; },
  });
  const saving = new Saving(facts.revision, {
    onState: (text, bad) => {
      showText(element("saved"), text);
      element("saved").classList.toggle("bad", bad);
    },
    onChanges: (changes) => {
      for (const face of changes.corrected) corrected.add(face);
      progress();
    },
  });

  function progress() {
    const done = queue.filter((face) => corrected.has(face)).length;
    element("progress").value = queue.length ? done / queue.length : 1;
    element("place").textContent = place < queue.length
      ? `Face ${place + 1} of ${queue.length}${corrected.has(queue[place]) ? ", annotated" : ""}` : `${done} of ${queue.length} annotated`;
  }

  async function show() {
    const ended = place >= queue.length;
    element("done").hidden = !ended;
    for (const id of ["work", "side"]) element(id).hidden = ended;
    for (const id of ["next", "skip", "reset", "in", "out", "undo"]) element(id).disabled = ended;
    element("previous").disabled = place === 0;
    progress();
    if (ended) {
      const done = queue.filter((face) => corrected.has(face)).length;
      element("done-words").textContent = `${done} of ${queue.length} faces are annotated, in ${facts.annotations}.`;
      element("done-command").textContent = done < LEAST ? `facereject annotate … --number 30`
        : `facereject calibrate default ${facts.annotations} --unit -o mine.safetensors`;
      element("done-next").textContent = done < LEAST
        ? `The right percentages for faces like these take 20 to 50 annotated faces, at least ${LEAST}. To annotate more:`
        : "To give a model the right percentages on faces like these:";
      element("again").focus();
      return;
    }
    const face = queue[place];
    try {
      answer = await ask(`/api/face/${face}`);
    } catch (error) {
      tell(error.message);
      return;
    }
    if (face !== queue[place]) return;
    element("name").textContent = facts.names[place];
    editor.show({
      href: `/api/view/${facts.version}/${face}`, view: answer.view,
      points: answer.corrected ?? answer.predicted, errors: answer.errors,
    });
    element("undo").disabled = true;
    element("announce").textContent = `Face ${place + 1} of ${queue.length}`;
    // the next image is there when it is wanted
    if (place + 1 < queue.length) new Image().src = `/api/view/${facts.version}/${queue[place + 1]}`;
  }

  function go(steps) {
    place = Math.max(0, Math.min(queue.length, place + steps));
    tell("");
    show();
  }

  async function save() {
    if (place >= queue.length || !editor.points) return;
    const face = queue[place];
    try {
      await saving.send(`/api/landmarks/${face}`, { points: editor.points });
      corrected.add(face);
      go(1);
    } catch (error) {
      tell(error.message);
    }
  }

  onClick({
    next: save, previous: () => go(-1), skip: () => go(1), undo: () => editor.undo(),
    reset: () => answer?.predicted && editor.replace(answer.predicted),
    in: () => editor.zoom(1.4), out: () => editor.zoom(1 / 1.4), again: () => go(-queue.length),
  });
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() !== "z") return;
    const actions = { Enter: save, k: () => go(1), b: () => go(-1), Escape: () => editor.deselect() };
    const action = actions[event.key] ?? actions[event.key.toLowerCase()];
    if (event.key === "Enter" && event.target.closest("button")) return;
    if (action) action();
    else if (element("work").hidden || !editor.key(event)) return;
    event.preventDefault();
  });
  await show();
  element("view").focus();
  window.facereject = { editor, saving, facts, get place() { return place; } };
}

start().catch((error) => tell(error.message));
