// What is shown in words: decisions, reasons, what to do, numbers.

export const percent = (value, digits = 1) =>
  value === null || value === undefined ? "–" : `${value.toFixed(digits)}\u00a0%`;

export const share = (value) => `${Math.round(100 * value)}\u00a0%`;

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

const REASONS = {
  no_landmarks: "The landmark predictor gave no usable points.",
  no_score: "The model gave no score for this face.",
};

/** State, word and reason of a judged frame. */
export function verdict(answer, limit) {
  const faces = answer.faces;
  if (!faces.length) {
    return {
      state: "none",
      word: "No face",
      why: "No face is seen: it may be too small, turned away, covered, or outside of the picture.",
    };
  }
  if (answer.accepted) {
    const worst = Math.max(...faces.map((face) => face.expected_error ?? 0));
    const many = faces.length > 1 ? `${faces.length} faces, the least certain: ` : "";
    return { state: "accepted", word: "Accepted", why: capital(`${many}expected error ${percent(worst)}`) };
  }
  const rejected = faces.filter((face) => !face.accepted);
  const worst = rejected.reduce((a, b) => ((b.uncertainty ?? Infinity) > (a.uncertainty ?? Infinity) ? b : a));
  const parts = [];
  if (faces.length > 1) parts.push(`${rejected.length} of ${faces.length} faces rejected.`);
  if (worst.reason === "uncertain") {
    parts.push(`Expected error ${percent(worst.expected_error)}, more than ${percent(limit)}.`);
  } else {
    parts.push(REASONS[worst.reason] || capital(worst.explanation || worst.reason));
  }
  if (worst.hint) parts.push(`${capital(worst.hint)}.`);
  const pose = worst.pose;
  if (!worst.hint && pose && Math.abs(pose.yaw) > 30) parts.push("Turn towards the camera.");
  return { state: "rejected", word: "Rejected", why: parts.join(" ") };
}

/** Why the browser gives no camera, and what to do. */
export function cameraTrouble(error) {
  if (!window.isSecureContext || !navigator.mediaDevices) {
    return "Browsers open a camera only on this computer itself (http://127.0.0.1 or http://localhost) or over "
      + "https. From another machine use a tunnel, such as: ssh -L 8420:127.0.0.1:8420 this-machine. "
      + "Photos and videos work here all the same.";
  }
  switch (error?.name) {
    case "NotAllowedError":
      return "The browser was not allowed to use the camera. Allow it in the address bar or in the settings of "
        + "the browser, then start again.";
    case "NotFoundError":
    case "OverconstrainedError":
      return "No such camera is found. Connect one, or choose another one below.";
    case "NotReadableError":
    case "AbortError":
      return "The camera is in use by another program, or does not answer. Close the other program, then start "
        + "again.";
    default:
      return `The camera cannot be used (${error?.message || error}).`;
  }
}
