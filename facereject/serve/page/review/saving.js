// Decisions on their way to the server: saved at once, again and again until it answers; changes of others come back.

import { ask, post, sleep } from "../api.js";

export class Saving {
  #queue = [];
  #busy = false;

  /** `onState(text, bad)` says how things are; `onChanges(changes)` gets what another window has done. */
  constructor(revision, { onState, onChanges }) {
    Object.assign(this, { revision, onState, onChanges });
    setInterval(() => this.#look(), 2500);
    addEventListener("beforeunload", (event) => this.#queue.length && event.preventDefault());
  }

  get waiting() {
    return this.#queue.length;
  }

  /** Send something that changes the review; the answer is given when it is saved. */
  send(path, body, { replaces = false } = {}) {
    return new Promise((done, fail) => {
      if (replaces) this.#queue = this.#queue.filter((each, k) => (k === 0 && this.#busy) || each.path !== path);
      this.#queue.push({ path, body, done, fail });
      this.#work();
    });
  }

  async #work() {
    if (this.#busy) return;
    this.#busy = true;
    this.onState("Saving …", false);
    while (this.#queue.length) {
      const { path, body, done, fail } = this.#queue[0];
      try {
        const answer = await post(path, body);
        // a gap means that another window has changed something: fetched by the next look
        if (answer.revision === this.revision + 1) this.revision = answer.revision;
        this.#queue.shift();
        done(answer);
      } catch (error) {
        if (error.status !== undefined && ![401, 507].includes(error.status)) {
          this.#queue.shift();
          fail(error);
          continue;
        }
        this.onState(`Not saved yet: ${error.message}`, true);
        await sleep(2);
      }
    }
    this.#busy = false;
    this.onState("Everything is saved.", false);
  }

  async #look() {
    if (document.hidden || this.#busy) return;
    try {
      const changes = await ask(`/api/changes?since=${this.revision}`);
      if (this.#busy) return;
      if (changes.revision < this.revision) {
        // the server was restarted, and counts anew
        location.reload();
      } else if (changes.revision > this.revision) {
        this.revision = changes.revision;
        this.onChanges(changes);
      }
      this.onState("Everything is saved.", false);
    } catch (error) {
      this.onState(error.message, true);
    }
  }
}
