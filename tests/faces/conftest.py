"""Faces for the tests: scikit-image's astronaut everywhere, annotated photographs where there are any."""

from __future__ import annotations

import numpy as np
import pytest
import skimage.data

from facereject.faces.datasets import FaceDataset
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.images import to_gray
from facereject.faces.landmarks.dlib_trees import LandmarkPredictor


@pytest.fixture(scope="session")
def astronaut():
    return skimage.data.astronaut()


@pytest.fixture(scope="session")
def predictor():
    return LandmarkPredictor()


@pytest.fixture(scope="session")
def astronaut_detection(astronaut):
    (detection,) = FaceDetector().detect(astronaut)
    return detection


@pytest.fixture(scope="session")
def astronaut_landmarks(astronaut, astronaut_detection, predictor):
    return predictor(to_gray(astronaut), astronaut_detection.box)


@pytest.fixture(scope="session")
def photographs(faces_dir):
    """Thirty annotated faces spread over the three sources."""
    everything = FaceDataset.from_300w(faces_dir / "300w")
    chosen = np.linspace(0, len(everything) - 1, 30).astype(int)
    return FaceDataset([everything[int(i)] for i in chosen])
