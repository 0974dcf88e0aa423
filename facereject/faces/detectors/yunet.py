"""YuNet: a small network under a free licence, run by OpenCV, that misses few faces."""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import cv2
import numpy as np

from facereject.faces.detectors.base import Options
from facereject.faces.face import Box, Detection
from facereject.faces.geometry import FloatArray, overlap, share_inside, transform_points
from facereject.faces.images import MIN_SIDE, ImageArray, ImageLike, Views
from facereject.faces.landmarks.point_set import MEAN_SHAPE
from facereject.faces.weights import WeightsError, ensured_weights

# a network keeps what it computes, so every thread has its own; as module state it is never pickled
_per_thread = threading.local()

# boxes are one face if they overlap more than this, or the smaller has more than this share inside the larger
_SAME, _INSIDE = 0.3, 0.7

# Searched copies of an image: longer side of the smallest; least and most of one that is searched alone; how
# many times larger the next copy is at most; pixels of the largest
_COARSE, _ALONE, _STEP, _MAX_SEARCHED = 320, (320, 640), 4.0, 16_000_000

# Videos: the longer side of a copy that is searched alone, and at once; overlap of the strips of larger ones
_VIDEO_ALONE, _SHARED = (192, 400), 48

# longest side and overlap of the tiles that copies are searched in
_TILE = (1280, 128)

# Pixels of the copy: 95 % of the faces of 18 pixels are found, 82 % of those of 12. A video is searched again
# and again
_SMALLEST, _VIDEO_SMALLEST = 16, 12

# Side of the crop on which a face is located, of the face in it (a power of two times that of the image, so
# 45 to 90 pixels), and of the grid of crop centres, in pixels of the crop; and how often a crop may be moved
_CROP, _FACE, _GRID, _MOVES = 128, 64, 32, 4

# score from which a crop settles where a face is; below, the crop and the search decide by their scores
_SURE = 0.9

# Five points are those of one face if none is farther off than the second share of the box; a crop that is
# farther off than the first has to have the better score
_AGREES, _SAME_POINTS = 0.12, 0.25

# Faces that seem to be tilted by more degrees than their crop, or that are not sure, are located again on
# crops turned by one, two and three times the second angle. On a crop the network takes a face to be tilted
# by about a sixth of what it is
_TILTED, _TURN, _MOST_TURNS = 6.0, 20.0, 3

# faces of a lower score are mostly hands and patterns: they count only in images that show no better one
_LIKELY = 0.6

# copy pixels around a face that show it nearly as the whole copy does, and the stride of the network
_MARGIN, _STRIDE = 48, 32

# the second search: how many times smaller the image is, which percentiles of it become black and white
_SMALLER, _BLACK, _WHITE = 1.5, 1, 99

# on images of up to 32 x 32 pixels OpenCV answers with what memory holds
_LEAST_SIDE = 64

# networks are kept for inputs of at most this many pixels, and of this many together, about 100 MB: one that
# gets an input of another size is prepared anew, which takes two or three times as long as a crop
_KEPT_PIXELS, _ALL_KEPT = 1 << 18, 1 << 20

# the five points on the mean face: centres of the eyes, tip of the nose, corners of the mouth
FIVE = np.array([MEAN_SHAPE[36:42].mean(axis=0), MEAN_SHAPE[42:48].mean(axis=0), *MEAN_SHAPE[[30, 48, 54]]])


