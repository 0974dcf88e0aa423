"""Comparison of scores: exact areas, intervals that hold what they promise, paired tests, flat memory."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import roc_auc_score

import facereject.predictions._comparison
from facereject import compare_scores
from facereject.metrics import augrc, aurc, eaurc, edc_area, risk_at_coverage
from facereject.predictions import _ranking as ranking
from facereject.predictions._ranking import RowSample, ScoreRanking, areas, draw_blocks, replicates


def sample(n, seed=0, binary=True):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.5, 1, n)
    losses = (rng.uniform(size=n) > p).astype(float) if binary else rng.exponential(1 - p)
    return losses, {"max-prob": 1 - p, "noisy": np.round(1 - p + rng.normal(0, 0.2, n), 1)}


@pytest.mark.parametrize("n", [1, 2, 17, 1000, 3000])
@pytest.mark.parametrize("binary", [True, False])
def test_areas_are_those_of_the_metrics(n, binary):
    losses, scores = sample(n, binary=binary)
    compared = compare_scores(losses, scores, n_replicates=20, max_discard=0.3)
    assert compared.n == n
    for name, uncertainty in scores.items():
        result = compared.scores[name]
        assert result.aurc.value == pytest.approx(aurc(losses, uncertainty))
        assert result.augrc.value == pytest.approx(augrc(losses, uncertainty))
        assert result.eaurc.value == pytest.approx(eaurc(losses, uncertainty), abs=1e-12)
        assert result.edc.value == pytest.approx(edc_area(losses, uncertainty, max_discard=0.3))
        for k in (0, 49, 199):
            expected = risk_at_coverage(losses, uncertainty, compared.coverage[k])
            assert result.risk[k] == pytest.approx(expected)
        for kept in result.kept:
            accepted = uncertainty <= kept.threshold
            assert kept.n == accepted.sum()
            assert kept.risk.value == pytest.approx(losses[accepted].mean())


def test_bootstrap_of_few_rows_is_that_of_single_rows():
    losses, scores = sample(60)
    rng = np.random.default_rng(1)
    (mine,) = ranking.rank_all(losses, [scores["noisy"]], rng)
    draws = draw_blocks(60, 40, rng)
    # each row is a block of its own, at a place the ranking has drawn
    order = np.argmax(np.random.default_rng(1).permutation(60)[None] == np.arange(60)[:, None], axis=1)
    got = replicates(mine, draws, np.array([0.5, 1.0]), 0.2)
    for k, counts in enumerate(draws):
        rows = np.repeat(order, counts)
        assert got.aurc[k] == pytest.approx(aurc(losses[rows], scores["noisy"][rows]))
        assert got.risks[k, 1] == pytest.approx(losses[rows].mean())


@pytest.mark.slow
def test_intervals_cover_the_truth():
    # the truth is the AuRC of many rows drawn the same way
    truth = aurc(*(lambda losses, scores: (losses, scores["max-prob"]))(*sample(2_000_000, seed=99)))
    hits = 0
    for seed in range(80):
        losses, scores = sample(2000, seed)
        found = compare_scores(losses, {"s": scores["max-prob"]}, n_replicates=100).scores["s"].aurc
        hits += found.low <= truth <= found.high
    assert binomtest(hits, 80, 0.95).pvalue > 1e-3


@pytest.mark.slow
def test_paired_tests_of_equal_scores_are_rarely_significant():
    rejected = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        losses, scores = sample(500, seed)
        twins = {k: scores["max-prob"] + rng.normal(0, 0.2, 500) for k in ("a", "b")}
        rejected += compare_scores(losses, twins, n_replicates=100).tests[0].p_value < 0.05
    assert binomtest(rejected, 80, 0.05, alternative="greater").pvalue > 1e-3


def test_a_difference_that_neither_interval_shows_is_found_in_pairs():
    losses, scores = sample(2000)
    rng = np.random.default_rng(0)
    worse = scores["max-prob"] + rng.normal(0, 0.1, 2000)
    compared = compare_scores(losses, {"good": scores["max-prob"], "worse": worse})
    good, bad = compared.scores["good"].aurc, compared.scores["worse"].aurc
    assert good.high > bad.low
    assert compared.tests[0].p_value < 0.01
    assert compared.tests[0].difference.high < 0
    assert compared.best == "good"


def test_scores_that_go_the_wrong_way_are_noticed():
    losses, scores = sample(1000)
    rng = np.random.default_rng(0)
    compared = compare_scores(
        losses, {**scores, "confidence": -scores["max-prob"], "noise": rng.normal(size=1000)}
    )
    assert {name for name, result in compared.scores.items() if result.wrong_way} == {"confidence"}
    assert roc_auc_score(losses, -scores["max-prob"]) < 0.5


@pytest.mark.parametrize("losses", [np.zeros(50), np.ones(50), np.full(50, 1e300)])
def test_equal_losses_and_constant_scores(losses):
    compared = compare_scores(losses, {"constant": np.ones(50), "ramp": np.arange(50.0)})
    assert compared.scores["constant"].constant
    assert not compared.scores["ramp"].wrong_way
    for result in compared.scores.values():
        assert result.aurc.value == pytest.approx(losses[0])
        assert result.eaurc.value == 0
    assert compared.tests[0].p_value == 1


def test_no_error_is_not_no_risk():
    losses = np.zeros(100)
    losses[-1] = 1
    kept = compare_scores(losses, {"s": np.arange(100.0)}).scores["s"].kept
    assert kept[-1].risk.value == 0
    assert kept[-1].risk.high == pytest.approx(binomtest(0, kept[-1].n).proportion_ci(0.95).high)


def test_expected_errors_are_checked_on_the_other_half():
    rng = np.random.default_rng(0)
    losses = rng.integers(0, 2, 2000).astype(float)
    # learned and checked on the same rows, any score of continuous values would look calibrated to 0 and 1
    groups = compare_scores(losses, {"noise": rng.normal(size=2000)}).scores["noise"].calibration
    assert sum(group.n for group in groups) == 2000
    assert all(0.3 < group.expected < 0.7 for group in groups)


def test_a_sample_is_uniform_and_bounded():
    rng = np.random.default_rng(0)
    sample = RowSample(rng, 1000)
    for start in range(0, 100_000, 7_000):
        sample.add(np.arange(start, min(start + 7_000, 100_000), dtype=float)[:, None])
    rows = sample.rows()[:, 0]
    assert sample.n == 100_000
    assert not sample.is_complete
    assert 250 < len(rows) <= 1000
    assert abs(rows.mean() - 50_000) < 4 * 100_000 / np.sqrt(12 * len(rows))


def test_areas_from_a_sample_of_the_values_are_close():
    rng = np.random.default_rng(0)
    losses, scores = sample(200_000)
    uncertainty = scores["max-prob"]
    mine = ScoreRanking(rng.choice(uncertainty, 20_000), ranking.BLOCKS)
    for rows in np.array_split(np.arange(200_000), 7):
        mine.add(losses[rows], uncertainty[rows], rng.integers(ranking.BLOCKS, size=len(rows)))
    found = areas(mine.groups, np.array([0.5]), 0.2)
    assert found.aurc == pytest.approx(aurc(losses, uncertainty), rel=1e-3)
    assert mine.groups.counts.sum() == 200_000


@pytest.mark.parametrize(
    ("losses", "scores", "name"),
    [
        ([], {"s": []}, "losses"),
        ([-1.0], {"s": [0.0]}, "losses"),
        ([0.0, 1.0], {"s": [0.0, np.nan]}, r"scores\['s'\]"),
        ([0.0, 1.0], {"s": [0.0]}, "lengths differ"),
        ([0.0], {}, "scores"),
        ([0.0], [0.0], "scores"),
    ],
)
def test_bad_arguments_are_named(losses, scores, name):
    with pytest.raises(ValueError, match=name):
        compare_scores(losses, scores)


def test_frames_and_plot():
    losses, scores = sample(300)
    compared = compare_scores(losses, scores)
    assert compared.frame.loc["noisy", "aurc"] == compared.scores["noisy"].aurc.value
    assert compared.frame.loc[compared.best, "p_value"] == 1
    assert compared.test_frame.shape == (1, 6)
    display = compared.plot()
    assert set(display.bands_) == set(scores)
    assert "max-prob" in repr(compared)


def test_examples():
    assert doctest.testmod(facereject.predictions._comparison).failed == 0
