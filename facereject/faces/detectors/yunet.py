"""Finding faces: YuNet, a small network run by OpenCV, under a free licence and with few misses."""

from __future__ import annotations

import dataclasses
import math
import threading
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from facereject.faces.face import Box, Detection
from facereject.faces.geometry import FloatArray
from facereject.faces.images.load import MIN_SIDE, ImageArray, ImageLike
from facereject.faces.landmarks.mean_shape import MEAN_SHAPE
from facereject.faces.landmarks.point_set import PointSet
from facereject.faces.views import Views
from facereject.faces.weights import WeightsError, weights_path

# a network keeps what it computes, so every thread has its own; as module state it is never pickled
_per_thread = threading.local()

# boxes that overlap more than this are one face
_SAME = 0.3

# side in pixels of the faces that `near` looks for, and sides of the part of the image in sides of the box
_NEAR_FACE, _REACH = 96, 2.2

# images are searched at half their size, but with a longer side of at least this many pixels
_LEAST_SEARCHED = 320

# the second look: how many times smaller the image is, which percentiles of it become black and white
_SMALLER, _BLACK, _WHITE = 1.5, 1, 99

# least and largest side of a face in sizes of the network's own box (root of its area), where 0.92 is usual
_LEAST, _MOST = 0.75, 1.07

# on images of up to 32 x 32 pixels OpenCV answers with what memory holds
_LEAST_SIDE = 64

# the five points on the mean face: centres of the eyes, tip of the nose, corners of the mouth
_FIVE = PointSet(
    np.array([MEAN_SHAPE[36:42].mean(axis=0), MEAN_SHAPE[42:48].mean(axis=0), *MEAN_SHAPE[[30, 48, 54]]]),
    "points:0,1",
)


