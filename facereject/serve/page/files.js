// Photos and videos: taken in, judged one after the other, shown in a table, downloaded again.

import { ask, lines, request, save } from "./api.js";
import { drawMini, worstOf } from "./timeline.js";
import { percent, share } from "./words.js";
import { zip } from "./zip.js";

const element = (id) => document.getElementById(id);
const VIDEO = /\.(mp4|m4v|mov|mkv|webm|avi|mpg|mpeg|m2v|mts|m2ts|vob|wmv|asf|flv|f4v|3gp|3g2|ogv|mxf|y4m)$/i;
const IMAGE = /\.(jpe?g|jpe|jfif|mpo|jp2|j2k|bmp|dib|tiff?|p[gpnb]m|tga|hei[cf]|hif|gif|webp|a?png|avif)$/i;
const AT_ONCE = 2;
const PAGE = 200;

/** Files of a drop, folders with all they hold; of folders only what looks like a picture or a video. */
async function filesOf(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ file, name: file.name }));
  const found = [];
  for (const entry of entries) await walk(entry, "", found, false);
  return found;
}

async function walk(entry, folder, found, inside) {
  if (entry.isFile) {
    const file = await new Promise((done, failed) => entry.file(done, failed)).catch(() => null);
    if (file && (!inside || looksRight(file))) found.push({ file, name: folder + file.name });
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise((done) => reader.readEntries(done, () => done([])));
    if (!some.length) return;
    for (const each of some) if (!each.name.startsWith(".")) await walk(each, `${folder}${entry.name}/`, found, true);
  }
}

const looksRight = (file) => IMAGE.test(file.name) || VIDEO.test(file.name);

