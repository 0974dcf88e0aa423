"""A photograph, its landmarks and a folder of images that tests of landmark files share."""

from __future__ import annotations

import cv2
import pytest
import skimage.data

from facereject.faces import FaceDetector, FaceRejector, LandmarkPredictor
from facereject.faces.geometry import fit_similarity, transform_points
from facereject.faces.landmarks.conversion import FIXED, fitted_map


@pytest.fixture(scope="module")
def astronaut():
    return skimage.data.astronaut()


@pytest.fixture(scope="module")
def rejector():
    return FaceRejector.pretrained()


@pytest.fixture(scope="module")
def points(astronaut):
    return LandmarkPredictor()(astronaut, FaceDetector().detect(astronaut)[0].box)


@pytest.fixture(scope="module")
def mesh(points):
    """468 points at about the right places, without the weights of a network."""
    mean = fitted_map().mean
    return transform_points(fit_similarity(mean[list(FIXED)], points), mean)


@pytest.fixture(scope="module")
def wrong(points):
    return points + 25.0


@pytest.fixture
def photos(tmp_path, astronaut):
    folder = tmp_path / "photos"
    (folder / "more").mkdir(parents=True)
    for name in ("astronaut.png", "more/second.png"):
        cv2.imwrite(str(folder / name), astronaut[:, :, ::-1])
    return folder
