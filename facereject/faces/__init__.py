"""Faces: detect, place landmarks, and say which landmarks to trust.

Names are imported on first use: reading the command line must not wait for dlib, nor judging a picture for
what only training and evaluation need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from facereject._lazy import lazy_imports

if TYPE_CHECKING:
    from facereject.faces.datasets import DatasetError, FaceDataset, FaceSample, Problem, match_face
    from facereject.faces.detectors import (
        DETECTORS,
        Detector,
        make_detector,
        register_detector,
    )
    from facereject.faces.detectors.dlib_hog import FaceDetector
    from facereject.faces.evaluation.data_warnings import data_warnings
    from facereject.faces.evaluation.results import (
        FaceEvaluation,
        GroupResult,
        evaluate_face_rejector,
    )
    from facereject.faces.face import CAUSES, Box, Detection, Face, Pose
    from facereject.faces.features.context import FaceContext
    from facereject.faces.features.hog import LandmarkHOG
    from facereject.faces.features.mirrored import MirroredRuns, RefinedRuns
    from facereject.faces.features.stability import LandmarkStability
    from facereject.faces.images.load import ImageError, load_rgb
    from facereject.faces.landmarks import (
        LANDMARKS,
        LandmarkFailureWarning,
        LandmarkModelError,
        Landmarks,
        make_landmarks,
        register_landmarks,
    )
    from facereject.faces.landmarks.dlib_training import train_landmark_predictor
    from facereject.faces.landmarks.dlib_trees import LandmarkPredictor, default_model_path
    from facereject.faces.landmarks.point_set import PointSet
    from facereject.faces.models.calibration import Calibration, Target
    from facereject.faces.regions import REGIONS, region_points
    from facereject.faces.rejector import FaceRejector, PredictorMismatchWarning
    from facereject.faces.training.certify import certified
    from facereject.faces.training.degrade import (
        DEGRADATIONS,
        Degraded,
        degrade,
        jitter_box,
        random_degradation,
    )
    from facereject.faces.training.extract import Extractor, extract
    from facereject.faces.training.table import FaceTable
    from facereject.faces.training.train import train_face_rejector

_HOME = {
    "CAUSES": "face",
    "DEGRADATIONS": "training.degrade",
    "DETECTORS": "detectors",
    "LANDMARKS": "landmarks",
    "Box": "face",
    "Calibration": "models.calibration",
    "DatasetError": "datasets",
    "Degraded": "training.degrade",
    "Detection": "face",
    "Detector": "detectors",
    "Extractor": "training.extract",
    "Face": "face",
    "FaceContext": "features.context",
    "FaceDataset": "datasets",
    "FaceDetector": "detectors.dlib_hog",
    "FaceEvaluation": "evaluation.results",
    "FaceRejector": "rejector",
    "FaceSample": "datasets",
    "FaceTable": "training.table",
    "GroupResult": "evaluation.results",
    "ImageError": "images.load",
    "LandmarkFailureWarning": "landmarks",
    "LandmarkHOG": "features.hog",
    "LandmarkModelError": "landmarks",
    "LandmarkPredictor": "landmarks.dlib_trees",
    "LandmarkStability": "features.stability",
    "Landmarks": "landmarks",
    "MirroredRuns": "features.mirrored",
    "RefinedRuns": "features.mirrored",
    "PointSet": "landmarks.point_set",
    "Pose": "face",
    "PredictorMismatchWarning": "rejector",
    "Problem": "datasets",
    "REGIONS": "regions",
    "Target": "models.calibration",
    "certified": "training.certify",
    "data_warnings": "evaluation.data_warnings",
    "default_model_path": "landmarks.dlib_trees",
    "degrade": "training.degrade",
    "evaluate_face_rejector": "evaluation.results",
    "extract": "training.extract",
    "jitter_box": "training.degrade",
    "load_rgb": "images.load",
    "make_detector": "detectors",
    "make_landmarks": "landmarks",
    "match_face": "datasets",
    "random_degradation": "training.degrade",
    "region_points": "regions",
    "register_detector": "detectors",
    "register_landmarks": "landmarks",
    "train_face_rejector": "training.train",
    "train_landmark_predictor": "landmarks.dlib_training",
}

__all__ = [
    "CAUSES",
    "DEGRADATIONS",
    "DETECTORS",
    "LANDMARKS",
    "REGIONS",
    "Box",
    "Calibration",
    "DatasetError",
    "Degraded",
    "Detection",
    "Detector",
    "Extractor",
    "Face",
    "FaceContext",
    "FaceDataset",
    "FaceDetector",
    "FaceEvaluation",
    "FaceRejector",
    "FaceSample",
    "FaceTable",
    "GroupResult",
    "ImageError",
    "LandmarkFailureWarning",
    "LandmarkHOG",
    "LandmarkModelError",
    "LandmarkPredictor",
    "LandmarkStability",
    "Landmarks",
    "MirroredRuns",
    "PointSet",
    "Pose",
    "PredictorMismatchWarning",
    "Problem",
    "RefinedRuns",
    "Target",
    "certified",
    "data_warnings",
    "default_model_path",
    "degrade",
    "evaluate_face_rejector",
    "extract",
    "jitter_box",
    "load_rgb",
    "make_detector",
    "make_landmarks",
    "match_face",
    "random_degradation",
    "region_points",
    "register_detector",
    "register_landmarks",
    "train_face_rejector",
    "train_landmark_predictor",
]

__getattr__, __dir__ = lazy_imports(__name__, _HOME)
