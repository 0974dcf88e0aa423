"""The models and the landmark predictor that are installed."""

from __future__ import annotations

from importlib import resources
from typing import NamedTuple

from facereject.faces.landmarks.base import LandmarkModelError
from facereject.faces.landmarks.dlib_trees import LandmarkPredictor
from facereject.faces.models.card import predictor_name
from facereject.faces.models.storage import MODEL_KIND, pretrained_models
from facereject.modelfile import read_model

__all__ = ["TrainedFor", "landmark_model", "pretrained_models", "trained_for"]


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
