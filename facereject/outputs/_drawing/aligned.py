"""Faces cut out upright and in one size, and how sharp they are."""

from __future__ import annotations

import cv2
import numpy as np

from facereject.faces.geometry import FloatArray, fit_similarity
from facereject.faces.images import ImageArray
from facereject.faces.landmarks.point_set import MEAN_SHAPE

# width of the mean shape in sides of the crop, and how far its middle lies below that of the crop
_FILLS = 0.62
_LOWER = 0.06

_MIDDLE_GRAY = (128, 128, 128)


def aligned_crop(
    image: ImageArray, landmarks: FloatArray, size: int = 256, mean_shape: FloatArray = MEAN_SHAPE
) -> ImageArray:
    """A square, upright crop of a face in a fixed size; pixels outside the image are grey.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8
    landmarks : ndarray of shape (n, 2)
    size : int, default=256
        Side of the image in pixels.
    mean_shape : ndarray of shape (n, 2)
        Of the landmarks; the similarity that takes the landmarks to it is applied to the image.
    """
    span = float(np.ptp(mean_shape[:, 0])) or 1.0
    middle = (size / 2, (0.5 + _LOWER) * size)
    target = (mean_shape - mean_shape.mean(axis=0)) * (_FILLS * size / span) + middle
    matrix = fit_similarity(landmarks, target)
    share = 2 * float(np.hypot(matrix[0, 0], matrix[1, 0]))
    if 0 < share < 1:
        # shrink first: warping alone would skip pixels instead of averaging them
        smaller = cv2.resize(image, None, fx=share, fy=share, interpolation=cv2.INTER_AREA)
        image = np.asarray(smaller, dtype=np.uint8)
        # coordinates refer to pixel centres
        matrix = fit_similarity((landmarks + 0.5) * share - 0.5, target)
    crop = cv2.warpAffine(image, matrix, (size, size), borderValue=_MIDDLE_GRAY)
    return np.asarray(crop, dtype=np.uint8)


def sharpness(crop: ImageArray) -> float:
    """Sharpness of a crop: standard deviation of its Laplacian over that of its grey levels.

    Comparable for crops of one size.
    """
    gray = cv2.cvtColor(crop, cv2.COLOR_RGB2GRAY)
    contrast = float(gray.std())
    if contrast < 1e-6:
        return 0.0
    return float(cv2.Laplacian(gray, cv2.CV_32F).std()) / contrast
