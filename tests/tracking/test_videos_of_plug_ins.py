"""Detectors and predictors of others on videos and before a camera."""

from __future__ import annotations

import numpy as np
import pytest
import skimage.data

from facereject.faces import Detection, FaceDetector, FaceRejector, LandmarkFailureWarning
from facereject.faces.geometry import overlap
from facereject.outputs import Output
from facereject.pipeline.live import Live
from facereject.sources.frame import Frame
from facereject.tracking.tracker import FaceTracker, Tracking


class PlainDetector:
    """Nothing but ``detect``; what it was shown is remembered."""

    def __init__(self):
        self.shown = []

    def detect(self, image):
        self.shown.append(image.shape)
        return [Detection(found.box, found.score) for found in FaceDetector().detect(image)]


class Moving:
    """A camera before which the astronaut moves; then it ends."""

    dropped = 0

    def __init__(self, n_frames=6):
        self.n_frames, self.given = n_frames, 0

    def read(self, timeout_s=None):
        if self.ended:
            return None
        self.given += 1
        return Frame(self.given - 1, self.given / 10, frame(self.given))

    @property
    def ended(self):
        return self.given == self.n_frames


def frame(number):
    return np.ascontiguousarray(np.roll(skimage.data.astronaut()[:300], 2 * number, axis=1))


@pytest.fixture
def doubtful():
    """A rejector that every face leaves in doubt, so that the detector is asked in every frame."""
    rejector = FaceRejector.pretrained(detector=PlainDetector())
    (face,) = rejector(frame(0))
    return rejector.with_target(threshold=face.uncertainty)


def test_faces_in_doubt_are_looked_for_on_a_part_of_the_frame(doubtful):
    tracker, shown = FaceTracker(doubtful), doubtful.detector.shown
    shown.clear()
    for number in range(5):
        (tracked,) = tracker.update(frame(number))
        assert tracked.track == 0
        (expected,) = FaceDetector().detect(frame(number))
        assert overlap(tracked.face.box, expected.box) > 0.6
    assert tracker.searches == 1
    assert tracker.local_searches > 0
    assert shown[0] == (300, 512, 3)
    assert all(max(shape[:2]) < 300 and shape[2] == 3 for shape in shown[1:])


def test_before_a_camera(doubtful):
    seen = []

    class Seen(Output):
        def write(self, frame):
            seen.extend(frame.faces)

    summary = Live([Seen()]).run(Moving(), FaceTracker(doubtful), "camera 0")
    assert summary.frames == 6
    assert [face.track for face in seen] == [0] * 6
    assert all(np.isfinite(face.uncertainty) for face in seen)


def test_a_predictor_that_fails_costs_the_frames_it_fails_on():
    published = FaceRejector.pretrained()
    calls = []

    def moody(image, box):
        calls.append(box)
        if len(calls) in (2, 3):
            raise RuntimeError("no idea")
        return published.predictor(image, box)

    with pytest.warns(UserWarning, match="trained for the landmark predictor"):
        rejector = FaceRejector.pretrained(predictor=moody)
    tracker = FaceTracker(rejector, Tracking(every_frame=True))

    def follow():
        return [[tracked.face.reason for tracked in tracker.update(frame(number))] for number in range(5)]

    with pytest.warns(LandmarkFailureWarning, match="RuntimeError: no idea"):
        found = follow()
    assert [reasons == ["no_landmarks"] for reasons in found] == [False, True, True, False, False]
