"""Where the picture moves: a cut, what a lost face has become, and where somebody new may be."""

from __future__ import annotations

import math
from collections.abc import Iterable

import cv2
import numpy as np
from numpy.typing import NDArray

from facereject.faces.face import Box
from facereject.faces.images.load import ImageArray

# side of the small copy of a frame, and of a place in it: a face that is a sixth of the frame fits in anyhow
_CELLS = 30
_PLACE = 9

# change of the mean grey level of a cell that is no noise, the largest that counts, and the least mean over
# the cells of a place that is worth a look
_NOISE = 2.0
_MOST = 30.0
_STIRRED = 1.5

# side of the picture of a lost face that is compared from frame to frame, how far it moves in sides of its
# box, the least correlation of the same thing in both, and the least contrast of what can be found again
_PATCH = 20
_DRIFT = 0.4
_ALIKE = 0.5
_CONTRAST = 2.0


class Motion:
    """Compares frames with earlier ones, on small copies."""

    def __init__(self) -> None:
        self._small: NDArray[np.float32] | None = None
        # each cell as it was when somebody was last looked for there
        self._searched: NDArray[np.float32] = np.zeros((1, 1), dtype=np.float32)
        self._step = 1.0

    def update(self, gray: ImageArray) -> float:
        """Take the next frame; the mean change of its grey levels, infinite if the size is another."""
        step = max(1, min(gray.shape) // (4 * _CELLS))
        # a quarter of the pixels tells as much and costs less
        sampled = gray[::step, ::step]
        self._step = min(gray.shape) / _CELLS
        size = [max(1, round(side / self._step)) for side in gray.shape]
        small = cv2.resize(sampled, (size[1], size[0]), interpolation=cv2.INTER_AREA).astype(np.float32)
        before, self._small = self._small, small
        if before is None or before.shape != small.shape:
            self._searched = small.copy()
            return 0.0 if before is None else math.inf
        return float(np.abs(small - before).mean())

    def searched(self) -> None:
        """The whole of this frame was searched."""
        if self._small is not None:
            self._searched = self._small.copy()

    def busiest(self, known: Iterable[Box]) -> Box | None:
        """The place, larger than a small face, where most has changed since it was last searched.

        It counts as searched from now on.

        Parameters
        ----------
        known : iterable of Box
            What moves there is known already.
        """
        if self._small is None:
            return None
        change = np.minimum(np.abs(self._small - self._searched), _MOST)
        change[change < _NOISE] = 0
        for box in known:
            edges = np.array([box.x, box.y, box.x + box.width, box.y + box.height]) / self._step
            x0, y0, x1, y1 = np.maximum(np.rint(edges), 0).astype(int)
            change[y0:y1, x0:x1] = 0
        sums = cv2.blur(change, (_PLACE, _PLACE), borderType=cv2.BORDER_CONSTANT)
        most = float(sums.max())
        if most < _STIRRED:
            return None
        half = _PLACE // 2
        # many places may show the whole change: the middle one, and no part of it outside the frame
        tied = np.argwhere(sums >= most - 1e-3)
        middle = tied[np.abs(tied - tied.mean(axis=0)).sum(axis=1).argmin()]
        y, x = (
            min(max(at, half), max(side - 1 - half, half))
            for at, side in zip(middle, sums.shape, strict=True)
        )
        place = (slice(max(0, y - half), y + half + 1), slice(max(0, x - half), x + half + 1))
        self._searched[place] = self._small[place]
        side = _PLACE * self._step
        return Box((x + 0.5) * self._step - side / 2, (y + 0.5) * self._step - side / 2, side, side)


def drift(box: Box, before: ImageArray, now: ImageArray) -> tuple[float, float]:
    """By how much what a box showed in the grey frame before has moved; 0, 0 if it is not found again.

    Parameters
    ----------
    box : Box
        In the frame before.
    before, now : ndarray of shape (H, W), uint8
    """
    side = max(box.width, box.height)
    step, reach = max(1.0, side / _PATCH), _DRIFT * side
    patch, corner = _small_part(before, box, step)
    wide = Box(box.x - reach, box.y - reach, box.width + 2 * reach, box.height + 2 * reach)
    field, origin = _small_part(now, wide, step)
    if before.shape != now.shape or min(patch.shape) < _PATCH // 2:
        return 0.0, 0.0
    if field.shape[0] < patch.shape[0] or field.shape[1] < patch.shape[1] or patch.std() < _CONTRAST:
        return 0.0, 0.0
    _, best, _, (x, y) = cv2.minMaxLoc(cv2.matchTemplate(field, patch, cv2.TM_CCOEFF_NORMED))
    if best < _ALIKE:
        return 0.0, 0.0
    return step * x + origin[0] - corner[0], step * y + origin[1] - corner[1]


def _small_part(gray: ImageArray, box: Box, step: float) -> tuple[ImageArray, tuple[int, int]]:
    """The part of a frame inside a box, smaller by a factor, and its corner."""
    x0, y0 = max(0, round(box.x)), max(0, round(box.y))
    part = gray[y0 : max(y0, round(box.y + box.height)), x0 : max(x0, round(box.x + box.width))]
    size = (int(part.shape[1] / step), int(part.shape[0] / step))
    if min(size) < 1:
        return np.empty((0, 0), dtype=np.uint8), (x0, y0)
    return np.asarray(cv2.resize(part, size, interpolation=cv2.INTER_AREA), dtype=np.uint8), (x0, y0)
