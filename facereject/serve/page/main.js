// The page: ties camera, target and files together.

import { Unreachable, save, timed } from "./api.js";
import { Camera, devices } from "./camera.js";
import { Detail } from "./detail.js";
import * as dom from "./dom.js";
import { element, onClick, showText } from "./dom.js";
import { drawFaces } from "./draw.js";
import { Files } from "./files.js";
import { History } from "./history.js";
import { BestFrames, Recorder } from "./record.js";
import { Target } from "./target.js";
import { worstOf } from "./timeline.js";
import { cameraTrouble, percent, share, verdict } from "./words.js";

const view = element("view");
const trouble = { server: "", note: "" };
let last = null;
let spoken = { state: "", at: 0 };

if (!["127.0.0.1", "localhost", "[::1]"].includes(location.hostname)) {
  const way = location.protocol === "https:" ? "" : ", without encryption";
  element("privacy").textContent = `Images are sent to ${location.hostname}${way}. The server there keeps none of them.`;
}

function tell(kind, text) {
  trouble[kind] = text;
  dom.tell(trouble.server || trouble.note);
}

const target = new Target({
  onChange: () => {
    camera.changed();
    files.changed();
    moments.draw(target.limit);
  },
  onTrouble: (text) => {
    tell("server", text);
    if (text) setTimeout(() => trouble.server && target.load(), 3000);
  },
});
const moments = new History(element("history"));
const recorder = new Recorder();
const best = new BestFrames(element("best"), element("people"));
const detail = new Detail(target);
const files = new Files({ target, detail, onTrouble: (text) => tell("note", text) });
const camera = new Camera({
  settings: () => target.request,
  onAnswer: show,
  onEnd: (text) => off(text),
  onConnection: (open) => {
    if (open && trouble.server) target.load();
    tell("server", open ? "" : new Unreachable().message);
    if (!open) setState("off", "Paused", "No connection to the server.");
  },
});

function show(answer, shot) {
  const { canvas } = shot;
  if (view.width !== canvas.width || view.height !== canvas.height) {
    [view.width, view.height] = [canvas.width, canvas.height];
  }
  const context = view.getContext("2d");
  const mirror = element("mirror").checked;
  context.save();
  if (mirror) {
    context.translate(view.width, 0);
    context.scale(-1, 1);
  }
  context.drawImage(canvas, 0, 0);
  context.restore();
  drawFaces(context, answer.faces, { width: view.width, limit: target.limit, points: target.points, mirror });
  const { state, word, why, range } = verdict(answer, target.limit);
  setState(state, word, why, range);
  const { sentence, check, not_compared: notCompared } = answer.domain;
  showText(element("domain"), sentence || (check?.sentence ?? notCompared));
  element("domain").classList.toggle("warning", Boolean(sentence));
  const worst = worstOf(answer);
  recorder.add(canvas, answer.accepted);
  best.add(answer, shot);
  moments.add(state, worst?.expected_error ?? null, performance.now() - shot.capturedAt, answer.seconds);
  last = { answer, blob: shot.blob };
}

function setState(state, word, why, range = "") {
  const box = element("state");
  if (box.dataset.state !== state) box.dataset.state = element("stage").dataset.state = state;
  if (element("state-word").textContent !== word) element("state-word").textContent = word;
  showText(element("state-why"), why);
  showText(element("state-range"), range);
  if (state === "off") showText(element("domain"), "");
  const now = performance.now();
  // read aloud when it changes, not 25 times a second
  if (spoken.state !== state && now - spoken.at > 1500) {
    element("announce").textContent = `${word}. ${why}`;
    spoken = { state, at: now };
  }
}

function refresh() {
  if (!camera.running || document.hidden) return;
  const figures = moments.figures();
  element("share").textContent = figures.share === null ? "–" : share(figures.share);
  element("rate").textContent = figures.rate === null ? "–" : figures.rate.toFixed(0);
  element("delay").textContent = figures.delay === null ? "–" : `${figures.delay.toFixed(0)} ms`;
  for (const part of document.querySelectorAll("[data-recording]")) part.hidden = !recorder.running;
  element("recorded").textContent = `${recorder.frames} frames`;
  moments.draw(target.limit);
}

