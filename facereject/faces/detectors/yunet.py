"""YuNet: a small network under a free licence, run by OpenCV, that misses few faces."""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import cv2
import numpy as np

from facereject.faces.face import Box, Detection
from facereject.faces.geometry import FloatArray, fit_similarity, overlap, share_inside, transform_points
from facereject.faces.images.load import MIN_SIDE, ImageArray, ImageLike
from facereject.faces.landmarks.mean_shape import MEAN_SHAPE
from facereject.faces.views import Views
from facereject.faces.weights import WeightsError, ensured_weights

# a network keeps what it computes, so every thread has its own; as module state it is never pickled
_per_thread = threading.local()

# boxes that overlap more than this are one face
_SAME = 0.3

# and, in videos, boxes of which the smaller has more than this share inside the larger
_INSIDE = 0.7

# Searched images: longer side of the smallest copy; of one that is searched alone; how many times larger the
# next copy is at most; pixels at most, and side and overlap of the tiles that larger ones are searched in.
_COARSE, _ALONE, _STEP = 320, 640, 4.0
_MAX_SEARCHED, _PHOTO_TILE, _PHOTO_SHARED = 16_000_000, 1280, 128

# the same of the tiles in videos, where a frame searches some of them
_TILE = (400, 64)

# Pixels of the searched image: 95 % of the faces of 18 pixels are found, 82 % of those of 12. The five points
# of faces below the second figure are too coarse for a box, so photos are searched again there, enlarged.
_SMALLEST, _SMALL = 16, 40

# side in pixels of the enlarged faces, and side of the searched part in box sides
_ENLARGED, _REACH = 80, 2.2

# pixels of the image: new faces of this size are found at once in a video, smaller ones with the finest copy
_QUICK = 60.0

# Side of the crop on which a face is located, of the face in it (a power of two times that of the image, so
# 40 to 80 pixels), and of the grid of crop centres, in pixels of the crop; and how often a crop may be moved
_CROP, _FACE, _GRID, _MOVES = 128, 56, 16, 3

# a known face with a lower score counts only if the smallest copy shows it as well: crops also show hands
_SURE = 0.8

# the second search: how many times smaller the image is, which percentiles of it become black and white
_SMALLER, _BLACK, _WHITE = 1.5, 1, 99

# on images of up to 32 x 32 pixels OpenCV answers with what memory holds
_LEAST_SIDE = 64

# networks are kept for inputs of at most this many pixels, and at most this many of them: one that gets an
# input of another size is prepared anew, which takes as long as a crop
_KEPT_PIXELS, _KEPT = 512 * 512, 8

# the five points on the mean face: centres of the eyes, tip of the nose, corners of the mouth
FIVE = np.array([MEAN_SHAPE[36:42].mean(axis=0), MEAN_SHAPE[42:48].mean(axis=0), *MEAN_SHAPE[[30, 48, 54]]])


