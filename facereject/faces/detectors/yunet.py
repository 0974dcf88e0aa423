"""YuNet: a small network run by OpenCV, under a free licence and with few misses."""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from facereject.faces.face import Box, Detection
from facereject.faces.geometry import FloatArray, fit_similarity, overlap, transform_points
from facereject.faces.images.load import MIN_SIDE, ImageArray, ImageLike
from facereject.faces.landmarks.mean_shape import MEAN_SHAPE
from facereject.faces.views import Views
from facereject.faces.weights import WeightsError, ensured_weights

# a network keeps what it computes, so every thread has its own; as module state it is never pickled
_per_thread = threading.local()

# boxes that overlap more than this are one face
_SAME = 0.3

# side in pixels of the faces that a search near a box looks for, and side of the searched part in box sides
_NEAR_FACE, _REACH = 80, 2.2

# Searched images: longer side of the smallest copy; of one that is searched alone; how many times larger the
# next copy is at most; pixels at most, and side and overlap of the tiles that larger ones are searched in.
_COARSE, _ALONE, _STEP = 320, 640, 4.0
_MAX_SEARCHED, _TILE, _SHARED = 16_000_000, 1280, 128

# Pixels of the searched image: 95 % of the faces of 18 pixels are found, 82 % of those of 12. The five points
# of faces below the second figure are too coarse for a box, so these are searched again, enlarged.
_SMALLEST, _SMALL = 16, 40

# the second look: how many times smaller the image is, which percentiles of it become black and white
_SMALLER, _BLACK, _WHITE = 1.5, 1, 99

# on images of up to 32 x 32 pixels OpenCV answers with what memory holds
_LEAST_SIDE = 64

# the five points on the mean face: centres of the eyes, tip of the nose, corners of the mouth
FIVE = np.array([MEAN_SHAPE[36:42].mean(axis=0), MEAN_SHAPE[42:48].mean(axis=0), *MEAN_SHAPE[[30, 48, 54]]])


@dataclass(frozen=True)
class YuNetDetector:
    """YuNet by `cv2.FaceDetectorYN`.

    Its weights (0.2 MB, MIT) are downloaded when first needed, or by ``facereject models get yunet``. Large
    images are searched at several sizes, so that small faces are found while time and memory stay bounded.
    Where no face is found, a smaller copy with stretched contrast is searched once more, which brings back
    half of the degraded faces that were missed. Boxes are those that dlib's detector would draw, estimated
    from the five points and the box of the network, so that any landmark predictor may start from them.

    Parameters
    ----------
    threshold : float in [0, 1], default=0.3
        Candidates with a score below are dropped.
    min_face : float, default=40
        Side of the smallest face of interest, in pixels of the image; None, as in files of earlier versions,
        is the default.
    max_side : int or None, default=None
        Longer side, at most, of the image that is searched, for speed: cost follows its number of pixels, and
        faces below 16 pixels of it are mostly not found. None is as large as ``min_face`` asks for.

    References
    ----------
    W. Wu, H. Peng, S. Yu: YuNet: A Tiny Millisecond-level Face Detector. Machine Intelligence Research, 2023.
    """

    threshold: float = 0.3
    min_face: float = 40.0
    max_side: int | None = None

    #: it was trained on colour
    color = "rgb"

    def __post_init__(self) -> None:
        if self.min_face is None:
            object.__setattr__(self, "min_face", type(self).min_face)
        for name in ("threshold", "min_face", "max_side"):
            value = getattr(self, name)
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not number and not (name == "max_side" and value is None):
                raise ValueError(f"{name} must be a number, got {value!r}")
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold must lie between 0 and 1, got {self.threshold!r}")
        if self.max_side is not None and not 32 <= self.max_side <= 10_000:
            raise ValueError(f"max_side must lie between 32 and 10,000 pixels, got {self.max_side!r}")
        if not 0 < self.min_face <= 10_000:
            raise ValueError(f"min_face must be positive, at most 10,000; got {self.min_face!r}")
        # plain numbers, as a model file needs them
        object.__setattr__(self, "threshold", float(self.threshold))
        object.__setattr__(self, "min_face", float(self.min_face))
        if self.max_side is not None:
            object.__setattr__(self, "max_side", int(self.max_side))
        # a file that cannot be had is reported here and not at the first image
        ensured_weights("yunet")

    @property
    def options(self) -> dict[str, Any]:
        """The parameters by name."""
        return {"threshold": self.threshold, "min_face": self.min_face, "max_side": self.max_side}

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
        return f"YuNet, threshold {self.threshold:g}, faces from {self.min_face:g} pixels"

    def detect(self, image: ImageLike) -> list[Detection]:
        """Find the faces of an image (see `images.load_rgb` for what is accepted), best score first."""
        rgb = Views(image).rgb
        zooms = self._zooms(rgb.shape[1], rgb.shape[0])
        found = [(face, zoom) for zoom in zooms for face in self._search_tiles(rgb, zoom)]
        if not found:
            zoom = zooms[0] / _SMALLER
            found = [(face, zoom) for face in self._search(_stretched(_zoomed(rgb, zoom)), zoom)]
        faces = [
            face if face.box.width * zoom >= _SMALL else self._refined(rgb, face) for face, zoom in found
        ]
        return [face for face in one_of_each(faces) if face.box.width >= self.min_face]

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
        # enlarged by at most three: beyond, a part of a large image would be as dear as the image
        zoom = min(3.0, _NEAR_FACE / side)
        faces = self._search(_zoomed(rgb[y0:y1, x0:x1], zoom), zoom, x0, y0)
        return [face for face in faces if face.box.width >= self.min_face]

    def _zooms(self, width: int, height: int) -> list[float]:
        """By how much the copies that are searched are smaller than the image, the smallest first."""
        longer = max(width, height)
        most = min(1.0, math.sqrt(_MAX_SEARCHED / (width * height)), (self.max_side or longer) / longer)
        fine, coarse = min(most, _SMALLEST / self.min_face), min(most, _COARSE / longer)
        if fine * longer <= _ALONE:
            return [max(fine, coarse)]
        steps = math.ceil(math.log(fine / coarse) / math.log(_STEP))
        return [coarse * (fine / coarse) ** (step / steps) for step in range(steps + 1)]

    def _search_tiles(self, rgb: ImageArray, zoom: float) -> Iterator[Detection]:
        """The faces of an image that is scaled by ``zoom``, tile by tile."""
        small = _zoomed(rgb, zoom)
        for y in range(0, max(1, small.shape[0] - _SHARED), _TILE - _SHARED):
            for x in range(0, max(1, small.shape[1] - _SHARED), _TILE - _SHARED):
                yield from self._search(small[y : y + _TILE, x : x + _TILE], zoom, x / zoom, y / zoom)

    def _refined(self, rgb: ImageArray, face: Detection) -> Detection:
        """A face that was small where it was found, as an enlarged part of the image shows it."""
        again = dataclasses.replace(self, min_face=1.0).near(rgb, face.box)
        best = max(again, key=lambda other: overlap(other.box, face.box), default=face)
        return best if overlap(best.box, face.box) > _SAME else face

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
            values[[0, 2, 3, 4, 5, 6]] += (x, y)
            box = box_of(values[2:], Box(*values[:2].ravel().tolist()))
            if box is not None:
                # float32: a score of 1 may be a little more
                score = min(float(row[14]), 1.0)
                points = tuple((px, py) for px, py in values[2:].tolist())
                found.append(Detection(box, score, points, "yunet"))
        return sorted(found, key=lambda face: -face.score)


