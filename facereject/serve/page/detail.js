// One file in large: the image with its faces, or the video with a timeline to click into.

import { element, showText } from "./dom.js";
import { drawFaces } from "./draw.js";
import { drawTimeline } from "./timeline.js";
import { verdict } from "./words.js";

export class Detail {
  #item = null;
  #address = "";
  #shown = -1;

  constructor(target) {
    this.target = target;
    this.dialog = element("detail");
    this.video = element("detail-video");
    this.canvas = element("detail-view");
    this.timeline = element("timeline");
    element("detail-close").addEventListener("click", () => this.dialog.close());
    this.dialog.addEventListener("close", () => this.#end());
    this.timeline.addEventListener("click", (event) => {
      const box = this.timeline.getBoundingClientRect();
      this.#seek(((event.clientX - box.left) / box.width) * this.#length());
    });
    this.timeline.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
      if (!step || !this.#item) return;
      event.preventDefault();
      const frames = this.#item.frames;
      const next = Math.min(Math.max(this.#shown + step, 0), frames.length - 1);
      this.#seek(frames[next].time_s + 0.001);
    });
    for (const name of ["timeupdate", "seeked", "loadeddata"]) {
      this.video.addEventListener(name, () => this.refresh());
    }
    this.video.addEventListener("error", () => {
      if (!this.#item || this.video.hidden) return;
      this.video.hidden = true;
      showText(element("detail-words"), "The browser cannot play this video; its decisions are in the strip.");
    });
  }

  /** Open a file that has been scored. */
  async open(item) {
    this.#item = item;
    this.#shown = -1;
    this.#address = URL.createObjectURL(item.file);
    element("detail-name").textContent = item.name;
    showText(element("detail-words"), item.error ?? "");
    const isVideo = item.kind === "video" && !item.error;
    this.video.hidden = this.timeline.hidden = !isVideo;
    this.canvas.hidden = Boolean(item.error);
    this.dialog.showModal();
    if (isVideo) {
      this.video.src = this.#address;
      this.#follow();
    } else if (!item.error) {
      await this.#image(item);
    }
    this.refresh();
  }

  /** Draw again, after another place or another target. */
  refresh() {
    if (!this.#item || !this.dialog.open) return;
    if (this.#item.kind === "video") this.#frame();
    else if (this.image) this.#drawImage();
  }

  async #image(item) {
    this.image = new Image();
    this.image.src = this.#address;
    try {
      await this.image.decode();
    } catch {
      // such as HEIC: the faces are shown on an empty ground
      this.image = { naturalWidth: item.head.width, naturalHeight: item.head.height, unknown: true };
    }
  }

  #drawImage() {
    const { head, frames: [frame] } = this.#item;
    const scale = Math.min(1, 1600 / Math.max(head.width, head.height));
    this.canvas.width = Math.round(head.width * scale);
    this.canvas.height = Math.round(head.height * scale);
    const context = this.canvas.getContext("2d");
    if (!this.image.unknown) context.drawImage(this.image, 0, 0, this.canvas.width, this.canvas.height);
    const { limit, points } = this.target;
    drawFaces(context, frame.faces, { width: head.width, limit, points, scale });
    const { word, why, range } = verdict(frame, limit);
    showText(element("detail-words"), `${word}. ${why} ${range}`);
  }

  #follow() {
    if (!this.video.requestVideoFrameCallback) return;
    const item = this.#item;
    const seen = () => {
      if (this.#item !== item) return;
      this.refresh();
      this.video.requestVideoFrameCallback(seen);
    };
    this.video.requestVideoFrameCallback(seen);
  }

  #frame() {
    const { head, frames } = this.#item;
    if (!frames.length) return;
    const time = this.video.currentTime;
    // the last frame that has begun; times in files are rounded
    let k = frames.findIndex((frame) => frame.time_s > time + 0.002) - 1;
    if (k < -1) k = frames.length - 1;
    this.#shown = Math.max(k, 0);
    const frame = frames[this.#shown];
    [this.canvas.width, this.canvas.height] = [head.width, head.height];
    const { limit, points } = this.target;
    drawFaces(this.canvas.getContext("2d"), frame.faces, { width: head.width, limit, points });
    drawTimeline(this.timeline, frames, { limit, time, length: this.#length() });
    this.timeline.setAttribute("aria-valuemin", "0");
    this.timeline.setAttribute("aria-valuemax", String(frames.length - 1));
    this.timeline.setAttribute("aria-valuenow", String(this.#shown));
    const { word, why, range } = verdict(frame, limit);
    if (!this.video.hidden) showText(element("detail-words"), `Frame ${frame.frame}: ${word}. ${why} ${range}`);
  }

  #length() {
    const last = this.#item.frames.at(-1)?.time_s ?? 0;
    return Math.max(last + 1 / (this.#item.head.fps || 25), 0.04);
  }

  #seek(seconds) {
    this.video.currentTime = seconds;
    this.refresh();
  }

  #end() {
    this.video.removeAttribute("src");
    this.video.load();
    this.image = null;
    this.#item = null;
    URL.revokeObjectURL(this.#address);
  }
}
