"""How the head is turned: a generic face in three dimensions, held against the landmarks.

The camera is one that looks at the middle of the face from six widths of the face away. So the angles do not
depend on where in the image the face is: in a corner, too, a head turned towards the camera has yaw 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import cv2
import numpy as np

from facereject.faces.face import Pose
from facereject.faces.geometry import FloatArray
from facereject.faces.landmarks.mean_shape import MEAN_SHAPE, N_LANDMARKS

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

    A head turned by R = Rz(roll) Ry(yaw) Rx(pitch), nod first: turning the image changes roll alone.
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