@dataclass(frozen=True)
class YuNetDetector:
    """YuNet by `cv2.FaceDetectorYN`.

    Its weights (0.2 MB, MIT) are downloaded when first needed, or by ``facereject models get yunet``. Large
    images are searched at several sizes, so that small faces are found while time and memory stay bounded.
    Where no face is found, a smaller copy with stretched contrast is searched, which finds half of the
    degraded faces that were missed. Boxes are those that dlib's detector would draw, estimated
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
        """A sentence for the card of a model."""
        return f"YuNet, threshold {self.threshold:g}, faces from {self.min_face:g} pixels"

    def detect(self, image: ImageLike) -> list[Detection]:
        """Find the faces of an image.

        Parameters
        ----------
        image : path, PIL image or array
            See `facereject.faces.load_rgb`.

        Returns
        -------
        list of Detection
            Best score first.
        """
        search = _Search(Views(image).rgb, self.threshold)
        zooms = self._zooms(*search.size)
        found = [(face, zoom) for zoom in zooms for face in search.copy(zoom)]
        if not found:
            zoom = zooms[0] / _SMALLER
            found = [(face, zoom) for face in search.second(zoom)]
        faces = [face if face.box.width * zoom >= _SMALL else search.enlarged(face) for face, zoom in found]
        return [face for face in one_of_each(faces) if face.box.width >= self.min_face]

    def detect_next(
        self, image: ImageLike, boxes: Sequence[Box], frame: int, n_frames: int
    ) -> list[Detection]:
        """Find the faces of the next frame of a video, for less than `detect` takes.

        Every face is located on a small crop of fixed scale, so that its box does not depend on how it was
        found; it differs a little from that of `detect`. For new faces of 60 pixels and more, a part of each
        frame is searched, all of it within ``n_frames`` frames, and at once if a known face is missing or
        doubtful or nobody is in view. For smaller ones it takes some times as long. ``n_frames=1`` searches
        the whole frame.

        Parameters
        ----------
        image : path, PIL image or array
        boxes : sequence of Box
            Where faces are expected.
        frame : int
            Number of the frame in its video.
        n_frames : int

        Returns
        -------
        list of Detection
            Best score first.
        """
        search = _Search(Views(image).rgb, self.threshold)
        located = [search.locate(box) for box in boxes]
        known = one_of_each([face for face in located if face is not None])
        first, *others = self._turns(search, frame, n_frames)
        faces = [face for tile in others for face in search.tile(tile)]
        least = _SMALLEST / first.zoom
        doubtful = [face for face in (*known, *faces) if face.score < _SURE and face.box.width >= least]
        if frame % n_frames == 0 or doubtful or len(known) < max(1, len(boxes)):
            faces += (confirmed := search.tile(first))
            known = [face for face in known if face not in doubtful or _among(face, confirmed)]
            faces = [face for face in faces if face not in doubtful or _among(face, confirmed)]
        return self._kept(search, known, faces, first.zoom if frame % n_frames == 0 else None)

    def _turns(self, search: _Search, frame: int, n_frames: int) -> list[_Tile]:
        """The smallest copy, and the tiles of larger ones whose turn it is."""
        quick = dataclasses.replace(self, min_face=max(self.min_face, _QUICK))
        zooms, finest = quick._zooms(*search.size), self._zooms(*search.size)[-1]
        tiles = [tile for zoom in zooms[1:] for tile in search.tiles(zoom, *_TILE)]
        due = [tile for turn, tile in enumerate(tiles, 1) if (frame - turn) % n_frames == 0]
        if finest > zooms[-1] and (frame + 1) % n_frames == 0:
            fine = search.tiles(finest, *_TILE)
            due += fine if n_frames == 1 else [fine[frame // n_frames % len(fine)]]
        return [_Tile(zooms[0], 0, 0, *search.size), *due]

    def _kept(
        self, search: _Search, known: list[Detection], faces: list[Detection], zoom: float | None
    ) -> list[Detection]:
        """Known faces and new ones, which are located first.

        Parameters
        ----------
        search : _Search
        known, faces : list of Detection
        zoom : float or None
            Of the copy on which a second search is based if there are none; None is no second search.
        """
        if zoom is not None and not known and not faces:
            faces = search.second(zoom / _SMALLER)
        new = [search.locate(face.box) or face for face in one_of_each(faces) if not _among(face, known)]
        return [face for face in _each_once([*known, *new]) if face.box.width >= self.min_face]

    def _zooms(self, width: int, height: int) -> list[float]:
        """Sizes of the copies that are searched, relative to the image, the smallest first."""
        longer = max(width, height)
        most = min(1.0, math.sqrt(_MAX_SEARCHED / (width * height)), (self.max_side or longer) / longer)
        fine, coarse = min(most, _SMALLEST / self.min_face), min(most, _COARSE / longer)
        if fine * longer <= _ALONE:
            return [max(fine, coarse)]
        steps = math.ceil(math.log(fine / coarse) / math.log(_STEP))
        return [coarse * (fine / coarse) ** (step / steps) for step in range(steps + 1)]


class _Tile(NamedTuple):
    """A part of an image (``x1`` and ``y1`` are outside), and by how much it is scaled for the search."""

    zoom: float
    x0: int
    y0: int
    x1: int
    y1: int


class _Crop(NamedTuple):
    """A square crop for faces of one range of sizes: 2^level times smaller than the image, and its centre."""

    level: int
    column: int
    row: int

    @classmethod
    def around(cls, box: Box) -> _Crop:
        """The crop that shows a face best; faces at nearly the same place share it."""
        # beyond a factor of two enlarging shows nothing more
        level = max(-1, round(math.log2(max(box.width, 1.0) / _FACE)))
        step = _GRID * 2.0**level
        x, y = box.center
        return cls(level, round(x / step), round(y / step))


class _Search:
    """The network on parts of one image.

    Parameters
    ----------
    rgb : ndarray of shape (H, W, 3), uint8
    threshold : float
        Least score of a face.
    """

    def __init__(self, rgb: ImageArray, threshold: float) -> None:
        self._rgb, self._threshold = rgb, threshold
        self._networks = _networks()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the image."""
        return self._rgb.shape[1], self._rgb.shape[0]

    def copy(self, zoom: float) -> Iterator[Detection]:
        """The faces of a copy of the image, in large tiles."""
        small = _zoomed(self._rgb, zoom)
        step = _PHOTO_TILE - _PHOTO_SHARED
        for y in range(0, max(1, small.shape[0] - _PHOTO_SHARED), step):
            for x in range(0, max(1, small.shape[1] - _PHOTO_SHARED), step):
                part = small[y : y + _PHOTO_TILE, x : x + _PHOTO_TILE]
                yield from self._run(part, zoom, x / zoom, y / zoom)

    def enlarged(self, face: Detection) -> Detection:
        """A face that was small where it was found, as an enlarged part of the image shows it."""
        width, height = self.size
        (x, y), side = face.box.center, max(face.box.width, face.box.height)
        half = _REACH * side / 2
        x0, y0 = max(0, math.floor(x - half)), max(0, math.floor(y - half))
        x1, y1 = min(width, math.ceil(x + half)), min(height, math.ceil(y + half))
        if min(x1 - x0, y1 - y0) < MIN_SIDE:
            return face
        # enlarged by at most three: beyond, a part of a large image would be as dear as the image
        zoom = min(3.0, _ENLARGED / side)
        again = self._run(_zoomed(self._rgb[y0:y1, x0:x1], zoom), zoom, x0, y0)
        again = [other for other in again if other.box.width >= 1]
        best = max(again, key=lambda other: overlap(other.box, face.box), default=face)
        return best if overlap(best.box, face.box) > _SAME else face

    def tiles(self, zoom: float, longest: int, shared: int) -> list[_Tile]:
        """The parts in which a copy of the image is searched.

        Parameters
        ----------
        zoom : float
            Size of the copy, relative to the image.
        longest, shared : int
            Longest side and overlap of tiles, in pixels of the copy.
        """
        columns, rows = (_spans(side, longest / zoom, shared / zoom) for side in self.size)
        return [_Tile(zoom, x0, y0, x1, y1) for y0, y1 in rows for x0, x1 in columns]

    def tile(self, tile: _Tile) -> list[Detection]:
        """The faces of a tile; their boxes are those of the scale at which it is searched."""
        part = self._rgb[tile.y0 : tile.y1, tile.x0 : tile.x1]
        # reducing by a whole number first takes half the time
        factor = math.floor(1 / tile.zoom)
        size = [max(MIN_SIDE, round(side * tile.zoom)) for side in (part.shape[1], part.shape[0])]
        small = cv2.resize(_zoomed(part, 1 / factor), size, interpolation=cv2.INTER_LINEAR)
        return self._run(np.asarray(small, np.uint8), tile.zoom, tile.x0, tile.y0)

    def second(self, zoom: float) -> list[Detection]:
        """The faces of a smaller copy of the image with stretched contrast."""
        return self._run(_stretched(_zoomed(self._rgb, zoom)), zoom)

    def locate(self, box: Box) -> Detection | None:
        """The face at a box, as a crop of suitable scale shows it; None if it shows none.

        The crop is moved until it is the one that belongs to the face on it. The result then depends on the
        image alone, not on the box from which the search began.
        """
        crop, seen = _Crop.around(box), dict[_Crop, Detection]()
        while crop not in seen and len(seen) < _MOVES:
            face = self._face_on(crop, box)
            if face is None:
                break
            seen[crop], box = face, face.box
            previous, crop = crop, _Crop.around(box)
            if crop == previous:
                return face
        if not seen:
            # of a blurred face a smaller copy may show more
            coarser = _Crop(crop.level + 1, round(crop.column / 2), round(crop.row / 2))
            return self._face_on(coarser, box)
        return max(seen.values(), key=lambda face: face.score)

    def _face_on(self, crop: _Crop, box: Box) -> Detection | None:
        """The face on a crop that overlaps a box most."""
        half, step = (int(side * 2.0**crop.level) for side in (_CROP / 2, _GRID))
        x0, y0 = crop.column * step - half, crop.row * step - half
        x1, y1 = x0 + 2 * half, y0 + 2 * half
        width, height = self.size
        left, top, right, bottom = max(0, -x0), max(0, -y0), max(0, x1 - width), max(0, y1 - height)
        part = self._rgb[y0 + top : y1 - bottom, x0 + left : x1 - right]
        if min(part.shape[:2]) < 2:
            return None
        if left or top or right or bottom:
            # beyond the image the network sees zeros, as it does right and below of any input
            part = np.asarray(
                cv2.copyMakeBorder(part, top, bottom, left, right, cv2.BORDER_CONSTANT), np.uint8
            )
        faces = self._run(_zoomed(part, 0.5**crop.level), 0.5**crop.level, x0, y0)
        best = max(faces, key=lambda face: overlap(face.box, box), default=None)
        return best if best is not None and overlap(best.box, box) > _SAME else None

    def _run(self, rgb: ImageArray, zoom: float, x: float = 0.0, y: float = 0.0) -> list[Detection]:
        """The faces of an image that was scaled by ``zoom`` and whose corner was at (x, y)."""
        below, right = (max(0, _LEAST_SIDE - side) for side in rgb.shape[:2])
        if below or right:
            rgb = np.asarray(cv2.copyMakeBorder(rgb, 0, below, 0, right, cv2.BORDER_REPLICATE), np.uint8)
        network = self._networks.of_size(rgb.shape[1], rgb.shape[0])
        network.setScoreThreshold(self._threshold)
        _, rows = network.detect(cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR))
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


