"""Judging landmarks that other tools wrote, without running a predictor."""

from facereject.assess.found import FoundFace, LandmarkFileError
from facereject.assess.readers import READERS, read_landmarks
from facereject.assess.run import assess_files

__all__ = ["READERS", "FoundFace", "LandmarkFileError", "assess_files", "read_landmarks"]
