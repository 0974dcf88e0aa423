"""One face through the frames of a video, and which boxes of two frames are the same face."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from facereject.faces import Face
from facereject.faces.face import Box, Detection
from facereject.faces.geometry import overlap
from facereject.tracking.smoothing import LandmarkSmoother

#: least overlap of the boxes of one face in two frames
SAME = 0.3

# a face whose boxes do not overlap: largest distance of the centres, in sides of the larger box, and by how
# much it grows with every frame in which the face is hidden, as people walk, up to a limit; largest ratio of
# the sides
_JUMP, _WALK, _FARTHEST = 1.0, 0.35, 4.0
_GROWTH = 1.5


@dataclasses.dataclass(eq=False)
class Track:
    """A face that is in view, or was until lately.

    Attributes
    ----------
    number : int
    found : Detection
        As the detector found the face last.
    face : Face
        As it was last seen.
    lost : int
        Frames since it was seen, 0 while it is in view.
    smooth, smooth_time : float
        Mean uncertainty and the time it holds for; NaN if there is none.
    smoother : LandmarkSmoother or None
    """

    number: int
    found: Detection
    face: Face
    lost: int = 0
    smooth: float = math.nan
    smooth_time: float = math.nan
    smoother: LandmarkSmoother | None = None
    _velocity: tuple[float, float] = (0.0, 0.0)

    @property
    def expected(self) -> Detection:
        """The face in the next frame, as far as known: it moves on as in the last two, or stays if lost."""
        if self.lost:
            return self.found
        (x, y), box = self._velocity, self.found.box
        return dataclasses.replace(self.found, box=box._replace(x=box.x + x, y=box.y + y))

    @property
    def reach(self) -> float:
        """How far from its place the face may come back, in sides of its box."""
        return min(_JUMP + _WALK * self.lost, _FARTHEST)

    def see(self, found: Detection, face: Face) -> None:
        """Take the face of the next frame."""
        (x, y), (u, v) = self.found.box.center, found.box.center
        self._velocity = (0.0, 0.0) if self.lost else (u - x, v - y)
        self.found, self.face, self.lost = found, face, 0

    def miss(self) -> None:
        """The next frame does not show the face."""
        self.lost += 1
        self.smooth = math.nan


def match(earlier: Sequence[Box], now: Sequence[Box], reach: Sequence[float] = ()) -> dict[int, int]:
    """Pairs of boxes (earlier index -> index now) that are the same face.

    The largest overlap comes first. Boxes that overlap nothing go with the nearest that is left within reach.

    Parameters
    ----------
    earlier, now : sequence of Box
    reach : sequence of float
        For every earlier box, in sides of the larger box; one side by default.

    Returns
    -------
    dict of int to int
    """
    reach = reach or [_JUMP] * len(earlier)
    closeness = [(_closeness(a, b), i, j) for i, a in enumerate(earlier) for j, b in enumerate(now)]
    pairs: dict[int, int] = {}
    for value, i, j in sorted(closeness, reverse=True):
        if value > -reach[i] and i not in pairs and j not in pairs.values():
            pairs[i] = j
    return pairs


def _closeness(a: Box, b: Box) -> float:
    """The overlap of two boxes of one face; below `SAME` their distance, negative, in sides of the larger."""
    shared = overlap(a, b)
    if shared >= SAME:
        return shared
    smaller, larger = sorted((max(a.width, a.height, 1e-9), max(b.width, b.height, 1e-9)))
    if larger > _GROWTH * smaller:
        return -math.inf
    return -math.dist(a.center, b.center) / larger
