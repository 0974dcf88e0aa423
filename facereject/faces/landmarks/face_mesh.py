"""Placing landmarks: MediaPipe's face mesh, 468 points, run by OpenCV and without MediaPipe.

The network sees a square of 1.5 times the face, turned so that the eyes are level. The first square follows
from the box; each look at a square gives a better one, until it stays where it is. In a video, where the box
comes from the landmarks of the frame before, one look is mostly enough.
"""

from __future__ import annotations

import functools
import hashlib
import math
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import cv2
import numpy as np

from facereject.faces.geometry import FloatArray, check_box, transform_points
from facereject.faces.images import ImageArray, ImageError, load_rgb
from facereject.faces.landmarks.base import LandmarkModelError
from facereject.faces.landmarks.conversion import FIXED, N_MESH, fitted_map
from facereject.faces.weights import WEIGHTS, weights_path

# a network keeps what it computes, so every thread has its own; as module state it is never pickled
_per_thread = threading.local()

# side of the network's input in pixels, and side of the square in sides of the box around the mesh
_SIDE, _MARGIN = 192, 1.5

# side and centre of the square of a face in sides of the box that a detector gives it, medians of 400 faces
_SIDE_OF_BOX, _DOWN = 1.66, -0.013

# outer corners of the eyes, left in the image first
_EYES = (33, 263)

# a square that moves, grows or turns less than this (in sides, logarithm, radians) stays where it is
_STILL, _LOOKS = 0.05, 4

# registered names, by the points they give
_NAMES = {"all": "mesh", "fitted": "mesh-68", "fixed": "mesh-68-free"}


class Square(NamedTuple):
    """A part of an image: centre and side in pixels, and how far it is turned, in radians."""

    x: float
    y: float
    side: float
    angle: float

    @property
    def matrix(self) -> FloatArray:
        """(2, 3): from pixels of the network's input to pixels of the image."""
        scale = self.side / _SIDE
        a, b = scale * math.cos(self.angle), scale * math.sin(self.angle)
        half = (_SIDE - 1) / 2
        return np.array([[a, -b, self.x - (a - b) * half], [b, a, self.y - (a + b) * half]])

    def distance(self, other: Square) -> float:
        """How far apart two squares are: in sides, logarithm of the size, or radians, whichever is most."""
        turned = (self.angle - other.angle + math.pi) % (2 * math.pi) - math.pi
        moved = math.hypot(self.x - other.x, self.y - other.y) / self.side
        return max(moved, abs(math.log(self.side / other.side)), abs(turned))

    @classmethod
    def of_box(cls, box: Sequence[float]) -> Square:
        """The square of a face from a detector's box."""
        x, y, width, height = box
        side = math.sqrt(width * height)
        return cls(x + width / 2, y + height / 2 + _DOWN * side, _SIDE_OF_BOX * side, 0.0)

    @classmethod
    def of_mesh(cls, points: FloatArray) -> Square:
        """The square of a face from its mesh: level with the eyes, 1.5 times the box around the points."""
        (x0, y0), (x1, y1) = points[_EYES[0]], points[_EYES[1]]
        angle = math.atan2(y1 - y0, x1 - x0)
        turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        level = points @ turn
        low, high = level.min(axis=0), level.max(axis=0)
        x, y = turn @ ((low + high) / 2)
        return cls(float(x), float(y), _MARGIN * float((high - low).max()), angle)


class MeshFace(NamedTuple):
    """What the network says of a face.

    Attributes
    ----------
    points : ndarray of shape (468, 2)
        x, y in pixels of the image.
    confidence : float
        Its own probability that there is a face, from 0 to 1.
    looks : int
        How often it was run.
    """

    points: FloatArray
    confidence: float
    looks: int


