"""The live view: faces on the image, and below it the threshold, the rate and what the keys do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from facereject.faces import Face, FaceRejector
from facereject.faces.face import EXPLANATIONS
from facereject.faces.images import ImageArray
from facereject.outputs._drawing.faces import GREEN, RED, SILVER, draw_on, font_size
from facereject.outputs._drawing.text import WHITE, Color, put_panel, put_text, text_mask

KEYS = (
    ("+  -  or arrows", "accept more, or less"),
    ("space", "pause"),
    ("s", "save a snapshot"),
    ("r", "start or stop recording"),
    ("h", "show or hide this help"),
    ("q  or Esc", "quit"),
)

# height of decision and threshold, in sizes of the font
_ROWS = 3.6

_GROUND: Color = (32, 34, 40)
_GRAY: Color = (150, 154, 162)
_AMBER: Color = (250, 190, 60)


@dataclass
class Status:
    """What the live view shows besides the faces.

    Attributes
    ----------
    fps : float
        Frames worked on per second.
    latency_s : float
        From taking a frame to showing it, in seconds.
    dropped : int
        Frames of the camera that were skipped.
    message : str
        What has just happened, such as a snapshot.
    """

    fps: float = 0.0
    latency_s: float = 0.0
    dropped: int = 0
    paused: bool = False
    recording: bool = False
    show_help: bool = False
    message: str = ""


def draw_view(
    image: ImageArray, faces: Sequence[Face], accepted: bool, rejector: FaceRejector, status: Status
) -> ImageArray:
    """The image with its faces on top of a strip with the decision and the threshold."""
    height, width = image.shape[:2]
    size = max(11, font_size(image))
    line = max(2, size // 4)
    # the only copy of the pixels: at 1920 x 1080 each takes a millisecond or two
    view = np.asarray(
        cv2.copyMakeBorder(image, 0, round(5.2 * size), 0, 0, cv2.BORDER_CONSTANT, value=_GROUND), np.uint8
    )
    picture, strip = view[:height], view[height:]
    draw_on(picture, faces)
    cv2.rectangle(picture, (0, 0), (width - 1, height - 1), GREEN if accepted else RED, 2 * line - 1)
    _draw_marks(picture, status, size, line)
    _draw_decision(strip, faces, accepted, size)
    right = _draw_rate(strip, status, size)
    _draw_threshold(strip, faces, rejector, size, right)
    _draw_advice(strip, faces, size)
    if status.show_help:
        _draw_help(view, size)
    return view


def _draw_marks(picture: ImageArray, status: Status, size: int, line: int) -> None:
    marks = [("REC", RED)] if status.recording else []
    marks += [("paused", _AMBER)] if status.paused else []
    marks += [(status.message, WHITE)] if status.message else []
    x, pad = line + size // 2, size // 2
    for text, color in marks:
        mask = text_mask(text, size)
        put_panel(picture, x, line + pad, mask.shape[1] + 2 * pad, mask.shape[0] + pad)
        put_text(picture, text, x + pad, line + pad + pad // 2, size, color)
        x += mask.shape[1] + 3 * pad


def _draw_decision(strip: ImageArray, faces: Sequence[Face], accepted: bool, size: int) -> None:
    word = "ACCEPTED" if accepted else "REJECTED" if faces else "NO FACE"
    large = round(1.35 * size)
    top = (round(_ROWS * size) - text_mask(word, large).shape[0]) // 2
    put_text(strip, word, size, top, large, GREEN if accepted else RED)


def _draw_threshold(
    strip: ImageArray, faces: Sequence[Face], rejector: FaceRejector, size: int, right: int
) -> None:
    """A scale of uncertainty: accepted on the left of the mark, every face a dot on it."""
    left = size + text_mask("ACCEPTED", round(1.35 * size)).shape[1] + 2 * size
    right -= 2 * size
    if right - left < 6 * size:
        return
    low, high = scale_of(rejector)
    threshold = rejector.selector.threshold_

    def place(value: float) -> int:
        share = (min(max(value, low), high) - low) / (high - low)
        return int(left + share * (right - left) + 0.5)

    y, mark = round(2.3 * size), place(threshold)
    thick = max(3, size // 3)
    cv2.line(strip, (left, y), (mark, y), GREEN, thick, cv2.LINE_AA)
    cv2.line(strip, (mark, y), (right, y), RED, thick, cv2.LINE_AA)
    cv2.line(strip, (mark, y - size // 2), (mark, y + size // 2), WHITE, max(2, size // 6), cv2.LINE_AA)
    for face in faces:
        spot = (place(face.uncertainty), y)
        cv2.circle(strip, spot, round(0.42 * size), WHITE, -1, cv2.LINE_AA)
        color = GREEN if face.accepted else RED
        cv2.circle(strip, spot, round(0.28 * size), color, -1, cv2.LINE_AA)
    text = limit_text(faces, rejector)
    mask = text_mask(text, size)
    if mask.shape[1] <= right - left:
        put_text(strip, text, left, round(0.35 * size), size, SILVER)


def limit_text(faces: Sequence[Face], rejector: FaceRejector) -> str:
    """The limit, with the value of the least certain face beside it."""
    threshold = rejector.selector.threshold_
    if threshold > scale_of(rejector)[1]:
        return "every face is accepted"
    if rejector.relative:
        return f"accept up to an uncertainty of {threshold:.2f}"
    limit = float(rejector.calibration.expected_error(threshold))
    known = [face for face in faces if math.isfinite(face.expected_error)]
    if not known:
        return f"accept up to {limit:.1f} % expected error"
    worst = max(known, key=lambda face: face.uncertainty)
    above = worst.uncertainty > threshold
    # enough digits to differ: not "2.6 % > 2.6 %"
    digits = 2 if above and f"{worst.expected_error:.1f}" == f"{limit:.1f}" else 1
    # the font has no sign for "at most"
    return f"expected error {worst.expected_error:.{digits}f} % {'>' if above else '<='} {limit:.{digits}f} %"


def advice(faces: Sequence[Face]) -> str:
    """How the head is turned, and what to do if a face is rejected, for the least certain face."""
    rejected = [face for face in faces if not face.accepted]
    shown = max(rejected or faces, key=lambda face: face.uncertainty, default=None)
    if shown is None:
        return ""
    parts = []
    if shown.pose is not None:
        parts.append("  ".join(f"{name} {round(angle):+d}°" for name, angle in shown.pose._asdict().items()))
    if not shown.accepted:
        parts.append(EXPLANATIONS["turned"] if shown.reason == "turned" else shown.hint)
    return "   ".join(part for part in parts if part)


def loading_view(size: tuple[int, int] = (640, 480)) -> ImageArray:
    """The screen shown until the first frame arrives."""
    width, height = size
    view = np.full((height, width, 3), _GROUND, dtype=np.uint8)
    mask = text_mask("loading ...", 24)
    put_text(view, "loading ...", (width - mask.shape[1]) // 2, (height - mask.shape[0]) // 2, 24, SILVER)
    return view


def _draw_advice(strip: ImageArray, faces: Sequence[Face], size: int) -> None:
    y, text, more = round((_ROWS + 0.1) * size), advice(faces), "h: help"
    put_text(strip, text, size, y, size, SILVER)
    x = strip.shape[1] - text_mask(more, size).shape[1] - size
    if x > text_mask(text, size).shape[1] + 2 * size:
        put_text(strip, more, x, y, size, _GRAY)


def _draw_rate(strip: ImageArray, status: Status, size: int) -> int:
    """Speed, delay and what was skipped; returns where the room for them begins."""
    lines = [f"{status.fps:.1f} fps  delay {1000 * status.latency_s:.0f} ms"]
    if status.dropped:
        lines.append(f"{status.dropped} skipped")
    for i, text in enumerate(lines):
        x = strip.shape[1] - text_mask(text, size).shape[1] - size
        put_text(strip, text, x, round((0.35 + 1.45 * i) * size), size, SILVER if i == 0 else _GRAY)
    # fixed room, so that the scale beside it keeps its length
    widest = max(text_mask(text, size).shape[1] for text in (*lines, "00.0 fps  delay 000 ms"))
    return int(strip.shape[1] - widest - size)


def _draw_help(view: ImageArray, size: int) -> None:
    step = text_mask("h", size).shape[0]
    first = max(text_mask(key, size).shape[1] for key, _ in KEYS)
    second = max(text_mask(text, size).shape[1] for _, text in KEYS)
    width, height = first + second + 4 * size, step * len(KEYS) + 2 * size
    x, y = (view.shape[1] - width) // 2, (view.shape[0] - height) // 2
    put_panel(view, x, y, width, height, opacity=0.9)
    for i, (key, text) in enumerate(KEYS):
        put_text(view, key, x + size, y + size + i * step, size, _AMBER)
        put_text(view, text, x + first + 3 * size, y + size + i * step, size, WHITE)


def scale_of(rejector: FaceRejector) -> tuple[float, float]:
    """The uncertainties between which nearly all calibration faces lie: the ends of the scale."""
    low, high = np.quantile(rejector.calibration.uncertainty, [0.01, 0.99])
    return float(low), max(float(high), float(low) + 1e-9)
