"""Parts of the pictures that dlib's detector sees: a pyramid in which each is 5/6 as large as the one before.

dlib interpolates level by level, so the same is done here, on the pixels that a part needs. Nearly all pixels
are the very ones of dlib; one in some thousand differs by one grey level, where a value lies between two.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import cv2
import dlib
import numpy as np
from numpy.typing import NDArray

from facereject.faces.images.load import ImageArray

#: how much larger the picture of one level is than that of the next
STEP = 1.2

# a part of more than this share of its level is cut out of the whole, which dlib makes faster
_LARGE = 0.4

_shrink = dlib.pyramid_down(6)

Corner = tuple[int, int]


class LevelPart(NamedTuple):
    """Columns x0 up to x1 and rows y0 up to y1 of a picture; x1 and y1 are outside."""

    x0: int
    y0: int
    x1: int
    y1: int

    @property
    def area(self) -> int:
        return (self.x1 - self.x0) * (self.y1 - self.y0)

    @property
    def shorter(self) -> int:
        """Its shorter side."""
        return min(self.x1 - self.x0, self.y1 - self.y0)

    def with_other(self, other: LevelPart) -> LevelPart:
        """The smallest part that holds both."""
        return LevelPart(
            min(self.x0, other.x0), min(self.y0, other.y0), max(self.x1, other.x1), max(self.y1, other.y1)
        )

    def cut(self, image: ImageArray, origin: Corner) -> ImageArray:
        """Its pixels, out of a picture that begins at ``origin``."""
        x, y = origin
        return np.ascontiguousarray(image[self.y0 - y : self.y1 - y, self.x0 - x : self.x1 - x])


class _Lines(NamedTuple):
    """Where the columns or rows of a level lie in the one above: between ``first`` and the next one."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    #: weight of the second
    weight: NDArray[np.float32]
    rest: NDArray[np.float32]


def level_sizes(width: int, height: int, level: int) -> list[Corner]:
    """Width and height of the pictures of the pyramid down to a level, as dlib rounds them."""
    sizes = [(width, height)]
    for _ in range(level):
        sizes.append((5 * sizes[-1][0] // 6, 5 * sizes[-1][1] // 6))
    return sizes


def parts_of_levels(gray: ImageArray, wanted: Mapping[int, LevelPart]) -> dict[int, ImageArray]:
    """Parts of some levels of the pyramid of a grey picture.

    Parameters
    ----------
    gray : ndarray of shape (H, W), uint8
        Level 0.
    wanted : mapping from level to LevelPart
        In pixels of that level.
    """
    sizes = level_sizes(gray.shape[1], gray.shape[0], max(wanted, default=0))
    if not wanted:
        return {}
    last = wanted[len(sizes) - 1]
    if last.area > _LARGE * sizes[-1][0] * sizes[-1][1]:
        whole = list(itertools.accumulate(sizes[1:], lambda above, _: _shrink(above), initial=gray))
        return {level: part.cut(whole[level], (0, 0)) for level, part in wanted.items()}
    # what each level needs for itself and for those below
    needed = [last]
    for level in range(len(sizes) - 2, -1, -1):
        below = needed[-1]
        columns, rows = (_lines(sizes[level][axis], sizes[level + 1][axis]) for axis in (0, 1))
        part = LevelPart(
            int(columns.first[below.x0]),
            int(rows.first[below.y0]),
            int(columns.second[below.x1 - 1]) + 1,
            int(rows.second[below.y1 - 1]) + 1,
        )
        needed.append(part.with_other(wanted[level]) if level in wanted else part)
    parts: dict[int, ImageArray] = {}
    here = needed.pop()
    image = here.cut(gray, (0, 0))
    for level in range(len(sizes)):
        if level in wanted:
            parts[level] = wanted[level].cut(image, (here.x0, here.y0))
        if needed:
            lines = [_lines(sizes[level][axis], sizes[level + 1][axis]) for axis in (0, 1)]
            origin, here = (here.x0, here.y0), needed.pop()
            image = _interpolated(image, origin, lines[0], lines[1], here)
    return parts


def _interpolated(
    image: ImageArray, origin: Corner, columns: _Lines, rows: _Lines, part: LevelPart
) -> ImageArray:
    across, down = slice(part.x0, part.x1), slice(part.y0, part.y1)
    values = _mixed(image.astype(np.float32), rows, down, origin[1])
    # whole rows are taken several times as fast as columns
    mixed = cv2.transpose(_mixed(cv2.transpose(values), columns, across, origin[0]))
    return np.asarray(np.rint(mixed), dtype=np.uint8)


def _mixed(values: NDArray[Any], lines: _Lines, wanted: slice, start: int) -> NDArray[Any]:
    """Lines of a level from the rows of the one above, of which the first is number ``start``."""
    mixed = values.take(lines.first[wanted] - start, axis=0)
    mixed *= lines.rest[wanted, None]
    second = values.take(lines.second[wanted] - start, axis=0)
    second *= lines.weight[wanted, None]
    mixed += second
    return mixed


@functools.lru_cache(maxsize=64)
def _lines(above: int, size: int) -> _Lines:
    # the outermost pixels of both levels lie on each other
    places = np.arange(size) * ((above - 1) / max(size - 1, 1))
    first = np.minimum(np.floor(places).astype(np.int64), above - 1)
    weight = places - first
    second = np.minimum(first + 1, above - 1)
    return _Lines(first, second, weight.astype(np.float32), (1 - weight).astype(np.float32))