@dataclass(frozen=True)
class YuNetDetector(Options):
    """YuNet by `cv2.FaceDetectorYN`.

    Its weights (0.2 MB, MIT) are downloaded when first needed, or by ``facereject models get yunet``. Large
    images are searched at several sizes, so that small faces are found while time and memory stay bounded.
    Where no face is found, a smaller copy with stretched contrast is searched, which finds half of the
    degraded faces that were missed. Every face is then located on a crop that shows it in a certain size, so
    that its box depends on the face, not on the image and the search that found it; where the network is not
    sure of the crop, the better score decides. Boxes are those that dlib's detector would draw, estimated
    from the five points and the box of the network, so that any landmark predictor may start from them.

    Parameters
    ----------
    threshold : float in [0, 1], default=0.3
        Candidates with a score below are dropped; those below 0.6 also where the image shows a better face.
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

    registered_name = "yunet"

    #: it was trained on colour
    color = "rgb"

    def __post_init__(self) -> None:
        if self.min_face is None:
            object.__setattr__(self, "min_face", type(self).min_face)
        self._check("threshold", 0, 1)
        self._check("min_face", 1, 10_000)
        self._check("max_side", 32, 10_000, whole=True, none=True)
        # a file that cannot be had is reported here and not at the first image
        ensured_weights("yunet")

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
        faces = [
            face for zoom in zooms for tile in search.tiles(zoom, *_TILE) for face in search.tile(tile)
        ] or search.second(zooms[0])
        faces = self._kept([search.settled(face) for face in one_of_each(faces)])
        return self._kept([search.levelled(face) for face in faces])

    def detect_next(
        self, image: ImageLike, expected: Sequence[Detection], frame: int, n_frames: int
    ) -> list[Detection]:
        """Find the faces of the next frame of a video, for less than `detect` takes.

        Known faces get the boxes that `detect` would give them. For new ones a part of each frame is
        searched, all of it within ``n_frames`` frames, and the smallest copy at once if nobody is in view.

        Parameters
        ----------
        image : path, PIL image or array
        expected : sequence of Detection
            Where faces are expected, as they were found last.
        frame : int
            Number of the frame in its video.
        n_frames : int

        Returns
        -------
        list of Detection
            Best score first.
        """
        search = _Search(Views(image).rgb, self.threshold)
        zooms = self._zooms(*search.size, _VIDEO_SMALLEST, _VIDEO_ALONE)
        # the smallest copy at once, of the others a strip in each of the other frames
        strips = search.strips(zooms[0], 1)
        strips += [strip for zoom in zooms[1:] for strip in search.strips(zoom, max(1, n_frames - 1))]
        searched = [strip for turn, strip in enumerate(strips) if (frame - turn) % n_frames == 0]
        new = one_of_each([face for strip in searched for face in search.tile(strip)])
        # unsure faces take longest: known ones are searched again in turns, and turned step by step
        waits: list[int | None] = [(frame - turn) % n_frames for turn in range(len(expected))]
        waits += [None] * len(new)
        known: list[Detection] = []
        unsure: list[Detection] = []
        for face, waited in zip((*expected, *new), waits, strict=True):
            if _among(face, (*known, *unsure)):
                continue
            found = search.located(face) if waited is None else search.followed(face, waited)
            if found is not None and (found.score >= _SURE or waited):
                known.append(found)
            elif waited is not None or found is not None or not known:
                # a strip shows pieces of faces and what resembles a face, which one look at a crop rules out
                unsure.append(face)
        # as a photo is searched, so that the result is the same
        again = [search.around(face.box, zoom) for face in unsure for zoom in self._zooms(*search.size)]
        faces = one_of_each([face for tile in again for face in search.tile(tile)])
        if not known and not faces:
            faces = search.tile(strips[0]) or search.second(zooms[0])
        faces = self._kept([*known, *(search.settled(face) for face in faces if not _among(face, known))])
        # beside known faces, new ones that are not sure are turned in the next frames
        return faces if known or expected else self._kept([search.levelled(face) for face in faces])

    def _kept(self, faces: list[Detection]) -> list[Detection]:
        """The faces that are large enough, each once; unlikely ones only if there are no others."""
        kept: list[Detection] = []
        for face in one_of_each(faces):
            inside = any(share_inside(face.box, other.box) > _INSIDE for other in kept)
            unlikely = bool(kept) and face.score < _LIKELY
            if face.box.width >= self.min_face and not inside and not unlikely:
                kept.append(face)
        return kept

    def _zooms(
        self, width: int, height: int, smallest: int = _SMALLEST, alone: tuple[int, int] = _ALONE
    ) -> list[float]:
        """Sizes of the copies that are searched, relative to the image, the smallest first."""
        longer = max(width, height)
        most = min(1.0, math.sqrt(_MAX_SEARCHED / (width * height)), (self.max_side or longer) / longer)
        fine, coarse = min(most, smallest / self.min_face), min(most, _COARSE / longer)
        if fine * longer <= alone[1]:
            return [max(fine, min(most, alone[0] / longer))]
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
    """A square crop for faces of one range of sizes: 2^level times smaller than the image, and its centre.

    It shows upright what is tilted clockwise by ``tilt`` degrees.
    """

    level: int
    column: int
    row: int
    tilt: float

    @classmethod
    def around(cls, box: Box, tilt: float) -> _Crop:
        """The crop that shows a face best; faces at nearly the same place share it."""
        # beyond a factor of two enlarging shows nothing more
        level = max(-1, round(math.log2(max(box.width, 1.0) / _FACE)))
        step = _GRID * 2.0**level
        x, y = box.center
        return cls(level, round(x / step), round(y / step), tilt)


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
        self._on_crops: dict[_Crop, list[Detection]] = {}

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the image."""
        return self._rgb.shape[1], self._rgb.shape[0]

    def tiles(self, zoom: float, longest: int, shared: int) -> list[_Tile]:
        """The parts in which a copy of the image is searched.

        Parameters
        ----------
        zoom : float
            Size of the copy, relative to the image.
        longest, shared : int
            Longest side and overlap of tiles, in pixels of the copy.
        """
        columns, rows = (
            _spans(side, math.ceil((side * zoom - shared) / (longest - shared)), shared / zoom)
            for side in self.size
        )
        return [_Tile(zoom, x0, y0, x1, y1) for y0, y1 in rows for x0, x1 in columns]

    def strips(self, zoom: float, count: int) -> list[_Tile]:
        """A copy of the image in this many parts that overlap, across its longer side."""
        width, height = self.size
        spans = _spans(max(self.size), count, _SHARED / zoom)
        if width >= height:
            return [_Tile(zoom, x0, 0, x1, height) for x0, x1 in spans]
        return [_Tile(zoom, 0, y0, width, y1) for y0, y1 in spans]

    def tile(self, tile: _Tile) -> list[Detection]:
        """The faces of a tile; their boxes are those of the scale at which it is searched."""
        part = self._rgb[tile.y0 : tile.y1, tile.x0 : tile.x1]
        return self._run(_zoomed(part, tile.zoom), tile.zoom, tile.x0, tile.y0)

    def second(self, zoom: float) -> list[Detection]:
        """The faces of a copy with stretched contrast, a little smaller than one that shows none."""
        zoom /= _SMALLER
        return self._run(_stretched(_zoomed(self._rgb, zoom)), zoom)

    def located(self, face: Detection) -> Detection | None:
        """A new face as crops show it; None if they show no likely one."""
        located = self.locate(face.box)
        if located is None or located.score < _LIKELY:
            return None
        # one that is not sure is searched again before it is levelled
        return located if located.score < _SURE else self.levelled(located)

    def followed(self, face: Detection, waited: int) -> Detection | None:
        """A known face as crops show it, turned as before or one turn further; None if it is not likely.

        Parameters
        ----------
        face : Detection
        waited : int
            Frames since its turn. One turn further is looked at in every second one if it is not sure or not
            upright, and in its turn also if a turned crop shows it upright: the network sees half of a tilt.
        """
        tilt = _TURN * float(np.clip(round(face.roll / _TURN), -_MOST_TURNS, _MOST_TURNS))
        turned = self.locate(face.box, tilt)
        found = [turned]
        if turned is None or not _upright(turned, tilt):
            level = self.locate(face.box) if tilt else turned
            if level is not None and _upright(level, 0.0):
                return level
            found.append(level)
        elif waited or not tilt:
            return turned
        if turned is not None and waited % 2 == 0:
            found.append(self.locate(turned.box, tilt + math.copysign(_TURN, turned.roll - tilt)))
        best = max(filter(None, found), key=_score, default=None)
        return None if best is None or best.score < _LIKELY else best

    def settled(self, face: Detection) -> Detection:
        """A face that a search found, where the crop that belongs to it shows it, unless that is unsure."""
        located = self.locate(face.box)
        if located is None or located.score < min(_SURE, face.score):
            return face
        # tilted faces are at times found in a wrong place on a crop, or another face beside them
        moved = np.asarray(located.points, np.float64) - np.asarray(face.points, np.float64)
        off = float(np.abs(moved).max()) / face.box.width
        agrees = off <= (_AGREES if located.score < face.score else _SAME_POINTS)
        return located if agrees else face

    def locate(self, box: Box, tilt: float = 0.0) -> Detection | None:
        """The face at a box, as a crop of suitable scale shows it; None if it shows none.

        The crop is moved until it is the one that belongs to the face on it. The result then depends on the
        image and the tilt alone, not on the box from which the search began.
        """
        crop, seen = _Crop.around(box, tilt), dict[_Crop, Detection]()
        while crop not in seen and len(seen) < _MOVES:
            face = self._face_on(crop, box)
            if face is None:
                break
            seen[crop], box = face, face.box
            crop = _Crop.around(box, tilt)
        faces = list(seen.values())
        if crop in seen:
            # this crop, or all those that lead to one another
            faces = faces[list(seen).index(crop) :]
        return max(faces, key=_score, default=None)

    def levelled(self, face: Detection) -> Detection:
        """A face, located again on turned crops if it may be tilted.

        The network tells to which side a face is tilted, but not how far. So several turns are tried; it is
        surest of faces that are upright.
        """
        if _upright(face, 0.0):
            return face
        turn = math.copysign(_TURN, face.roll)
        located = [self.locate(face.box, turns * turn) for turns in range(1, _MOST_TURNS + 1)]
        # a less sure place is often wrong, one farther away is that of another face
        better = [
            found
            for found in located
            if found is not None and found.score >= face.score and overlap(found.box, face.box) > _SAME
        ]
        return max(better, key=_score, default=face)

    def around(self, box: Box, zoom: float) -> _Tile:
        """The part of a copy around a box, which shows a face there as the whole copy does."""
        edges = []
        for start, side, length in zip(box[:2], box[2:], self.size, strict=True):
            first = math.floor((start * zoom - _MARGIN) / _STRIDE) * _STRIDE / zoom
            last = math.ceil(((start + side) * zoom + _MARGIN) / _STRIDE) * _STRIDE / zoom
            # a box may be anywhere
            edges.append(
                (round(np.clip(first, 0, length - MIN_SIDE)), round(np.clip(last, MIN_SIDE, length)))
            )
        (x0, x1), (y0, y1) = edges
        return _Tile(zoom, x0, y0, x1, y1)

    def _face_on(self, crop: _Crop, box: Box) -> Detection | None:
        """The face on a crop that overlaps a box most."""
        if crop not in self._on_crops:
            self._on_crops[crop] = self._faces_on(crop)
        best = max(self._on_crops[crop], key=lambda face: overlap(face.box, box), default=None)
        return best if best is not None and overlap(best.box, box) > _SAME else None

    def _faces_on(self, crop: _Crop) -> list[Detection]:
        step, zoom = int(_GRID * 2.0**crop.level), 0.5**crop.level
        # what is turned reaches into a larger square
        half = int((_CROP if crop.tilt else _CROP // 2) / zoom)
        x0, y0 = crop.column * step - half, crop.row * step - half
        x1, y1 = x0 + 2 * half, y0 + 2 * half
        width, height = self.size
        left, top, right, bottom = max(0, -x0), max(0, -y0), max(0, x1 - width), max(0, y1 - height)
        part = self._rgb[y0 + top : y1 - bottom, x0 + left : x1 - right]
        if min(part.shape[:2]) < 2:
            return []
        if left or top or right or bottom:
            # beyond the image the network sees zeros, as it does right and below of any input
            part = np.asarray(
                cv2.copyMakeBorder(part, top, bottom, left, right, cv2.BORDER_CONSTANT), np.uint8
            )
        part = _zoomed(part, zoom)
        if not crop.tilt:
            return self._run(part, zoom, x0, y0)
        turn = np.asarray(cv2.getRotationMatrix2D((_CROP, _CROP), crop.tilt, 1.0), np.float64)
        turn[:, 2] -= _CROP / 2
        back = np.asarray(cv2.invertAffineTransform(turn), np.float64) / zoom
        back[:, 2] += (x0, y0)
        turned = np.asarray(cv2.warpAffine(part, turn, (_CROP, _CROP)), np.uint8)
        return [_moved(face, back, 1 / zoom) for face in self._run(turned, 1.0)]

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
        return sorted(found, key=_score, reverse=True)


def _spans(length: int, count: int, shared: float) -> list[tuple[int, int]]:
    """Equal ranges that cover a length and overlap by about ``shared``."""
    count = max(1, count)
    each = (length + (count - 1) * shared) / count
    starts = [round(number * (each - shared)) for number in range(count)]
    return [(start, min(length, start + math.ceil(each))) for start in starts]


def _upright(face: Detection, tilt: float) -> bool:
    """Whether a crop of that tilt shows a face surely and upright."""
    return abs(face.roll - tilt) <= _TILTED and face.score >= _SURE


def _moved(face: Detection, matrix: FloatArray, scale: float) -> Detection:
    """A face whose centre and points are taken through a similarity of this scale."""
    (x, y), *points = transform_points(matrix, np.array([face.box.center, *(face.points or ())])).tolist()
    side = scale * face.box.width
    box = Box(x - side / 2, y - side / 2, side, side)
    return dataclasses.replace(face, box=box, points=tuple((px, py) for px, py in points))


def one_of_each(faces: list[Detection]) -> list[Detection]:
    """Of detections that overlap, the one with the best score; best score first."""
    kept: list[Detection] = []
    for face in sorted(faces, key=_score, reverse=True):
        if not _among(face, kept):
            kept.append(face)
    return kept


def _among(face: Detection, others: Sequence[Detection]) -> bool:
    """Whether a face is one of others."""
    return any(overlap(face.box, other.box) > _SAME for other in others)


def _score(face: Detection) -> float:
    return face.score


def box_of(points: FloatArray, network: Box) -> Box | None:
    """The box that dlib's detector would draw, from the five points and the box of the network.

    In the frame of the mean face that is fitted to the points, its centre and the logarithm of its side are
    linear in those of the network's box: the coefficients are least absolute deviations over faces that both
    detectors find (`tools/train/yunet_box.py`). None if the points are no face at all.
    """
    size = math.sqrt(abs(network.width * network.height))
    if size < 1 or np.ptp(points, axis=0).max() < 1:
        return None
    # x + iy: the similarity z -> turn z + shift, several times as fast as with arrays of five points
    found = [complex(x, y) for x, y in points.tolist()]
    turn = sum(five.conjugate() * z for five, z in zip(_FIVE, found, strict=True)) / _FIVE_SQUARED
    shift = sum(found) / len(found) - turn * _FIVE_MEAN
    scale = abs(turn)
    if scale < 0.1 * size:
        return None
    place, log_size = (complex(*network.center) - shift) / turn, math.log(size / scale)
    y = place.imag
    along = _ALONG[0] + _ALONG[1] * y + _ALONG[2] * log_size
    center = turn * complex(_ACROSS * place.real, along) + shift
    side = scale * math.exp(_SIDE[0] + _SIDE[1] * y + _SIDE[2] * log_size)
    return Box(center.real - side / 2, center.imag - side / 2, side, side)


_ACROSS = 0.206
_ALONG = (-0.081, 0.139, 0.065)
_SIDE = (0.008, 0.197, 0.828)

_FIVE_MEAN = complex(*FIVE.mean(axis=0))
_FIVE = [complex(x, y) for x, y in (FIVE - FIVE.mean(axis=0)).tolist()]
_FIVE_SQUARED = float(((FIVE - FIVE.mean(axis=0)) ** 2).sum())


def _zoomed(rgb: ImageArray, zoom: float) -> ImageArray:
    size = [max(MIN_SIDE, round(side * zoom)) for side in (rgb.shape[1], rgb.shape[0])]
    # halving again and again takes a third of the time of one reduction
    while zoom <= 0.5 and min(rgb.shape[:2]) >= 2 * MIN_SIDE:
        height, width = (side // 2 for side in rgb.shape[:2])
        even = rgb[: 2 * height, : 2 * width]
        rgb = np.asarray(cv2.resize(even, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
        zoom *= 2
    return np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_LINEAR), np.uint8)


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
        # it fills up its input to multiples of its stride
        size = (-(-width // _STRIDE), -(-height // _STRIDE))
        network = self._any
        if width * height <= _KEPT_PIXELS:
            network = self._kept.pop(size, None) or self._made()
            # the last one is the one used last
            self._kept[size] = network
            while sum(math.prod(each) for each in self._kept) * _STRIDE**2 > _ALL_KEPT:
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
    kept: _Networks | None = getattr(_per_thread, "networks", None)
    if kept is None:
        kept = _per_thread.networks = _Networks(str(ensured_weights("yunet")))
    return kept