class FaceMesh:
    """MediaPipe's face mesh.

    ``facereject models get mesh`` downloads its weights.

    Parameters
    ----------
    points : {"all", "fitted", "fixed"}, default="all"
        All 468 points; or the 68 of 300-W, by a map that was fitted to 300-W (no commercial use), or by fixed
        correspondences, which are free and less exact.

    Attributes
    ----------
    n_points : int
        468 or 68.
    """

    #: it was trained on colour
    color = "rgb"

    #: the square that the network sees is level with the eyes
    levels = True

    def __init__(self, points: str = "all") -> None:
        if points not in _NAMES:
            raise ValueError(f"points must be one of {', '.join(_NAMES)}; got {points!r}")
        self.points = points
        self.n_points = N_MESH if points == "all" else len(FIXED)
        # an absent file is said here and not at the first face
        weights_path("mesh")

    def __call__(self, image: ImageArray, box: Sequence[float], /) -> FloatArray:
        """Landmarks (n, 2) as x, y in pixels for the face in ``box``; image is RGB or grey uint8."""
        return self.mapped(self.mesh(image, box).points)

    def mesh(self, image: ImageArray, box: Sequence[float]) -> MeshFace:
        """All 468 points of the face in ``box``, and the network's own confidence that it is a face."""
        if image.dtype != np.uint8:
            raise ImageError(f"the predictor takes uint8 images, got {image.dtype}; see load_rgb")
        rgb = image if image.ndim == 3 else load_rgb(image)
        square = Square.of_box(check_box(box))
        looks = 0
        while True:
            points, confidence = look(rgb, square)
            before, square = square, Square.of_mesh(points)
            looks += 1
            if looks == _LOOKS or before.distance(square) < _STILL:
                return MeshFace(points, confidence, looks)

    def mapped(self, points: FloatArray) -> FloatArray:
        """The points that this predictor gives of a whole mesh."""
        if self.points == "all":
            return points
        return fitted_map()(points) if self.points == "fitted" else points[list(FIXED)]

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the weights, the map and how squares are found."""
        parts = [WEIGHTS["mesh"].sha256, self.points, _MARGIN, _SIDE_OF_BOX, _DOWN, _STILL, _LOOKS]
        digest = hashlib.sha256(repr(parts).encode())
        if self.points == "fitted":
            digest.update(_fitted_digest())
        elif self.points == "fixed":
            digest.update(repr(FIXED).encode())
        return digest.hexdigest()

    @property
    def normalizer(self) -> str:
        """Errors are in percent of the distance between the outer eye corners."""
        return f"points:{_EYES[0]},{_EYES[1]}" if self.points == "all" else "outer_eyes"

    @property
    def feature_points(self) -> tuple[int, ...] | None:
        """Of the whole mesh, the points that stand for the 68 of 300-W: neighbours see the same pixels."""
        return FIXED if self.points == "all" else None

    @property
    def definition(self) -> dict[str, Any]:
        """What a model file keeps, as plain JSON."""
        return {"name": _NAMES[self.points]}

    def __repr__(self) -> str:
        return f"FaceMesh({self.points!r})"


@functools.cache
def _fitted_digest() -> bytes:
    fitted = fitted_map()
    return b"".join(array.tobytes() for array in vars(fitted).values())


def look(rgb: ImageArray, square: Square) -> tuple[FloatArray, float]:
    """One run of the network: points in pixels of the image, and its confidence."""
    matrix = square.matrix
    chip = cv2.warpAffine(
        rgb,
        matrix,
        (_SIDE, _SIDE),
        flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_REPLICATE,
    )
    network, names = _network()
    network.setInput(cv2.dnn.blobFromImage(chip, 1 / 255.0))
    outputs = {output.size: output for output in network.forward(names)}
    points = np.asarray(outputs[3 * N_MESH], dtype=np.float64).reshape(N_MESH, 3)[:, :2]
    logit = float(np.clip(outputs[1].item(), -50, 50))
    return transform_points(matrix, points), 1 / (1 + math.exp(-logit))


def _network() -> tuple[Any, Any]:
    path = str(weights_path("mesh"))
    kept = getattr(_per_thread, "network", None)
    if kept is None or kept[0] != path:
        try:
            network = cv2.dnn.readNetFromTFLite(path)
        except (AttributeError, cv2.error) as error:
            raise LandmarkModelError(
                f"{path}: OpenCV {cv2.__version__} cannot read it ({error}); 4.11 or later can"
            ) from None
        kept = (path, network, network.getUnconnectedOutLayersNames())
        _per_thread.network = kept
    return kept[1], kept[2]
