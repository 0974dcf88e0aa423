"""Faces: detect, place 68 landmarks, and say which landmarks to trust."""

from .calibration import Calibration, Target
from .cautions import cautions
from .certification import certified
from .datasets import DatasetError, FaceDataset, FaceSample, Problem, match_face
from .degrade import DEGRADATIONS, Degraded, degrade, jitter_box, random_degradation
from .detector import Detection, FaceDetector
from .evaluation import FaceEvaluation, GroupResult, evaluate_face_rejector
from .extraction import Extractor, FaceTable, extract
from .features import LandmarkHOG
from .geometry import Box
from .images import ImageError, load_rgb
from .landmark_training import train_landmark_predictor
from .landmarks import LandmarkModelError, LandmarkPredictor, default_model_path
from .rejector import Face, FaceRejector, PredictorMismatchWarning
from .stability import LandmarkStability
from .training import train_face_rejector

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
