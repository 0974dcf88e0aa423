"""Placing landmarks: dlib's regression-tree predictor, from any .dat file or the published 68-point model."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import dlib
import numpy as np

from facereject.faces.face import Box
from facereject.faces.geometry import N_LANDMARKS, FloatArray, check_box, check_landmarks
from facereject.faces.images import ImageArray, ImageError, to_gray

_HOW_TO_GET_ONE = (
    "install the default with `pip install face_recognition_models`, or pass the path of a dlib "
    "68-point shape-predictor file (.dat)"
)


class LandmarkModelError(ValueError):
    """A landmark model file is missing, damaged or not a 68-point model."""


class NoLandmarksError(ValueError):
    """A predictor answered with something that is not 68 finite points."""


class LandmarkFunction(Protocol):
    """What a rejector needs of a predictor: image (H, W, 3) RGB uint8 and a box in, (68, 2) pixels out."""

    def __call__(self, image: ImageArray, box: Box, /) -> FloatArray: ...


def predict_landmarks(predictor: LandmarkFunction, image: ImageArray, box: Box) -> FloatArray:
    """The predictor's answer, checked; NoLandmarksError if it is unusable. Its own errors pass through."""
    answer = predictor(image, box)
    try:
        return check_landmarks(answer)
    except ValueError as error:
        raise NoLandmarksError(f"the predictor gave no usable landmarks: {error}") from None


def default_model_path() -> Path:
    """Path of the 68-point model carried by the package ``face_recognition_models``.

    The package is located, not imported: its ``__init__`` needs the vanished ``pkg_resources``.
    """
    spec = importlib.util.find_spec("face_recognition_models")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder, "models", "shape_predictor_68_face_landmarks.dat")
        if path.is_file():
            return path
    raise LandmarkModelError(f"no default landmark model found: {_HOW_TO_GET_ONE}")


class LandmarkPredictor:
    """dlib's cascade of regression trees for 68 landmarks.

    Parameters
    ----------
    path : path or None, default=None
        A dlib shape-predictor file. None is the published 68-point model found in
        ``face_recognition_models``; it was trained on iBUG 300-W, whose licence excludes commercial use.

    Notes
    -----
    Pickles as its path, so it can be sent to workers; the file (about 100 MB) is loaded once per process.
    """

    #: tells the rejector that grey levels are enough, which saves one conversion per face
    color = "gray"

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = default_model_path() if path is None else Path(path)
        self._model = _load(str(self.path), _stamp(self.path))

    def __call__(self, image: ImageArray, box: Sequence[float], /) -> FloatArray:
        """Landmarks (68, 2) as x, y in pixels for the face in ``box``; image is grey or RGB uint8."""
        if image.dtype != np.uint8:
            raise ImageError(f"the predictor takes uint8 images, got {image.dtype}; see load_rgb")
        gray = to_gray(image)
        box = check_box(box)
        left, top = round(box.x), round(box.y)
        # dlib's right and bottom edges are inclusive
        rectangle = dlib.rectangle(left, top, left + round(box.width) - 1, top + round(box.height) - 1)
        shape = self._model(gray, rectangle)
        return np.array([(point.x, point.y) for point in shape.parts()], dtype=np.float64)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the model file: names the predictor a rejector was trained for."""
        return _sha256(str(self.path), _stamp(self.path))

    def __getstate__(self) -> dict[str, Any]:
        return {"path": str(self.path)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"])  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"LandmarkPredictor({str(self.path)!r})"


def _stamp(path: Path) -> tuple[int, int]:
    """Size and time of change: part of the cache key, so a replaced file is loaded again."""
    try:
        status = path.stat()
    except OSError:
        raise LandmarkModelError(f"{path}: no such landmark model; {_HOW_TO_GET_ONE}") from None
    return status.st_size, status.st_mtime_ns


# Calling a dlib predictor does not change it, so threads and predictor objects share one copy per file.
@functools.lru_cache(maxsize=8)
def _load(path: str, stamp: tuple[int, int]) -> Any:
    try:
        model = dlib.shape_predictor(path)
        blank = np.zeros((8, 8), dtype=np.uint8)
        n_points = model(blank, dlib.rectangle(0, 0, 7, 7)).num_parts
    except (RuntimeError, MemoryError) as error:
        raise LandmarkModelError(
            f"{path}: damaged or not a landmark model ({error}); {_HOW_TO_GET_ONE}"
        ) from None
    if n_points != N_LANDMARKS:
        raise LandmarkModelError(f"{path}: predicts {n_points} landmarks, 68 are needed; {_HOW_TO_GET_ONE}")
    return model


@functools.lru_cache(maxsize=8)
def _sha256(path: str, stamp: tuple[int, int]) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
