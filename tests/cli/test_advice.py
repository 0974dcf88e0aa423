"""A run that found few faces, or accepted almost none or all of them, says what to try."""

from __future__ import annotations

import pytest

from facereject._cli._run import advice
from facereject.faces import FaceRejector
from facereject.outputs.summary import Counts


@pytest.fixture(scope="module")
def rejector():
    return FaceRejector.pretrained()


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (Counts(frames=100, faces=100, accepted_faces=3), "Few faces"),
        (Counts(frames=100, faces=100, accepted_faces=100), "Almost all"),
        (Counts(frames=100, no_face=60, faces=40, accepted_faces=20), "--min-face"),
    ],
)
def test_what_is_said(rejector, counts, words):
    (sentence,) = advice(counts, rejector.with_target(max_error=4.0), decided=True)
    assert words in sentence


@pytest.mark.parametrize(
    "counts",
    [
        Counts(frames=100, faces=100, accepted_faces=60),
        Counts(frames=5, faces=5, accepted_faces=0),
        Counts(frames=10, no_face=10),
        Counts(),
    ],
)
def test_nothing_is_said_without_need(rejector, counts):
    assert advice(counts, rejector.with_target(max_error=4.0), decided=True) == []


def test_decisions_of_a_batch_and_other_targets_are_left_alone(rejector):
    counts = Counts(frames=100, faces=100, accepted_faces=1)
    assert advice(counts, rejector, decided=False) == []
    assert advice(counts, rejector.with_target(threshold=0.0), decided=True) == []
    assert advice(counts, object(), decided=True) == []
