"""The table of thresholds against a loop over faces; reliability groups against known errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from facereject.faces.evaluation.evidence import (
    at_coverages,
    coverage_rows,
    failure_rates,
    gap_interval,
    reliability,
)


def test_every_row_is_what_its_threshold_accepts(rng):
    losses, scores = rng.gamma(2, 4, 50), rng.normal(size=50)
    uncertainty = np.round(losses + rng.normal(size=50), 0)  # with ties
    rows = coverage_rows(losses, uncertainty, scores)
    assert [row.threshold for row in rows] == sorted(set(uncertainty.tolist()))
    for row in rows:
        accepted = uncertainty <= row.threshold
        assert row.n == accepted.sum()
        assert row.coverage == pytest.approx(accepted.mean())
        assert row.error == pytest.approx(losses[accepted].mean())
        assert row.failures == pytest.approx([(losses[accepted] > 8).mean(), (losses[accepted] > 10).mean()])
        assert row.oracle_error == pytest.approx(np.sort(losses)[: row.n].mean())
        assert row.detector_error == pytest.approx(losses[np.argsort(-scores)][: row.n].mean())
        if not accepted.all():
            assert row.rejected_error == pytest.approx(losses[~accepted].mean())
    assert math.isnan(rows[-1].rejected_error)


def test_rows_at_coverages(rng):
    rows = coverage_rows(rng.random(10), np.arange(10.0), np.zeros(10))
    assert [row.n for row in at_coverages(rows, (0.25, 0.3, 0.9, 1.0))] == [3, 9, 10]


def test_failure_rates():
    assert failure_rates([1, 8, 8.5, 9, 11]) == (0.6, 0.2)
    assert all(math.isnan(rate) for rate in failure_rates([]))


def test_reliability_finds_the_bias(rng):
    expected = rng.uniform(2, 8, 1000)
    groups = reliability(expected, 1.5 * expected + rng.normal(0, 0.1, 1000))
    assert [group.n for group in groups] == [100] * 10
    for group in groups:
        assert abs(group.observed - 1.5 * group.expected) < 0.1
        assert abs(group.observed - 1.5 * group.expected) < group.half_width
    assert len(reliability(expected[:12], expected[:12])) == 2
    assert len(reliability(expected[:1], expected[:1])) == 1


def test_gap_interval_covers_the_truth_and_narrows(rng):
    losses = rng.gamma(2, 2, 400)
    uncertainty = losses + rng.normal(size=400)
    scores = rng.normal(size=400)
    wide = gap_interval(losses[:60], scores[:60], uncertainty[:60], np.arange(60))
    narrow = gap_interval(losses, scores, uncertainty, np.arange(400))
    assert narrow[1] - narrow[0] < wide[1] - wide[0]
    perfect = gap_interval(losses, scores, losses, np.arange(400))
    assert perfect == (1.0, 1.0)
    # the same photograph many times over is one draw
    assert all(math.isnan(x) for x in gap_interval(np.ones(5), np.zeros(5), np.zeros(5), np.zeros(5)))
