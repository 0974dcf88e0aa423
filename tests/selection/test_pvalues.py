"""p-values: against scipy, against their formulas written out, and uniform enough under the null."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from facereject.selection.pvalues import (
    betting_p_value,
    betting_p_values,
    binomial_p_value,
    hoeffding_bentkus_p_value,
    randomised_betting_p_values,
)


def test_binomial_is_the_exact_test():
    for errors, n, risk in itertools.product([0, 1, 7, 20], [20, 31], [0.01, 0.3, 0.9]):
        expected = stats.binomtest(errors, n, risk, alternative="less").pvalue
        assert binomial_p_value(errors, n, risk) == pytest.approx(expected, rel=1e-10)


def test_binomial_inverts_clopper_pearson():
    upper = stats.binomtest(12, 200, alternative="less").proportion_ci(0.95, method="exact").high
    assert binomial_p_value(12, 200, upper) == pytest.approx(0.05)


def test_binomial_without_examples_says_nothing():
    assert binomial_p_value(0, 0, 0.1) == 1


def test_hoeffding_bentkus_written_out():
    mean, n, risk = 0.031, 250, 0.08
    kl = mean * np.log(mean / risk) + (1 - mean) * np.log((1 - mean) / (1 - risk))
    expected = min(np.exp(-n * kl), np.e * stats.binom.cdf(8, n, risk))
    assert hoeffding_bentkus_p_value(mean, n, risk) == pytest.approx(expected)
    assert hoeffding_bentkus_p_value(0.0, 10, 0.2) == pytest.approx(0.8**10)
    assert hoeffding_bentkus_p_value([0.2, 0.9, 1.0], 10, 0.2) == pytest.approx(1.0)


def test_betting_written_out(rng):
    x, risk, level = 0.38 * rng.random(1000), 0.2, 0.05
    for k in (1, 10, 50, 400, 1000):
        bets = [0.95 / 0.8]
        while bets[-1] / 2**0.5 >= np.sqrt(2 * np.log(1 / level) / (k * risk * (1 - risk))):
            bets.append(bets[-1] / 2**0.5)
        capital = np.mean([np.prod(1 + bet * (risk - x[:k])) for bet in bets])
        assert betting_p_values(x, risk, level)[k - 1] == pytest.approx(
            min(1 / capital, 1.0), rel=1e-9, abs=0
        )
    assert len(bets) > 4
    assert betting_p_value(x, risk) == betting_p_values(x, risk)[-1]
    assert betting_p_value(rng.permutation(x), risk) == pytest.approx(betting_p_value(x, risk))


def test_randomised_betting_written_out(rng):
    """A random number, then a random order in which betting stops at 1 / level."""
    x, risk, level = np.r_[0.05 * rng.random(300), 0.9, 0.05 * rng.random(100)], 0.2, 0.05
    generator = np.random.default_rng(3)
    uniform, order = generator.random(), generator.permutation(401)
    p = randomised_betting_p_values(x, risk, level, 3)
    for k in (1, 5, 20, 60, 300, 401):
        bets = [0.95 / 0.8]
        while bets[-1] / 2**0.5 >= np.sqrt(2 * np.log(1 / level) / (k * risk * (1 - risk))):
            bets.append(bets[-1] / 2**0.5)
        capital, path = np.ones(len(bets)), [1.0]
        for i in order[order < k]:
            capital *= 1 + np.array(bets) * (risk - x[i])
            path.append(capital.mean())
            if path[-1] >= 1 / level:
                break
        assert p[k - 1] == pytest.approx(min(uniform / min(path[-1], 1 / level), 1.0))


def test_a_large_sample_is_randomised_without_an_order(rng):
    x = 0.3 * rng.random(3000)
    uniform = np.random.default_rng(3).random()
    plain, p = betting_p_values(x, 0.16, 0.05), randomised_betting_p_values(x, 0.16, 0.05, 3)
    np.testing.assert_allclose(p[plain < 1], uniform * plain[plain < 1])


def test_betting_profits_from_a_small_variance(rng):
    x = 0.1 + 0.02 * rng.random(100)
    assert betting_p_value(x, 0.2) < 1e-2 * hoeffding_bentkus_p_value(x.mean(), 100, 0.2)


@pytest.mark.parametrize("n", [5, 60, 400])
def test_expected_capital_is_at_most_one_under_the_null(n):
    """Exactly, for the distribution that has all its mass on 0 and 1: a sum over the number of ones."""
    risk = 0.1
    ones = np.arange(n + 1)
    capital = [1 / betting_p_value(np.repeat([0.0, 1.0], [n - k, k]), risk) for k in ones]
    # The p-value is cut at 1, i.e. the capital is cut from below: the tail is what matters.
    tail = [(1 / c, stats.binom.pmf(ones, n, risk)[np.array(capital) >= c].sum()) for c in capital]
    assert all(probability <= p_value + 1e-12 for p_value, probability in tail)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: binomial_p_value(3, 2, 0.1), "n_errors"),
        (lambda: binomial_p_value(1, 2, 0.0), "risk"),
        (lambda: binomial_p_value(1, 2, 1.0), "risk"),
        (lambda: hoeffding_bentkus_p_value(1.5, 2, 0.1), "mean_loss"),
        (lambda: hoeffding_bentkus_p_value(0.5, 2, -0.1), "risk"),
        (lambda: betting_p_values([0.5, 1.5], 0.1), "losses"),
        (lambda: betting_p_values([], 0.1), "losses"),
        (lambda: betting_p_values([0.5], 0.1, level=0.0), "level"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(ValueError, match=name):
        call()
