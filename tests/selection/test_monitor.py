"""Monitors: evidence against a literal sum over gamblers, false alarms over all time, speed of true ones."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from facereject.selection import CoverageMonitor, RiskMonitor


def literal_evidence(x, m):
    """The mean over bets and beginnings, gambler by gambler."""
    bets = 0.95 / m * 2.0 ** -np.arange(12)

    def yet(i):
        return 1 / (1 + math.log(1 + i))

    evidence = []
    for i in range(1, len(x) + 1):
        total = yet(i)
        for j in range(1, i + 1):
            total += (yet(j - 1) - yet(j)) * np.prod(1 + np.outer(bets, x[j - 1 : i] - m), axis=1).mean()
        evidence.append(total)
    return np.array(evidence)


@pytest.mark.parametrize("m", [0.05, 0.4, 0.9])
def test_evidence_is_the_mean_over_all_gamblers(rng, m):
    x = rng.random(40)
    monitor = RiskMonitor(max_risk=m)
    monitor.update(losses=x[:1])
    monitor.update(losses=x[1:17])
    monitor.update(losses=[])
    monitor.update(losses=x[17:])
    np.testing.assert_allclose(monitor.evidence_path_, literal_evidence(x, m), rtol=1e-10)
    assert monitor.evidence_ == monitor.evidence_path_[-1]
    np.testing.assert_array_equal(monitor.values_, x)
    assert monitor.mean_ == pytest.approx(x.mean())


@pytest.mark.parametrize("kind", ["0/1", "real", "coverage"])
def test_false_alarms_are_rare_over_all_time(kind):
    delta, runs, length = 0.2, 300, 600
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(runs):
        if kind == "coverage":
            monitor = CoverageMonitor(min_coverage=0.9, delta=delta)
            monitor.update(accepted=rng.random(length) < 0.9)
        else:
            monitor = RiskMonitor(max_risk=0.1, delta=delta)
            x = (rng.random(length) < 0.1).astype(float)
            monitor.update(losses=x if kind == "0/1" else rng.beta(0.5, 4.5, length))
        alarms += monitor.alarm_
    assert alarms <= runs * (delta + 3 * math.sqrt(delta * (1 - delta) / runs))


def test_a_test_repeated_at_every_label_would_raise_many():
    """The reason for evidence: a 5 % test looked at after each label is wrong far more often."""
    rng = np.random.default_rng(2)
    x = rng.random((300, 600)) < 0.1
    n = np.arange(1, 601)
    z = (np.cumsum(x, axis=1) - 0.1 * n) / np.sqrt(0.09 * n)
    assert (z[:, 20:] > 1.645).any(axis=1).mean() > 0.2


def test_a_change_is_found_soon_although_all_was_well_before(rng):
    delays = []
    for _ in range(30):
        monitor = RiskMonitor(max_risk=0.05)
        monitor.update(losses=rng.random(500) < 0.03)
        monitor.update(losses=rng.random(1000) < 0.2)
        delays.append(monitor.alarm_at_ - 500)
    assert np.median(delays) < 150


def test_an_alarm_stays_and_is_reported(rng):
    monitor = RiskMonitor(max_risk=2.0, loss_bound=20.0)
    assert monitor.update(losses=np.full(30, 1.0)) is False
    assert "No alarm after 30 labels" in monitor.statement
    assert monitor.update(losses=np.full(60, 1e6)) is True
    at = monitor.alarm_at_
    assert 30 < at < 60
    assert monitor.evidence_path_[at - 1] >= 20 > monitor.evidence_path_[at - 2]
    assert monitor.values_.max() == 20
    monitor.update(losses=np.zeros(2000))
    assert monitor.alarm_
    assert monitor.alarm_at_ == at
    assert monitor.evidence_ < 20
    assert f"Alarm after {at} labels" in monitor.statement
    assert f"alarm at {at}" in repr(monitor)
    assert pickle.loads(pickle.dumps(monitor)).alarm_at_ == at  # noqa: S301


def test_losses_of_0_and_1_are_errors():
    monitor = RiskMonitor(max_risk=0.1)
    monitor.update(losses=[0.0, 1.0])
    assert "the error rate of accepted predictions" in monitor.statement
    monitor.update(losses=[0.5])
    assert "the mean of min(loss, 1) of accepted predictions" in monitor.statement


def test_rejected_predictions_are_left_out():
    monitor = RiskMonitor(max_risk=0.1)
    monitor.update(losses=[0.0, 1.0, 1.0, 0.5], accepted=[True, False, False, True])
    assert monitor.values_.tolist() == [0.0, 0.5]


def test_falling_coverage_raises_an_alarm(rng):
    monitor = CoverageMonitor(min_coverage=0.8)
    assert not monitor.update(accepted=rng.random(300) < 0.85)
    assert monitor.update(accepted=rng.random(2000) < 0.6)
    assert 300 < monitor.alarm_at_ < 600
    assert "less than 0.8 of the predictions are accepted" in monitor.statement


def test_a_new_monitor_knows_nothing():
    monitor = RiskMonitor(max_risk=0.1)
    assert (monitor.n_, monitor.alarm_, monitor.evidence_) == (0, False, 1.0)
    assert math.isnan(monitor.mean_)
    assert len(monitor.evidence_path_) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RiskMonitor(max_risk=0.0), "max_risk"),
        (lambda: RiskMonitor(max_risk=1.0), "max_risk"),
        (lambda: RiskMonitor(max_risk=0.1, delta=1.0), "delta"),
        (lambda: CoverageMonitor(min_coverage=1.0), "min_coverage"),
        (lambda: RiskMonitor(max_risk=0.1).update(losses=[-1.0]), "losses"),
        (lambda: RiskMonitor(max_risk=0.1).update(losses=[0.5], accepted=[True, True]), "lengths differ"),
        (lambda: CoverageMonitor(min_coverage=0.1).update(accepted=[0.5]), "True or False"),
        (lambda: CoverageMonitor(min_coverage=0.1).update(accepted=True), "one-dimensional"),
    ],
)
def test_mistakes_are_explained(call, message):
    with pytest.raises(ValueError, match=message):
        call()
