"""Crops of single faces: with their landmarks drawn, or upright and in one size; how sharp these are."""

from __future__ import annotations

import cv2
import numpy as np

from facereject.faces.geometry import FloatArray, bounding_box, fit_similarity, transform_points
from facereject.faces.images import ImageArray
from facereject.faces.landmarks.point_set import MEAN_SHAPE

# width of the mean shape in sides of the crop, and how far its middle lies below that of the crop
_FILLS = 0.62

_LOWER = 0.06

_MIDDLE_GRAY = (128, 128, 128)


GREEN, RED, WHITE = (30, 200, 110), (235, 60, 45), (255, 255, 255)

# points are placed in sixteenths of a pixel
_SHIFT = 4


def face_crop(
    image: ImageArray,
    landmarks: FloatArray | None,
    accepted: bool,
    truth: FloatArray | None = None,
    *,
    around: FloatArray | None = None,
    side: int = 300,
    margin: float = 0.45,
) -> ImageArray:
    """A square RGB crop around a face with its landmarks drawn; pixels outside the image are grey.

    Parameters
    ----------
    image : ndarray (H, W, 3) of uint8
    landmarks : ndarray of shape (n, 2) or None
        Predicted points, green if ``accepted`` and red if not.
    truth : ndarray of shape (n, 2) or None
        True points, white.
    around : ndarray of shape (n, 2) or None
        Points the crop is centred on, not drawn; else it is ``truth`` or, without any, ``landmarks``.
    side : int
        Of the crop, in pixels.
    margin : float
        Room around the points, in shares of their extent.
    """
    center = next((points for points in (around, truth, landmarks) if points is not None), None)
    if center is None:
        raise ValueError("landmarks, truth or around must say where the face is")
    box = bounding_box(center)
    reach = max(box.width, box.height, 4.0) * (0.5 + margin)
    zoom = side / (2 * reach)
    if zoom < 0.5:
        # shrink first: warping alone would skip pixels instead of averaging them
        image = np.asarray(cv2.resize(image, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_AREA), np.uint8)
        landmarks, truth, center = (
            None if points is None else points * zoom for points in (landmarks, truth, center)
        )
        return face_crop(image, landmarks, accepted, truth, around=center, side=side, margin=margin)
    x, y = box.center
    # drawn twice as large and shrunk: small circles come out round
    fine, zoom = 2 * side, 2 * zoom
    matrix = np.array([[zoom, 0, fine / 2 - zoom * x], [0, zoom, fine / 2 - zoom * y]])
    drawn: ImageArray = np.asarray(
        cv2.warpAffine(image, matrix, (fine, fine), borderValue=(128, 128, 128)), np.uint8
    )
    for points, color in ((truth, WHITE), (landmarks, GREEN if accepted else RED)):
        if points is not None:
            _dots(drawn, transform_points(matrix, points), color, fine / 130)
    return np.asarray(cv2.resize(drawn, (side, side), interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _dots(image: ImageArray, points: FloatArray, color: tuple[int, int, int], radius: float) -> None:
    scale = 1 << _SHIFT
    for x, y in np.rint(points * scale).astype(int).tolist():
        # a dark rim keeps white points visible on bright skin
        for size, paint in ((radius + 1.2, (0, 0, 0)), (radius, color)):
            cv2.circle(image, (x, y), round(size * scale), paint, -1, cv2.LINE_AA, _SHIFT)


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
