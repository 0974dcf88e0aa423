// Photos and videos: taken in, scored one after the other, shown in a table, downloaded again.

import { ask, lines, post, request, save } from "./api.js";
import { element, onClick, showText } from "./dom.js";
import { filesOf, isVideo, looksRight } from "./intake.js";
import { compare, rowOf, valueOf } from "./table.js";
import { zip } from "./zip.js";

const AT_ONCE = 2;
const PAGE = 200;

// uncertainties can be compared within one model and region
const scaleOf = ({ model, region }) => `${model ?? ""}/${region ?? ""}`;

export class Files {
  #items = [];
  #queue = [];
  #working = 0;
  #abort = new AbortController();
  #filter = "all";
  #sort = { key: "uncertainty", up: true };
  #shown = PAGE;
  #timer = 0;
  #deciding = 0;
  #scoredBy = scaleOf({});
  #compared = "";

  constructor({ target, detail, onTrouble }) {
    Object.assign(this, { target, detail, onTrouble });
    this.#listen();
  }

  get items() {
    return this.#items;
  }

  /** Take files in: `[{file, name}]`. */
  add(files) {
    const fresh = files.map(({ file, name }) => ({
      file, name, kind: isVideo(file) ? "video" : "image",
      state: "waiting", frames: [], head: null, error: null, done: 0, row: null,
    }));
    this.#items.push(...fresh);
    this.#queue.push(...fresh);
    element("results").hidden = !this.#items.length;
    this.#go();
    this.#show();
  }

  /** Another target decides again on everything that is known; another model or region scores it again. */
  changed() {
    const by = scaleOf(this.target.request);
    if (by === this.#scoredBy) {
      this.#redecide();
      return;
    }
    this.#scoredBy = by;
    this.#stop();
    const again = this.#items.filter((item) => item.state !== "cancelled");
    for (const item of again) {
      Object.assign(item, { state: "waiting", frames: [], error: null, done: 0, share: undefined });
    }
    this.#queue = again;
    this.#go();
    this.#show();
  }

  async #redecide() {
    const known = this.#items.filter((item) => item.state === "done");
    if (!known.length) return;
    const mine = ++this.#deciding;
    const inputs = known.map((item) => ({
      frames: item.frames.map(uncertainties),
    }));
    let decided;
    try {
      decided = await post(`/api/decide?${this.target.query}`, { inputs });
    } catch (error) {
      this.onTrouble(error.message);
      return;
    }
    if (mine !== this.#deciding) return;
    known.forEach((item, k) => this.#apply(item, decided.inputs[k]));
    this.#show();
    this.detail.refresh();
  }

  #apply(item, decision) {
    item.accepted = decision.accepted;
    item.frames.forEach((frame, k) => {
      frame.accepted = decision.frames[k];
      frame.faces.forEach((face, i) => {
        face.accepted = decision.faces[k][i];
        if (face.accepted) face.reason = "";
        else face.reason ||= "uncertain";
      });
    });
    item.share = item.frames.filter((frame) => frame.accepted).length / Math.max(item.frames.length, 1);
  }

