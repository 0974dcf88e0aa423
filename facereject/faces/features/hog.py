"""What the image looks like around each landmark: 36 histogram-of-gradient values, 2,448 for 68 points.

Definition
----------
1. The similarity (scale, rotation, shift) that best takes the predicted landmarks to the mean shape, scaled
   so that it is ``face_size`` pixels wide and centred in a square chip of 1.5 ``face_size``, warps the grey
   image: bilinear, after area averaging where the photo is more than twice as large as the chip, and
   with the border pixel repeated outside the image. The warped landmarks are rounded to chip pixels.
2. Around each landmark, a window of 2 x 2 cells of ``cell_size`` pixels: gradients by central differences,
   unsigned orientation in 9 bins of 20 degrees, magnitudes shared linearly between neighbouring bins and
   cells and weighted by a Gaussian over the window. This is OpenCV's HOGDescriptor with its default
   parameters.
3. The 36 values of a window are normalised together (L2, clipped at 0.2, L2 again) and multiplied by
   e / (e + ``contrast_floor``), with e the mean gradient magnitude of the window in grey levels per two
   pixels: where there is next to no contrast, as in blur, darkness or haze, the values fade to zero instead
   of showing amplified noise.

The order is landmark, cell column, cell row, orientation. Where a point set names the points to use, only
these count, for the similarity and for the windows.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from facereject.faces.geometry import FloatArray, centred, fit_to_centred
from facereject.faces.images import ImageArray
from facereject.faces.landmarks.point_set import POINTS_300W, PointSet

Features = TypeVar("Features", bound="DefinedFeatures")


class DefinedFeatures:
    """Base of features that are dataclasses: their fields are settings, but for the points."""

    @property
    def definition(self) -> dict[str, Any]:
        """What the values mean besides the points, as plain JSON, for the model file."""
        settings = {name: getattr(self, name) for name in _settings(type(self))}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}
        return {"name": type(self).__name__, "version": 1, **plain}

    @classmethod
    def from_definition(
        cls: type[Features], definition: dict[str, Any], points: PointSet = POINTS_300W
    ) -> Features:
        """The inverse of `definition`; raises ValueError for features this version does not know."""
        given: dict[str, Any] = {name: definition[name] for name in _settings(cls)} | {"points": points}
        made = cls(**given)
        if definition != made.definition:
            raise ValueError(f"unknown features {definition!r}")
        return made


def _settings(features: Any) -> list[str]:
    return [field.name for field in fields(features) if field.name != "points"]


_VALUES = 36

# pixels around the windows that gradients reach to
_BORDER = 1

# chip side over face width: the outermost landmarks keep a quarter of the face around them
_CHIP = 1.5


@dataclass(frozen=True)
class LandmarkHOG(DefinedFeatures):
    """Histograms of gradients around the landmarks, on a chip of normal size and rotation.

    Parameters
    ----------
    face_size : int, default=100
        Width of the mean shape in chip pixels; the chip is 1.5 times as wide.
    cell_size : int, default=4
        Side of a cell in chip pixels; a window is 2 x 2 cells.
    contrast_floor : float, default=1.0
        Mean gradient magnitude at which the values are halved; 0 turns the fading off.
    points : PointSet, default=the 68 points of 300-W
        The landmarks, with their mean shape.

    The defaults were chosen by cross-validated AuRC on photos of 300-W, clean and degraded;
    ``tools/train/select_hog.py`` compares them with other candidates by the same protocol.
    """

    face_size: int = 100
    cell_size: int = 4
    contrast_floor: float = 1.0
    points: PointSet = POINTS_300W

    def __post_init__(self) -> None:
        # upper bounds: these come from model files as well, and time and memory grow with their squares
        if not (type(self.face_size) is int and 16 <= self.face_size <= 512):
            raise ValueError(f"face_size must be a whole number from 16 to 512, got {self.face_size!r}")
        largest = min(64, self.face_size)
        if not (type(self.cell_size) is int and 2 <= self.cell_size <= largest):
            raise ValueError(f"cell_size must be a whole number from 2 to {largest}, got {self.cell_size!r}")
        if not (type(self.contrast_floor) in (int, float) and 0 <= self.contrast_floor < 1e6):
            raise ValueError(f"contrast_floor must be a number >= 0, got {self.contrast_floor!r}")

    @property
    def n_features(self) -> int:
        """Length of the vector."""
        return self.points.n_used * _VALUES

    @functools.cached_property
    def chip_size(self) -> int:
        """Side of the square chip in pixels."""
        return round(_CHIP * self.face_size)

    @functools.cached_property
    def _shape(self) -> tuple[NDArray[np.complex128], np.complex128]:
        """Where the points of a mean face lie in the chip, as from `centred`."""
        # the middle of the chip is between its pixels: pixel centres are whole numbers
        return centred(self.points.used_shape * self.face_size + (self.chip_size - 1) / 2)

    def chip(
        self, image: ImageArray, landmarks: FloatArray, least: int | None = None
    ) -> tuple[ImageArray, FloatArray]:
        """The normalised chip of a grey image and the landmarks that are used in it.

        Parameters
        ----------
        image : ndarray of shape (H, W), uint8
        landmarks : ndarray of shape (n, 2)
        least : int or None
            How many rows and columns are needed besides those that the windows reach to; the rest, on the
            right and below, is left black. None is all of them.
        """
        side = self.chip_size
        used = self.points.chosen(landmarks)
        matrix, points = fit_to_centred(used, *self._shape)
        scale = math.hypot(matrix[0, 0], matrix[1, 0])
        if scale < 0.5:
            image, matrix = _reduce(image, used, matrix, scale, side)
        chip = np.zeros((side, side), dtype=np.uint8)
        width = height = side
        if least is not None:
            reach = self.cell_size + _BORDER + 1
            width, height = (min(max(int(last) + reach, least), side) for last in np.maximum.reduce(points))
        cv2.warpAffine(
            image,
            matrix,
            (width, height),
            dst=chip[:height, :width],
            flags=cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_REPLICATE,
        )
        return chip, points

    def __call__(self, image: ImageArray, landmarks: FloatArray) -> NDArray[np.float32]:
        """The values of one face: ``image`` grey (H, W) uint8, ``landmarks`` (n, 2) in its pixels."""
        return self.describe(*self.chip(image, landmarks))

    def describe(self, chip: ImageArray, points: FloatArray) -> NDArray[np.float32]:
        """The values of one face, given what `chip` returned."""
        tiles = self._tiles(chip, np.rint(points))
        corners = _corners(self.cell_size, len(points))
        values = _descriptor(self.cell_size).compute(tiles, (8, 8), (0, 0), corners)
        if self.contrast_floor > 0:
            values = values.reshape(-1, _VALUES)
            contrast = _mean_gradient(tiles, 2 * self.cell_size)
            values *= (contrast / (contrast + np.float32(self.contrast_floor)))[:, None]
        return np.asarray(values, dtype=np.float32).ravel()

    def _tiles(self, chip: ImageArray, places: FloatArray) -> ImageArray:
        """The windows around the points, each with a border of one pixel, as one image from left to right.

        Gradients are taken of all that the descriptor is given, and the windows are a third of the chip.
        """
        side, reach = 2 * self.cell_size, self.cell_size + _BORDER
        left, top = np.minimum.reduce(places).tolist()
        right, bottom = np.maximum.reduce(places).tolist()
        if min(left, top) < reach or max(right, bottom) > len(chip) - reach:
            # windows that leave the chip, by any distance, show its border; one beyond it shows nothing else
            margin = side + _BORDER
            places = np.clip(places, -self.cell_size, len(chip) + self.cell_size) + margin
            padded = cv2.copyMakeBorder(chip, margin, margin, margin, margin, cv2.BORDER_REPLICATE)
            chip = np.asarray(padded, dtype=np.uint8)
        width = chip.shape[1]
        first = (places[:, 1] * width + places[:, 0] - reach * (width + 1)).astype(np.intp)
        # a row of a tile is one item of many bytes, and one begins at every pixel: far fewer items to take
        length = side + 2 * _BORDER
        rows = np.ndarray((chip.size - length + 1,), f"V{length}", np.ascontiguousarray(chip), strides=(1,))
        return np.asarray(rows[first + _rows(length, width)].view(np.uint8), dtype=np.uint8)


@functools.lru_cache(maxsize=16)
def _descriptor(cell: int) -> Any:
    window = (2 * cell, 2 * cell)
    return cv2.HOGDescriptor(window, window, (cell, cell), (cell, cell), 9)


@functools.lru_cache(maxsize=16)
def _corners(cell: int, n: int) -> NDArray[np.int32]:
    """The upper left corners of the windows in the image of `LandmarkHOG._tiles`."""
    across = np.arange(n) * (2 * cell + 2 * _BORDER) + _BORDER
    return np.stack([across, np.full(n, _BORDER)], axis=1).astype(np.int32)


@functools.lru_cache(maxsize=64)
def _rows(n: int, width: int) -> NDArray[np.intp]:
    """Where n rows begin after the first one, in an image of that width; shape (n, 1)."""
    return np.arange(n, dtype=np.intp)[:, None] * width


def _mean_gradient(tiles: ImageArray, side: int) -> NDArray[np.float32]:
    """Mean gradient magnitude, by central differences, of the windows of `LandmarkHOG._tiles`."""
    # not cv2.magnitude and cv2.boxFilter: their last bits depend on memory addresses and threads
    values, width = tiles.astype(np.float32).ravel(), tiles.shape[1]
    # row after row at once, which also takes differences from one tile to the next: those are at the borders
    inner = side * width - 2
    squares = np.zeros(side * width, dtype=np.float32)
    across = np.subtract(values[width + 2 :][:inner], values[width:][:inner], out=squares[:inner])
    along = values[2 * width + 1 :][:inner] - values[1:][:inner]
    across *= across
    along *= along
    across += along
    columns = np.add.reduce(np.sqrt(squares, out=squares).reshape(side, width), axis=0)
    sums = np.add.reduce(columns.reshape(-1, side + 2)[:, :side], axis=1)
    return np.asarray(sums / np.float32(side * side), dtype=np.float32)


def _reduce(
    image: ImageArray, landmarks: FloatArray, matrix: FloatArray, scale: float, side: int
) -> tuple[ImageArray, FloatArray]:
    """Cut the face out and average blocks of pixels, so that bilinear sampling does not skip over any.

    Returns the reduced image and the matrix that takes its pixels to the chip.
    """
    factor = int(1 / scale)
    low, high = landmarks.min(axis=0), landmarks.max(axis=0)
    # Landmarks that outline the face have all of the chip within their own extent around them. Others may
    # sit in the middle of it: then the chip, turned by 45 degrees, says how far to reach. A margin keeps
    # border repetition at the true border of the image.
    middle = np.linalg.solve(matrix[:, :2], (side - 1) / 2 - matrix[:, 2])
    radius = side / scale / np.sqrt(2)
    beyond = max(float((low - middle).max()), float((middle - high).max())) + radius
    reach = max(float((high - low).max()), beyond) + 2 * factor
    height, width = image.shape[:2]
    x0, y0 = (max(0, int(value)) for value in low - reach)
    x1, y1 = min(width, int(high[0] + reach)), min(height, int(high[1] + reach))
    if x1 - x0 < 2 * factor or y1 - y0 < 2 * factor:
        return image, matrix
    part = image[y0:y1, x0:x1]
    size = ((x1 - x0) // factor, (y1 - y0) // factor)
    part = part[: size[1] * factor, : size[0] * factor]
    reduced = np.asarray(cv2.resize(part, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    # pixel u of the reduced image has its centre at factor * u + (factor - 1) / 2 + corner of the cut
    shift = np.array([x0, y0]) + (factor - 1) / 2
    linear = matrix[:, :2]
    return reduced, np.column_stack([linear * factor, linear @ shift + matrix[:, 2]])
