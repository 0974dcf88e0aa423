"""What a run knows of its faces as a whole: error of the accepted, one face per track, a bounded sample."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from facereject._cli._run import _meaning
from facereject.faces.face import NO_IMAGE, Box, Face, FaceFrame
from facereject.faces.models.calibration import Target
from facereject.faces.models.domain import DomainCheck
from facereject.outputs.summary import AcceptedErrors, Counts, SampledFaces, Summary


def face(expected=3.0, accepted=True, track=None):
    return Face(Box(0, 0, 9, 9), 1.0, np.zeros((68, 2)), 1.0, expected, accepted, track=track)


def frame(*faces):
    return FaceFrame(0, math.nan, NO_IMAGE, list(faces))


def test_the_mean_expected_error_is_that_of_the_accepted():
    errors = AcceptedErrors()
    assert math.isnan(errors.mean)
    errors.write(frame(face(2.0), face(4.0), face(9.0, accepted=False), face(math.nan)))
    assert errors.mean == 3.0


def test_a_track_counts_once_in_its_video():
    seen = SampledFaces()
    for _ in range(2):
        seen.begin(None)
        for _ in range(5):
            seen.write(frame(face(track=1), face(track=2)))
    assert [each.track for each in seen.kept] == [1, 2, 1, 2]


def test_the_sample_is_bounded_and_of_all_faces():
    seen = SampledFaces()
    for i in range(5000):
        seen.write(frame(face(float(i))))
    assert len(seen.kept) == 1000
    assert np.mean([each.expected_error for each in seen.kept]) == pytest.approx(2500, abs=200)


def sentences(summary, rule="all", best=None, target=("max_error", 3.0)):
    rejector = SimpleNamespace(
        relative=False,
        target=Target(*target),
        selector=SimpleNamespace(threshold_=0.5, coverage_=0.7),
        calibration=SimpleNamespace(expected_error=lambda u: 4.2),
    )
    return list(_meaning(SimpleNamespace(summary=summary, frame_rule=rule, best=best), rejector))


def test_a_run_says_what_its_decisions_mean():
    summary = Summary(total=Counts(frames=3, faces=5, accepted_faces=4, accepted_frames=2))
    summary.expected_error = 2.345
    summary.domain = DomainCheck(120, 0.9, 0.0)
    cut_off, counts, domain = sentences(summary, "any")
    assert cut_off == (
        "Accepted up to an expected error of 4.20 %; expected mean error of the accepted faces 2.35 %"
    )
    assert counts.startswith("5 faces in 3 images and frames")
    assert "any of its faces is" in counts
    assert "told apart 90% of the time" in domain
    assert sentences(summary, best=3)[0].startswith("Expected mean error of the accepted faces")


def test_a_run_over_harder_faces_says_why_it_misses_the_target():
    summary = Summary(total=Counts(frames=3, faces=3, accepted_faces=2, accepted_frames=2))
    summary.expected_error = 3.5
    assert "more than 3 %" in sentences(summary)[1]
    assert len(sentences(summary, target=("coverage", 0.5))) == 1
    summary.expected_error = 3.1
    assert len(sentences(summary)) == 1


def test_a_run_with_one_face_per_photo_need_not_explain_the_numbers():
    summary = Summary(total=Counts(frames=3, faces=3, accepted_faces=2, accepted_frames=2))
    assert sentences(summary) == ["Accepted up to an expected error of 4.20 %"]
