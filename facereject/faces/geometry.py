"""Boxes, overlaps and similarity transforms: the plane geometry shared by all face modules."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from facereject.faces.face import Box

FloatArray = NDArray[np.float64]

# pixels; far beyond any image, and far below where dlib and OpenCV overflow
_MAX_COORDINATE = 1e6

# pixels; a face smaller than this is a point
_MIN_EXTENT = 1e-3


def check_landmarks(
    landmarks: ArrayLike, name: str = "landmarks", *, n_points: int | None = None
) -> FloatArray:
    """Return finite points as an (n, 2) float64 array, or raise a ValueError that names the argument.

    Parameters
    ----------
    landmarks : array-like of shape (n, 2)
        x, y in pixels.
    name : str
    n_points : int or None
        How many there must be; None is any number of at least two.
    """
    try:
        points = np.asarray(landmarks, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from None
    enough = points.ndim == 2 and points.shape[1] == 2 and len(points) >= 2
    if not enough or n_points not in (None, len(points)):
        wanted = "n" if n_points is None else str(n_points)
        raise ValueError(f"{name} must have shape ({wanted}, 2): x, y in pixels; got {points.shape}")
    # NaN and infinity show in the extremes
    left, top = np.minimum.reduce(points).tolist()
    right, bottom = np.maximum.reduce(points).tolist()
    if not all(map(math.isfinite, (left, top, right, bottom))):
        raise ValueError(f"{name} must be finite")
    if max(-left, -top, right, bottom) > _MAX_COORDINATE:
        raise ValueError(f"{name} must be pixels of an image, within {_MAX_COORDINATE:,.0f} of its corner")
    if max(right - left, bottom - top) < _MIN_EXTENT:
        raise ValueError(f"{name} must not all be the same point")
    return points


def check_box(box: Any, name: str = "box") -> Box:
    """Return ``box`` as a finite Box of positive size, or raise a ValueError that names the argument."""
    try:
        checked = Box(*(float(value) for value in box))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be four numbers (x, y, width, height), got {box!r}") from None
    if not all(map(math.isfinite, checked)) or checked.width <= 0 or checked.height <= 0:
        raise ValueError(f"{name} must be finite with positive width and height, got {tuple(checked)}")
    if max(abs(value) for value in checked) > _MAX_COORDINATE:
        raise ValueError(f"{name} must be pixels, at most {_MAX_COORDINATE:,.0f}; got {tuple(checked)}")
    return checked


def bounding_box(points: ArrayLike) -> Box:
    """Smallest box around the points."""
    low, high = np.min(points, axis=0), np.max(points, axis=0)
    return Box(float(low[0]), float(low[1]), float(high[0] - low[0]), float(high[1] - low[1]))


def overlap(a: Box, b: Box) -> float:
    """Intersection over union of two boxes, in [0, 1]."""
    shared = _shared(a, b)
    return shared / (a.width * a.height + b.width * b.height - shared) if shared else 0.0


def share_inside(a: Box, b: Box) -> float:
    """How much of the smaller of two boxes is inside the larger, in [0, 1]."""
    shared = _shared(a, b)
    return shared / min(a.width * a.height, b.width * b.height) if shared else 0.0


def _shared(a: Box, b: Box) -> float:
    """The area that two boxes share."""
    width = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
    height = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
    return width * height if width > 0 and height > 0 else 0.0


def fit_similarity(source: FloatArray, target: FloatArray) -> FloatArray:
    """Least-squares similarity (scale, rotation, shift) that takes ``source`` to ``target``.

    With points as complex numbers, z -> a z + b, where a = <s - mean s, t - mean t> / ||s - mean s||^2.

    Returns
    -------
    ndarray of shape (2, 3)
        [[Re a, -Im a, bx], [Im a, Re a, by]], the form cv2.warpAffine takes.
    """
    return fit_to_centred(source, *centred(target))[0]


def centred(points: FloatArray) -> tuple[NDArray[np.complex128], np.complex128]:
    """Points (n, 2) as complex numbers less their mean, and that mean."""
    # x and y side by side are a complex number
    z = np.array(points, dtype=np.float64, order="C").view(np.complex128).ravel()
    mean = np.add.reduce(z) / len(z)
    z -= mean
    return z, mean


def fit_to_centred(
    source: FloatArray, target: NDArray[np.complex128], target_mean: np.complex128
) -> tuple[FloatArray, FloatArray]:
    """As `fit_similarity`, for a target that is always the same: given as from `centred`.

    Also returns ``source`` as it is taken there, shape (n, 2).
    """
    s, s_mean = centred(source)
    a = np.vdot(s, target) / np.vdot(s, s).real
    b = target_mean - a * s_mean
    s *= a
    s += target_mean
    moved = s.view(np.float64).reshape(-1, 2)
    return np.array([[a.real, -a.imag, b.real], [a.imag, a.real, b.imag]]), moved


def transform_points(matrix: FloatArray, points: FloatArray) -> FloatArray:
    """Apply a (2, 3) affine matrix to points of shape (m, 2)."""
    return points @ matrix[:, :2].T + matrix[:, 2]


def disagreement(landmarks: FloatArray, others: Iterable[FloatArray | None]) -> float:
    """Mean distance in pixels to landmarks of the same face by other predictors.

    Parameters
    ----------
    landmarks : ndarray of shape (n, 2)
    others : iterable of ndarray of shape (n, 2) or None
        None for a predictor without landmarks on this face. If none has any, the result is infinite.
    """
    distances = [np.linalg.norm(landmarks - each, axis=1).mean() for each in others if each is not None]
    return float(np.mean(distances)) if distances else math.inf
