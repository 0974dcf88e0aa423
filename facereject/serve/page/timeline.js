// A video as a strip: accepted, rejected and frames without a face, and the expected error over time.

import { GREEN, GREY, RED, ink, sharp } from "./draw.js";

export const worstOf = (frame) =>
  frame.faces.reduce((a, b) => (!a || (b.uncertainty ?? Infinity) > (a.uncertainty ?? Infinity) ? b : a), null);

/** Colours only, on a small canvas of fixed size. */
export function drawMini(canvas, frames) {
  const { width, height } = canvas;
  const context = canvas.getContext("2d");
  context.fillStyle = ink("none-ground");
  context.fillRect(0, 0, width, height);
  frames.forEach((frame, k) => {
    context.fillStyle = colorOf(frame);
    const left = Math.floor((k / frames.length) * width);
    context.fillRect(left, 0, Math.ceil(width / frames.length) + 1, height);
  });
}

/** With the expected error and the position of the player. */
export function drawTimeline(canvas, frames, { limit, time, length }) {
  const { context, width, height } = sharp(canvas);
  context.fillStyle = ink("none-ground");
  context.fillRect(0, 0, width, height);
  if (!frames.length) return;
  const x = (seconds) => (length ? seconds / length : 0) * width;
  const base = height - 14;
  frames.forEach((frame, k) => {
    const next = frames[k + 1]?.time_s ?? length;
    context.fillStyle = colorOf(frame);
    context.fillRect(x(frame.time_s), base, Math.max(1, x(next) - x(frame.time_s) + 0.5), height - base);
    const worst = worstOf(frame);
    if (worst && worst.expected_error !== null) {
      const level = base - 3 - Math.min(worst.expected_error / Math.max(2 * limit, 1), 1) * (base - 8);
      context.fillRect(x(frame.time_s), level, 2.5, 2.5);
    }
  });
  context.fillStyle = ink("ink");
  context.fillRect(x(time) - 1, 0, 2, height);
}

function colorOf(frame) {
  if (!frame.faces.length) return GREY;
  return frame.accepted ? GREEN : RED;
}
