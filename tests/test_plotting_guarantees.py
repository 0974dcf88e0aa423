"""Pictures of guarantees show the numbers of the library: lines, spans and labels against them."""

from __future__ import annotations

import math

import matplotlib as mpl
import numpy as np
import pytest

from facereject.plotting import GroupDisplay, GuaranteeDisplay, MonitorDisplay, ShiftDisplay
from facereject.selection import CoverageMonitor, RiskMonitor, guaranteed_risk
from facereject.selection.curves import evidence_curve, weighted_risk_curve
from facereject.selection.pvalues import betting_p_values, binomial_p_value

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture
def sample(rng):
    u = np.round(rng.random(1500), 2)
    return (rng.random(1500) < 0.3 * u**2).astype(float), u


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_evidence_at_every_threshold(sample, rng):
    losses, u = sample
    curve = evidence_curve(losses=losses, uncertainty=u, max_risk=0.05)
    np.testing.assert_array_equal(curve.threshold, np.unique(u))
    for i in (0, 30, 100):
        accepted = u <= curve.threshold[i]
        assert curve.coverage[i] == pytest.approx(accepted.mean())
        assert curve.risk[i] == pytest.approx(losses[accepted].mean())
        errors = int(losses[accepted].sum())
        assert curve.p_value[i] == pytest.approx(binomial_p_value(errors, accepted.sum(), 0.05))
    # many losses: bets that do not depend on a level
    losses, u = np.tile(losses, 2), np.tile(u, 2)
    real = evidence_curve(losses=8 * losses, uncertainty=u, max_risk=0.5, loss_bound=10.0)
    accepted = u <= real.threshold[50]
    assert real.p_value[50] == pytest.approx(betting_p_values(0.8 * losses[accepted], 0.05)[-1])
    assert real.risk[50] == pytest.approx(8 * losses[accepted].mean())


def test_the_evidence_is_that_of_the_guarantee(rng):
    u = rng.random(400)
    losses = rng.beta(0.8 * u**2 + 1e-3, 2.0)
    curve = evidence_curve(losses, u, max_risk=0.1)
    selector = guaranteed_risk(losses, u, max_risk=0.1, start=0.3)
    later = np.flatnonzero((curve.threshold > 0.3) & (curve.p_value > 0.05))
    assert later[0] > 50
    assert selector.threshold_ == curve.threshold[later[0] - 1]


def test_risk_under_weights(sample, rng):
    losses, u = sample
    w = rng.random(1500)
    curve = weighted_risk_curve(losses=losses, uncertainty=u, weights=w)
    accepted = u <= curve.threshold[40]
    assert curve.coverage[40] == pytest.approx(w[accepted].sum() / w.sum())
    assert curve.risk[40] == pytest.approx(np.average(losses[accepted], weights=w[accepted]))
    assert curve.coverage[-1] == 1
    assert math.isnan(weighted_risk_curve([1.0, 0.0], [0, 1], [0.0, 1.0]).risk[0])
    with pytest.raises(ValueError, match="positive entry"):
        weighted_risk_curve([1.0], [0.0], [0.0])


def test_a_guaranteed_threshold(sample):
    losses, u = sample
    display = GuaranteeDisplay.from_predictions(losses, u, 0.05, start=0.25)
    selector = guaranteed_risk(losses=losses, uncertainty=u, max_risk=0.05, start=0.25)
    assert display.threshold == selector.threshold_
    np.testing.assert_array_equal(display.risk_line_.get_ydata(), display.curve.risk)
    spans = [patch.get_x() + patch.get_width() for patch in display.ax_.patches]
    assert spans == [pytest.approx(selector.coverage_)]
    assert legend_of(display.ax_)[2:] == ["start", "accepted: guaranteed"]
    assert display.evidence_ax_.get_yscale() == "log"


def test_no_guaranteed_threshold(sample):
    display = GuaranteeDisplay.from_predictions(np.ones(100), np.arange(100.0), 0.05)
    assert display.threshold is None
    assert not display.ax_.patches


def test_groups(sample):
    losses, u = sample
    groups = np.where(np.arange(1500) % 3 == 0, "b", "a")
    guarantee = guaranteed_risk(losses=losses, uncertainty=u, max_risk=0.1, groups=groups).guarantee_
    display = GroupDisplay.from_guarantee(guarantee)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["a", "b"]
    np.testing.assert_allclose(
        display.ax_.lines[0].get_xdata(), [row.selective_risk for row in guarantee.groups]
    )
    bars = [bar.get_width() for bar in display.coverage_ax_.patches]
    assert bars == pytest.approx([row.coverage for row in guarantee.groups])
    texts = [text.get_text() for text in display.coverage_ax_.texts]
    assert texts[1] == f"{guarantee.groups[1].n_accepted:,} of 500"
    with pytest.raises(ValueError, match="at least one group"):
        GroupDisplay.from_guarantee(guaranteed_risk(losses=losses, uncertainty=u, max_risk=0.1).guarantee_)


def test_shift(sample):
    losses, u = sample
    display = ShiftDisplay.from_predictions(losses, u, 1.5 - u, 0.05)
    plain = guaranteed_risk(losses=losses, uncertainty=u, max_risk=0.05)
    easier = guaranteed_risk(losses=losses, uncertainty=u, max_risk=0.05, weights=1.5 - u)
    assert display.thresholds == (plain.threshold_, easier.threshold_)
    assert f"calibration data: {plain.coverage_:.0%} accepted" in legend_of(display.ax_)
    assert f"new data (weighted): {easier.coverage_:.0%} accepted" in legend_of(display.ax_)
    nothing = ShiftDisplay.from_predictions(np.ones(50), np.arange(50.0), np.ones(50), 0.05)
    assert "calibration data: none guaranteed" in legend_of(nothing.ax_)


def test_monitors(rng):
    monitor = RiskMonitor(max_risk=0.05)
    monitor.update(losses=np.r_[np.zeros(120), np.ones(30)])
    display = MonitorDisplay.from_monitor(monitor, window=50)
    mean = display.mean_line_.get_ydata()
    assert mean[119] == 0
    assert mean[-1] == pytest.approx(30 / 50)
    np.testing.assert_array_equal(display.evidence_line_.get_ydata(), monitor.evidence_path_)
    assert legend_of(display.ax_) == ["mean of the last 50", "limit", "alarm"]
    quiet = CoverageMonitor(min_coverage=0.5)
    quiet.update(accepted=[True] * 20)
    shown = MonitorDisplay.from_monitor(quiet)
    assert shown.ax_.get_ylabel() == "coverage"
    assert "alarm" not in legend_of(shown.ax_)
    with pytest.raises(ValueError, match="one length above 0"):
        MonitorDisplay.from_monitor(RiskMonitor(max_risk=0.1))


def test_axes_of_the_user():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2)
    monitor = RiskMonitor(max_risk=0.1)
    monitor.update(losses=[0.0, 1.0])
    display = MonitorDisplay.from_monitor(monitor, ax=axes)
    assert display.figure_ is figure
    assert display.evidence_ax_ is axes[1]
