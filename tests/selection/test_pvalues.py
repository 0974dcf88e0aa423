"""p-values: against scipy, against their formulas written out, and uniform enough under the null."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from facereject.selection.pvalues import (
    betting_p_values,
    binomial_p_value,
    hedged_betting_p_values,
    hoeffding_bentkus_p_value,
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
    assert betting_p_values(rng.permutation(x), risk)[-1] == pytest.approx(betting_p_values(x, risk)[-1])


@pytest.mark.parametrize("randomised", [False, True])
def test_hedged_betting_written_out(rng, randomised):
    """A random order, and in it the bets of a digital option that pays 1 when the capital has reached it."""
    x, risk = np.r_[0.05 * rng.random(300), 0.9, 0.05 * rng.random(100)], 0.2
    levels = np.repeat([0.05, 0.03], [100, 301])
    generator = np.random.default_rng(3)
    order, uniform = generator.permutation(401), generator.random()
    p = hedged_betting_p_values(x, risk, levels, 3, randomised=randomised)
    for k in (1, 5, 20, 60, 300, 401):
        path, seen = [levels[k - 1]], [0.5 * risk * (1 - risk)] * 50
        for i in order[order < k]:
            left = k - (len(seen) - 50)
            at = path[-1] / 1.03
            bet = stats.norm.pdf(stats.norm.ppf(at)) / path[-1] / np.sqrt(np.mean(seen) * left)
            path.append(path[-1] * (1 + min(bet, 0.999 / (1 - risk)) * (risk - x[i])))
            seen.append((x[i] - risk) ** 2)
            if path[-1] >= 1:
                break
        expected = uniform * levels[k - 1] / path[-1] if randomised else levels[k - 1] / max(path)
        assert p[k - 1] == pytest.approx(min(expected, 1.0))


def test_the_capital_of_hedged_bets_is_no_larger_in_the_mean_than_at_the_start(rng):
    """Whatever the distribution with that mean; two values, of which one is far away, are the hardest."""
    for high in (0.2, 0.6, 1.0):
        x = high * (rng.random((4000, 60)) < 0.15 / high)
        rejected = np.mean([hedged_betting_p_values(row, 0.15, 0.1, 0)[-1] <= 0.1 for row in x])
        assert rejected <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / 4000)


def test_betting_profits_from_a_small_variance(rng):
    x = 0.1 + 0.02 * rng.random(100)
    assert betting_p_values(x, 0.2)[-1] < 1e-2 * hoeffding_bentkus_p_value(x.mean(), 100, 0.2)


@pytest.mark.parametrize("n", [5, 60, 400])
def test_expected_capital_is_at_most_one_under_the_null(n):
    """Exactly, for the distribution that has all its mass on 0 and 1: a sum over the number of ones."""
    risk = 0.1
    ones = np.arange(n + 1)
    capital = [1 / betting_p_values(np.repeat([0.0, 1.0], [n - k, k]), risk)[-1] for k in ones]
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


def test_hedged_bets_on_losses_that_ruin_them_do_not_overflow():
    # the capital falls below the smallest number whose inverse is finite
    p = hedged_betting_p_values(np.ones(2000), 0.05, 0.05, 0)
    assert np.all(p == 1.0)
