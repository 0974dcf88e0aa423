"""Looking for a face near a place: the detector on a small part of the frame, mostly with the same answer.

dlib's detector looks at windows of 10 x 10 cells of 8 pixels, cell by cell, on a pyramid of pictures each 5/6
as large as the one before. Landmarks and uncertainty depend on the box, so a part of the frame is cut such
that the boxes it can give are those that the whole frame could give: at the level of the pyramid below that
of the face, and on cells that are whole on both levels.
"""

from __future__ import annotations

import dataclasses
import itertools
import math

import cv2
import numpy as np
from numpy.typing import NDArray

from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.face import Box, Detection
from facereject.faces.images.load import ImageArray

# side in pixels of the boxes that the detector gives at the largest level, for its windows of 80
_BOX = 73.3
_WINDOW = 80
_STEP = 1.2

# six cells of one level are five of the next
_CELLS = 48


class LocalSearch:
    """A detector for small parts of a frame, at about a tenth of the cost of the whole.

    Parameters
    ----------
    detector : FaceDetector
        The one of the whole frame.
    reach : float
        Side of the part over side of the box, at least; the part begins on whole cells.
    """

    def __init__(self, detector: FaceDetector, reach: float = 1.5) -> None:
        self._detector = dataclasses.replace(detector, upsample=0, min_face=None)
        self._min_face = detector.min_face or 0.0
        self._reach = reach
        # how the frame is scaled before the search
        self._zoom = 2**detector.upsample / max(1.0, self._min_face / _WINDOW)

    def __call__(self, gray: ImageArray, box: Box) -> list[Detection]:
        """Faces around ``box``, boxes in pixels of the whole frame, best score first."""
        if self._zoom != 1:
            method = cv2.INTER_AREA if self._zoom < 1 else cv2.INTER_LINEAR
            scaled = cv2.resize(gray, None, fx=self._zoom, fy=self._zoom, interpolation=method)
            gray = np.asarray(scaled, dtype=np.uint8)
        x, y, side, _ = (self._zoom * value for value in box)
        level = max(0, round(math.log(max(side, _BOX) / _BOX, _STEP)) - 1)
        sizes = _pyramid(gray.shape[1], gray.shape[0], level)
        if min(sizes[-1]) < _WINDOW:
            return []
        # pixels of the frame per pixel of the level: the pictures share their outermost pixels
        scale = (np.array(sizes[0]) - 1) / (np.array(sizes[-1]) - 1)
        middle = (np.array([x, y]) + side / 2) / scale
        half = self._reach * max(side / scale.mean(), _BOX) / 2
        low = np.maximum(0, np.floor((middle - half) / _CELLS) * _CELLS).astype(int)
        high = np.minimum(sizes[-1], np.ceil(middle + half)).astype(int)
        # a window that is not whole inside the part finds nothing
        if (high - low).min() < _BOX:
            return []
        found = []
        for face in self._detector.detect(_cut(gray, sizes, low, high)):
            place = _in_frame(face.box, low, level)
            place = Box(*(value / self._zoom for value in place))
            if min(place.width, place.height) >= self._min_face:
                found.append(dataclasses.replace(face, box=place))
        return found


def _in_frame(box: Box, low: NDArray[np.int_], level: int) -> Box:
    """A box of a part of a level in pixels of the largest level, by the rule of dlib's own boxes."""
    growth = _STEP**level
    shift = 0.3 * (growth - 1) / (_STEP - 1)
    edges = np.array([box.x, box.y, box.x + box.width - 1, box.y + box.height - 1]) + np.tile(low, 2)
    left, top, right, bottom = np.rint(edges * growth + shift).tolist()
    return Box(left, top, right - left + 1, bottom - top + 1)


def _pyramid(width: int, height: int, level: int) -> list[tuple[int, int]]:
    """Sizes of the pictures of the pyramid down to a level, as dlib rounds them."""
    sizes = [(width, height)]
    for _ in range(level):
        sizes.append((int(5 * sizes[-1][0] / 6 + 0.5), int(5 * sizes[-1][1] / 6 + 0.5)))
    return sizes


def _cut(
    gray: ImageArray, sizes: list[tuple[int, int]], low: NDArray[np.int_], high: NDArray[np.int_]
) -> ImageArray:
    """A part of the last level, low to high, interpolated level by level as the detector does it."""
    parts = [(low, high)]
    for size, above in zip(sizes[:0:-1], sizes[-2::-1], strict=True):
        scale = (np.array(above) - 1) / (np.array(size) - 1)
        low, high = np.floor(low * scale).astype(int), np.ceil((high - 1) * scale).astype(int) + 1
        parts.append((low, np.minimum(high, above)))
    (x0, y0), (x1, y1) = parts.pop()
    part = np.ascontiguousarray(gray[y0:y1, x0:x1])
    for above, size in itertools.pairwise(sizes):
        origin, (low, high) = np.array([x0, y0]), parts.pop()
        scale = (np.array(above) - 1) / (np.array(size) - 1)
        shift = low * scale - origin
        matrix = np.array([[scale[0], 0, shift[0]], [0, scale[1], shift[1]]])
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        wide, tall = (high - low).tolist()
        warped = cv2.warpAffine(part, matrix, (wide, tall), flags=flags, borderMode=cv2.BORDER_REPLICATE)
        part = np.asarray(warped, dtype=np.uint8)
        x0, y0 = low
    return part
