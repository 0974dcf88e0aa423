// Crops: fetched many at a time, in the order in which they are wanted; a bounded number of them is kept.

import { Unreachable, request } from "../api.js";

const BATCH = 16, AT_ONCE = 3, KEPT = 3000, HEAD = 12;

export class Crops {
  // by face, the ones used longest ago first: {url} or {error}
  #kept = new Map();
  #running = new Set();
  #wanted = [[], [], []];
  #waiting = new Map();
  #pause = 0;
  #kind = "crop";

  constructor(version) {
    this.version = version;
    this.requests = 0;
  }

  /** Crops with landmarks or without. */
  setPlain(plain) {
    this.#kind = plain ? "plain" : "crop";
    for (const batch of this.#running) batch.stop.abort();
    for (const { url } of this.#kept.values()) if (url) URL.revokeObjectURL(url);
    this.#kept.clear();
    this.#waiting.clear();
  }

  /** The faces that are wanted, in order, by level: 0 is on the screen, 1 and 2 may be soon. */
  want(levels) {
    Object.assign(this.#wanted, levels);
    this.#pump();
  }

  /** Show the crop of a face in an image now, or when it has come; `onError(sentence)` if there is none. */
  show(image, face, onError) {
    const entry = this.#kept.get(face);
    if (entry) {
      this.#kept.delete(face);
      this.#kept.set(face, entry);
      fill(entry, image, onError);
      return;
    }
    if (!this.#waiting.has(face)) this.#waiting.set(face, []);
    this.#waiting.get(face).push([image, onError]);
  }

  #pump() {
    const wanted = new Set(this.#wanted.flat());
    for (const batch of this.#running) {
      // what has left the screen need not be made
      if (![...batch.faces].some((face) => wanted.has(face))) batch.stop.abort();
    }
    for (const face of this.#waiting.keys()) if (!wanted.has(face)) this.#waiting.delete(face);
    if (this.#pause) return;
    const asked = new Set([...this.#running].flatMap((batch) => [...batch.faces]));
    const missing = [...wanted].filter((face) => !this.#kept.has(face) && !asked.has(face));
    while (this.#running.size < AT_ONCE && missing.length) this.#fetch(missing.splice(0, BATCH));
  }

  async #fetch(faces) {
    const batch = { faces: new Set(faces), stop: new AbortController() };
    this.#running.add(batch);
    this.requests += 1;
    const { signal } = batch.stop;
    try {
      const answer = await request(`/api/crops/${this.version}/${this.#kind}?faces=${faces}`, { signal });
      for await (const [face, entry] of records(answer.body.getReader())) {
        if (signal.aborted) break;
        batch.faces.delete(face);
        this.#keep(face, entry);
      }
    } catch (error) {
      if (!signal.aborted && error instanceof Unreachable) this.#again();
      else if (!signal.aborted) for (const face of batch.faces) this.#keep(face, { error: error.message });
    }
    this.#running.delete(batch);
    this.#pump();
  }

  #again() {
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => {
      this.#pause = 0;
      this.#pump();
    }, 2000);
  }

  #keep(face, entry) {
    this.#kept.set(face, entry);
    for (const [image, onError] of this.#waiting.get(face) ?? []) fill(entry, image, onError);
    this.#waiting.delete(face);
    for (const [oldest, { url }] of this.#kept) {
      if (this.#kept.size <= KEPT) break;
      this.#kept.delete(oldest);
      if (url) URL.revokeObjectURL(url);
    }
  }
}

function fill({ url, error }, image, onError) {
  if (error) onError(error);
  else image.src = url;
}

/** What a response holds, as it comes: number of the face, status, length; then a JPEG, or a sentence. */
async function* records(reader) {
  let rest = new Uint8Array(0);
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch {
      throw new Unreachable();
    }
    if (part.done) return;
    const joined = new Uint8Array(rest.length + part.value.length);
    joined.set(rest);
    joined.set(part.value, rest.length);
    rest = joined;
    while (rest.length >= HEAD) {
      const head = new DataView(rest.buffer, rest.byteOffset, HEAD);
      const [face, status, length] = [0, 4, 8].map((place) => head.getUint32(place, true));
      if (rest.length < HEAD + length) break;
      const data = rest.slice(HEAD, HEAD + length);
      rest = rest.subarray(HEAD + length);
      yield [face, status === 200
        ? { url: URL.createObjectURL(new Blob([data], { type: "image/jpeg" })) } : { error: new TextDecoder().decode(data) }];
    }
  }
}