async function on() {
  const [width, height] = element("size").value.split(" × ").map(Number);
  showText(element("cover-text"), "Waiting for the camera …");
  try {
    await camera.start(element("device").value, width, height);
  } catch (error) {
    off(cameraTrouble(error));
    return;
  }
  tell("note", "");
  element("cover").hidden = true;
  for (const id of ["stop", "snapshot"]) element(id).disabled = false;
  element("record").disabled = !Recorder.possible;
  setState("none", "Looking …", "");
  listDevices();
}

function off(text = "") {
  camera.stop();
  stopRecording();
  element("cover").hidden = false;
  showText(element("cover-text"), text || "The camera is off.");
  for (const id of ["stop", "snapshot", "record"]) element(id).disabled = true;
  setState("off", "Camera off", "");
}

async function listDevices() {
  const picker = element("device");
  const chosen = picker.value;
  const options = (await devices()).map((device, k) => new Option(device.label || `camera ${k + 1}`, device.deviceId));
  picker.replaceChildren(new Option("default", ""), ...options);
  picker.value = options.some((option) => option.value === chosen) ? chosen : "";
}

function snapshot() {
  if (camera.running && last) view.toBlob((blob) => save(blob, timed("snapshot", "png")), "image/png");
}

async function stopRecording() {
  if (!recorder.running) return;
  element("record").setAttribute("aria-pressed", "false");
  element("record").textContent = "Record accepted";
  if (!(await recorder.stop())) tell("note", "No frame was accepted while recording, so there is nothing to save.");
}

function toggleRecording() {
  if (recorder.running) {
    stopRecording();
  } else if (camera.running && last) {
    tell("note", "");
    recorder.start(last.answer.width, last.answer.height);
    element("record").setAttribute("aria-pressed", "true");
    element("record").textContent = "Stop recording";
  }
}

function showTab(name) {
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const mine = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", String(mine));
    tab.tabIndex = mine ? 0 : -1;
    element(tab.getAttribute("aria-controls")).hidden = !mine;
    if (mine && document.activeElement?.getAttribute("role") === "tab") tab.focus();
  }
}

for (const tab of document.querySelectorAll("[role=tab]")) {
  tab.addEventListener("click", () => showTab(tab.id.slice(4)));
  tab.addEventListener("keydown", (event) => {
    if (["ArrowLeft", "ArrowRight"].includes(event.key)) showTab(tab.id === "tab-camera" ? "files" : "camera");
  });
}
onClick({ start: on, stop: off, snapshot, record: toggleRecording });
for (const id of ["device", "size"]) {
  element(id).addEventListener("change", () => {
    if (!camera.running) return;
    stopRecording();
    best.clear();
    on();
  });
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || detail.dialog.open) return;
  if (event.target.closest("input, select, button, a, summary, tr, textarea")) {
    // keys that mean something to the control that has the focus are left to it
    if ([" ", "Enter"].includes(event.key) || event.target.matches("select")) return;
  }
  const actions = {
    " ": () => (camera.running ? off() : on()),
    "+": () => target.step(1),
    "=": () => target.step(1),
    "-": () => target.step(-1),
    s: snapshot,
    r: toggleRecording,
  };
  const action = actions[event.key.toLowerCase()];
  if (action && !element("camera").hidden) {
    event.preventDefault();
    action();
  } else if (["+", "=", "-"].includes(event.key)) {
    action();
  }
});
setInterval(refresh, 250);
new ResizeObserver(() => moments.draw(target.limit)).observe(element("history"));
target.load();
listDevices();

// for tests and measurements
window.facereject = {
  get last() { return last; },
  measured: () => moments.measured(),
  forget: () => moments.clear(),
  files, recorder, target, percent,
};
