"""One face through the frames of a video: where its box would be next, and which boxes are the same face."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from facereject.faces import Face
from facereject.faces.face import Box, Detection
from facereject.faces.geometry import FloatArray, fit_similarity, overlap, transform_points
from facereject.tracking.smoothing import LandmarkSmoother

# the same face in two frames, by overlap of the boxes
SAME = 0.3

# the detector gives the same box while a face moves by less than this, in sides of its box (half a cell of
# dlib's), and grows by less than this, as a logarithm (half a level of its pyramid)
_STEP = 0.055
_GROWTH = 0.09

# pixels; a narrower box is no face
_SMALLEST = 16


@dataclasses.dataclass(eq=False)
class Track:
    """A face that is followed, or was until lately."""

    number: int
    #: of the landmarks
    mean_shape: FloatArray
    face: Face = dataclasses.field(init=False)
    #: the detector's box in the frame of the mean shape; None if there were no landmarks
    anchor: Box | None = None
    #: as the detector found it last
    seen: Detection = dataclasses.field(init=False)
    detected: bool = True
    #: for how many more frames the score of the detector vouches for the face, and up to which uncertainty
    vouched: int = 0
    vouched_to: float = -math.inf
    #: the uncertainty with which it was lost
    last: float = math.nan
    #: frames since it was seen, 0 if it is
    lost: int = 0
    #: how far what was seen there has moved since, in pixels
    shift: tuple[float, float] = (0.0, 0.0)
    smooth: float = math.nan
    smooth_time: float = math.nan
    smoother: LandmarkSmoother | None = None
    #: what the place was worked out from, and the place
    _placed: tuple[Face, Detection, Box] | None = None

    @property
    def box(self) -> Box:
        """Where the detector would put its box."""
        # asked several times per frame
        if self._placed is None or self._placed[0] is not self.face or self._placed[1] is not self.seen:
            self._placed = (self.face, self.seen, self._place())
        box, (x, y) = self._placed[2], self.shift
        return box._replace(x=box.x + x, y=box.y + y) if x or y else box

    def _place(self) -> Box:
        box = self.face.box
        if self.anchor is not None:
            box = _moved(self.anchor, self.mean_shape, self.face.landmarks)
        if _still(self.seen.box, box):
            box = self.seen.box
        return box


@dataclasses.dataclass(eq=False)
class Hint:
    """A place where a face nearly is."""

    box: Box
    #: the share of the detector's margin by which it misses being a face
    missed: float
    #: frames since it was looked at
    waited: int = 0


def anchor_of(face: Face, mean_shape: FloatArray) -> Box | None:
    """The box of a face in the frame of the mean shape; None without landmarks."""
    if not np.isfinite(face.landmarks).all():
        return None
    return _moved(face.box, face.landmarks, mean_shape)


def _moved(box: Box, source: FloatArray, target: FloatArray) -> Box:
    """Where a box goes when landmarks go from one place to another; it stays upright."""
    matrix = fit_similarity(source, target)
    scale = float(np.hypot(matrix[0, 0], matrix[1, 0]))
    x, y = transform_points(matrix, np.array([box.center]))[0]
    width, height = scale * box.width, scale * box.height
    return Box(float(x) - width / 2, float(y) - height / 2, width, height)


def _still(before: Box, now: Box) -> bool:
    """Whether a detector would most likely give the same box again: it looks at steps, not at pixels."""
    (x, y), (u, v) = before.center, now.center
    moved = max(abs(x - u), abs(y - v)) / before.width
    return moved < _STEP and abs(math.log(now.width / before.width)) < _GROWTH


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
