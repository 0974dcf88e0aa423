// Talking to the server: requests, error responses, the socket for live frames.

import { make } from "./dom.js";

/** An error response of the server: its sentence and its status. */
export class ResponseError extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }
}

/** The server cannot be reached. */
export class Unreachable extends Error {
  constructor() {
    super("The facereject server does not answer. Restart it; this page reconnects automatically.");
  }
}

export const sleep = (seconds) => new Promise((go) => setTimeout(go, 1000 * seconds));

/** A request; what waits for a free place is sent again when the server says so. */
export async function request(path, options = {}) {
  for (;;) {
    let answer;
    try {
      answer = await fetch(path, options);
    } catch (error) {
      if (options.signal?.aborted) throw error;
      throw new Unreachable();
    }
    if (answer.ok) return answer;
    if (answer.status === 503 && !options.signal?.aborted) {
      await sleep(Number(answer.headers.get("Retry-After")) || 1);
      options.signal?.throwIfAborted();
      continue;
    }
    let said = {};
    try {
      said = await answer.json();
    } catch { /* no sentence came */ }
    throw new ResponseError(said.error || `the server answered ${answer.status}`, answer.status);
  }
}

/** The JSON of a request. */
export async function ask(path, options) {
  return (await request(path, options)).json();
}

/** The JSON that a request with a body of JSON gives. */
export const post = (path, body = {}, options = {}) => ask(path, { method: "POST", body: JSON.stringify(body), ...options });

/** The lines of JSON of a request, each as soon as it comes. */
export async function* lines(path, options) {
  const reader = (await request(path, options)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      if (options.signal?.aborted) throw error;
      throw new Unreachable();
    }
    if (part.done) break;
    const pieces = (rest + part.value).split("\n");
    rest = pieces.pop();
    for (const piece of pieces) if (piece) yield JSON.parse(piece);
  }
}

/** The socket for live frames; opened again when it breaks, as long as it is wanted. */
export class LiveSocket {
  #socket = null;
  #wanted = false;

  constructor({ onAnswer, onOpen, onLost }) {
    Object.assign(this, { onAnswer, onOpen, onLost });
  }

  get ready() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  open() {
    this.#wanted = true;
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/live`);
    this.#socket = socket;
    socket.onopen = () => this.onOpen();
    socket.onmessage = (message) => this.onAnswer(JSON.parse(message.data));
    socket.onclose = () => {
      if (this.#socket !== socket) return;
      this.#socket = null;
      if (!this.#wanted) return;
      this.onLost();
      setTimeout(() => this.#wanted && !this.#socket && this.open(), 1500);
    };
  }

  send(message) {
    if (this.ready) this.#socket.send(message);
  }

  close() {
    this.#wanted = false;
    this.#socket?.close();
    this.#socket = null;
  }
}

/** Offer something to be saved. */
export function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** A name with the present time in it. */
export function timed(stem, suffix) {
  const now = new Date(Date.now() - 60_000 * new Date().getTimezoneOffset());
  return `${stem}-${now.toISOString().slice(0, 19).replaceAll(":", "").replace("T", "-")}.${suffix}`;
}
