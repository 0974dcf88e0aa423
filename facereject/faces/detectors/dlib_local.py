"""Looking for a face near a place: the search of a small part of the frame, with the answer of the whole.

dlib's detector looks at windows of 10 x 10 cells of 8 pixels, cell by cell, on a pyramid of pictures each 5/6
as large as the one before. Landmarks and uncertainty depend on the box to the pixel. So the same windows are
looked at here: on the level of the face and its neighbours, on the same cells, with so much around that what
lies outside does not matter.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
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

# a part is this wide at least: without its borders 16 cells, and dlib filters eight of them at once and the
# rest of a row one by one, so that a narrower part takes longer
_FAST_WIDTH = 144

# two boxes are one face for dlib if they overlap by so much, or if so much of one is inside the other
_SAME = 0.33
_COVERED = 0.79

# a face whose score led those at other sizes by this much is looked at in its own size only: that another one
# leads in the next frame is rare. What is known of a lead becomes less with every look. Where a score is not
# even so far above the least, there is hardly a face of another size
_LEAD = 0.3
_AGEING = 0.02
_HOPELESS = 0.3


class LocalSearch:
    """A detector for small parts of a frame, at about a twentieth of the cost of the whole.

    Parameters
    ----------
    detector : FaceDetector
        The one of the whole frame.
    """

    def __init__(self, detector: FaceDetector) -> None:
        self._detector = detector

    def __call__(self, gray: ImageArray, box: Box) -> list[Detection]:
        """Faces around ``box``, boxes in pixels of the whole frame, best score first."""
        gray, zoom = self._scaled(gray)
        return self._near(gray, _times(box, zoom), zoom)

    def _near(self, gray: ImageArray, box: Box, zoom: float) -> list[Detection]:
        found, complete = self._best(self._on_levels(gray, box, _levels_around(_level_of(box))))
        if not complete:
            # it has moved, and the edge of what was looked at may have cost it some of its score
            box = found[0].box
            found, _ = self._best(self._on_levels(gray, box, _levels_around(_level_of(box))))
        return self._in_original(found, zoom)

    def again(self, gray: ImageArray, box: Box, found: Detection) -> list[Detection]:
        """A face of an earlier frame, by a look at its own size if no other one can be the better.

        Parameters
        ----------
        gray : ndarray of shape (H, W), uint8
        box : Box
            Where it should be by now.
        found : Detection
            As it was found.
        """
        gray, zoom = self._scaled(gray)
        place, own = _times(box, zoom), _level_of(_times(found.box, zoom))
        if _level_of(place) != own:
            # nothing is known of the size that it has grown or shrunk to
            return self._near(gray, place, zoom)
        there, least = self._on_levels(gray, place, [own]), self._detector.threshold + _HOPELESS
        if len(there) > 1 and there[1][0].score >= least:
            # which of several faces it is depends on all sizes
            return self._near(gray, place, zoom)
        if there and not there[0][1]:
            # it has moved
            place = there[0][0].box
            there = self._on_levels(gray, place, [own])
        if not there or there[0][0].score < least:
            return []
        face = there[0][0]
        lead = found.lead if isinstance(found, DlibDetection) else 0.0
        lead += min(0.0, face.score - found.score) - _AGEING
        if lead >= _LEAD:
            return self._in_original([dataclasses.replace(face, lead=lead)], zoom)
        there += self._on_levels(gray, place, [level for level in _levels_around(own) if level != own])
        kept, complete = self._best(there)
        return self._in_original(kept, zoom) if complete else self._near(gray, kept[0].box, zoom)

    def _scaled(self, gray: ImageArray) -> tuple[ImageArray, float]:
        """The frame as the whole search sees it, and by how much it was scaled."""
        zoom = self._detector.scale(gray.size) * 2**self._detector.upsample
        if zoom == 1:
            return gray, zoom
        method = cv2.INTER_AREA if zoom < 1 else cv2.INTER_LINEAR
        return np.asarray(cv2.resize(gray, None, fx=zoom, fy=zoom, interpolation=method), np.uint8), zoom

    def _in_original(self, found: list[DlibDetection], zoom: float) -> list[Detection]:
        faces = [dataclasses.replace(face, box=_times(face.box, 1 / zoom)) for face in found]
        least = self._detector.min_face or 0.0
        return [face for face in faces if min(face.box.width, face.box.height) >= least]

    def _best(self, there: list[tuple[DlibDetection, bool]]) -> tuple[list[DlibDetection], bool]:
        """The best of each face, and whether all that matters around the first of them was seen."""
        there = sorted(there, key=lambda pair: -pair[0].score)
        kept: list[DlibDetection] = []
        for face, _ in there:
            if any(_one_face(face.box, other.box) for other in kept):
                continue
            others = [
                other.score for other, _ in there if other is not face and _one_face(face.box, other.box)
            ]
            lead = face.score - max(others, default=self._detector.threshold)
            kept.append(dataclasses.replace(face, lead=lead))
        return kept, not there or there[0][1]

    def _on_levels(
        self, gray: ImageArray, box: Box, levels: Sequence[int]
    ) -> list[tuple[DlibDetection, bool]]:
        """What is found around a box on some levels, and whether its surroundings were whole; best first."""
        sizes = level_sizes(gray.shape[1], gray.shape[0], max(levels))
        places = {level: _part(box.center, level, sizes[level]) for level in levels}
        # a window that is not whole inside the part finds nothing
        places = {level: part for level, part in places.items() if part.shorter >= _BOX}
        there = []
        for level, image in parts_of_levels(gray, places).items():
            boxes, scores, kinds = one_level_detector().run(image, 0, self._detector.threshold)
            for place, score, kind in zip(boxes, scores, kinds, strict=True):
                # larger ones are of other levels
                if min(place.width(), place.height()) < _WINDOW:
                    there.append(_in_frame(place, score, kind, level, places[level], sizes[level]))
        return sorted(there, key=lambda pair: -pair[0].score)


def _times(box: Box, factor: float) -> Box:
    return Box(*(factor * value for value in box)) if factor != 1 else box


def _levels_around(own: int) -> range:
    return range(max(0, own - 1), own + 2)


def _level_of(box: Box) -> int:
    """The level at which a face of this size is found."""
    return round(math.log(max(min(box.width, box.height), _BOX) / _BOX, STEP))


def _part(middle: tuple[float, float], level: int, size: Corner) -> LevelPart:
    """The part of a level around a point of the frame, on whole cells."""
    growth = STEP**level
    ranges = []
    for place, length, least in zip(middle, size, (_FAST_WIDTH, 0), strict=True):
        at, half = (place - _shift(level)) / growth, _BOX / 2 + _MARGIN + _MOVED
        low = max(0, _CELL * math.floor((at - half) / _CELL))
        high = min(length, low + _CELL * math.ceil((at + half - low) / _CELL))
        if 0 < high - low < least <= length:
            low = max(0, min(low - (least - high + low) // 2, length - least)) // _CELL * _CELL
            high = low + least
        ranges.append((low, high))
    (x0, x1), (y0, y1) = ranges
    return LevelPart(x0, y0, x1, y1)


def _in_frame(
    box: Any, score: float, kind: int, level: int, part: LevelPart, size: Corner
) -> tuple[DlibDetection, bool]:
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
    return DlibDetection(place, float(score), found_by="dlib", sub_detector=int(kind)), whole


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
