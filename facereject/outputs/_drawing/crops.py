"""Crops of single faces with predicted landmarks in green or red and true ones in white."""

from __future__ import annotations

import cv2
import numpy as np

from facereject.faces.geometry import FloatArray, bounding_box, transform_points
from facereject.faces.images import ImageArray

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
