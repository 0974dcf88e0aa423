"""Looking for a face near a place: the detector on a small part of the frame, on the grid of the whole."""

from __future__ import annotations

import dataclasses
import math

import cv2
import numpy as np

from ..faces.detector import Detection, FaceDetector
from ..faces.geometry import Box
from ..faces.images import MIN_SIDE, ImageArray

# dlib's detector looks at windows of 10 x 10 cells of 8 pixels and reports a box of 73 pixels, on a pyramid
# of pictures each 5/6 of the one before
_CELL = 8
_BOX = 73.3
_STEP = 1.2


class LocalSearch:
    """A detector for small parts of a frame, at a tenth of the cost of the whole.

    The detector moves its window in steps of a tenth of the face, so where a cut begins decides which boxes
    it can give, and landmarks and uncertainty depend on the box. The cut therefore begins on the grid of the
    whole frame, at the level of the pyramid where the face is expected; the answer is then nearly always
    that of a search through the whole frame.

    Parameters
    ----------
    detector : FaceDetector
        The one of the whole frame.
    reach : float
        Side of the part over side of the box; at most 2.5 is useful.
    """

    def __init__(self, detector: FaceDetector, reach: float = 1.6) -> None:
        self._detector = dataclasses.replace(detector, upsample=0, min_face=None)
        self._min_face = detector.min_face or 0.0
        self._reach = reach
        # pixels of the frame per pixel of the largest picture the detector looks at
        self._pixel = max(1.0, self._min_face / 80) / 2**detector.upsample

    def __call__(self, gray: ImageArray, box: Box) -> list[Detection]:
        """Faces around ``box``, boxes in pixels of the whole frame, best score first."""
        level = round(math.log(max(box.width, 1.0) / (_BOX * self._pixel), _STEP))
        # one level below the face is enough to find it somewhat smaller than before
        zoom = 1 / (self._pixel * _STEP ** max(level - 1, 0))
        cell = _CELL * self._pixel * _STEP ** max(level, 0)
        # a face at the first level may step to the second, whose cells meet these at every sixth
        step = cell * (6 if level <= 0 else 1)
        (x, y), half = box.center, self._reach * max(box.width, _BOX * self._pixel) / 2
        height, width = gray.shape
        x0, y0 = (max(0, round(math.floor((value - half) / step) * step)) for value in (x, y))
        x1, y1 = min(width, math.ceil(x + half)), min(height, math.ceil(y + half))
        # a window that is not whole inside the part finds nothing
        if min(x1 - x0, y1 - y0) * zoom < max(_BOX, MIN_SIDE):
            return []
        part = gray[y0:y1, x0:x1]
        if zoom != 1:
            method = cv2.INTER_AREA if zoom < 1 else cv2.INTER_LINEAR
            part = np.asarray(cv2.resize(part, None, fx=zoom, fy=zoom, interpolation=method), dtype=np.uint8)
        found = []
        for face in self._detector.detect(np.ascontiguousarray(part)):
            left, top, wide, high = (value / zoom for value in face.box)
            if min(wide, high) >= self._min_face:
                found.append(dataclasses.replace(face, box=Box(left + x0, top + y0, wide, high)))
        return found
