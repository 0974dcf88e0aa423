"""Faces: detect, place landmarks, and say which landmarks to trust.

Names are imported on first use: reading the command line must not wait for dlib, nor scoring an image for
what only training and evaluation need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from facereject._lazy import lazy_imports

if TYPE_CHECKING:
    from facereject.faces.datasets import FaceDataset, FaceSample
    from facereject.faces.detectors import make_detector, register_detector
    from facereject.faces.domain_monitor import DomainMonitor
    from facereject.faces.evaluation.results import evaluate_face_rejector
    from facereject.faces.face import Box, Detection, Face
    from facereject.faces.images import load_rgb
    from facereject.faces.landmarks import make_landmarks, register_landmarks
    from facereject.faces.rejector import FaceRejector
    from facereject.faces.training.certify import certified
    from facereject.faces.training.options import Training
    from facereject.faces.training.train import train_face_rejector

_HOME = {
    "datasets": ("DatasetError", "FaceDataset", "FaceSample", "Problem"),
    "detectors": ("Detector", "make_detector", "register_detector"),
    "detectors.dlib_hog": ("FaceDetector",),
    "domain_monitor": ("DomainMonitor",),
    "evaluation.results": ("FaceEvaluation", "evaluate_face_rejector"),
    "face": ("Box", "Detection", "Face", "Pose"),
    "features.hog": ("LandmarkHOG",),
    "features.recipe": ("RefinedRuns",),
    "images": ("ImageError", "load_rgb"),
    "landmarks": (
        "LandmarkFailureWarning",
        "LandmarkModelError",
        "Landmarks",
        "make_landmarks",
        "register_landmarks",
    ),
    "landmarks.dlib_training": ("train_landmark_predictor",),
    "landmarks.dlib_trees": ("LandmarkPredictor",),
    "landmarks.point_set": ("PointSet",),
    "models.calibration": ("Target",),
    "regions": ("REGIONS",),
    "rejector": ("FaceRejector", "PredictorMismatchWarning"),
    "training.certify": ("certified",),
    "training.options": ("Training",),
    "training.train": ("train_face_rejector",),
}

__all__ = [
    "Box",
    "Detection",
    "DomainMonitor",
    "Face",
    "FaceDataset",
    "FaceRejector",
    "FaceSample",
    "Training",
    "certified",
    "evaluate_face_rejector",
    "load_rgb",
    "make_detector",
    "make_landmarks",
    "register_detector",
    "register_landmarks",
    "train_face_rejector",
]

__getattr__, __dir__ = lazy_imports(__name__, _HOME)
