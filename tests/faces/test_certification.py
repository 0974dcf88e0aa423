"""A guaranteed threshold survives saving and goes with its threshold; a failure says what is possible."""

from __future__ import annotations

import numpy as np
import pytest

from facereject.faces import FaceDetector, FaceRejector
from facereject.faces.models.card import promise_of
from facereject.faces.rejector import PredictorMismatchWarning
from facereject.faces.training.certify import (
    certified,
    faces_needed,
    fewest_faces,
    independent_rows,
    smaller_bound,
    smallest_promise,
)
from facereject.selection import NoValidThresholdError


@pytest.fixture(scope="module")
def rejector():
    return FaceRejector.pretrained()


def draw(n, seed=0, level=2.0):
    """Errors that grow with the uncertainty: level percent at 0, three times as much at 1."""
    rng = np.random.default_rng(seed)
    uncertainty = rng.random(n)
    return {"losses": level * (1 + 2 * uncertainty) * rng.gamma(4, 0.25, n), "uncertainty": uncertainty}


def test_the_promise_holds_on_new_faces_and_is_kept_in_the_file(rejector, tmp_path):
    model = certified(rejector, **draw(800), max_error=3.5)
    losses, uncertainty = draw(100_000, seed=1).values()
    accepted = uncertainty <= model.selector.threshold_
    assert 0.3 < accepted.mean() < 0.8
    assert losses[accepted].mean() <= 3.5
    model.save(tmp_path / "model")
    loaded = FaceRejector.load(tmp_path / "model")
    assert loaded.selector.threshold_ == model.selector.threshold_
    promise = loaded.info["certificate"]
    sentence = promise_of(loaded)
    assert sentence.startswith("With probability at least 0.95 over the 800 calibration faces")
    assert "min(error, 20 %)" in sentence
    assert promise["bound"] == 3.5
    assert promise["loss_bound"] == 20
    # expected errors now come from the same faces
    assert loaded.calibration.expected_error(0.5) == pytest.approx(4, rel=0.15)


def test_accepting_everything_can_be_promised_and_saved(rejector, tmp_path):
    model = certified(rejector, **draw(500), max_error=9.0)
    assert model.selector.threshold_ == np.inf
    model.save(tmp_path / "model")
    assert FaceRejector.load(tmp_path / "model").selector.threshold_ == np.inf


def test_a_promise_goes_with_its_threshold(rejector):
    model = certified(rejector, **draw(500), max_error=5.0)
    assert "certificate" in model.info
    assert "certificate" not in model.with_target(coverage=0.9).info
    assert "certificate" not in model.with_calibration(**draw(50)).info
    assert "certificate" in model.info
    assert "certificate" not in rejector.info


def test_a_promise_is_made_of_numbers_and_bound_to_its_model(rejector, tmp_path):
    model = certified(rejector, **draw(500), max_error=5.0)
    sentence = promise_of(model)
    assert "at most 5 %" in sentence
    model.info["certificate"] |= {"statement": "It never errs."}
    assert promise_of(model) == sentence
    numbers = model.info["certificate"]
    for change in ({"n": 10_000}, {"n_clipped": 7}, {"delta": 0}, {"bound": "0.1"}, {"bound_to": "x"}):
        model.info["certificate"] = numbers | change
        assert promise_of(model) is None
    model.info["certificate"] = numbers

    def other(image, box):
        return np.zeros((68, 2))

    model.save(tmp_path / "model")
    assert promise_of(FaceRejector.load(tmp_path / "model")) == sentence
    with pytest.warns(PredictorMismatchWarning):
        assert promise_of(FaceRejector.load(tmp_path / "model", predictor=other)) is None
    strict = FaceDetector(threshold=1.0)
    assert promise_of(FaceRejector.load(tmp_path / "model", detector=strict)) is None
    # the promise of one model in another
    stranger = rejector.with_target(coverage=0.5)
    stranger.info["certificate"] = numbers
    assert promise_of(stranger) is None


def test_what_could_be_promised_instead(rejector):
    few = draw(60)
    with pytest.raises(NoValidThresholdError) as caught:
        certified(rejector, **few, max_error=3.0)
    message = str(caught.value)
    assert "no threshold can guarantee a mean error of at most 3 %" in message
    assert "If the errors stay like these" in message
    possible, share = smallest_promise(
        certified(rejector, **draw(400), max_error=5.0).calibration, delta=0.05
    )
    assert 2 < possible < 4
    assert 0 < share < 1
    with pytest.raises(NoValidThresholdError, match="would not help"):
        certified(rejector, **draw(300, level=6.0), max_error=1.0)


def test_more_faces_would_do(rejector):
    calibration = certified(rejector, **draw(60), max_error=8.0).calibration
    needed = faces_needed(calibration, 3.0, delta=0.05)
    assert needed is not None
    assert (
        certified(rejector, **draw(2 * needed, seed=3), max_error=3.0).info["certificate"]["n"] == 2 * needed
    )
    assert faces_needed(calibration, 0.5, delta=0.05) is None


@pytest.mark.parametrize(("max_error", "delta"), [(5.0, 0.05), (1.0, 0.1)])
def test_fewer_faces_than_perfect_ones_would_need_say_so(rejector, max_error, delta):
    least = fewest_faces(max_error, delta)
    perfect = {"losses": np.zeros(least), "uncertainty": np.arange(least)}
    assert certified(rejector, **perfect, max_error=max_error, delta=delta)
    for n in (1, 2, 4, least - 1):
        fewer = {name: values[:n] for name, values in perfect.items()}
        # from 20 faces on, they tell themselves how many of their kind it takes
        needed = least if n < 20 else least + max(1, 2 * n // 20) - 1
        words = f"At least {least} are needed" if n < 20 else "If the errors stay like these, about"
        with pytest.raises(NoValidThresholdError, match=words) as caught:
            certified(rejector, **fewer, max_error=max_error, delta=delta)
        told = [int(word) for word in str(caught.value).split() if word.isdecimal()]
        assert any(least <= number <= needed for number in told)


def test_a_smaller_loss_bound_takes_fewer_faces(rejector):
    calibration = certified(rejector, **draw(60), max_error=8.0).calibration
    bound, fewer = smaller_bound(calibration, 3.0, 0.05, 20.0)
    assert 6 <= bound < 20
    assert 2 * fewer <= faces_needed(calibration, 3.0, 0.05, 20.0)
    with pytest.raises(NoValidThresholdError, match=f"With a loss bound of {bound:g} %"):
        certified(rejector, **draw(60), max_error=3.0)


def test_one_face_per_photograph():
    photos = ["a", "b", "a", "c", "c", "c", "d"]
    rows = independent_rows(photos, random_state=0)
    assert sorted(photos[i] for i in rows) == ["a", "b", "c", "d"]
    assert {tuple(independent_rows(photos, seed)) for seed in range(20)} > {tuple(rows)}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_error": 25.0}, "below loss_bound = 20"),
        ({"max_error": -1.0}, "max_error"),
        ({"max_error": 5.0, "delta": 95}, "delta"),
    ],
)
def test_bad_settings(rejector, options, words):
    with pytest.raises(ValueError, match=words):
        certified(rejector, **draw(50), **options)
