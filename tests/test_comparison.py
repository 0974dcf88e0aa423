"""Ranks, tests and improvements against SciPy, brute force and the paper's printed tables."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from facereject.comparison import (
    average_ranks,
    critical_difference,
    friedman,
    nemenyi,
    relative_improvement,
    summarize_splits,
)

PAPER = json.loads((Path(__file__).parent / "fixtures" / "paper_tables.json").read_text(encoding="utf-8"))

# Recomputed from the printed AuRC. The paper's own SVOR ranks (1.27, 1.73) break the tie on CPU.
EXPECTED = {
    "LR": {
        "ranks": [2.73, 1.36, 3.55, 2.36],
        "p": 0.00103,
        "cd": 1.261,
        "groups": {("SELE", "TCP"), ("TCP", "MCP", "REG")},
    },
    "SVM": {"ranks": [2.82, 1.09, 2.09], "p": 0.00026, "cd": 0.875, "groups": {("REG", "Margin")}},
    "SVOR": {"ranks": [3.00, 1.32, 1.68], "p": 0.00015, "cd": 0.875, "groups": {("SELE", "REG")}},
}


def paper_values(predictor: str) -> np.ndarray:
    return np.array([row["aurc_mean"] for row in PAPER[predictor]["datasets"]])


@pytest.mark.parametrize("predictor", EXPECTED)
def test_paper_tables(predictor):
    values, methods, expected = paper_values(predictor), PAPER[predictor]["methods"], EXPECTED[predictor]
    result = friedman(values)
    np.testing.assert_allclose(result.average_ranks, expected["ranks"], atol=0.005)
    assert result.p_value == pytest.approx(expected["p"], abs=5e-6)
    posthoc = nemenyi(result.average_ranks, len(values), alpha=0.10)
    assert posthoc.critical_difference == pytest.approx(expected["cd"], abs=5e-4)
    assert {tuple(methods[k] for k in group) for group in posthoc.groups} == expected["groups"]


def test_paper_fixture_is_complete():
    for table in PAPER.values():
        assert len(table["datasets"]) == 11
        for row in table["datasets"]:
            assert len(row["aurc_mean"]) == len(row["aurc_std"]) == len(table["methods"])
            # a score better than none: its AuRC is below the risk of the predictor without rejection
            assert row["aurc_mean"][table["methods"].index("SELE")] < row["r100_mean"]
    for predictor in ("LR", "SVM"):
        np.testing.assert_allclose(
            average_ranks(paper_values(predictor)), PAPER[predictor]["printed_average_ranks"], atol=0.005
        )


def test_ranks_share_ties():
    np.testing.assert_array_equal(average_ranks([[3, 1, 1], [5, 5, 5]]), [2.5, 1.75, 1.75])


@pytest.mark.parametrize("n_levels", [3, 1000], ids=["many ties", "few ties"])
@pytest.mark.parametrize("n_methods", [3, 4, 9])
def test_friedman_equals_scipy(rng, n_methods, n_levels):
    values = rng.integers(n_levels, size=(13, n_methods))
    ours, scipys = friedman(values), stats.friedmanchisquare(*values.T)
    assert ours.statistic == pytest.approx(scipys.statistic)
    assert ours.p_value == pytest.approx(scipys.pvalue)
    np.testing.assert_allclose(ours.average_ranks, stats.rankdata(values, axis=1).mean(axis=0))


def test_friedman_of_two_methods_is_a_sign_test(rng):
    # With K = 2, chi2 = (wins - losses)^2 / N.
    values = rng.normal(size=(20, 2))
    wins = int((values[:, 0] < values[:, 1]).sum())
    assert friedman(values).statistic == pytest.approx((wins - (20 - wins)) ** 2 / 20)


def test_friedman_without_any_difference():
    assert friedman(np.ones((5, 3)))[:2] == (0.0, 1.0)


def test_friedman_false_alarm_rate(rng):
    rejected = np.mean([friedman(rng.normal(size=(20, 4))).p_value < 0.1 for _ in range(400)])
    assert 0.05 < rejected < 0.15


@pytest.mark.parametrize(
    ("n_methods", "alpha", "quantile"),
    # Demšar 2006, table 5(a)
    [
        (2, 0.05, 1.960),
        (3, 0.05, 2.343),
        (10, 0.05, 3.164),
        (2, 0.10, 1.645),
        (3, 0.10, 2.052),
        (4, 0.10, 2.291),
    ],
)
def test_critical_difference_uses_the_published_quantiles(n_methods, alpha, quantile):
    expected = quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * 14))
    assert critical_difference(n_methods, 14, alpha=alpha) == pytest.approx(expected, rel=5e-4)


def test_groups_equal_brute_force(rng):
    for _ in range(50):
        n_methods, n_datasets = int(rng.integers(2, 8)), int(rng.integers(3, 40))
        ranks = average_ranks(rng.integers(6, size=(n_datasets, n_methods)) + np.arange(n_methods))
        result = nemenyi(ranks, n_datasets)
        alike = [
            set(subset)
            for size in range(2, n_methods + 1)
            for subset in combinations(range(n_methods), size)
            if np.ptp(ranks[list(subset)]) < result.critical_difference
        ]
        maximal = [group for group in alike if not any(group < other for other in alike)]
        assert sorted(map(sorted, result.groups)) == sorted(map(sorted, maximal))
        for group in result.groups:
            assert (np.diff(ranks[list(group)]) >= 0).all()


def test_nemenyi_accepts_ranks_as_printed():
    assert nemenyi([2.73, 1.36, 3.55, 2.36], 11).groups == ((1, 3), (3, 0, 2))


def test_relative_improvement_is_paired_per_split():
    baseline, method = (
        np.array([[1.0, 2.0, 4.0], [5.0, 5.0, 5.0]]),
        np.array([[0.5, 1.5, 4.0], [6.0, 5.0, 4.0]]),
    )
    result = relative_improvement(baseline, method)
    np.testing.assert_allclose(result.per_split, [[50, 25, 0], [-20, 0, 20]])
    np.testing.assert_allclose(result.mean, [25, 0], atol=1e-12)
    np.testing.assert_allclose(result.std, [25, 20])


def test_summary_of_one_split_has_no_spread():
    mean, std = summarize_splits([[1.0], [2.0]])
    np.testing.assert_array_equal(mean, [1.0, 2.0])
    assert np.isnan(std).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: average_ranks([1.0, 2.0]), "values must have one row per data set"),
        (lambda: average_ranks([[1.0], [2.0]]), "values must hold at least 1 data set and 2 methods"),
        (lambda: friedman([[1.0, 2.0], [np.nan, 1.0]]), r"values\[1, 0\] is nan"),
        (lambda: friedman([["a", "b"]]), "values must hold numbers"),
        (lambda: nemenyi([0.3, 0.2, 0.5], 11), "average_ranks must lie between 1 and 3"),
        (lambda: nemenyi([1.0], 11), "average_ranks must hold at least 2"),
        (lambda: nemenyi([1.0, 2.0], 0), "n_datasets must be >= 1"),
        (lambda: nemenyi([1.0, 2.0], 2.5), "n_datasets must be an integer"),
        (lambda: nemenyi([1.0, 2.0], 5, alpha=10), "alpha must be < 1"),
        (lambda: critical_difference(1, 5), "n_methods must be >= 2"),
        (lambda: relative_improvement([1.0, 2.0], [1.0]), "shapes differ: baseline"),
        (lambda: relative_improvement([0.0, 1.0], [1.0, 1.0]), "baseline must be greater than 0"),
        (lambda: relative_improvement([1.0], [np.inf]), r"method\[0\] is inf"),
        (lambda: summarize_splits([]), "values must hold one value per split"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()
