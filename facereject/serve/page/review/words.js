// A face in words.

import { percent } from "../words.js";
import { UNDECIDED } from "./data.js";

export const clock = (seconds) => `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(1).padStart(4, "0")}`;

/** The name of its file, without folders; of a video with the time. */
export function shortName(faces, face) {
  const name = faces.name(face).split("/").pop();
  return faces.isVideo(face) ? `${clock(faces.column.time_s[face])} ${name}` : name;
}

/** Why a face is decided as it is. */
export function reasonOf(faces, face) {
  const expected = faces.column.expected_error[face];
  const error = Number.isFinite(expected) ? percent(expected) : "";
  if (faces.decided[faces.column.crop[face]] !== UNDECIDED) return `by you${error ? ` · ${error}` : ""}`;
  const reason = faces.facts.reasons[faces.column.reason[face]];
  if (reason && reason !== "uncertain") return reason.replaceAll("_", " ");
  if (faces.byRule(face)) return error;
  const cause = faces.facts.causes[faces.column.cause[face]].replaceAll("_", " ");
  return [error, cause === "unclear" ? "" : cause].filter(Boolean).join(" · ");
}
