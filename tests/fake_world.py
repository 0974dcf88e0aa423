"""A world of scripted faces in place of pictures: what a detector would find and a predictor would see."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from facereject.faces import Face, FaceRejector
from facereject.faces.face import Box, Detection
from facereject.faces.geometry import overlap
from facereject.faces.landmarks.point_set import MEAN_SHAPE, POINTS_300W, PoseLimits

SIZE = (320, 240)

#: uncertainties: certain, just above the threshold of 0, background
GOOD, DOUBTFUL, NOTHING = -1.0, 0.05, 2.0


class Someone:
    """A face in the world: its box, its uncertainty, and whether the detector finds it."""

    def __init__(self, x, y, side=60.0, uncertainty=GOOD, seen=True):
        self.box = Box(x, y, side, side)
        self.uncertainty = uncertainty
        self.seen = seen

    @property
    def shown(self):
        """Whether its middle is in the picture."""
        x, y = self.box.center
        return 0 <= x < SIZE[0] and 0 <= y < SIZE[1]


class World:
    """Stands for a rejector and its detector; ``faces`` is the present frame."""

    # the rule is the real one
    decide, rescore = FaceRejector.decide, FaceRejector.rescore
    points, n_points = POINTS_300W, POINTS_300W.n
    pose_limits = PoseLimits()
    relative = False

    def __init__(self, *faces):
        self.faces = list(faces)
        self.asked = []
        self.detector = self.predictor = self
        self.target = SimpleNamespace(kind="threshold", value=0.0)
        self.selector = SimpleNamespace(threshold_=0.0)
        spread = np.linspace(-1.2, 1.2, 101)
        self.calibration = SimpleNamespace(uncertainty=spread, expected_error=lambda u: 5 + 2 * u)

    def detect(self, gray):
        return [Detection(face.box, 1.0) for face in self.faces if face.seen and face.shown]

    def detect_next(self, gray, expected, frame, n_frames):
        """Known faces in every frame, new ones in every ``n_frames``-th, or if nobody is known."""
        self.asked.append((frame, n_frames))
        faces = self.detect(gray)
        near = [face for face in faces if any(overlap(face.box, each.box) > 0.3 for each in expected)]
        return faces if frame % n_frames == 0 or not near else near

    def __call__(self, image):
        return [self.assess_box(image, found.box) for found in self.detect(image)]

    def assess_detections(self, image, found):
        return [self.assess_box(image, each.box) for each in found]

    def assess_box(self, image, box):
        """The predictor finds a face that the box covers well enough; else it guesses."""
        there = max(self.faces, key=lambda face: overlap(face.box, box), default=None)
        if there is None or overlap(there.box, box) < 0.4:
            return self._face(box, box, NOTHING)
        return self._face(box, there.box, there.uncertainty)

    def _face(self, box, place, uncertainty):
        points = MEAN_SHAPE * place.width / 1.05 + np.array(place.center) + (0, 0.1 * place.width / 1.05)
        accepted = uncertainty <= self.selector.threshold_
        return Face(Box(*box), float("nan"), points, uncertainty, 5 + 2 * uncertainty, accepted, "")


def blank(level=128):
    """A frame; its grey level only tells scenes apart."""
    return np.full((SIZE[1], SIZE[0], 3), level, dtype=np.uint8)