  #go() {
    while (this.#working < AT_ONCE && this.#queue.length) {
      const item = this.#queue.shift();
      this.#working += 1;
      this.#score(item).finally(() => {
        this.#working -= 1;
        this.#later();
        this.#go();
      });
    }
  }

  async #score(item) {
    const signal = this.#abort.signal;
    item.state = "working";
    const before = this.target.query;
    try {
      if (item.kind === "image") await this.#image(item, signal);
      if (item.kind === "video") await this.#video(item, signal);
      const decision = await this.#decisionOn(item, before, signal);
      signal.throwIfAborted();
      item.state = "done";
      this.#apply(item, decision);
      this.onTrouble("");
    } catch (error) {
      // given up to be scored again
      if (signal.aborted && signal.reason === "again") return;
      item.state = error.name === "AbortError" ? "cancelled" : "failed";
      item.error = error.name === "AbortError" ? "cancelled" : error.message;
      item.frames = [];
      if (!error.status && error.name !== "AbortError") this.onTrouble(error.message);
    }
  }

  // the first answer has decisions; they are asked for again where the target has changed since, and for videos,
  // which are accepted by the share of their frames
  async #decisionOn(item, before, signal) {
    if (item.kind === "image" && before === this.target.query) {
      const [frame] = item.frames;
      const faces = [frame.faces.map((face) => face.accepted)];
      return { accepted: frame.accepted, frames: [frame.accepted], faces };
    }
    const inputs = [{ frames: item.frames.map(uncertainties) }];
    return (await post(`/api/decide?${this.target.query}`, { inputs }, { signal })).inputs[0];
  }

  async #image(item, signal) {
    try {
      const query = `thumbnails=1&${this.target.query}`;
      const answer = await ask(`/api/score?${query}`, { method: "POST", body: item.file, signal });
      signal.throwIfAborted();
      item.head = { width: answer.width, height: answer.height };
      item.frames = [{ frame: 0, time_s: null, accepted: answer.accepted, faces: answer.faces }];
    } catch (error) {
      // a video or an animation under the name of an image
      if (error.status !== 415) throw error;
      item.kind = "video";
    }
  }

  async #video(item, signal) {
    for await (const line of lines(`/api/video?${this.target.query}`, { method: "POST", body: item.file, signal })) {
      signal.throwIfAborted();
      if (line.error) throw Object.assign(new Error(line.error), { status: 422 });
      if (line.done) item.undecodable = line.undecodable;
      else if (line.fps !== undefined) item.head = line;
      else item.frames.push(line);
      item.done = item.head?.frames ? Math.min(item.frames.length / item.head.frames, 1) : 0;
      this.#later();
    }
    if (!item.frames.length) throw Object.assign(new Error("the video has no frames"), { status: 422 });
  }

  #listen() {
    const drop = element("drop");
    for (const name of ["dragover", "dragleave", "drop"]) {
      drop.addEventListener(name, (event) => {
        event.preventDefault();
        drop.classList.toggle("over", name === "dragover");
      });
      // beside the zone a drop would leave the page
      window.addEventListener(name, (event) => event.preventDefault());
    }
    drop.addEventListener("drop", async (event) => this.add(await filesOf(event.dataTransfer)));
    for (const [button, input] of [["choose", "file-input"], ["choose-folder", "folder-input"]]) {
      element(button).addEventListener("click", () => element(input).click());
      element(input).addEventListener("change", () => {
        const chosen = [...element(input).files];
        const right = input === "folder-input" ? chosen.filter(looksRight) : chosen;
        this.add(right.map((file) => ({ file, name: file.webkitRelativePath || file.name })));
        element(input).value = "";
      });
    }
    onClick({
      cancel: () => this.#cancel(),
      clear: () => {
        this.#cancel();
        this.#items = [];
        element("results").hidden = true;
        this.#show();
      },
      more: () => {
        this.#shown += PAGE;
        this.#show();
      },
      zip: () => this.#zip(),
    });
    element("filter").addEventListener("change", (event) => {
      this.#filter = event.target.value;
      this.#show();
    });
    for (const button of document.querySelectorAll("[data-sort]")) {
      button.addEventListener("click", () => {
        const key = button.dataset.sort;
        this.#sort = { key, up: this.#sort.key === key ? !this.#sort.up : true };
        this.#show();
      });
    }
    for (const button of document.querySelectorAll("[data-format]")) {
      button.addEventListener("click", () => this.#download(button.dataset.format));
    }
  }

  #cancel() {
    for (const item of this.#queue) Object.assign(item, { state: "cancelled", error: "cancelled" });
    this.#queue = [];
    this.#stop(new DOMException("cancelled", "AbortError"));
    this.#show();
  }

  #stop(reason = "again") {
    this.#abort.abort(reason);
    this.#abort = new AbortController();
  }

  // whether the faces are like the calibration faces, asked once everything is scored
  async #compare(done) {
    const state = `${this.#scoredBy} ${done.length}`;
    if (state === this.#compared) return;
    this.#compared = state;
    showText(element("files-domain"), "");
    const inputs = done.map((item) => ({ source: item.name, frames: firstOfTracks(item.frames) }));
    try {
      const { check, not_compared: notCompared } = await post(`/api/domain?${this.target.query}`, { inputs });
      if (state === this.#compared) showText(element("files-domain"), check?.sentence ?? notCompared);
    } catch {
      // too much for one request: the table says it as well
    }
  }

  async #download(format) {
    const inputs = this.#items.filter((item) => ["done", "failed"].includes(item.state)).map((item) => (
      item.error ? { source: item.name, error: item.error } : { source: item.name, frames: item.frames.map(plain) }
    ));
    const path = `/api/table?format=${format}&${this.target.query}`;
    try {
      const answer = await request(path, { method: "POST", body: JSON.stringify({ inputs }) });
      save(await answer.blob(), `faces.${format}`);
    } catch (error) {
      this.onTrouble(error.message);
    }
  }

  async #zip() {
    const accepted = this.#items.filter((item) => item.state === "done" && item.accepted);
    try {
      if (!accepted.length) throw new Error("No file is accepted, so there is nothing to put into a ZIP.");
      save(await zip(accepted), "accepted.zip");
    } catch (error) {
      this.onTrouble(error.message);
    }
  }

  #later() {
    this.#timer ||= setTimeout(() => {
      this.#timer = 0;
      this.#show();
    }, 200);
  }

  #show() {
    const items = this.#items;
    const busy = items.filter((item) => ["waiting", "working"].includes(item.state));
    const done = items.filter((item) => item.state === "done");
    element("work").hidden = !busy.length;
    const part = busy.reduce((sum, item) => sum + item.done, 0);
    element("progress").value = items.length ? (items.length - busy.length + part) / items.length : 0;
    element("progress-text").textContent = `${items.length - busy.length} of ${items.length} files`;
    const accepted = done.filter((item) => item.accepted).length;
    const failed = items.filter((item) => item.state === "failed").length;
    element("summary").textContent = `${accepted} of ${done.length} accepted`
      + (failed ? `, ${failed} could not be read` : "");
    for (const button of document.querySelectorAll(".downloads button:not(#clear)")) button.disabled = !done.length;
    const parquet = document.querySelector("[data-format=parquet]");
    parquet.hidden = !(this.target.model?.formats ?? []).includes("parquet");
    this.#rows();
    if (!busy.length) this.#compare(done);
  }

  #rows() {
    const wanted = this.#items.filter((item) => {
      if (this.#filter === "all") return true;
      return item.state === "done" && item.accepted === (this.#filter === "accepted");
    });
    const { key, up } = this.#sort;
    wanted.sort((a, b) => (up ? 1 : -1) * compare(valueOf(a, key), valueOf(b, key)));
    for (const head of document.querySelectorAll("th[aria-sort]")) {
      const mine = head.querySelector("button").dataset.sort === key;
      head.setAttribute("aria-sort", mine ? (up ? "ascending" : "descending") : "none");
    }
    const rows = wanted.slice(0, this.#shown).map((item) => (
      rowOf(item, this.target.limit, () => this.detail.open(item))
    ));
    const body = element("rows");
    // rows that are put where they stand would lose the focus
    const same = rows.length === body.children.length && rows.every((row, k) => row === body.children[k]);
    if (!same) body.replaceChildren(...rows);
    element("more").hidden = wanted.length <= this.#shown;
  }
}

// a head that is turned too far is rejected under every target
const uncertainties = (frame) => frame.faces.map((face) => (face.reason === "turned" ? null : face.uncertainty));

// what the server needs of a frame; thumbnails stay here
const plain = (frame) => ({
  frame: frame.frame,
  time_s: frame.time_s,
  faces: frame.faces.map(({ thumbnail, explanation, hint, ...face }) => face),
});

// one face of each person: the frames of a video are not independent
function firstOfTracks(frames) {
  const known = new Set();
  const isNew = ({ track }) => track === null || (!known.has(track) && known.add(track));
  return frames.map(plain).map((frame) => ({ ...frame, faces: frame.faces.filter(isNew) })).filter(({ faces }) => faces.length);
}
