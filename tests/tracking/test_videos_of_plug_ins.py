"""Detectors and predictors of others on videos and before a camera."""

from __future__ import annotations

import numpy as np
import pytest
import skimage.data

from facereject.faces import Detection, FaceDetector, FaceRejector, LandmarkFailureWarning
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
def plain():
    """A rejector with a detector that has nothing but ``detect``."""
    return FaceRejector.pretrained(detector=PlainDetector())


def test_every_frame_is_searched(plain):
    tracker = FaceTracker(plain)
    for number in range(5):
        (tracked,) = tracker.update(frame(number))
        (expected,) = FaceDetector().detect(frame(number))
        assert (tracked.track, tracked.face.box) == (0, expected.box)
    assert plain.detector.shown == [(300, 512, 3)] * 5


def test_before_a_camera(plain):
    seen = []

    class Seen(Output):
        def write(self, frame):
            seen.extend(frame.faces)

    summary = Live([Seen()]).run(Moving(), FaceTracker(plain), "camera 0")
    assert summary.frames == 6
    assert [face.track for face in seen] == [0] * 6
    assert all(np.isfinite(face.uncertainty) for face in seen)


def test_a_predictor_that_fails_costs_the_frames_it_fails_on():
    published = FaceRejector.pretrained()
    calls = []

    def moody(image, box):
        calls.append(box)
        # two runs per frame, of which the second needs the first
        if len(calls) in (3, 4):
            raise RuntimeError("no idea")
        return published.predictor(image, box)

    with pytest.warns(UserWarning, match="trained for the predictor"):
        rejector = FaceRejector.pretrained(predictor=moody)
    tracker = FaceTracker(rejector, Tracking(every_frame=True))

    def follow():
        return [[tracked.face.reason for tracked in tracker.update(frame(number))] for number in range(5)]

    with pytest.warns(LandmarkFailureWarning, match="RuntimeError: no idea"):
        found = follow()
    assert [reasons == ["no_landmarks"] for reasons in found] == [False, True, True, False, False]