def _spans(length: int, longest: float, shared: float) -> list[tuple[int, int]]:
    """Equal ranges that cover a length and overlap by about ``shared``."""
    count = max(1, math.ceil((length - shared) / (longest - shared)))
    each = (length + (count - 1) * shared) / count
    starts = [round(number * (each - shared)) for number in range(count)]
    return [(start, min(length, start + math.ceil(each))) for start in starts]


def one_of_each(faces: list[Detection]) -> list[Detection]:
    """Of detections that overlap, the one with the best score; best score first."""
    kept: list[Detection] = []
    for face in sorted(faces, key=lambda face: -face.score):
        if not _among(face, kept):
            kept.append(face)
    return kept


def _among(face: Detection, others: Sequence[Detection]) -> bool:
    """Whether a face is one of others."""
    return any(overlap(face.box, other.box) > _SAME for other in others)


def _each_once(faces: list[Detection]) -> list[Detection]:
    """As `one_of_each`, and of two boxes one of which is inside the other, the one with the better score."""
    kept: list[Detection] = []
    for face in one_of_each(faces):
        if all(share_inside(face.box, other.box) <= _INSIDE for other in kept):
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


class _Networks:
    """The network, once for every size of input.

    Parameters
    ----------
    path : str
        The file of its weights.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._any = self._made()
        self._kept: dict[tuple[int, int], Any] = {}

    def of_size(self, width: int, height: int) -> Any:
        """The network for images of this size."""
        # it fills up its input to multiples of 32
        size = (-(-width // 32), -(-height // 32))
        network = self._any
        if width * height <= _KEPT_PIXELS:
            network = self._kept.pop(size, None) or self._made()
            # the last one is the one used last
            self._kept[size] = network
            if len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]
        network.setInputSize((width, height))
        return network

    def _made(self) -> Any:
        try:
            return cv2.FaceDetectorYN.create(self.path, "", (320, 320), 0.5, _SAME)
        except cv2.error as error:
            raise WeightsError(f"{self.path}: OpenCV {cv2.__version__} cannot read it ({error})") from None


def _networks() -> _Networks:
    """The networks of this thread."""
    path = str(ensured_weights("yunet"))
    kept: _Networks | None = getattr(_per_thread, "networks", None)
    if kept is None or kept.path != path:
        kept = _per_thread.networks = _Networks(path)
    return kept
