// Faces on an image: box, landmarks coloured by expected error; the same marks as in the library's drawings.

export const GREEN = "#2ebe6e";
export const RED = "#eb4034";
export const GREY = "#8a96a3";
const DARK = "rgba(16, 20, 24, .75)";

// chains of the 68-point mark-up: first and last landmark, and whether the chain is closed
export const CHAINS = [
  [0, 16, false], [17, 21, false], [22, 26, false], [27, 30, false], [31, 35, false],
  [36, 41, true], [42, 47, true], [48, 59, true], [60, 67, true],
];

/** Green well below the limit, amber at it, red from twice the limit on. */
export function errorColor(error, limit) {
  if (error === null || error === undefined) return GREY;
  const ratio = error / Math.max(limit, 1e-6);
  const hue = ratio <= 1 ? 148 - 106 * Math.max(0, 2 * ratio - 1) : 42 - 38 * Math.min(1, ratio - 1);
  return `hsl(${Math.round(hue)} 78% 52%)`;
}

/** Draw faces; `width` is that of the image, `limit` the expected error up to which faces are accepted, `points` the
 * landmarks that matter, null for all of them. */
export function drawFaces(context, faces, { width, limit, points = null, mirror = false, scale = 1 }) {
  const x = (value) => (mirror ? width - value : value) * scale;
  const y = (value) => value * scale;
  for (const face of faces) {
    const color = face.accepted ? GREEN : RED;
    const unit = (face.box.width * scale) / 100;
    drawCorners(context, face.box, x, y, color, Math.max(2, 1.6 * unit));
    if (face.landmarks) drawPoints(context, face, x, y, unit, limit, points);
    drawLabel(context, face, x, y, color, scale);
  }
}

function drawCorners(context, box, x, y, color, thickness) {
  const arm = 0.16 * Math.min(box.width, box.height);
  for (const [side, inward] of [[box.x, arm], [box.x + box.width, -arm]]) {
    for (const [level, down] of [[box.y, arm], [box.y + box.height, -arm]]) {
      context.beginPath();
      context.moveTo(x(side + inward), y(level));
      context.lineTo(x(side), y(level));
      context.lineTo(x(side), y(level + down));
      for (const [style, wide] of [[DARK, thickness + 2], [color, thickness]]) {
        context.strokeStyle = style;
        context.lineWidth = wide;
        context.stroke();
      }
    }
  }
}

function drawPoints(context, face, x, y, unit, limit, chosen) {
  const points = face.landmarks;
  const matters = (k) => !chosen || chosen.has(k);
  const errors = face.landmark_errors;
  if (points.length === 68) {
    context.globalAlpha = 0.55;
    context.lineWidth = Math.max(1, 0.5 * unit);
    for (const [first, last, closed] of CHAINS) {
      context.strokeStyle = matters(first) ? errorColor(face.expected_error, limit) : GREY;
      context.beginPath();
      for (let k = first; k <= last; k++) context.lineTo(x(points[k][0]), y(points[k][1]));
      if (closed) context.closePath();
      context.stroke();
    }
    context.globalAlpha = 1;
  }
  points.forEach(([left, top], k) => {
    // landmarks of other regions decide nothing, so they have no colour
    const error = !matters(k) ? null : errors ? errors[k] : face.expected_error;
    const growth = errors && error ? Math.min(1.6, Math.max(0.8, error / Math.max(limit, 1e-6))) : 1;
    const radius = Math.max(1.6, 1.25 * unit) * growth;
    const seen = !face.visible || face.visible[k];
    circle(context, x(left), y(top), radius + 0.7, DARK);
    circle(context, x(left), y(top), radius, errorColor(error, limit));
    if (!seen) circle(context, x(left), y(top), 0.5 * radius, DARK);
  });
}

function circle(context, x, y, radius, color) {
  context.fillStyle = color;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function drawLabel(context, face, x, y, color, scale) {
  const size = Math.round(Math.max(12, Math.min(22, (face.box.width * scale) / 9)));
  const words = [face.accepted ? "✓" : "✕"];
  if (face.track !== null && face.track !== undefined) words.push(`#${face.track}`);
  if (face.expected_error !== null) words.push(`${face.expected_error.toFixed(1)} %`);
  const text = words.join(" ");
  context.font = `600 ${size}px system-ui, sans-serif`;
  const wide = context.measureText(text).width + size;
  const [most, lowest] = [context.canvas.width - wide, context.canvas.height - 1.5 * size];
  const left = Math.max(0, Math.min(x(face.box.x), x(face.box.x + face.box.width), most));
  const above = y(face.box.y) - 1.9 * size;
  const top = above >= 0 ? above : Math.min(y(face.box.y + face.box.height) + 0.4 * size, lowest);
  context.fillStyle = DARK;
  context.fillRect(left, top, wide, 1.5 * size);
  context.fillStyle = color;
  context.fillRect(left, top, 0.25 * size, 1.5 * size);
  context.fillStyle = "#fff";
  context.textBaseline = "middle";
  context.fillText(text, left + 0.6 * size, top + 0.78 * size);
}

const sizes = new WeakMap();
const resized = new ResizeObserver((entries) => entries.forEach(({ target }) => measure(target)));
const measure = (canvas) => sizes.set(canvas, [canvas.clientWidth, canvas.clientHeight]);

/** A canvas as sharp as the screen; gives its context and its size in CSS pixels. */
export function sharp(canvas) {
  // asked for once: after a change of the page the browser would have to lay it out for the answer
  if (!sizes.get(canvas)?.[0]) {
    measure(canvas);
    resized.observe(canvas);
  }
  const [width, height] = sizes.get(canvas);
  const ratio = window.devicePixelRatio || 1;
  // the style sheet gives the height; without one it would follow from the pixels
  const wanted = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wanted[0] || canvas.height !== wanted[1]) {
    [canvas.width, canvas.height] = wanted;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

const inks = new Map();
export const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => inks.clear());

/** A colour of the style sheet, which knows light and dark. */
export function ink(name) {
  if (!inks.has(name)) inks.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return inks.get(name);
}
