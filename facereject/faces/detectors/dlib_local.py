"""Looking for a face near a place: the search of a small part of the frame, with the answer of the whole.

dlib's detector looks at windows of 10 x 10 cells of 8 pixels, cell by cell, on a pyramid of pictures each 5/6
as large as the one before. Landmarks and uncertainty depend on the box to the pixel. So the same windows are
looked at here: on the level of the face and its neighbours, on the same cells, with so much around that what
lies outside does not matter.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import cv2
import numpy as np

from facereject.faces.detectors._frontal import one_level_detector
from facereject.faces.detectors._pyramid import STEP, Corner, LevelPart, level_sizes, parts_of_levels
from facereject.faces.detectors.dlib_hog import DlibDetection, FaceDetector
from facereject.faces.face import Box, Detection
from facereject.faces.geometry import overlap
from facereject.faces.images.load import ImageArray

# side in pixels of the boxes that the detector gives at the largest level, for its windows of 80
_BOX = 73
_WINDOW = 80
_CELL = 8

# pixels around a box that its score depends on, and how far a face may have moved besides
_MARGIN = 16
_MOVED = 8

# two boxes are one face for dlib if they overlap by so much, or if so much of one is inside the other
_SAME = 0.33
_COVERED = 0.79


class LocalSearch:
    """A detector for small parts of a frame, at about a twentieth of the cost of the whole.

    Parameters
    ----------
    detector : FaceDetector
        The one of the whole frame.
    """

    def __init__(self, detector: FaceDetector) -> None:
        self._threshold = detector.threshold
        self._min_face = detector.min_face or 0.0
        # how the frame is scaled before the search
        self._zoom = 2**detector.upsample / max(1.0, self._min_face / _WINDOW)

    def __call__(self, gray: ImageArray, box: Box) -> list[Detection]:
        """Faces around ``box``, boxes in pixels of the whole frame, best score first."""
        if self._zoom != 1:
            method = cv2.INTER_AREA if self._zoom < 1 else cv2.INTER_LINEAR
            scaled = cv2.resize(gray, None, fx=self._zoom, fy=self._zoom, interpolation=method)
            gray = np.asarray(scaled, dtype=np.uint8)
        place = Box(*(self._zoom * value for value in box))
        found, complete = self._around(gray, place)
        if not complete:
            # it has moved, and the edge of what was looked at may have cost it some of its score
            found, _ = self._around(gray, found[0].box)
        faces = [
            dataclasses.replace(face, box=Box(*(value / self._zoom for value in face.box))) for face in found
        ]
        return [face for face in faces if min(face.box.width, face.box.height) >= self._min_face]

    def _around(self, gray: ImageArray, box: Box) -> tuple[list[Detection], bool]:
        """The faces on three levels, and whether all that matters around the best of them was seen."""
        side = max(min(box.width, box.height), _BOX)
        own = round(math.log(side / _BOX, STEP))
        sizes = level_sizes(gray.shape[1], gray.shape[0], own + 1)
        places = {level: _part(box.center, level, sizes[level]) for level in range(max(0, own - 1), own + 2)}
        # a window that is not whole inside the part finds nothing
        places = {level: part for level, part in places.items() if part.shorter >= _BOX}
        pairs = []
        for level, image in parts_of_levels(gray, places).items():
            boxes, scores, kinds = one_level_detector().run(image, 0, self._threshold)
            for place, score, kind in zip(boxes, scores, kinds, strict=True):
                # larger ones are of other levels
                if min(place.width(), place.height()) < _WINDOW:
                    pairs.append(_in_frame(place, score, kind, level, places[level], sizes[level]))
        pairs.sort(key=lambda pair: -pair[0].score)
        kept: list[Detection] = []
        for face, _ in pairs:
            if not any(_one_face(face.box, other.box) for other in kept):
                kept.append(face)
        return kept, not pairs or pairs[0][1]


def _part(middle: tuple[float, float], level: int, size: Corner) -> LevelPart:
    """The part of a level around a point of the frame, on whole cells."""
    growth = STEP**level
    ranges = []
    for place, length in zip(middle, size, strict=True):
        at, half = (place - _shift(level)) / growth, _BOX / 2 + _MARGIN + _MOVED
        low = max(0, _CELL * math.floor((at - half) / _CELL))
        ranges.append((low, min(length, low + _CELL * math.ceil((at + half - low) / _CELL))))
    (x0, x1), (y0, y1) = ranges
    return LevelPart(x0, y0, x1, y1)


def _in_frame(
    box: Any, score: float, kind: int, level: int, part: LevelPart, size: Corner
) -> tuple[Detection, bool]:
    """dlib's answer for a part of a level as a face of the frame, and whether its surroundings were whole."""
    left, top, right, bottom = box.left(), box.top(), box.right() + 1, box.bottom() + 1
    whole = (
        (part.x0 == 0 or left >= _MARGIN)
        and (part.y0 == 0 or top >= _MARGIN)
        and (part.x1 == size[0] or part.x1 - part.x0 - right >= _MARGIN)
        and (part.y1 == size[1] or part.y1 - part.y0 - bottom >= _MARGIN)
    )
    corners = (left + part.x0, top + part.y0, right - 1 + part.x0, bottom - 1 + part.y0)
    left, top, right, bottom = (_up(value, level) for value in corners)
    place = Box(float(left), float(top), float(right - left + 1), float(bottom - top + 1))
    return DlibDetection(place, float(score), int(kind)), whole


def _up(value: float, levels: int) -> int:
    """A coordinate so many levels up, step by step as dlib does it: many lie halfway between two pixels."""
    for _ in range(levels):
        value = value * STEP + 0.3
    return math.floor(value + 0.5)


def _shift(level: int) -> float:
    """By how much points are moved beside being scaled: dlib's next larger level has them at 1.2 p + 0.3."""
    return 0.3 * (STEP**level - 1) / (STEP - 1)


def _one_face(a: Box, b: Box) -> bool:
    """Whether dlib takes two boxes for one face."""
    width = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
    height = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
    if width <= 0 or height <= 0:
        return False
    smaller = min(a.width * a.height, b.width * b.height)
    return overlap(a, b) > _SAME or width * height > _COVERED * smaller
