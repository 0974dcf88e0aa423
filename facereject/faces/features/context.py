"""What else is known of a face: image quality, place in box and frame, what detector and others say of it."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from facereject.faces.face import Detection
from facereject.faces.geometry import FloatArray, fit_similarity
from facereject.faces.images import ImageArray
from facereject.faces.landmarks.point_set import POINTS_300W, PointSet

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


#: names of the values that say where the face lies in the frame
FRAME = ("face_pixels", "margin_left", "margin_top", "margin_right", "margin_bottom", "outside")

#: names of the values that say how far a detector with five points agrees with the landmarks
DETECTOR = (
    "five_points",
    "score",
    "left_eye",
    "right_eye",
    "nose",
    "mouth_left",
    "mouth_right",
    "larger",
    "tilted",
)

#: what these values are without five points: unknown, and as for a usual face
UNKNOWN_DETECTOR = (0.0, 0.9, *(-2.5,) * 5, 0.0, 0.0)

# face sizes; beyond, the frame is far away
_FAR = 1.0

# disagreement with other predictors, in face sizes: added before the logarithm is taken, and at most
_ALIKE, _APART = 0.002, 0.25

# distances, in distances of the outer eye corners, below which landmarks and five points agree
_AGREE = 0.02


@dataclass(frozen=True)
class FaceContext:
    """Points in the frame of the box, place in the image, image quality, and agreement with the detector.

    The values are, in this order:

    - x and y of every point that is used, less the middle of the box, over the root of the box's area
    - `FRAME`: log2 of that root in pixels; least distance of a point to each side of the image, in face
      sizes, at most 1 and at least -1; share of the points outside the image
    - `QUALITY`: see `image_quality`
    - `DETECTOR`, if ``detector`` is true: 1 if there are five points, the score of the detector, log(0.02 +
      distance) between each of the five points and the same place by the landmarks in distances of the outer
      eye corners, and by how much (logarithm) and by which angle (radians) the five points are larger and
      tilted further. For detectors without five points these are the values of a usual face, and 0 first.

    Parameters
    ----------
    points : PointSet, default=the 68 points of 300-W
    detector : bool, default=False
        For the 68 points of 300-W only.
    confidence : bool, default=False
        One more value: the score of the detection itself, NaN if it has none.
    disagreement : bool, default=False
        One more value at the end: log(0.002 + disagreement with other predictors in face sizes, at most
        0.25).
    """

    points: PointSet = POINTS_300W
    detector: bool = False
    confidence: bool = False
    disagreement: bool = False

    def __post_init__(self) -> None:
        if self.detector and not self.points.is_300w:
            raise ValueError("detector: only the 68 points of 300-W can be compared with five points")

    @property
    def n_features(self) -> int:
        """Length of the vector."""
        n_agreement = self.detector * len(DETECTOR)
        n_told = self.confidence + self.disagreement
        return 2 * self.points.n_used + len(FRAME) + len(QUALITY) + n_agreement + n_told

    @property
    def definition(self) -> dict[str, Any]:
        """What the values mean besides the points, as plain JSON, for the model file."""
        more = {name: True for name in ("confidence", "disagreement") if getattr(self, name)}
        return {"name": "FaceContext", "version": 2 if self.detector else 1, **more}

    @classmethod
    def from_definition(cls, definition: dict[str, Any], points: PointSet = POINTS_300W) -> FaceContext:
        """The inverse of `definition`; raises ValueError for features this version does not know."""
        told = (definition.get(name) is True for name in ("confidence", "disagreement"))
        context = cls(points, definition.get("version") == 2, *told)
        if definition != context.definition:
            raise ValueError(f"unknown features {definition!r}")
        return context

    def __call__(
        self, size: tuple[int, int], found: Detection, landmarks: FloatArray, chip: ImageArray
    ) -> NDArray[np.float32]:
        """The values of one face.

        Parameters
        ----------
        size : (int, int)
            Width and height of the image in pixels.
        found : Detection
        landmarks : ndarray of shape (n, 2)
        chip : ndarray of uint8
            The grey chip of `LandmarkHOG.chip`.
        """
        used = self.points.chosen(landmarks)
        n, box = used.size, found.box
        values = np.empty(self.n_features, dtype=np.float32)
        side = max(math.sqrt(box.width * box.height), 1.0)
        away = used - box.center
        away /= side
        values[:n] = away.ravel()
        left, top = np.minimum.reduce(used).tolist()
        right, bottom = np.maximum.reduce(used).tolist()
        width, height = size
        margins = left, top, width - 1 - right, height - 1 - bottom
        outside = 0.0
        if left < -0.5 or top < -0.5 or right > width - 0.5 or bottom > height - 0.5:
            outside = float(((used < -0.5) | (used > np.array(size) - 0.5)).any(axis=1).mean())
        near = [min(max(margin / side, -_FAR), _FAR) for margin in margins]
        values[n : n + len(FRAME)] = [math.log2(side), *near, outside]
        n += len(FRAME)
        values[n : n + len(QUALITY)] = image_quality(chip)
        n += len(QUALITY)
        if self.detector:
            values[n : n + len(DETECTOR)] = agreement(found, landmarks)
        if self.confidence:
            values[-1 - self.disagreement] = found.score
        if self.disagreement:
            if found.disagreement is None:
                raise ValueError(
                    "this model compares landmarks with those of other tools; give them (`others` of "
                    "`FaceRejector.assess`, more --predictions on the command line)"
                )
            values[-1] = math.log(_ALIKE + min(found.disagreement / side, _APART))
        return values


def agreement(found: Detection, landmarks: FloatArray) -> FloatArray:
    """The values of `DETECTOR` for the 68 points of 300-W, see `FaceContext`."""
    if found.points is None:
        return np.array(UNKNOWN_DETECTOR)
    five, own = np.array(found.points), five_of(landmarks)
    unit = max(float(np.linalg.norm(landmarks[45] - landmarks[36])), 1.0)
    matrix = fit_similarity(own, five)
    larger = math.log(max(math.hypot(matrix[0, 0], matrix[1, 0]), 1e-3))
    tilted = math.atan2(matrix[1, 0], matrix[0, 0])
    apart = np.log(_AGREE + np.linalg.norm(five - own, axis=1) / unit)
    return np.array([1.0, found.score, *apart, larger, tilted])


def five_of(landmarks: FloatArray) -> FloatArray:
    """Centres of the eyes, tip of the nose and corners of the mouth from the 68 points of 300-W."""
    eyes = landmarks[36:42].mean(axis=0), landmarks[42:48].mean(axis=0)
    return np.array([*eyes, *landmarks[[30, 48, 54]]])
