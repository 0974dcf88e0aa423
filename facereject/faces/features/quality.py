"""Image quality of an aligned face: light, contrast, sharpness at three scales, noise, direction of blur."""

from __future__ import annotations

import functools
import math

import cv2
import numpy as np
from numpy.typing import NDArray

from facereject.faces.geometry import FloatArray
from facereject.faces.images.load import ImageArray

#: names of the values of `image_quality`
QUALITY = (
    "brightness",
    "contrast",
    "darkest",
    "brightest",
    "clipped_dark",
    "clipped_bright",
    "light_across",
    "light_along",
    "sharpness_1",
    "sharpness_2",
    "sharpness_4",
    "sharpness_ratio",
    "noise",
    "blur_direction",
    "flat",
)

# grey levels; added before a logarithm, so that an even image stays finite
_FLOOR = 0.5

# share of the chip that is looked at, in the middle: the face without its surroundings
_INNER = 0.7


def looked_at(side: int) -> int:
    """Up to which row and column `image_quality` looks at a chip of that side."""
    return side - round(side * (1 - _INNER) / 2)


def image_quality(chip: ImageArray) -> FloatArray:
    """Image quality of a face.

    With g the grey levels of the middle of the chip, g_s the same reduced by s = 1, 2, 4:

    - mean and standard deviation of g; its 5th and 95th percentile; shares of g <= 5 and g >= 250
    - difference of the means of the right and left half, and of the lower and upper half
    - log(0.5 + standard deviation of the Laplacian of g_s), and the difference of the first and the third
    - log(0.5 + mean of |g less its 3 x 3 median|), which noise makes large
    - log of the ratio of the eigenvalues of the mean structure tensor: large where only one direction has
      edges, as in motion blur
    - share of pixels where the Laplacian of g is 0: enlarged, compressed or covered images

    Parameters
    ----------
    chip : ndarray of shape (s, s), uint8
    """
    last = looked_at(len(chip))
    first = len(chip) - last
    inner = np.ascontiguousarray(chip[first:last, first:last])
    mean, deviation = cv2.meanStdDev(inner)
    below = cv2.calcHist([inner], [0], None, [256], [0, 256]).cumsum()
    darkest, brightest = below.searchsorted(_ranks(inner.size))
    quarters = cv2.resize(inner, (2, 2), interpolation=cv2.INTER_AREA).tolist()
    (upper_left, upper_right), (lower_left, lower_right) = quarters
    sharpness = []
    for scale in (1, 2, 4):
        side = len(inner) // scale
        reduced = inner if scale == 1 else cv2.resize(inner, (side, side), interpolation=cv2.INTER_AREA)
        second = cv2.Laplacian(reduced, cv2.CV_16S)
        sharpness.append(math.log(_FLOOR + float(cv2.meanStdDev(second)[1][0, 0])))
        if scale == 1:
            flat = 1 - cv2.countNonZero(second) / inner.size
    noise = cv2.norm(inner, cv2.medianBlur(inner, 3), cv2.NORM_L1) / inner.size
    dx, dy = _differences(inner)
    xx, yy, xy = (float(a.dot(b)) / inner.size for a, b in ((dx, dx), (dy, dy), (dx, dy)))
    spread = math.hypot(xx - yy, 2 * xy)
    large, small = (xx + yy + spread) / 2, max((xx + yy - spread) / 2, 0.0)
    return np.array(
        [
            float(mean[0, 0]),
            float(deviation[0, 0]),
            darkest,
            brightest,
            below[5] / inner.size,
            1 - below[249] / inner.size,
            (upper_right + lower_right - upper_left - lower_left) / 2,
            (lower_left + lower_right - upper_left - upper_right) / 2,
            *sharpness,
            sharpness[0] - sharpness[2],
            math.log(_FLOOR + noise),
            math.log((large + _FLOOR) / (small + _FLOOR)),
            flat,
        ]
    )


def _differences(image: ImageArray) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Central differences across and along, row by row; 0 at the borders they would reach beyond.

    As cv2.Sobel with ``ksize=1``, which takes three times as long on so small an image.
    """
    width = image.shape[1]
    values = image.astype(np.float32).ravel()
    across, along = np.empty((2, values.size), dtype=np.float32)
    # row after row at once, which also takes differences from one row to the next: those are at the borders
    np.subtract(values[2:], values[:-2], out=across[1:-1])
    across[::width] = across[width - 1 :: width] = 0
    np.subtract(values[2 * width :], values[: -2 * width], out=along[width:-width])
    along[:width] = along[-width:] = 0
    return across, along


@functools.lru_cache(maxsize=16)
def _ranks(n: int) -> NDArray[np.float32]:
    """How many of n grey levels are at most the 5th and the 95th percentile."""
    shares = np.arange(n + 1, dtype=np.float32) / np.float32(n)
    return np.searchsorted(shares, (0.05, 0.95)).astype(np.float32)
