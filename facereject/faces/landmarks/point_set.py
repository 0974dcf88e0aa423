"""What a model knows about the points of its predictor: mean shape, unit of errors, which to use, pose."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from facereject.faces.face import Box, Pose
from facereject.faces.geometry import FloatArray, check_landmarks, fit_similarity, transform_points
from facereject.losses import landmark_scale

#: The mean face of the 68 points of 300-W: symmetric, upright, centred, one unit wide from ear to ear.
#: Procrustes mean of 2,012 annotated faces (AFW, HELEN, LFPW) and their mirror images, rounded to 0.001.
MEAN_SHAPE: NDArray[np.float64] = np.array(
    [
        (-0.5, -0.308), (-0.496, -0.177), (-0.481, -0.046), (-0.454, 0.083),
        (-0.403, 0.202), (-0.324, 0.306), (-0.228, 0.393), (-0.121, 0.462),
        (0, 0.482), (0.121, 0.462), (0.228, 0.393), (0.324, 0.306),
        (0.403, 0.202), (0.454, 0.083), (0.481, -0.046), (0.496, -0.177),
        (0.5, -0.308), (-0.403, -0.413), (-0.341, -0.466), (-0.256, -0.482),
        (-0.167, -0.47), (-0.083, -0.438), (0.083, -0.438), (0.167, -0.47),
        (0.256, -0.482), (0.341, -0.466), (0.403, -0.413), (0, -0.332),
        (0, -0.246), (0, -0.161), (0, -0.074), (-0.1, -0.015),
        (-0.052, 0.002), (0, 0.018), (0.052, 0.002), (0.1, -0.015),
        (-0.303, -0.319), (-0.25, -0.351), (-0.185, -0.35), (-0.13, -0.308),
        (-0.19, -0.295), (-0.254, -0.296), (0.13, -0.308), (0.185, -0.35),
        (0.25, -0.351), (0.303, -0.319), (0.254, -0.296), (0.19, -0.295),
        (-0.192, 0.147), (-0.122, 0.117), (-0.05, 0.102), (0, 0.114),
        (0.05, 0.102), (0.122, 0.117), (0.192, 0.147), (0.124, 0.216),
        (0.054, 0.245), (0, 0.251), (-0.054, 0.245), (-0.124, 0.216),
        (-0.162, 0.151), (-0.05, 0.145), (0, 0.15), (0.05, 0.145),
        (0.162, 0.151), (0.051, 0.18), (0, 0.186), (-0.051, 0.18),
    ]
)  # fmt: skip
MEAN_SHAPE.flags.writeable = False

#: how many points the mark-up has
N_LANDMARKS = len(MEAN_SHAPE)


# The frame of every mean shape: the box a detector gives the face has its centre 0.1 above the origin and is
# 1.05 wide and high. For the 68 points and dlib's detector these are averages over 158 upright faces, with
# the origin in the middle of the points and the face one unit wide.
_BOX_CENTER = (0.0, -0.1)
_BOX_SIDE = 1.05

_ROUNDS = 20

# a mean shape counts as symmetric if every point has a partner within this distance, in face widths
_SYMMETRY = 0.02


# arrays have no truth value, so the generated == would raise
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


# how far each point lies behind the tip of the nose, in widths of the face (tools/train/face_depth.py)
_DEPTH = np.array(
    [
        0.658, 0.640, 0.631, 0.621, 0.579, 0.513, 0.432, 0.351, 0.323, 0.351, 0.432, 0.513, 0.579, 0.621,
        0.631, 0.640, 0.658, 0.364, 0.295, 0.234, 0.186, 0.152, 0.152, 0.186, 0.234, 0.295, 0.364, 0.155,
        0.107, 0.053, 0.000, 0.145, 0.121, 0.106, 0.121, 0.145, 0.322, 0.290, 0.278, 0.279, 0.280, 0.292,
        0.279, 0.278, 0.290, 0.322, 0.292, 0.280, 0.319, 0.215, 0.157, 0.149, 0.157, 0.215, 0.319, 0.253,
        0.207, 0.199, 0.207, 0.253, 0.303, 0.175, 0.165, 0.175, 0.303, 0.198, 0.190, 0.198,
    ]
)  # fmt: skip

# degrees by which the mean face of photos looks down, compared with people who look into the camera of
# a studio (tools/train/face_depth.py)
_LOOKS_DOWN = 4.0

# jaw below the ears, chin and lips move with the mouth; its corners do so least
_RIGID = np.array([0, 1, 2, 14, 15, 16, *range(17, 48), 48, 54])

# between a webcam (about 4) and a portrait
_DISTANCE = 6.0


class PoseLimits(NamedTuple):
    """How far a head may be turned to either side, in degrees; None is any angle."""

    max_yaw: float | None = None
    max_pitch: float | None = None
    max_roll: float | None = None

    def allow(self, pose: Pose | None) -> bool:
        """Whether a face of this pose is within the limits; an unknown pose is only if there are none."""
        given = [(i, limit) for i, limit in enumerate(self) if limit is not None]
        return not given or (pose is not None and all(abs(pose[i]) <= limit for i, limit in given))


def check_limits(limits: PoseLimits) -> PoseLimits:
    """The limits themselves; ValueError if one is no angle from 0 to 180 degrees."""
    for name, limit in limits._asdict().items():
        if limit is not None and not 0 <= limit <= 180:
            raise ValueError(f"{name} must be an angle from 0 to 180 degrees, got {limit:g}")
    return PoseLimits(*(None if limit is None else float(limit) for limit in limits))


def _turn_x(degrees: float) -> FloatArray:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def generic_face() -> FloatArray:
    """A face that looks straight into the camera, (68, 3): x to the right, y down, z away, one unit wide."""
    face = np.column_stack([MEAN_SHAPE, _DEPTH - _DEPTH.mean()])
    return face @ _turn_x(-_LOOKS_DOWN).T


_FACE = generic_face()[_RIGID]
_SIZE = float(np.linalg.norm(_FACE[:, :2]))


def pose_of(landmarks: FloatArray) -> Pose | None:
    """The pose of a face from its landmarks; None for other than the 68 points of 300-W, or if it fails.

    A generic face in three dimensions, turned by R = Rz(roll) Ry(yaw) Rx(pitch), nod first, so that turning
    the image changes roll alone. The camera looks at the middle of the face from six widths of the face away:
    the angles do not depend on where in the image the face is.
    """
    if landmarks.shape != (N_LANDMARKS, 2):
        return None
    points = landmarks[_RIGID] - landmarks.mean(axis=0)
    size = float(np.linalg.norm(points))
    if not (math.isfinite(size) and size > 0):
        return None
    # the focal length at which a face at that distance has this size
    focal = _DISTANCE * size / _SIZE
    camera = np.array([[focal, 0, 0], [0, focal, 0], [0, 0, 1.0]])
    try:
        good, vector, _ = cv2.solvePnP(_FACE, points, camera, None, flags=cv2.SOLVEPNP_SQPNP)
    except cv2.error:
        return None
    if not good:
        return None
    turn = np.asarray(cv2.Rodrigues(vector)[0])
    yaw = math.asin(min(max(float(turn[2, 0]), -1.0), 1.0))
    pitch = -math.atan2(turn[2, 1], turn[2, 2])
    roll = math.atan2(turn[1, 0], turn[0, 0])
    # landmarks tell a degree at best
    return Pose(*(round(math.degrees(angle), 2) for angle in (yaw, pitch, roll)))
