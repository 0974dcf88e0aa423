"""A unit from few faces: right in the mean, cautious with very few, its uncertainty honest."""

from __future__ import annotations

import numpy as np
import pytest

from facereject.faces import FaceRejector
from facereject.faces.models._unit import Unit, fit_unit
from facereject.faces.models.calibration import Calibration


@pytest.fixture
def calibration(rng):
    uncertainty = rng.normal(size=3000)
    return Calibration(3 * np.exp(0.4 * uncertainty) * rng.gamma(4, 0.25, size=3000), uncertainty)


def draw(rng, n, factor, power=0.0):
    """Uncertainty and losses of faces of another kind."""
    uncertainty = rng.normal(0.5, 1, size=n)
    return uncertainty, factor * 3 * np.exp(0.4 * (1 + power) * uncertainty) * rng.gamma(4, 0.25, size=n)


@pytest.mark.parametrize(("factor", "power"), [(1.0, 0.0), (1.6, 0.0), (0.7, 0.0), (1.5, -0.4), (1.5, 0.4)])
def test_thirty_faces_give_the_right_percent_in_the_mean(calibration, rng, factor, power):
    ratios, covered = [], []
    for _ in range(60):
        u, losses = draw(rng, 30, factor, power)
        found, unit = calibration.with_unit(losses, u)
        u, losses = draw(rng, 1000, factor, power)
        ratios.append(found.expected_error(u).mean() / losses.mean())
        truth = losses.mean() / calibration.expected_error(u).mean()
        covered.append(unit.interval[0] <= truth <= unit.interval[1])
    assert 0.94 < np.mean(ratios) < 1.06
    assert np.mean(covered) > 0.8


def test_few_faces_are_taken_with_caution(calibration, rng):
    u, losses = draw(rng, 3000, 2.0)
    few, many = (calibration.with_unit(losses[:n], u[:n])[1] for n in (10, 3000))
    # log 2 = 0.69 is more than the 0.5 that is expected: with few faces it is not believed in full
    assert 1 < few.factor < many.factor * 1.2
    assert many.factor == pytest.approx(2, rel=0.05)
    assert few.standard_error > 5 * many.standard_error
    with pytest.raises(ValueError, match="at least 10 annotated faces are needed, got 9"):
        calibration.with_unit(losses[:9], u[:9])


def test_it_minimises_what_its_docstring_says(rng):
    from scipy.optimize import minimize

    expected = rng.uniform(1, 8, size=40)
    losses = 1.4 * expected**1.1 * rng.gamma(4, 0.25, size=40)
    unit = fit_unit(expected, losses, 0.5)
    x = np.log(expected) - np.log(expected).mean()

    def objective(coef, phi):
        mean = expected * np.exp(coef[0] + coef[1] * x)
        return (mean - losses * np.log(mean)).sum() / phi + coef[0] ** 2 / 0.5 + coef[1] ** 2 / 0.18

    mean = expected * unit.factor * (expected / unit.centre) ** unit.power
    phi = (10 * 0.5 * unit.factor + ((losses - mean) ** 2 / mean).sum()) / 50
    best = minimize(objective, [0.0, 0.0], args=(phi,), tol=1e-12).x
    np.testing.assert_allclose(best, [np.log(unit.factor), unit.power], atol=1e-4)
    np.testing.assert_allclose(unit(expected), mean / expected)


def test_the_correction_keeps_the_order(rng):
    expected = np.linspace(1, 10, 50)
    unit = fit_unit(expected, 12 - expected, 0.1)
    assert unit.power >= -1
    wide = np.linspace(0.1, 40, 500)
    assert (np.diff(wide * unit(wide)) >= -1e-9).all()
    assert Unit(30, 2.0, 0.5, 3.0, 1.0, 9.0, 0.1)(100) == Unit(30, 2.0, 0.5, 3.0, 1.0, 9.0, 0.1)(9)


def test_intervals_count_in_what_is_not_known_of_the_unit(calibration, rng):
    u, losses = draw(rng, 15, 1.5)
    found, _ = calibration.with_unit(losses, u)
    sure = Calibration(found.losses, found.uncertainty)
    (low, high), (least, most) = found.error_interval(0.0), sure.error_interval(0.0)
    assert low < least < most < high


def test_a_rejector_with_a_unit(tmp_path, rng):
    rejector = FaceRejector.pretrained()
    chosen = rng.choice(len(rejector.calibration.losses), size=40, replace=False)
    u, losses = rejector.calibration.uncertainty[chosen], 2 * rejector.calibration.losses[chosen]
    other = rejector.with_unit(losses, u)
    record = other.info["unit"]
    assert record["faces"] == 40
    assert record["factor_low"] < 2 < record["factor_high"]
    assert other.calibration.expected_error(u).mean() == pytest.approx(losses.mean(), rel=0.2)
    assert "unit" not in rejector.info
    other.save(tmp_path / "model.safetensors")
    again = FaceRejector.load(tmp_path / "model.safetensors")
    assert again.calibration.unit_error == pytest.approx(record["standard_error"])
    assert again.error_interval(0.0) == pytest.approx(other.error_interval(0.0))
