"""One face through the frames of a video: where its box would be next, and which boxes are the same face."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from facereject.faces import Face
from facereject.faces.face import Box
from facereject.faces.geometry import FloatArray, fit_similarity, overlap, transform_points
from facereject.faces.images import ImageArray
from facereject.faces.landmarks.mean_shape import MEAN_SHAPE

# the same face in two frames, by overlap of the boxes
SAME = 0.3

# pixels; a narrower box is no face
_SMALLEST = 16


@dataclasses.dataclass(eq=False)
class Track:
    """A face that is followed, or was until lately."""

    number: int
    face: Face = dataclasses.field(init=False)
    #: the detector's box in the frame of the mean shape: centre x, centre y, logarithm of the side
    anchor: FloatArray | None = None
    detected: bool = True
    #: the uncertainty with which it was lost
    last: float = math.nan
    #: frames since it was seen, 0 if it is
    lost: int = 0
    smooth: float = math.nan
    smooth_time: float = math.nan

    @property
    def box(self) -> Box:
        """Where the detector would put its box."""
        if self.anchor is None:
            return self.face.box
        matrix = fit_similarity(MEAN_SHAPE, self.face.landmarks)
        side = float(np.hypot(matrix[0, 0], matrix[1, 0]) * np.exp(self.anchor[2]))
        x, y = transform_points(matrix, self.anchor[None, :2])[0]
        return Box(float(x) - side / 2, float(y) - side / 2, side, side)


def anchor_of(face: Face) -> FloatArray | None:
    """Where the box of a face lies in the frame of the mean shape; None without landmarks."""
    if not np.isfinite(face.landmarks).all():
        return None
    matrix = fit_similarity(face.landmarks, MEAN_SHAPE)
    x, y = transform_points(matrix, np.array([face.box.center]))[0]
    scale = float(np.hypot(matrix[0, 0], matrix[1, 0]))
    return np.array([x, y, math.log(face.box.width * scale)])


def inside(box: Box, gray: ImageArray) -> bool:
    """Whether the middle of the box is in the picture."""
    (x, y), (height, width) = box.center, gray.shape
    return 0 <= x < width and 0 <= y < height and box.width >= _SMALLEST


def match(before: list[Box], now: list[Box]) -> dict[int, int]:
    """Pairs of boxes (index before -> index now) that are the same face, the largest overlap first."""
    shared = [(overlap(a, b), i, j) for i, a in enumerate(before) for j, b in enumerate(now)]
    pairs: dict[int, int] = {}
    for value, i, j in sorted(shared, reverse=True):
        if value >= SAME and i not in pairs and j not in pairs.values():
            pairs[i] = j
    return pairs
