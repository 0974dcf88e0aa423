"""Draw faces on an image: landmarks, decision, expected error; readable at any size, never over a face."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from facereject.faces import Face
from facereject.faces.face import Box
from facereject.faces.geometry import FloatArray
from facereject.faces.images import ImageArray, ImageLike, load_rgb
from facereject.faces.landmarks.point_set import N_LANDMARKS
from facereject.outputs._drawing.text import DARK, WHITE, Color, put_panel, put_text, text_mask

#: colours of accepted and rejected faces, always shown with a word and a sign
GREEN: Color = (46, 190, 110)
RED: Color = (235, 64, 52)
SILVER: Color = (222, 224, 228)
YELLOW: Color = (250, 200, 40)

# expected errors in percent at which points are drawn quite green and small, and quite red and large
_ERROR_SCALE = (2.0, 12.0)

# chains of the 68-point mark-up: first and last landmark, and whether the chain is closed
_PARTS = (
    (0, 16, False),
    (17, 21, False),
    (22, 26, False),
    (27, 30, False),
    (31, 35, False),
    (36, 41, True),
    (42, 47, True),
    (48, 59, True),
    (60, 67, True),
)

# fractions of a pixel in cv2's drawing functions, as a power of two
_SHIFT = 4


def draw_faces(
    image: ImageLike, faces: Sequence[Face], *, tracks: Sequence[int] | None = None, labels: bool = True
) -> ImageArray:
    """Draw faces on a copy of an image: green with a tick if accepted, red with a cross if not.

    Where the error of each landmark is known, its colour and size show it: small and green up to 2 %, large
    and red from 12 %. Landmarks that are probably covered are rings.

    Parameters
    ----------
    image : array (or what `facereject.faces.load_rgb` takes)
    faces : sequence of Face
    tracks : sequence of int or None
        Numbers to be shown with the faces.
    labels : bool, default=True
        Write the decision and the expected error beside each face.

    Returns
    -------
    ndarray of shape (H, W, 3)
        RGB uint8.
    """
    canvas = load_rgb(image).copy()
    draw_on(canvas, faces, labels=labels, tracks=tracks)
    return canvas


def draw_on(
    canvas: ImageArray, faces: Sequence[Face], *, labels: bool = True, tracks: Sequence[int] | None = None
) -> None:
    """As `draw_faces`, on the image itself."""
    for face in faces:
        _draw_face(canvas, face)
    # labels last, so that no landmark covers text
    taken: list[Box] = []
    for i, face in enumerate(faces if labels else ()):
        taken.append(_draw_label(canvas, face, face.track if tracks is None else tracks[i], faces, taken))


def draw_frame(
    image: ImageLike, faces: Sequence[Face], accepted: bool, text: str, *, tracks: Sequence[int] | None = None
) -> ImageArray:
    """One frame of an annotated video: its faces, a frame line in the colour of the decision, and a text.

    Parameters
    ----------
    image, faces, tracks
        As for `draw_faces`.
    accepted : bool
        The decision on the whole frame.
    text : str
        Shown in the lower left corner, behind the decision in words.
    """
    canvas = draw_faces(image, faces, tracks=tracks)
    height, width = canvas.shape[:2]
    size = font_size(canvas)
    color, word = (GREEN, "accepted") if accepted else (RED, "rejected")
    line = max(2, size // 4)
    cv2.rectangle(canvas, (0, 0), (width - 1, height - 1), color, 2 * line - 1)
    panel = Panel([f"{word}  {text}" if text else word], accepted, size)
    panel.draw(canvas, line + size // 2, height - panel.height - line - size // 2)
    return canvas


def draw_note(image: ImageLike, text: str) -> ImageArray:
    """A copy of an image without a face, with a text behind a cross in its lower left corner."""
    canvas = load_rgb(image).copy()
    panel = Panel([text], False, font_size(canvas))
    panel.draw(canvas, 4, canvas.shape[0] - panel.height - 4)
    return canvas


def font_size(image: ImageArray) -> int:
    """A readable font size in pixels for an image."""
    return max(9, round(0.034 * int(min(image.shape[:2]))))


class Panel:
    """Lines of text on a dark ground, the first behind a tick or a cross in its colour.

    Attributes
    ----------
    width, height : int
        In pixels.
    """

    def __init__(self, lines: Sequence[str], accepted: bool, size: int) -> None:
        self._lines, self._accepted, self._size = lines, accepted, size
        masks = [text_mask(line, size) for line in lines]
        self._pad = max(2, size // 3)
        self._step = masks[0].shape[0]
        self.height = self._step * len(lines) + self._pad
        widths = [mask.shape[1] for mask in masks]
        self.width = max(widths[0] + self._step + self._pad // 2, *widths, 0) + 2 * self._pad

    def draw(self, canvas: ImageArray, x: int, y: int) -> None:
        """Draw with the upper left corner at (x, y)."""
        put_panel(canvas, x, y, self.width, self.height)
        top, left = y + self._pad // 2, x + self._pad
        radius = 0.4 * self._step
        middle = (left + radius, top + self._step / 2)
        _circle(canvas, middle, radius, GREEN if self._accepted else RED)
        _draw_sign(canvas, middle, 0.55 * radius, self._accepted)
        for i, line in enumerate(self._lines):
            shift, color = (self._step + self._pad // 2, WHITE) if i == 0 else (0, SILVER)
            put_text(canvas, line, left + shift, top + i * self._step, self._size, color)


def _draw_sign(canvas: ImageArray, middle: tuple[float, float], reach: float, accepted: bool) -> None:
    """A tick or a cross."""
    x, y = middle
    if accepted:
        strokes = [[(x - reach, y), (x - 0.25 * reach, y + 0.75 * reach), (x + reach, y - 0.7 * reach)]]
    else:
        arm = 0.75 * reach
        strokes = [[(x - arm, y - arm), (x + arm, y + arm)], [(x - arm, y + arm), (x + arm, y - arm)]]
    for stroke in strokes:
        _lines(canvas, np.array(stroke), WHITE, max(1, round(reach / 2.5)), closed=False)


def _draw_face(canvas: ImageArray, face: Face) -> None:
    color = GREEN if face.accepted else RED
    # pixels per hundredth of the face: on small faces fat points would hide what they mark
    unit = face.box.width / 100
    _draw_corners(canvas, face.box, color, max(1, round(1.2 * unit)))
    if not np.isfinite(face.landmarks).all():
        return
    # connections of other mark-ups are unknown
    if unit >= 0.85 and len(face.landmarks) == N_LANDMARKS:
        for first, last, closed in _PARTS:
            _lines(canvas, face.landmarks[first : last + 1], color, max(1, round(0.4 * unit)), closed=closed)
    draw_points(canvas, face.landmarks, face.landmark_errors, unit, color=color, visible=face.visible)


def draw_points(
    canvas: ImageArray,
    landmarks: FloatArray,
    errors: FloatArray | None,
    unit: float,
    *,
    color: Color = SILVER,
    visible: NDArray[np.bool_] | None = None,
) -> None:
    """Draw landmarks: small and green up to an expected error of 2 %, large and red from 12 %.

    Parameters
    ----------
    canvas : ndarray (H, W, 3) of uint8
    landmarks : ndarray of shape (n, 2)
    errors : ndarray of shape (n,) or None
        Expected errors in percent.
    unit : float
        Pixels per hundredth of the face.
    color : tuple of int
        Of landmarks whose errors are not known.
    visible : ndarray of shape (n,), bool, or None
        Landmarks that are probably covered are rings.
    """
    for i, point in enumerate(landmarks):
        radius, shade = 1.2 * unit, color
        if errors is not None:
            share = _badness(float(errors[i]))
            # twice as large, and red, where the error is high
            radius, shade = unit * (0.9 + 1.1 * share), _shade(share)
        if unit >= 1.5:
            _circle(canvas, point, radius + 0.6, DARK)
        _circle(canvas, point, max(0.8, radius), shade)
        if visible is not None and not visible[i] and unit >= 1.0:
            _circle(canvas, point, 0.55 * radius, DARK)


def _badness(error: float) -> float:
    """0 for an expected error of 2 % and less, 1 for 12 % and more, by its logarithm."""
    if not math.isfinite(error):
        return 1.0
    low, high = _ERROR_SCALE
    return min(1.0, max(0.0, math.log(max(error, low) / low) / math.log(high / low)))


def _shade(share: float) -> Color:
    """From green over yellow to red."""
    first, second = (GREEN, YELLOW) if share < 0.5 else (YELLOW, RED)
    part = 2 * share if share < 0.5 else 2 * share - 1
    r, g, b = (round(a + part * (z - a)) for a, z in zip(first, second, strict=True))
    return r, g, b


def _draw_corners(canvas: ImageArray, box: Box, color: Color, thickness: int) -> None:
    """The corners of the box only: its sides would run through the face."""
    arm = 0.16 * min(box.width, box.height)
    for x, inward in ((box.x, arm), (box.x + box.width, -arm)):
        for y, down in ((box.y, arm), (box.y + box.height, -arm)):
            points = np.array([(x + inward, y), (x, y), (x, y + down)])
            _lines(canvas, points, DARK, thickness + 2, closed=False)
            _lines(canvas, points, color, thickness, closed=False)


def _draw_label(
    canvas: ImageArray, face: Face, track: int | None, faces: Sequence[Face], taken: Sequence[Box]
) -> Box:
    size = min(font_size(canvas), max(9, round(face.box.width / 6)))
    lines = [f"{'' if track is None else f'#{track} '}{'accepted' if face.accepted else 'rejected'}"]
    if math.isfinite(face.uncertainty):
        # a model trained without annotation has no unit
        if math.isfinite(face.expected_error):
            lines.append(f"expected error {face.expected_error:.1f} %")
        lines.append(f"uncertainty {face.uncertainty:.2f}")
    else:
        lines += ["no score" if np.isfinite(face.landmarks).all() else "no landmarks"]
    if face.hint:
        lines.append(face.hint.split(":")[0])
    panel = Panel(lines, face.accepted, size)
    regions = [_region(other) for other in faces]
    place = _free_place(canvas, _region(face), panel.width, panel.height, regions, taken)
    panel.draw(canvas, round(place.x), round(place.y))
    return place


def _region(face: Face) -> Box:
    """The face with its forehead: what must not be covered."""
    box = face.box
    return Box(box.x - 0.1 * box.width, box.y - 0.3 * box.height, 1.2 * box.width, 1.45 * box.height)


def _free_place(
    canvas: ImageArray, region: Box, width: int, height: int, faces: Sequence[Box], taken: Sequence[Box]
) -> Box:
    """The place around a face, or in a corner, that covers least of other faces and labels."""
    image_height, image_width = canvas.shape[:2]
    x, y = region.center
    right, bottom = region.x + region.width, region.y + region.height
    places = [(x - width / 2, region.y - height), (x - width / 2, bottom)]
    places += [(right, y - height / 2), (region.x - width, y - height / 2)]
    places += [(0, 0), (image_width, 0), (0, image_height), (image_width, image_height)]
    choices = [
        Box(
            max(0, min(left, image_width - width)),
            max(0, min(top, image_height - height)),
            width,
            height,
        )
        for left, top in places
    ]
    return min(choices, key=lambda place: sum(_shared(place, other) for other in (*faces, *taken)))


def _shared(a: Box, b: Box) -> float:
    """Area that two boxes share, in pixels."""
    wide = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
    high = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
    return max(wide, 0.0) * max(high, 0.0)


def _circle(canvas: ImageArray, middle: Sequence[float], radius: float, color: Color) -> None:
    x, y = (round(float(value) * 2**_SHIFT) for value in middle)
    cv2.circle(canvas, (x, y), round(radius * 2**_SHIFT), color, -1, cv2.LINE_AA, _SHIFT)


def _lines(canvas: ImageArray, points: FloatArray, color: Color, thickness: int, *, closed: bool) -> None:
    whole = np.rint(points * 2**_SHIFT).astype(np.int32)
    cv2.polylines(canvas, [whole], closed, color, thickness, cv2.LINE_AA, _SHIFT)