export class Files {
  #items = [];
  #queue = [];
  #working = 0;
  #abort = new AbortController();
  #filter = "all";
  #sort = { key: "uncertainty", up: true };
  #shown = PAGE;
  #frame = 0;
  #deciding = 0;

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
      file, name, kind: VIDEO.test(name) || file.type.startsWith("video/") ? "video" : "image",
      state: "waiting", frames: [], head: null, error: null, done: 0, row: null,
    }));
    this.#items.push(...fresh);
    this.#queue.push(...fresh);
    element("results").hidden = !this.#items.length;
    this.#go();
    this.#show();
  }

  /** Decide again on everything that is known, by another target. */
  async redecide() {
    const known = this.#items.filter((item) => item.state === "done");
    if (!known.length) return;
    const mine = ++this.#deciding;
    const inputs = known.map((item) => ({
      frames: item.frames.map(uncertainties),
    }));
    let decided;
    try {
      decided = await ask(`/api/decide?${this.target.query}`, { method: "POST", body: JSON.stringify({ inputs }) });
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
      this.#judge(item).finally(() => {
        this.#working -= 1;
        this.#later();
        this.#go();
      });
    }
  }

  async #judge(item) {
    const signal = this.#abort.signal;
    item.state = "working";
    const before = this.target.query;
    try {
      if (item.kind === "image") await this.#picture(item, signal);
      if (item.kind === "video") await this.#video(item, signal);
      item.state = "done";
      this.#apply(item, await this.#decisionOn(item, before, signal));
      this.onTrouble("");
    } catch (error) {
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
    const body = JSON.stringify({ inputs: [{ frames: item.frames.map(uncertainties) }] });
    return (await ask(`/api/decide?${this.target.query}`, { method: "POST", body, signal })).inputs[0];
  }

  async #picture(item, signal) {
    try {
      const query = `thumbnails=1&${this.target.query}`;
      const answer = await ask(`/api/score?${query}`, { method: "POST", body: item.file, signal });
      item.head = { width: answer.width, height: answer.height };
      item.frames = [{ frame: 0, time_s: null, accepted: answer.accepted, faces: answer.faces }];
    } catch (error) {
      if (error.see !== "/api/video") throw error;
      item.kind = "video";
    }
  }

  async #video(item, signal) {
    for await (const line of lines(`/api/video?${this.target.query}`, { method: "POST", body: item.file, signal })) {
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
    element("cancel").addEventListener("click", () => this.#cancel());
    element("clear").addEventListener("click", () => {
      this.#cancel();
      this.#items = [];
      element("results").hidden = true;
      this.#show();
    });
    element("more").addEventListener("click", () => {
      this.#shown += PAGE;
      this.#show();
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
    element("zip").addEventListener("click", () => this.#zip());
  }

  #cancel() {
    for (const item of this.#queue) Object.assign(item, { state: "cancelled", error: "cancelled" });
    this.#queue = [];
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#show();
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
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#show();
    });
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
    element("rows").replaceChildren(...wanted.slice(0, this.#shown).map((item) => this.#row(item)));
    element("more").hidden = wanted.length <= this.#shown;
  }

  #row(item) {
    item.row ??= this.#newRow(item);
    const { row } = item;
    const worst = worstFace(item);
    const [state, word] = stateOf(item);
    const shown = JSON.stringify([state, word, worst?.uncertainty, item.done, item.share, this.target.limit]);
    if (row.dataset.shown === shown) return row;
    row.dataset.shown = shown;
    row.cells[2].replaceChildren(Object.assign(document.createElement("span"), { className: "verdict", textContent: word }));
    row.cells[2].firstChild.dataset.state = state;
    if (item.error && state === "failed") row.cells[2].append(Object.assign(document.createElement("small"), { textContent: ` ${item.error}` }));
    row.cells[3].textContent = percent(worst?.expected_error);
    row.cells[4].textContent = worst?.uncertainty?.toFixed(3) ?? "–";
    const small = row.cells[1].querySelector("small");
    small.textContent = factsOf(item);
    if (item.kind === "video" && item.frames.length) {
      let mini = row.querySelector(".mini");
      if (!mini) {
        mini = Object.assign(document.createElement("canvas"), { className: "mini", width: 400, height: 14 });
        row.cells[1].append(mini);
      }
      drawMini(mini, item.frames);
    }
    if (item.state === "done" && !row.cells[0].firstChild) row.cells[0].append(thumbnailOf(item));
    return row;
  }

  #newRow(item) {
    const row = document.createElement("tr");
    row.tabIndex = 0;
    for (const name of ["picture", "name", "", "number", "number"]) {
      row.append(Object.assign(document.createElement("td"), { className: name }));
    }
    row.cells[1].append(item.name, document.createElement("small"));
    const open = () => ["done", "failed"].includes(item.state) && this.detail.open(item);
    row.addEventListener("click", open);
    row.addEventListener("keydown", (event) => event.key === "Enter" && open());
    return row;
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

/** The first face; of a picture without one the picture, of a video a sign. */
function thumbnailOf(item) {
  if (item.kind === "video") {
    return Object.assign(document.createElement("div"), { className: "film", textContent: "▶" });
  }
  const face = item.frames[0].faces.find((each) => each.thumbnail);
  const picture = Object.assign(new Image(), { alt: "", loading: "lazy" });
  if (face) {
    picture.src = `data:image/jpeg;base64,${face.thumbnail}`;
  } else {
    picture.src = URL.createObjectURL(item.file);
    picture.onerror = () => picture.remove();
    picture.onload = () => URL.revokeObjectURL(picture.src);
  }
  return picture;
}

function worstFace(item) {
  if (item.kind === "image") return item.frames[0] ? worstOf(item.frames[0]) : null;
  // of a video the middle one: its worst frame says little about it
  const faces = item.frames.map(worstOf).filter((face) => face && face.uncertainty !== null);
  faces.sort((a, b) => a.uncertainty - b.uncertainty);
  return faces[Math.floor(faces.length / 2)] ?? null;
}

function stateOf(item) {
  if (item.state === "done") {
    if (item.accepted) return ["accepted", "✓ accepted"];
    const found = item.frames.some((frame) => frame.faces.length);
    return ["rejected", found ? "✕ rejected" : "✕ no face"];
  }
  return { waiting: ["none", "waiting"], working: ["none", "working …"], cancelled: ["none", "cancelled"], failed: ["failed", "✕ failed:"] }[item.state];
}

function factsOf(item) {
  if (!item.head) return "";
  const size = `${item.head.width} × ${item.head.height}`;
  if (item.kind === "image") {
    const count = item.frames[0]?.faces.length ?? 0;
    return `${size}, ${count} ${count === 1 ? "face" : "faces"}`;
  }
  const lost = item.undecodable ? `, ${item.undecodable} undecodable` : "";
  const part = item.share === undefined ? "" : `, ${share(item.share)} of them accepted`;
  return `${size}, ${item.frames.length} frames${part}${lost}`.replaceAll(" × ", "\u00a0×\u00a0");
}

function valueOf(item, key) {
  if (key === "name") return item.name;
  if (key === "accepted") return stateOf(item)[1];
  const worst = worstFace(item);
  return (key === "expected" ? worst?.expected_error : worst?.uncertainty) ?? Infinity;
}

const compare = (a, b) =>
  typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a === b ? 0 : a < b ? -1 : 1;
