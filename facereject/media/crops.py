"""Pictures of single faces: the crop, the predicted points in green or red, the true ones in white."""

from __future__ import annotations

import cv2
import numpy as np

from ..faces.geometry import FloatArray, bounding_box
from ..faces.images import ImageArray

GREEN, RED, WHITE = (30, 200, 110), (235, 60, 45), (255, 255, 255)

# points are placed in sixteenths of a pixel
_SHIFT = 4


def face_crop(
    image: ImageArray,
    landmarks: FloatArray,
    accepted: bool,
    truth: FloatArray | None = None,
    *,
    side: int = 240,
    margin: float = 0.45,
) -> ImageArray:
    """A square RGB crop around a face with its points drawn; what lies outside the image is grey.

    Parameters
    ----------
    image : ndarray (H, W, 3) of uint8
    landmarks : ndarray of shape (68, 2)
        Predicted points, green if ``accepted`` and red if not.
    truth : ndarray of shape (68, 2) or None
        True points, white; the crop is centred on them.
    side : int
        Of the crop, in pixels.
    margin : float
        Room around the points, in shares of their extent.
    """
    box = bounding_box(landmarks if truth is None else truth)
    reach = max(box.width, box.height, 4.0) * (0.5 + margin)
    x, y = box.center
    zoom = side / (2 * reach)
    if zoom < 0.5:
        # warping does not average over the pixels it leaves out, shrinking first does
        image = np.asarray(cv2.resize(image, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_AREA), np.uint8)
        landmarks, truth = landmarks * zoom, None if truth is None else truth * zoom
        return face_crop(image, landmarks, accepted, truth, side=side, margin=margin)
    matrix = np.array([[zoom, 0, side / 2 - zoom * x], [0, zoom, side / 2 - zoom * y]])
    warped = cv2.warpAffine(image, matrix, (side, side), borderValue=(128, 128, 128))
    crop: ImageArray = np.asarray(warped, dtype=np.uint8)
    if truth is not None:
        _dots(crop, truth @ matrix[:, :2].T + matrix[:, 2], WHITE, side / 110)
    _dots(crop, landmarks @ matrix[:, :2].T + matrix[:, 2], GREEN if accepted else RED, side / 110)
    return crop


def _dots(image: ImageArray, points: FloatArray, color: tuple[int, int, int], radius: float) -> None:
    scale = 1 << _SHIFT
    for x, y in np.rint(points * scale).astype(int).tolist():
        # a dark rim keeps white points visible on bright skin
        for size, paint in ((radius + 0.8, (0, 0, 0)), (radius, color)):
            cv2.circle(image, (x, y), round(size * scale), paint, -1, cv2.LINE_AA, _SHIFT)
