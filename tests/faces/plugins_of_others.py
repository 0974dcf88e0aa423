"""Detectors and landmark predictors as others might write them; importable, so that workers find them."""

from __future__ import annotations

import numpy as np

from facereject.faces import Box, Detection, FaceDetector, LandmarkPredictor

#: dlib's five points among those of 300-W, and the mouth
FIVE, MOUTH = (45, 42, 36, 39, 33), tuple(range(48, 68))


class PlainDetector:
    """Nothing but ``detect``; what it was shown is remembered."""

    def __init__(self):
        self.shown = []

    def detect(self, image):
        self.shown.append(image.shape)
        return [Detection(found.box, found.score) for found in FaceDetector(threshold=-1).detect(image)]


class NamedDetector(PlainDetector):
    """A detector with options that can be saved."""

    def __init__(self, least=0.0):
        super().__init__()
        self.least = least

    @property
    def definition(self):
        return {"name": "named", "least": self.least}


class FixedDetector:
    """The same boxes on every image."""

    def __init__(self, *answer):
        self.answer = answer

    def detect(self, image):
        return list(self.answer)


class Mouth:
    """Twenty points, placed by dlib's model; declares all there is."""

    n_points = 20
    color = "gray"
    normalizer = "points:0,6"
    fingerprint = "mouth 1"
    definition = {"name": "test-mouth"}  # noqa: RUF012

    def __call__(self, image, box):
        assert image.ndim == 2
        return LandmarkPredictor()(image, box)[list(MOUTH)]


def plain_mouth(image, box):
    """The same as a function that declares nothing; it sees colour."""
    assert image.ndim == 3
    return LandmarkPredictor()(image, box)[list(MOUTH)]


def center_box(image, share=0.5):
    """A box in the middle of an image."""
    height, width = image.shape[:2]
    side = share * min(height, width)
    return Box((width - side) / 2, (height - side) / 2, side, side)


def noise(shape, seed=0):
    """A grey picture without any face."""
    return np.random.default_rng(seed).integers(0, 256, size=shape, dtype=np.uint8)
