"""Faces: detect, place 68 landmarks, and say which landmarks to trust.

What only training and evaluation need is imported on first use: judging a picture should not wait for it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from facereject.faces.datasets import DatasetError, FaceDataset, FaceSample, Problem, match_face
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.evaluation.data_warnings import data_warnings
from facereject.faces.face import Box, Detection, Face
from facereject.faces.features.hog import LandmarkHOG
from facereject.faces.features.stability import LandmarkStability
from facereject.faces.images import ImageError, load_rgb
from facereject.faces.landmarks.dlib_trees import (
    LandmarkModelError,
    LandmarkPredictor,
    default_model_path,
)
from facereject.faces.models.calibration import Calibration, Target
from facereject.faces.rejector import FaceRejector, PredictorMismatchWarning
from facereject.faces.training.degrade import (
    DEGRADATIONS,
    Degraded,
    degrade,
    jitter_box,
    random_degradation,
)
from facereject.faces.training.extract import Extractor, FaceTable, extract

if TYPE_CHECKING:
    from facereject.faces.evaluation.results import (
        FaceEvaluation,
        GroupResult,
        evaluate_face_rejector,
    )
    from facereject.faces.landmarks.dlib_training import train_landmark_predictor
    from facereject.faces.training.certify import certified
    from facereject.faces.training.train import train_face_rejector

_HOME = {
    "certified": "training.certify",
    "FaceEvaluation": "evaluation.results",
    "GroupResult": "evaluation.results",
    "evaluate_face_rejector": "evaluation.results",
    "train_landmark_predictor": "landmarks.dlib_training",
    "train_face_rejector": "training.train",
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
    "certified",
    "data_warnings",
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
