"""Expected errors never decrease with uncertainty and match held-out means; targets are met on the sample."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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


def test_intervals_hold_the_errors_of_other_faces(sample, rng):
    calibration = Calibration(**sample)
    fresh = rng.normal(size=60_000)
    losses = np.exp(0.5 * fresh) * rng.gamma(4, 1, size=60_000)
    for level in (0.5, 0.8, 0.95):
        low, high = calibration.error_interval(fresh, level)
        below, above = losses < low, losses > high
        for part in np.array_split(np.argsort(fresh), 3):
            assert below[part].mean() == pytest.approx((1 - level) / 2, abs=0.035)
            assert above[part].mean() == pytest.approx((1 - level) / 2, abs=0.035)
    ends = calibration.error_interval(np.linspace(-5, 5, 300))
    assert all((np.diff(end) >= 0).all() for end in ends)
    assert calibration.error_interval(0.0) == calibration.error_interval(0.0, 0.8)


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_intervals_of_tiny_samples_span_them(n, rng):
    losses = rng.uniform(1, 5, size=n)
    low, high = Calibration(losses, np.zeros(n)).error_interval(0.0)
    assert losses.min() - 1e-9 <= low <= high <= losses.max() + 1e-9
    if n < 9:
        assert (low, high) == pytest.approx((losses.min(), losses.max()))


@pytest.mark.parametrize("level", [0.0, 1.0, -1, np.nan])
def test_levels_of_intervals_lie_between_0_and_1(sample, level):
    with pytest.raises(ValueError, match="level"):
        Calibration(**sample).error_interval(0.0, level)


def test_a_bound_on_the_error_accepts_faces_by_the_upper_end(sample):
    calibration = Calibration(**sample)
    selector = calibration.select(Target("max_error_bound", 8.0))
    _, high = calibration.error_interval(calibration.uncertainty)
    np.testing.assert_array_equal(calibration.uncertainty <= selector.threshold_, high <= 8.0)
    accepted = high <= 8.0
    assert selector.coverage_ == pytest.approx(accepted.mean())
    assert selector.selective_risk_ == pytest.approx(calibration.losses[accepted].mean())
    assert calibration.select(Target("max_error_bound", 1e3)).threshold_ == np.inf
    assert calibration.select(Target("max_error_bound", 1e-3)).coverage_ == 0


@settings(max_examples=60, deadline=None)
@given(
    losses=st.lists(st.floats(0, 50), min_size=2, max_size=60),
    most=st.floats(-1, 60),
    seed=st.integers(0, 99),
)
def test_exactly_the_faces_up_to_an_expected_error_are_accepted(losses, most, seed):
    rng = np.random.default_rng(seed)
    uncertainty = np.sort(rng.normal(size=len(losses)).round(1))
    calibration = Calibration(losses=losses, uncertainty=uncertainty)
    threshold = calibration.select(Target("max_expected_error", most)).threshold_
    probes = np.unique(np.concatenate([uncertainty, calibration.knots, np.linspace(-4, 4, 50)]))
    accepted = probes <= threshold
    wanted = calibration.expected_error(probes) <= most
    differ = accepted != wanted
    # only within rounding of the threshold itself
    assert not differ.any() or np.abs(calibration.expected_error(probes[differ]) - most).max() < 1e-9
    assert not (accepted & ~wanted).any()