def one_of_each(faces: list[Detection]) -> list[Detection]:
    """Of detections that overlap, the one with the best score; best score first."""
    kept: list[Detection] = []
    for face in sorted(faces, key=lambda face: -face.score):
        if all(overlap(face.box, other.box) <= _SAME for other in kept):
            kept.append(face)
    return kept


def box_of(points: FloatArray, network: Box) -> Box | None:
    """The box that dlib's detector would draw, from the five points and the box of the network.

    In the frame of the mean face that is fitted to the points, its centre and the logarithm of its side are
    linear in those of the network's box: the coefficients are least absolute deviations over faces that both
    detectors find (`tools/train/yunet_box.py`). None if the points are no face at all.
    """
    size = math.sqrt(abs(network.width * network.height))
    if size < 1 or np.ptp(points, axis=0).max() < 1:
        return None
    frame = fit_similarity(FIVE, points)
    scale = math.hypot(frame[0, 0], frame[1, 0])
    if scale < 0.1 * size:
        return None
    a, b = frame[0, 0] / scale**2, frame[1, 0] / scale**2
    dx, dy = network.center[0] - frame[0, 2], network.center[1] - frame[1, 2]
    x, y, log_size = a * dx + b * dy, a * dy - b * dx, math.log(size / scale)
    middle = np.array([[_ACROSS * x, _ALONG @ (1, y, log_size)]])
    side = scale * math.exp(_SIDE @ (1, y, log_size))
    (center_x, center_y) = transform_points(frame, middle)[0].tolist()
    return Box(center_x - side / 2, center_y - side / 2, side, side)


_ACROSS = 0.206
_ALONG = np.array([-0.081, 0.139, 0.065])
_SIDE = np.array([0.008, 0.197, 0.828])


def _zoomed(rgb: ImageArray, zoom: float) -> ImageArray:
    if zoom == 1:
        return rgb
    size = (max(MIN_SIDE, round(rgb.shape[1] * zoom)), max(MIN_SIDE, round(rgb.shape[0] * zoom)))
    method = cv2.INTER_AREA if zoom < 1 else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(rgb, size, interpolation=method), dtype=np.uint8)


def _stretched(rgb: ImageArray) -> ImageArray:
    """The image with its darkest and brightest values at the ends of the scale."""
    low, high = np.percentile(rgb, [_BLACK, _WHITE])
    # of an image of one value nothing becomes visible
    values = (rgb.astype(np.float32) - low) * (255 / max(high - low, 8.0))
    return np.asarray(np.clip(values, 0, 255), dtype=np.uint8)


def _network() -> Any:
    path = str(ensured_weights("yunet"))
    kept = getattr(_per_thread, "network", None)
    if kept is None or kept[0] != path:
        try:
            kept = (path, cv2.FaceDetectorYN.create(path, "", (320, 320), 0.5, _SAME))
        except cv2.error as error:
            raise WeightsError(f"{path}: OpenCV {cv2.__version__} cannot read it ({error})") from None
        _per_thread.network = kept
    return kept[1]
