// What is kept of the camera, in the browser alone: a video of accepted frames, the best frame of each person.

import { save, timed } from "./api.js";
import { make } from "./dom.js";
import { percent } from "./words.js";

const KINDS = [
  ["video/mp4;codecs=avc1.42E01F", "mp4"],
  ["video/webm;codecs=vp9", "webm"],
  ["video/webm;codecs=vp8", "webm"],
  ["video/webm", "webm"],
];
const MOST_PEOPLE = 24;
const SIDE = 224;

/** A video of the accepted frames only: it pauses while frames are rejected. */
export class Recorder {
  #canvas = document.createElement("canvas");
  #recorder = null;
  #track = null;
  #chunks = [];

  frames = 0;

  get running() {
    return this.#recorder !== null;
  }

  static get possible() {
    return typeof MediaRecorder !== "undefined" && Boolean(HTMLCanvasElement.prototype.captureStream);
  }

  start(width, height) {
    [this.#canvas.width, this.#canvas.height] = [width, height];
    this.#canvas.getContext("2d");
    const stream = this.#canvas.captureStream(0);
    [this.#track] = stream.getVideoTracks();
    const [type, suffix] = KINDS.find(([name]) => MediaRecorder.isTypeSupported(name)) ?? ["", "webm"];
    this.suffix = suffix;
    this.#chunks = [];
    this.frames = 0;
    this.#recorder = new MediaRecorder(stream, { mimeType: type || undefined, videoBitsPerSecond: 4_000_000 });
    this.#recorder.ondataavailable = (event) => this.#chunks.push(event.data);
    this.#recorder.start(1000);
    this.#recorder.pause();
  }

  /** The next frame; others than accepted ones only stop the clock. */
  add(canvas, accepted) {
    if (!this.#recorder) return;
    if (!accepted) {
      if (this.#recorder.state === "recording") this.#recorder.pause();
      return;
    }
    if (this.#recorder.state === "paused") this.#recorder.resume();
    this.#canvas.getContext("2d").drawImage(canvas, 0, 0, this.#canvas.width, this.#canvas.height);
    this.#track.requestFrame?.();
    this.frames += 1;
  }

  /** End, and offer the video; false if no frame was accepted. */
  async stop() {
    const recorder = this.#recorder;
    if (!recorder) return false;
    this.#recorder = null;
    const ended = new Promise((done) => { recorder.onstop = done; });
    recorder.stop();
    await ended;
    this.#track.stop();
    if (!this.frames) return false;
    this.blob = new Blob(this.#chunks, { type: recorder.mimeType });
    save(this.blob, timed("accepted", this.suffix));
    return true;
  }
}

/** The accepted frame of least uncertainty for every person (every track) that was in view. */
export class BestFrames {
  #best = new Map();

  constructor(list, section) {
    Object.assign(this, { list, section });
  }

  clear() {
    this.#best.clear();
    this.list.replaceChildren();
    this.section.hidden = true;
  }

  add(answer, shot) {
    for (const face of answer.faces) {
      if (!face.accepted || face.track === null) continue;
      const known = this.#best.get(face.track);
      if (known && known.uncertainty <= face.uncertainty) continue;
      if (!known && this.#best.size >= MOST_PEOPLE) continue;
      const entry = known ?? this.#entry(face.track);
      entry.uncertainty = face.uncertainty;
      entry.blob = shot.blob;
      this.#draw(entry, face, shot.canvas);
      this.#best.set(face.track, entry);
    }
  }

  #entry(track) {
    const canvas = make("canvas", { width: SIDE, height: SIDE });
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `Best frame of person ${track}`);
    const words = make("div");
    const button = make("button", {}, "Save");
    const entry = { canvas, words, track };
    button.addEventListener("click", () => save(entry.blob, timed(`person-${track}`, "jpg")));
    this.list.append(make("li", {}, canvas, words, button));
    this.section.hidden = false;
    return entry;
  }

  #draw(entry, face, image) {
    const side = 1.5 * Math.max(face.box.width, face.box.height);
    const [x, y] = [face.box.x + face.box.width / 2 - side / 2, face.box.y + face.box.height / 2 - side / 2];
    const context = entry.canvas.getContext("2d");
    context.fillStyle = "#000";
    context.fillRect(0, 0, SIDE, SIDE);
    context.drawImage(image, x, y, side, side, 0, 0, SIDE, SIDE);
    entry.words.textContent = `#${entry.track} · ${percent(face.expected_error)}`;
  }
}
