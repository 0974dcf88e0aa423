"""What a model knows about the points of its predictor: mean shape, unit of errors, which ones to use."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from facereject.faces.face import Box
from facereject.faces.geometry import FloatArray, check_landmarks, fit_similarity, transform_points
from facereject.faces.landmarks.mean_shape import MEAN_SHAPE
from facereject.losses import landmark_scale

# The frame of every mean shape: the box a detector gives the face has its centre 0.1 above the origin and is
# 1.05 wide and high. For the 68 points and dlib's detector these are averages over 158 upright faces, with
# the origin in the middle of the points and the face one unit wide.
_BOX_CENTER = (0.0, -0.1)
_BOX_SIDE = 1.05

_ROUNDS = 20


# arrays have no truth value, so the generated == would raise

# a mean shape counts as symmetric if every point has a partner within this distance, in face widths
_SYMMETRY = 0.02


@dataclass(frozen=True, eq=False)
class PointSet:
    """The points of a landmark predictor, as a model needs to know them.

    Parameters
    ----------
    mean_shape : array-like of shape (n, 2)
        The mean face, upright, in a frame where the detector's box has its centre at (0, -0.1) and a side of
        1.05: about one face wide.
    normalizer : str
        The rule that turns pixels into percent, see `facereject.losses.landmark_scale`.
    used : sequence of int or None
        The points, counted from 0, that features are computed at; None is all of them.
    """

    mean_shape: FloatArray
    normalizer: str = "box"
    used: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        shape = check_landmarks(self.mean_shape, "mean_shape").copy()
        shape.flags.writeable = False
        object.__setattr__(self, "mean_shape", shape)
        if not isinstance(self.normalizer, str):
            raise ValueError(f"normalizer must be the name of a rule, got {self.normalizer!r}")
        if not landmark_scale(shape, self.normalizer) > 0:
            raise ValueError(f"normalizer {self.normalizer!r} has no length on the mean shape")
        if self.used is None:
            return
        try:
            used = tuple(operator.index(i) for i in self.used)
        except TypeError:
            raise ValueError(f"feature points must be whole numbers, got {self.used!r}") from None
        if len(set(used)) < max(2, len(used)) or min(used) < 0 or max(used) >= len(shape):
            raise ValueError(
                f"feature points must be two or more different numbers from 0 to {len(shape) - 1}, got {used}"
            )
        object.__setattr__(self, "used", used)

    @classmethod
    def learned(
        cls,
        shapes: ArrayLike,
        boxes: Sequence[Box | None] | None = None,
        *,
        normalizer: str = "box",
        used: Sequence[int] | None = None,
    ) -> PointSet:
        """From annotated faces: the Procrustes mean, in the frame of the detector's boxes.

        Parameters
        ----------
        shapes : array-like of shape (m, n, 2)
        boxes : sequence of (Box or None)
            The detector's box of each face, None where it is not known; without any box, the face is taken
            to be as large as its points.
        normalizer, used
            As for the class.
        """
        faces = np.asarray(shapes, dtype=np.float64)
        mean = procrustes_mean(faces)
        known = [(face, box) for face, box in zip(faces, boxes or (), strict=False) if box is not None]
        if known:
            places = [_place_of_box(face, box, mean) for face, box in known]
            x, y, side = np.median(np.array(places), axis=0)
        else:
            low, high = mean.min(axis=0), mean.max(axis=0)
            side = float((high - low).max()) * _BOX_SIDE
            x, y = (low + high) / 2 + np.array(_BOX_CENTER) * side / _BOX_SIDE
        framed = (mean - (x, y)) * (_BOX_SIDE / side) + _BOX_CENTER
        return cls(framed, normalizer, None if used is None else tuple(used))

    @functools.cached_property
    def n(self) -> int:
        """How many points there are."""
        return len(self.mean_shape)

    @functools.cached_property
    def n_used(self) -> int:
        """How many of them features are computed at."""
        return self.n if self.used is None else len(self.used)

    @functools.cached_property
    def used_shape(self) -> FloatArray:
        """The mean shape of the points that are used."""
        return self.chosen(self.mean_shape)

    @functools.cached_property
    def nearest_used(self) -> NDArray[np.intp]:
        """For every point the position, among those that are used, of the one nearest to it."""
        distance = np.linalg.norm(self.mean_shape[:, None] - self.used_shape[None], axis=2)
        return np.asarray(distance.argmin(axis=1))

    @property
    def is_300w(self) -> bool:
        """Whether these are the 68 points of 300-W."""
        return self.n == len(MEAN_SHAPE) and np.array_equal(self.mean_shape, MEAN_SHAPE)

    def chosen(self, landmarks: FloatArray) -> FloatArray:
        """The points that are used."""
        return landmarks if self.used is None else landmarks[list(self.used)]

    def scale(self, landmarks: FloatArray) -> float:
        """The length in pixels that errors of this face are normalised by."""
        return float(landmark_scale(landmarks, self.normalizer))

    def box_of(self, landmarks: FloatArray) -> Box:
        """The box the detector would most likely give a face with these landmarks."""
        matrix = fit_similarity(self.mean_shape, landmarks)
        size = _BOX_SIDE * float(np.hypot(matrix[0, 0], matrix[1, 0]))
        x, y = transform_points(matrix, np.array([_BOX_CENTER]))[0]
        return Box(float(x) - size / 2, float(y) - size / 2, size, size)

    @property
    def unit(self) -> str:
        """What errors are divided by, in words."""
        if self.normalizer == "outer_eyes":
            return "the distance of the outer eye corners"
        if self.normalizer == "pupils":
            return "the distance of the eye centres"
        if self.normalizer == "box":
            return "the size of the box around the points (root of its area)"
        return f"the distance of the points {self.normalizer.removeprefix('points:').replace(',', ' and ')}"

    @property
    def definition(self) -> dict[str, Any]:
        """All but the mean shape, as plain JSON, for the model file."""
        return {"normalizer": self.normalizer, "used": None if self.used is None else list(self.used)}

    @classmethod
    def from_definition(cls, definition: dict[str, Any], mean_shape: NDArray[np.float64]) -> PointSet:
        """The inverse of `definition`."""
        used = definition["used"]
        return cls(mean_shape, definition["normalizer"], None if used is None else tuple(used))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PointSet):
            return NotImplemented
        same = self.normalizer == other.normalizer and self.used == other.used
        return same and np.array_equal(self.mean_shape, other.mean_shape)

    def __hash__(self) -> int:
        return hash((self.mean_shape.tobytes(), self.normalizer, self.used))

    def __repr__(self) -> str:
        used = "" if self.used is None else f", {self.n_used} used"
        return f"PointSet({self.n} points, {self.normalizer}{used})"


#: the 68 points of 300-W
POINTS_300W = PointSet(MEAN_SHAPE, "outer_eyes")


def procrustes_mean(shapes: FloatArray) -> FloatArray:
    """Generalised Procrustes mean of faces, shape (m, n, 2), centred, of unit norm, as upright as they are.

    With points as complex numbers z_k, centred and of unit norm, the mean m and the rotations a_k, |a_k| = 1,
    that minimise sum_k ||a_k z_k - m||^2, found in turns.
    """
    points = np.asarray(shapes, dtype=np.float64)
    if points.ndim != 3 or not len(points) or points.shape[1] < 2 or points.shape[2] != 2:
        raise ValueError(f"shapes must be (m, n, 2) with n of at least 2, got {points.shape}")
    z = points[:, :, 0] + 1j * points[:, :, 1]
    z = z - z.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(z, axis=1, keepdims=True)
    if not (norms > 0).all():
        raise ValueError("shapes must not hold a face whose points are all the same")
    z = z / norms
    # people mostly hold their heads upright: the mean before any rotation says where up is
    upright = z.mean(axis=0)
    mean = upright
    for _ in range(_ROUNDS):
        turn = z.conj() @ mean
        size = np.abs(turn)
        aligned = z * np.where(size > 0, turn / np.where(size > 0, size, 1), 1)[:, None]
        mean = aligned.mean(axis=0)
        mean = mean / np.linalg.norm(mean)
    back = np.vdot(mean, upright)
    mean = mean * (back / abs(back) if abs(back) > 0 else 1)
    return np.column_stack([mean.real, mean.imag])


def _place_of_box(face: FloatArray, box: Box, mean: FloatArray) -> tuple[float, float, float]:
    """Centre and side of a box in the frame of a mean shape."""
    matrix = fit_similarity(face, mean)
    x, y = transform_points(matrix, np.array([box.center]))[0]
    side = float(np.hypot(matrix[0, 0], matrix[1, 0]) * np.sqrt(box.width * box.height))
    return float(x), float(y), side


@functools.lru_cache(maxsize=16)
def mirror_partners(points: PointSet) -> tuple[int, ...] | None:
    """For each point the one that takes its place in a mirror image; None if the shape is not symmetric."""
    shape = points.mean_shape - (points.mean_shape[:, 0].mean(), 0)
    distance = np.linalg.norm(shape[:, None] * (-1, 1) - shape[None], axis=2)
    partners = distance.argmin(axis=1)
    width = float(np.ptp(shape[:, 0]))
    paired = (partners[partners] == np.arange(len(shape))).all()
    if not paired or distance.min(axis=1).max() > _SYMMETRY * width:
        return None
    return tuple(int(partner) for partner in partners)
