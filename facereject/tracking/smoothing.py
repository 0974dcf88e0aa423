"""Landmarks without jitter: each follows its measurements as far as they are certain.

The landmarks of a frame are split into where the head is (centre, size and angle: a similarity of the mean
shape) and its shape in its own frame. Both go through one-euro filters, low-pass filters whose cut-off
rises with the speed: still landmarks are averaged over many frames, moving ones followed at once. For the
head the filter also looks ahead by its speed, so that steady motion has no lag.

A landmark of expected error e percent has the certainty c = 1 / (1 + (e / 6)^2). Uncertain ones count less
for the place of the head, move with their neighbours, and are averaged over more frames.
"""

from __future__ import annotations

import math

import numpy as np

from facereject.faces.face import Face
from facereject.faces.geometry import FloatArray, transform_points

# percent; a landmark with this expected error counts half
_HALF_CERTAIN = 6.0

# cut-off frequencies in Hz: at rest, and what is added per width of the face and second
_HEAD_REST, _HEAD_SPEED = 0.8, 12.0
_SHAPE_REST, _SHAPE_SPEED = 0.8, 60.0

# cut-off in Hz of the filters of the speeds themselves
_SPEED_CUT = 4.0

# widths of the face per second; below it a motion of the head may be noise and is not looked ahead
_STEADY = 0.25

# distance of neighbours in widths of the face
_NEAR = 0.08

# seconds; after a longer gap smoothing starts again
_GAP = 0.5


class LandmarkSmoother:
    """Smooths the landmarks of one face through a video.

    Parameters
    ----------
    mean_shape : ndarray of shape (n, 2)
        Of the landmarks; see `PointSet`.
    """

    def __init__(self, mean_shape: FloatArray) -> None:
        span = float(np.ptp(mean_shape[:, 0])) or 1.0
        self._mean = (mean_shape - mean_shape.mean(axis=0)) / span
        distance = np.linalg.norm(self._mean[:, None] - self._mean[None], axis=2)
        self._near = np.exp(-0.5 * (distance / _NEAR) ** 2)
        self._time = math.nan

    def __call__(self, face: Face, time_s: float) -> FloatArray:
        """The landmarks of the face in the next frame, (n, 2).

        They are those of the face itself in the first frame and after a gap.

        Parameters
        ----------
        face : Face
            With ``landmark_errors``, or else an expected error that holds for all points.
        time_s : float
            Time of the frame in seconds.
        """
        points = face.landmarks
        if not np.isfinite(points).all():
            self._time = math.nan
            return points
        certainty = certainty_of(face)
        head = _fit(self._mean, points, certainty)
        shape = _apply_inverse(head, points)
        step = time_s - self._time
        self._time = time_s
        if not 0 < step <= _GAP:
            self._head, self._head_speed = head, np.zeros(4)
            self._shape, self._shape_speed = shape, np.zeros_like(shape)
            return points
        self._move_head(head, step, float(certainty.mean()))
        self._move_shape(shape, step, certainty)
        return transform_points(_matrix(self._head), self._shape)

    def _move_head(self, head: FloatArray, step: float, certainty: float) -> None:
        size = math.exp(self._head[2])
        # centre in widths of the face, logarithm of the width, angle: one unit moves points by about a width
        unit = np.array([size, size, 1.0, 1.0])
        change = (head - self._head) / unit
        # the shorter way round
        change[3] = math.remainder(change[3], math.tau)
        self._head_speed += _gain(_SPEED_CUT, step) * (change / step - self._head_speed)
        pace = np.abs(self._head_speed)
        pace[:2] = np.hypot(*self._head_speed[:2])
        ahead = step * self._head_speed * pace**2 / (pace**2 + _STEADY**2)
        follow = _gain((_HEAD_REST + _HEAD_SPEED * pace) * certainty, step)
        self._head = self._head + unit * (ahead + follow * (change - ahead))

    def _move_shape(self, shape: FloatArray, step: float, certainty: FloatArray) -> None:
        change = shape - self._shape
        # the neighbours' motion, each as far as it is certain
        weights = self._near * certainty
        total = weights.sum(axis=1)
        shared = (weights @ change) / total[:, None]
        # the speed of all of them together: noise has none
        self._shape_speed += _gain(_SPEED_CUT, step) * (shared / step - self._shape_speed)
        cutoff = _SHAPE_REST + _SHAPE_SPEED * np.linalg.norm(self._shape_speed, axis=1)
        together = _gain(cutoff * total / self._near.sum(axis=1), step)
        alone = certainty * _gain(cutoff * certainty, step)
        self._shape = self._shape + together[:, None] * shared + alone[:, None] * (change - shared)


def certainty_of(face: Face) -> FloatArray:
    """Certainty of each landmark, in (0, 1], from its expected error or that of the whole face."""
    errors = face.landmark_errors
    if errors is None:
        errors = np.full(len(face.landmarks), face.expected_error)
    # landmarks of unknown error count half
    errors = np.where(np.isfinite(errors), errors, _HALF_CERTAIN)
    certainty: FloatArray = 1 / (1 + (errors / _HALF_CERTAIN) ** 2)
    return np.maximum(certainty, 0.02)


def _gain(cutoff: FloatArray | float, step: float) -> FloatArray:
    """Weight of the present in a low-pass filter of first order."""
    turn = 2 * math.pi * np.asarray(cutoff) * step
    return np.asarray(turn / (1 + turn))


def _fit(mean: FloatArray, points: FloatArray, weights: FloatArray) -> FloatArray:
    """Centre x, y, logarithm of the size and angle of the weighted similarity from the mean shape."""
    share = weights / weights.sum()
    source = mean[:, 0] + 1j * mean[:, 1]
    target = points[:, 0] + 1j * points[:, 1]
    source_mean, target_mean = share @ source, share @ target
    centred = source - source_mean
    factor = (share * centred.conj()) @ (target - target_mean) / (share @ np.abs(centred) ** 2)
    place = target_mean - factor * source_mean
    return np.array([place.real, place.imag, math.log(max(abs(factor), 1e-6)), np.angle(factor)])


def _matrix(head: FloatArray) -> FloatArray:
    c, s = math.exp(head[2]) * math.cos(head[3]), math.exp(head[2]) * math.sin(head[3])
    return np.array([[c, -s, head[0]], [s, c, head[1]]])


def _apply_inverse(head: FloatArray, points: FloatArray) -> FloatArray:
    matrix = _matrix(head)
    return np.asarray(np.linalg.solve(matrix[:, :2], (points - matrix[:, 2]).T).T)