@dataclass(frozen=True)
class YuNetDetection(Detection):
    """A detection with five points: eyes, tip of the nose, corners of the mouth, left in the image first."""

    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class YuNetDetector:
    """YuNet by `cv2.FaceDetectorYN`.

    Its weights are obtained with ``facereject models get yunet``. Images are searched at half their size.
    Where it finds no face it looks once more, at a smaller image with stretched contrast, which brings back
    half of the degraded faces that it missed. Boxes are those that dlib's detector would give, made from the
    five points of the network, so that any landmark predictor and tracker may start from them.

    Parameters
    ----------
    threshold : float in [0, 1], default=0.3
        Candidates with a score below are dropped.
    max_side : int, default=640
        Longer side, at most, of the image that is searched; cost follows its number of pixels. Faces below
        about 12 pixels of it are not found.
    min_face : float or None, default=None
        Smallest face side of interest in pixels; smaller boxes are dropped.
    """

    threshold: float = 0.3
    max_side: int = 640
    min_face: float | None = None

    #: it was trained on colour
    color = "rgb"

    def __post_init__(self) -> None:
        for name in ("threshold", "max_side", "min_face"):
            value = getattr(self, name)
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not number and not (name == "min_face" and value is None):
                raise ValueError(f"{name} must be a number, got {value!r}")
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold must lie between 0 and 1, got {self.threshold!r}")
        if not 32 <= self.max_side <= 10_000:
            raise ValueError(f"max_side must lie between 32 and 10,000 pixels, got {self.max_side!r}")
        if self.min_face is not None and not 0 < self.min_face <= 10_000:
            raise ValueError(f"min_face must be None or positive, at most 10,000; got {self.min_face!r}")
        # plain numbers, as a model file needs them
        object.__setattr__(self, "threshold", float(self.threshold))
        object.__setattr__(self, "max_side", int(self.max_side))
        if self.min_face is not None:
            object.__setattr__(self, "min_face", float(self.min_face))
        # an absent file is said here and not at the first image
        weights_path("yunet")

    @property
    def options(self) -> dict[str, Any]:
        """The parameters by name."""
        return {"threshold": self.threshold, "max_side": self.max_side, "min_face": self.min_face}

    def with_options(self, **changes: Any) -> YuNetDetector:
        """A detector with some parameters changed."""
        return dataclasses.replace(self, **changes)

    @property
    def definition(self) -> dict[str, Any]:
        """What a model file keeps, as plain JSON."""
        return {"name": "yunet", **self.options}

    @property
    def description(self) -> str:
        """In words, for the card of a model."""
        return f"YuNet, threshold {self.threshold:g}, in images of at most {self.max_side} pixels"

    def detect(self, image: ImageLike) -> list[Detection]:
        """Find the faces of an image (see `images.load_rgb` for what is accepted), best score first."""
        rgb = Views(image).rgb
        longer = max(rgb.shape[:2])
        zoom = min(1.0, min(max(longer / 2, _LEAST_SEARCHED), self.max_side) / longer)
        found = self._search(_zoomed(rgb, zoom), zoom)
        if not found:
            zoom /= _SMALLER
            found = self._search(_stretched(_zoomed(rgb, zoom)), zoom)
        return found

    def near(self, image: ImageLike, box: Box) -> list[Detection]:
        """The faces around a box, by a search of a small part of the image."""
        rgb = Views(image).rgb
        height, width = rgb.shape[:2]
        (x, y), side = box.center, max(box.width, box.height)
        half = _REACH * side / 2
        x0, y0 = max(0, math.floor(x - half)), max(0, math.floor(y - half))
        x1, y1 = min(width, math.ceil(x + half)), min(height, math.ceil(y + half))
        if min(x1 - x0, y1 - y0) < MIN_SIDE:
            return []
        zoom = min(1.0, _NEAR_FACE / side)
        return self._search(_zoomed(rgb[y0:y1, x0:x1], zoom), zoom, x0, y0)

    def _search(self, rgb: ImageArray, zoom: float, x: float = 0.0, y: float = 0.0) -> list[Detection]:
        """The faces of an image that was scaled by ``zoom`` and whose corner was at (x, y)."""
        below, right = (max(0, _LEAST_SIDE - side) for side in rgb.shape[:2])
        if below or right:
            rgb = np.asarray(cv2.copyMakeBorder(rgb, 0, below, 0, right, cv2.BORDER_REPLICATE), np.uint8)
        network = _network()
        network.setInputSize((rgb.shape[1], rgb.shape[0]))
        network.setScoreThreshold(self.threshold)
        _, rows = network.detect(np.ascontiguousarray(rgb[:, :, ::-1]))
        found = []
        for row in () if rows is None else rows:
            values = np.asarray(row[:14], dtype=np.float64).reshape(7, 2) / zoom
            # OpenCV clips nothing, and a network may say anything
            if not np.isfinite(values).all() or np.abs(values).max() > 10 * max(rgb.shape) / zoom:
                continue
            points = values[2:] + (x, y)
            box = _box_of(points, math.sqrt(abs(values[1].prod())))
            if box is not None and box.width >= (self.min_face or 0.0):
                # float32: a score of 1 may be a little more
                score = min(float(row[14]), 1.0)
                found.append(YuNetDetection(box, score, tuple((px, py) for px, py in points.tolist())))
        return sorted(found, key=lambda face: -face.score)


def _box_of(points: FloatArray, size: float) -> Box | None:
    """The box that dlib would give a face, from its five points and the size of the network's own box.

    None if they are no face at all.
    """
    if size < 1 or np.ptp(points, axis=0).max() < 1:
        return None
    box = _FIVE.box_of(points)
    # the points of a face that is turned far or degraded may be drawn together
    side = float(np.clip(box.width, _LEAST * size, _MOST * size))
    (x, y), half = box.center, side / 2
    return Box(x - half, y - half, side, side)


def _zoomed(rgb: ImageArray, zoom: float) -> ImageArray:
    if zoom == 1:
        return rgb
    size = (max(MIN_SIDE, round(rgb.shape[1] * zoom)), max(MIN_SIDE, round(rgb.shape[0] * zoom)))
    return np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _stretched(rgb: ImageArray) -> ImageArray:
    """The image with its darkest and brightest values at the ends of the scale."""
    low, high = np.percentile(rgb, [_BLACK, _WHITE])
    # of an image of one value nothing becomes visible
    values = (rgb.astype(np.float32) - low) * (255 / max(high - low, 8.0))
    return np.asarray(np.clip(values, 0, 255), dtype=np.uint8)


def _network() -> Any:
    path = str(weights_path("yunet"))
    kept = getattr(_per_thread, "network", None)
    if kept is None or kept[0] != path:
        try:
            kept = (path, cv2.FaceDetectorYN.create(path, "", (320, 320), 0.5, _SAME))
        except cv2.error as error:
            raise WeightsError(f"{path}: OpenCV {cv2.__version__} cannot read it ({error})") from None
        _per_thread.network = kept
    return kept[1]
