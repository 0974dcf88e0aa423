"""What is installed: versions, optional packages and what they add, the models that come with the package."""

from __future__ import annotations

import importlib.metadata
import platform
from importlib import resources
from typing import NamedTuple

from facereject import __version__
from facereject.faces.landmarks.base import LandmarkModelError
from facereject.faces.landmarks.dlib_trees import LandmarkPredictor
from facereject.faces.models.card import predictor_name
from facereject.faces.models.storage import MODEL_KIND, pretrained_models
from facereject.modelfile import read_model

__all__ = ["Extra", "TrainedFor", "extras", "landmark_model", "pretrained_models", "trained_for", "versions"]


class Extra(NamedTuple):
    """An optional package: the extra that brings it, what it adds, and its version or None."""

    package: str
    extra: str
    adds: str
    version: str | None


# distribution, extra, what it adds
_EXTRAS = [
    ("numba", "fast", "faster training"),
    ("lightgbm", "boost", "boosted scores"),
    ("pyarrow", "parquet", "Parquet tables"),
    ("pillow-heif", "heic", "HEIC photographs"),
    ("distributed", "dask", "work on several machines"),
    ("uvicorn", "serve", "the page in a browser"),
]

# a package may come under several names
_REQUIRED = [
    ("numpy", ["numpy"]),
    ("scikit-learn", ["scikit-learn"]),
    ("OpenCV", ["opencv-python", "opencv-python-headless", "opencv-contrib-python"]),
    ("dlib", ["dlib-bin", "dlib"]),
    ("Pillow", ["pillow"]),
]


def versions() -> list[tuple[str, str]]:
    """Names and versions of the package, of Python and of what the results depend on."""
    system = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    found = [("facereject", __version__), ("Python", system)]
    for name, distributions in _REQUIRED:
        present = [version for each in distributions if (version := _version(each)) is not None]
        found.append((name, present[0] if present else "not installed"))
    return found


def extras() -> list[Extra]:
    """The optional packages, present or not."""
    return [Extra(package, extra, adds, _version(package)) for package, extra, adds in _EXTRAS]


class TrainedFor(NamedTuple):
    """The landmark predictor a model was trained for: its fingerprint and its registered name, if any."""

    fingerprint: str | None
    name: str


def trained_for(model: str) -> TrainedFor:
    """The landmark predictor a model was trained for, by the model's name or path.

    A name of a model that comes with the package means that model, whatever files are in the current folder.
    """
    if model in pretrained_models():
        with resources.as_file(resources.files("facereject") / "pretrained" / f"{model}.safetensors") as path:
            return trained_for(str(path))
    header = read_model(model, MODEL_KIND, None).header
    fingerprint, definition = header.get("predictor"), header.get("landmarks")
    name = definition.get("name") if isinstance(definition, dict) else None
    return TrainedFor(fingerprint if isinstance(fingerprint, str) else None, str(name or ""))


def landmark_model() -> str:
    """The default landmark predictor, or what to do if there is none."""
    try:
        predictor = LandmarkPredictor()
    except LandmarkModelError as error:
        return f"missing: {error}"
    return f"{predictor_name(predictor.fingerprint)}, {predictor.path}"


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
