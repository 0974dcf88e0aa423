"""One face through the frames of a video: where its box would be next, and which boxes are the same face."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from facereject.faces import Face
from facereject.faces.face import Box
from facereject.faces.geometry import fit_similarity, overlap, transform_points

# the same face in two frames, by overlap of the boxes
SAME = 0.3

# pixels; a narrower box is no face
_SMALLEST = 16


@dataclasses.dataclass(eq=False)
class Track:
    """A face that is followed, or was until lately."""

    number: int
    face: Face = dataclasses.field(init=False)
    #: the face as the detector saw it last; None if that had no landmarks
    anchor: Face | None = None
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
        # the landmarks have moved since then, and the box with them
        matrix = fit_similarity(self.anchor.landmarks, self.face.landmarks)
        scale = float(np.hypot(matrix[0, 0], matrix[1, 0]))
        width, height = scale * self.anchor.box.width, scale * self.anchor.box.height
        x, y = transform_points(matrix, np.array([self.anchor.box.center]))[0]
        return Box(float(x) - width / 2, float(y) - height / 2, width, height)


def anchor_of(face: Face) -> Face | None:
    """A face that the detector found, if its box can be led on by its landmarks; else None."""
    return face if np.isfinite(face.landmarks).all() else None


def inside(box: Box, size: tuple[int, int]) -> bool:
    """Whether the middle of the box is in a picture of this width and height."""
    (x, y), (width, height) = box.center, size
    return 0 <= x < width and 0 <= y < height and box.width >= _SMALLEST


def match(before: list[Box], now: list[Box]) -> dict[int, int]:
    """Pairs of boxes (index before -> index now) that are the same face, the largest overlap first."""
    shared = [(overlap(a, b), i, j) for i, a in enumerate(before) for j, b in enumerate(now)]
    pairs: dict[int, int] = {}
    for value, i, j in sorted(shared, reverse=True):
        if value >= SAME and i not in pairs and j not in pairs.values():
            pairs[i] = j
    return pairs
