"""A run that found few faces, or accepted almost none or all of them, says what to try."""

from __future__ import annotations

import pytest

from facereject._cli._run import advice
from facereject.faces import FaceRejector
from facereject.outputs.summary import Counts, Summary


@pytest.fixture(scope="module")
def rejector():
    return FaceRejector.pretrained("dlib")


def run(turned=0, **counts):
    return Summary(total=Counts(**counts), turned=turned)


FEW = {"frames": 100, "faces": 100, "accepted_faces": 3}
ALL = {"frames": 100, "faces": 100, "accepted_faces": 100}
NO_FACES = {"frames": 100, "no_face": 60, "faces": 40, "accepted_faces": 20}

# values that accept some of the calibration faces
TARGETS = {
    "max_error": 2.5,
    "coverage": 0.4,
    "cost": 3.0,
    "threshold": 0.0,
    "max_expected_error": 3.0,
    "max_error_bound": 3.5,
}


@pytest.mark.parametrize(("kind", "value"), TARGETS.items())
def test_it_names_the_target_that_was_used(rejector, kind, value):
    chosen = rejector.with_target(**{kind: value})
    flag = f"--{kind.replace('_', '-')}"
    (few,) = advice(run(**FEW), chosen)
    (most,) = advice(run(**ALL), chosen)
    assert few.startswith("Few faces")
    assert f"Try a higher {flag}, or" in few
    assert f"{value:g}" in few
    assert most.startswith("Almost all")
    assert f"A lower {flag} rejects more" in most
    others = [f"--{other.replace('_', '-')} " for other in TARGETS if other != kind]
    assert not any(other in few + most for other in others)


def test_what_half_of_the_faces_need_would_accept_half(rejector):
    for kind, low in (
        ("max_error", 2.3),
        ("cost", 2.3),
        ("max_expected_error", 2.3),
        ("max_error_bound", 3.0),
    ):
        (few,) = advice(run(**FEW), rejector.with_target(**{kind: low}))
        value = float(few.split("half of them with ")[1].split(" %")[0].split()[-1])
        assert rejector.with_target(**{kind: value}).selector.coverage_ == pytest.approx(0.5, abs=0.05)


def test_faces_less_certain_than_the_calibration_faces(rejector):
    (few,) = advice(run(**FEW), rejector.with_target(coverage=0.8))
    assert "accepts 80% of its calibration faces, but these are less certain." in few


def test_a_command_without_targets_names_one_that_has_them(rejector):
    (few,) = advice(run(**FEW), rejector, command="facereject filter")
    assert "Try a higher --max-error with facereject filter" in few


def test_as_small_or_large_a_coverage_as_was_asked_for_is_no_surprise(rejector):
    assert advice(run(**FEW), rejector.with_target(coverage=0.05)) == []
    assert advice(run(**ALL), rejector.with_target(coverage=1.0)) == []


def test_turned_faces_are_not_blamed_on_the_target(rejector):
    (few,) = advice(run(turned=90, **FEW), rejector.with_pose_limits(max_yaw=5))
    assert "90%" in few
    assert "--max-yaw" in few
    assert "--max-error" not in few
    # the best of a batch are chosen from those that are not turned
    (few,) = advice(run(turned=90, **FEW), rejector.with_pose_limits(max_yaw=5), decided=False)
    assert "--max-yaw" in few


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ("default", {}, "try --min-face 20 for small faces, or --detector both."),
        ("default", {"min_face": 15.0}, "try --detector both."),
        ("dlib", {}, "try --upsample 1 for small faces, or --detector both."),
        ("dlib", {"upsample": 1}, "try --detector both."),
    ],
)
def test_faces_that_were_not_found(model, options, words):
    chosen = FaceRejector.pretrained(model)
    chosen.detector = chosen.detector.with_options(**options)
    (sentence,) = advice(run(**NO_FACES), chosen)
    assert sentence.endswith(f"no face was found: {words}")
    assert advice(run(**NO_FACES), chosen, finds=False) == []


@pytest.mark.parametrize(
    "counts",
    [
        {"frames": 100, "faces": 100, "accepted_faces": 60},
        {"frames": 5, "faces": 5},
        {"frames": 10, "no_face": 10},
        {},
    ],
)
def test_nothing_is_said_without_need(rejector, counts):
    assert advice(run(**counts), rejector.with_target(max_error=4.0)) == []


def test_decisions_of_a_batch_and_other_rejectors_are_left_alone(rejector):
    assert advice(run(**FEW), rejector, decided=False) == []
    assert advice(run(**FEW), object()) == []
