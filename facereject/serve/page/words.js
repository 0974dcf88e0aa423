// What is shown in words: decisions, reasons, what to do, numbers.

export const percent = (value, digits = 1) =>
  value === null || value === undefined ? "–" : `${value.toFixed(digits)}\u00a0%`;

export const share = (value) => `${Math.round(100 * value)}\u00a0%`;

/** Two different numbers in percent, with as many digits as it takes to tell them apart. */
export function twoPercents(first, second) {
  const digits = [1, 2, 3].find((count) => first.toFixed(count) !== second.toFixed(count)) ?? 4;
  return [percent(first, digits), percent(second, digits)];
}

/** Where the errors of most such faces lie: the interval of `Face.error_interval`; empty if the model gives none. */
export function intervalOf(face) {
  const [low, high] = face?.error_interval ?? [null, null];
  return low === null || high === null ? "" : `${low.toFixed(1)} to ${percent(high)}`;
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

const REASONS = {
  no_landmarks: "The landmark predictor gave no usable landmarks.",
  no_score: "The model gave no score for this face.",
};

const rangeOf = (face) => (intervalOf(face) && `80\u00a0% of such faces have errors of ${intervalOf(face)}.`);

/** State, word and reason of a scored frame, and the interval of the error in words. */
export function verdict(answer, limit) {
  const faces = answer.faces;
  if (!faces.length) {
    return {
      state: "none",
      word: "No face",
      why: "The face may be too small, turned away, covered, or outside the image.",
      range: "",
    };
  }
  if (answer.accepted) {
    const worst = faces.reduce((a, b) => ((b.expected_error ?? 0) > (a.expected_error ?? 0) ? b : a));
    const many = faces.length > 1 ? `${faces.length} faces, the least certain: ` : "";
    const why = capital(`${many}expected error ${percent(worst.expected_error)}.`);
    return { state: "accepted", word: "Accepted", why, range: rangeOf(worst) };
  }
  const rejected = faces.filter((face) => !face.accepted);
  const worst = rejected.reduce((a, b) => ((b.uncertainty ?? Infinity) > (a.uncertainty ?? Infinity) ? b : a));
  const parts = [];
  if (faces.length > 1) parts.push(`${rejected.length} of ${faces.length} faces rejected.`);
  if (worst.reason === "uncertain" && worst.expected_error !== null) {
    const [error, most] = twoPercents(worst.expected_error, limit);
    parts.push(`Expected error ${error}, limit ${most}.`);
  } else {
    parts.push(REASONS[worst.reason] || capital(worst.explanation || worst.reason));
  }
  if (worst.hint) parts.push(`${capital(worst.hint)}.`);
  const pose = worst.pose;
  if (!worst.hint && pose && Math.abs(pose.yaw) > 30) parts.push("Turn towards the camera.");
  return { state: "rejected", word: "Rejected", why: parts.join(" "), range: rangeOf(worst) };
}

/** Why the browser gives no camera, and what to do. */
export function cameraTrouble(error) {
  if (!window.isSecureContext || !navigator.mediaDevices) {
    return "Browsers open a camera only on this computer itself (http://127.0.0.1 or http://localhost) or over "
      + "https. From another computer use a tunnel, such as `ssh -L 8420:127.0.0.1:8420 this-computer`. "
      + "Photos and videos work here as well.";
  }
  switch (error?.name) {
    case "NotAllowedError":
      return "The browser was not allowed to use the camera. Allow it in the address bar or in the settings of "
        + "the browser, then start again.";
    case "NotFoundError":
    case "OverconstrainedError":
      return "No camera found.";
    case "NotReadableError":
    case "AbortError":
      return "The camera is used by another program, or does not answer. Close the other program, then start "
        + "again.";
    default:
      return `The camera cannot be used (${error?.message || error}).`;
  }
}
