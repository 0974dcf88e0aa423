"""Expected errors never decrease with uncertainty and match held-out means; targets are met on the sample."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from facereject.faces.models.calibration import Calibration, Target, checked_target


@pytest.fixture
def sample(rng):
    uncertainty = rng.normal(size=6000)
    return {"losses": np.exp(0.5 * uncertainty) * rng.gamma(4, 1, size=6000), "uncertainty": uncertainty}


def test_expected_error_is_monotone_and_calibrated(sample, rng):
    calibration = Calibration(**sample)
    grid = np.linspace(-5, 5, 500)
    assert (np.diff(calibration.expected_error(grid)) >= 0).all()
    fresh = rng.normal(size=200_000)
    true = 4 * np.exp(0.5 * fresh)
    for low, high in [(-1.5, -0.5), (-0.5, 0.5), (0.5, 1.5)]:
        part = (fresh > low) & (fresh < high)
        assert calibration.expected_error(fresh[part]).mean() == pytest.approx(true[part].mean(), rel=0.05)


def test_outside_the_sample_it_stays_constant(sample):
    calibration = Calibration(**sample)
    assert calibration.expected_error(-100.0) == calibration.values[0]
    assert calibration.expected_error(100.0) == calibration.values[-1]


def test_one_point_and_ties():
    assert Calibration(losses=[3.0], uncertainty=[0.5]).expected_error([0.0, 1.0]).tolist() == [3.0, 3.0]
    assert Calibration(losses=np.arange(10.0), uncertainty=np.zeros(10)).expected_error(0.0) == pytest.approx(
        4.5
    )


def test_targets(sample):
    calibration = Calibration(**sample)
    losses, uncertainty = sample["losses"], sample["uncertainty"]
    for target in [Target("max_error", 3.0), Target("coverage", 0.7), Target("cost", 5.0)]:
        selector = calibration.select(target)
        accepted = uncertainty <= selector.threshold_
        assert 0.05 < accepted.mean() < 0.99
        if target.kind == "max_error":
            assert losses[accepted].mean() == pytest.approx(3.0, abs=0.01)
        if target.kind == "coverage":
            assert accepted.mean() == pytest.approx(0.7, abs=0.001)
    # a rejection that costs 5 % pays where more than 5 % is expected
    assert calibration.expected_error(calibration.select(Target("cost", 5.0)).threshold_) == pytest.approx(
        5, abs=0.6
    )
    fixed = calibration.select(Target("threshold", 0.0))
    assert fixed.threshold_ == 0
    assert fixed.coverage_ == (uncertainty <= 0).mean()


@pytest.mark.parametrize(
    ("kind", "value"), [("risk", 1.0), ("coverage", float("nan")), ("threshold", float("inf"))]
)
def test_bad_targets(kind, value):
    with pytest.raises(ValueError, match="target"):
        Target(kind, value)


def test_targets_are_refused_before_there_are_faces():
    assert checked_target("max_error", 1e-9) == Target("max_error", 1e-9)
    for kind, value in [("coverage", 1.5), ("coverage", 0.0), ("max_error", -1.0), ("cost", -2.0)]:
        with pytest.raises(ValueError):
            checked_target(kind, value)


def test_bad_samples():
    with pytest.raises(ValueError, match="losses"):
        Calibration(losses=[1.0, -2.0], uncertainty=[1.0, 2.0])
    with pytest.raises(ValueError, match="lengths differ"):
        Calibration(losses=[1.0], uncertainty=[1.0, 2.0])


@pytest.mark.parametrize("target", [Target("max_error", 50.0), Target("cost", 1e6), Target("coverage", 1.0)])
def test_a_rule_that_accepts_the_whole_sample_accepts_everything(sample, target):
    selector = Calibration(**sample).select(target)
    assert selector.threshold_ == np.inf
    assert selector.coverage_ == 1


def test_coverage_is_at_least_the_share():
    # accepting more lowers the mean error here
    selector = Calibration(losses=[9.0, 1, 1, 1], uncertainty=[1.0, 2, 3, 4]).select(Target("coverage", 0.25))
    assert selector.coverage_ >= 0.25


@pytest.mark.parametrize("n", [1, 2, 3, 40, 150])
def test_the_curve_is_the_isotonic_regression(rng, n):
    for _ in range(30):
        uncertainty = rng.permutation(n) + rng.random(n) / 2
        losses = rng.random(n) + uncertainty * rng.choice([0, 0.01, 1])
        calibration = Calibration(losses=losses, uncertainty=uncertainty)
        peer = IsotonicRegression(out_of_bounds="clip").fit(uncertainty, losses)
        grid = np.linspace(-1, n + 1, 99)
        np.testing.assert_allclose(calibration.expected_error(grid), peer.predict(grid), rtol=1e-12)


def test_equal_uncertainties_have_one_expected_error(rng):
    uncertainty = rng.integers(0, 4, 150).astype(float)
    losses = rng.random(150)
    calibration = Calibration(losses=losses, uncertainty=uncertainty)
    peer = IsotonicRegression().fit(uncertainty, losses)
    np.testing.assert_allclose(calibration.expected_error(range(4)), peer.predict(range(4)), rtol=1e-12)
