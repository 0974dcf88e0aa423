"""Faces: detect, place 68 landmarks, and say which landmarks to trust.

What only training and evaluation need is imported on first use: judging a picture should not wait for it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .calibration import Calibration, Target
from .cautions import cautions
from .datasets import DatasetError, FaceDataset, FaceSample, Problem, match_face
from .degrade import DEGRADATIONS, Degraded, degrade, jitter_box, random_degradation
from .detector import Detection, FaceDetector
from .extraction import Extractor, FaceTable, extract
from .features import LandmarkHOG
from .geometry import Box
from .images import ImageError, load_rgb
from .landmarks import LandmarkModelError, LandmarkPredictor, default_model_path
from .rejector import Face, FaceRejector, PredictorMismatchWarning
from .stability import LandmarkStability

if TYPE_CHECKING:
    from .certification import certified
    from .evaluation import FaceEvaluation, GroupResult, evaluate_face_rejector
    from .landmark_training import train_landmark_predictor
    from .training import train_face_rejector

_HOME = {
    "certified": "certification",
    "FaceEvaluation": "evaluation",
    "GroupResult": "evaluation",
    "evaluate_face_rejector": "evaluation",
    "train_landmark_predictor": "landmark_training",
    "train_face_rejector": "training",
}

__all__ = [
    "DEGRADATIONS",
    "Box",
    "Calibration",
    "DatasetError",
    "Degraded",
    "Detection",
    "Extractor",
    "Face",
    "FaceDataset",
    "FaceDetector",
    "FaceEvaluation",
    "FaceRejector",
    "FaceSample",
    "FaceTable",
    "GroupResult",
    "ImageError",
    "LandmarkHOG",
    "LandmarkModelError",
    "LandmarkPredictor",
    "LandmarkStability",
    "PredictorMismatchWarning",
    "Problem",
    "Target",
    "cautions",
    "certified",
    "default_model_path",
    "degrade",
    "evaluate_face_rejector",
    "extract",
    "jitter_box",
    "load_rgb",
    "match_face",
    "random_degradation",
    "train_face_rejector",
    "train_landmark_predictor",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
