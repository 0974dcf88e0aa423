// The last 60 seconds: expected error over time, accepted or not; and the figures that follow from it.

import { GREEN, GREY, RED, ink, sharp } from "./draw.js";

const SPAN_MS = 60_000;
const COLORS = { accepted: GREEN, rejected: RED, none: GREY };

const quantile = (values, share) => values[Math.min(values.length - 1, Math.floor(share * values.length))];

export class History {
  #moments = [];

  constructor(canvas) {
    this.canvas = canvas;
  }

  /** Note a frame: its state, the expected error of its least certain face, its delay in milliseconds, and the
   * seconds that the server worked on it. */
  add(state, error, delay, seconds) {
    const now = performance.now();
    this.#moments.push({ time: now, state, error, delay, seconds });
    while (this.#moments[0].time < now - SPAN_MS) this.#moments.shift();
  }

  clear() {
    this.#moments = [];
  }

  /** Share accepted in the span; frames per second and median delay of the last two seconds. */
  figures() {
    const now = performance.now();
    const lately = this.#moments.filter((moment) => moment.time > now - 2000);
    const delays = lately.map((moment) => moment.delay).sort((a, b) => a - b);
    const accepted = this.#moments.filter((moment) => moment.state === "accepted").length;
    const span = lately.length > 1 ? (lately.at(-1).time - lately[0].time) / 1000 : 0;
    return {
      share: this.#moments.length ? accepted / this.#moments.length : null,
      rate: span > 0 ? (lately.length - 1) / span : null,
      delay: delays.length ? quantile(delays, 0.5) : null,
    };
  }

  /** Frames, seconds and delays of the whole span, for measurements. */
  measured() {
    const delays = this.#moments.map((moment) => moment.delay).sort((a, b) => a - b);
    const span = (this.#moments.at(-1)?.time - this.#moments[0]?.time) / 1000;
    return {
      frames: this.#moments.length,
      seconds: span,
      median: quantile(delays, 0.5),
      p95: quantile(delays, 0.95),
      server: quantile(this.#moments.map((moment) => 1000 * moment.seconds).sort((a, b) => a - b), 0.5),
    };
  }

  draw(limit) {
    const { context, width, height } = sharp(this.canvas);
    const now = performance.now();
    const base = height - 12;
    const top = Math.max(2 * limit, 1);
    const place = (time) => width - ((now - time) / SPAN_MS) * width;
    const level = (error) => base - Math.min(error / top, 1) * (base - 4);
    context.fillStyle = ink("none-ground");
    context.fillRect(0, 0, width, height);
    this.#moments.forEach((moment, k) => {
      const left = place(moment.time);
      const right = k + 1 < this.#moments.length ? place(this.#moments[k + 1].time) : width;
      context.fillStyle = COLORS[moment.state];
      context.fillRect(left, base + 2, Math.min(right - left, width / 60) + 0.5, height - base - 2);
      if (moment.error !== null) context.fillRect(left - 1, level(moment.error) - 1, 2.5, 2.5);
    });
    context.strokeStyle = ink("soft");
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(0, level(limit));
    context.lineTo(width, level(limit));
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = ink("soft");
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "bottom";
    context.fillText(`limit ${limit.toFixed(1)} %`, 6, level(limit) - 2);
  }
}
