"""Faces: detect, place landmarks, and say which landmarks to trust.

Names are imported on first use: reading the command line must not wait for dlib, nor judging a picture for
what only training and evaluation need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from facereject._lazy import lazy_imports

if TYPE_CHECKING:
    from facereject.faces.datasets import DatasetError, FaceDataset, FaceSample, Problem
    from facereject.faces.detectors import Detector, make_detector, register_detector
    from facereject.faces.domain_monitor import DomainMonitor
    from facereject.faces.evaluation.results import evaluate_face_rejector
    from facereject.faces.face import Box, Detection, Face
    from facereject.faces.images.load import ImageError, load_rgb
    from facereject.faces.landmarks import (
        Landmarks,
        make_landmarks,
        register_landmarks,
    )
    from facereject.faces.landmarks.dlib_trees import LandmarkPredictor
    from facereject.faces.regions import REGIONS
    from facereject.faces.rejector import FaceRejector
    from facereject.faces.training.certify import certified
    from facereject.faces.training.train import train_face_rejector

_HOME = {
    "Box": "face",
    "DatasetError": "datasets",
    "Detection": "face",
    "Detector": "detectors",
    "DomainMonitor": "domain_monitor",
    "Face": "face",
    "FaceDataset": "datasets",
    "FaceDetector": "detectors.dlib_hog",
    "FaceEvaluation": "evaluation.results",
    "FaceRejector": "rejector",
    "FaceSample": "datasets",
    "ImageError": "images.load",
    "LandmarkFailureWarning": "landmarks",
    "LandmarkHOG": "features.hog",
    "LandmarkModelError": "landmarks",
    "LandmarkPredictor": "landmarks.dlib_trees",
    "Landmarks": "landmarks",
    "RefinedRuns": "features.mirrored",
    "PointSet": "landmarks.point_set",
    "Pose": "face",
    "PredictorMismatchWarning": "rejector",
    "Problem": "datasets",
    "REGIONS": "regions",
    "Target": "models.calibration",
    "certified": "training.certify",
    "evaluate_face_rejector": "evaluation.results",
    "load_rgb": "images.load",
    "make_detector": "detectors",
    "make_landmarks": "landmarks",
    "register_detector": "detectors",
    "register_landmarks": "landmarks",
    "train_face_rejector": "training.train",
    "train_landmark_predictor": "landmarks.dlib_training",
}

__all__ = [
    "REGIONS",
    "Box",
    "DatasetError",
    "Detection",
    "Detector",
    "DomainMonitor",
    "Face",
    "FaceDataset",
    "FaceRejector",
    "FaceSample",
    "ImageError",
    "LandmarkPredictor",
    "Landmarks",
    "Problem",
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
