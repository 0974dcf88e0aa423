// The table of files: a row for each, with its image, decision and numbers.

import { make, showText } from "./dom.js";
import { drawMini, worstOf } from "./timeline.js";
import { intervalOf, percent, share, verdict } from "./words.js";

/** The row of a file, kept with it and drawn again where something has changed. */
export function rowOf(item, limit, open) {
  item.row ??= newRow(item, open);
  const { row } = item;
  const worst = worstFace(item);
  const [state, word] = stateOf(item);
  const shown = JSON.stringify([state, word, worst?.uncertainty, item.done, item.share, limit]);
  if (row.dataset.shown === shown) return row;
  row.dataset.shown = shown;
  row.cells[2].replaceChildren(make("span", { className: "verdict" }, word));
  row.cells[2].firstChild.dataset.state = state;
  const why = reasonOf(item, state, limit);
  if (why) showText(row.cells[2].appendChild(make("small")), why);
  row.cells[3].replaceChildren(percent(worst?.expected_error), make("small", {}, intervalOf(worst)));
  row.cells[4].textContent = worst?.uncertainty?.toFixed(3) ?? "–";
  const small = row.cells[1].querySelector("small");
  small.textContent = factsOf(item);
  if (item.kind === "video" && item.frames.length) {
    let mini = row.querySelector(".mini");
    if (!mini) {
      mini = make("canvas", { className: "mini", width: 400, height: 14 });
      row.cells[1].append(mini);
    }
    drawMini(mini, item.frames);
  }
  if (item.state === "done" && !row.cells[0].firstChild) row.cells[0].append(thumbnailOf(item));
  return row;
}

function newRow(item, open) {
  const cells = ["image", "name", "", "number", "number"].map((className) => make("td", { className }));
  const row = make("tr", { tabIndex: 0 }, ...cells);
  row.cells[1].append(item.name, make("small"));
  const openScored = () => ["done", "failed"].includes(item.state) && open();
  row.addEventListener("click", openScored);
  row.addEventListener("keydown", (event) => event.key === "Enter" && openScored());
  return row;
}

/** The first face; of an image without one the image, of a video a sign. */
function thumbnailOf(item) {
  if (item.kind === "video") {
    return make("div", { className: "film" }, "▶");
  }
  const face = item.frames[0].faces.find((each) => each.thumbnail);
  const image = Object.assign(new Image(), { alt: "", loading: "lazy" });
  if (face) {
    image.src = `data:image/jpeg;base64,${face.thumbnail}`;
  } else {
    image.src = URL.createObjectURL(item.file);
    image.onerror = () => image.remove();
    image.onload = () => URL.revokeObjectURL(image.src);
  }
  return image;
}

function worstFace(item) {
  if (item.kind === "image") return item.frames[0] ? worstOf(item.frames[0]) : null;
  if (item.middle?.frames !== item.frames || item.middle.count !== item.frames.length) {
    // of a video the middle one: its worst frame says little about it
    const faces = item.frames.map(worstOf).filter((face) => face && face.uncertainty !== null);
    faces.sort((a, b) => a.uncertainty - b.uncertainty);
    const face = faces[Math.floor(faces.length / 2)] ?? null;
    item.middle = { frames: item.frames, count: item.frames.length, face };
  }
  return item.middle.face;
}

function stateOf(item) {
  if (item.state === "done") {
    if (item.accepted) return ["accepted", "✓ accepted"];
    const found = item.frames.some((frame) => frame.faces.length);
    return ["rejected", found ? "✕ rejected" : "✕ no face"];
  }
  return { waiting: ["none", "waiting"], working: ["none", "working …"], cancelled: ["none", "cancelled"], failed: ["failed", "✕ failed"] }[item.state];
}

/** Why a file is not accepted. */
function reasonOf(item, state, limit) {
  if (state === "failed") return item.error;
  if (state !== "rejected") return "";
  return item.kind === "image" ? verdict(item.frames[0], limit).why : "Less than half of its frames are accepted.";
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

/** What a column is sorted by. */
export function valueOf(item, key) {
  if (key === "name") return item.name;
  if (key === "accepted") return stateOf(item)[1];
  const worst = worstFace(item);
  return (key === "expected" ? worst?.expected_error : worst?.uncertainty) ?? Infinity;
}

/** Names as people sort them, numbers as such. */
export const compare = (a, b) =>
  typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a === b ? 0 : a < b ? -1 : 1;
