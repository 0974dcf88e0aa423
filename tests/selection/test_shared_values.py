"""Risk guarantees where new examples can share a value of the uncertainty: atoms, ties, discrete scores.

A certificate is wrong if the true risk of its threshold is above the bound; that may happen in a share delta
of the calibration samples. ``tools/bench/shared_values.py`` runs many more cases.
"""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from guarantee_problems import Mixture, Piece, allowed, bad_atom, levels, step

from facereject.selection import (
    NoValidThresholdError,
    guaranteed_coverage,
    guaranteed_risk,
    guaranteed_risk_per_group,
    suggest_start,
)

pytestmark = pytest.mark.slow

DRAWS = 4000
METHODS = ["binomial", "betting", "hoeffding-bentkus"]


def failures(mixture, n, bound, delta, seed=0, weight=None, **options):
    """Share of the samples that certify a threshold whose true risk is above the bound."""
    rng = np.random.default_rng(seed)
    found = np.full(DRAWS, -np.inf)
    for i in range(DRAWS):
        losses, u = mixture.draw(rng, n)
        if weight is not None:
            options["weights"] = weight(u)
        try:
            found[i] = guaranteed_risk(losses, u, bound, delta, **options).threshold_
        except NoValidThresholdError:
            continue
    weights = None if weight is None else weight(mixture.low)
    return float(np.mean(mixture.risk(found, weights) > bound * (1 + 1e-9)))


@pytest.mark.parametrize("loss", ["0/1", "real"])
@pytest.mark.parametrize("pieces", [levels(3, lambda u: np.full_like(u, 0.1001)), step(0.04, 0.9, 0.05, 0.1)])
def test_randomised_tests(pieces, loss):
    """Their level is exactly delta; the sample may have few different values."""
    rng = np.random.default_rng(4)
    mixture = Mixture(pieces, loss)
    found = np.full(DRAWS, -np.inf)
    for i in range(DRAWS):
        losses, u = mixture.draw(rng, 40)
        with contextlib.suppress(NoValidThresholdError):
            found[i] = guaranteed_risk(losses, u, 0.1, 0.1, random_state=i).threshold_
    assert np.mean(mixture.risk(found) > 0.1) <= allowed(DRAWS, 0.1)


def check(mixture, n, bound=0.1, delta=0.1, **options):
    assert failures(mixture, n, bound, delta, **options) <= allowed(DRAWS, delta)


@pytest.mark.parametrize("size", [0.0505, 0.055, 0.065])
def test_a_wrong_atom_is_not_accepted_untested(size):
    """With s_(k+1) certified, 14.5 % of these certificates were wrong for an atom of 0.0505."""
    check(Mixture(bad_atom(size)), 67, 0.05, 0.05)


@pytest.mark.parametrize(
    ("n", "options"),
    [
        (70, {"method": "hoeffding-bentkus"}),
        (64, {"method": "betting", "start": 0.49}),
        (70, {"method": "betting", "start": 0.49}),
        (67, {"start": 0.49, "start_share": 0.9}),
    ],
    ids=str,
)
def test_a_wrong_atom_behind_other_tests_and_starts(n, options):
    check(Mixture(bad_atom(0.0505)), n, 0.05, 0.05, **options)


def test_a_wrong_atom_behind_a_suggested_start():
    mixture = Mixture(bad_atom(0.0505))
    rng = np.random.default_rng(1)
    starts = [suggest_start(*mixture.draw(rng, 300), max_risk=0.05, n=67) for _ in range(4)]
    wrong = np.zeros(DRAWS)
    for i in range(DRAWS):
        losses, u = mixture.draw(rng, 67)
        try:
            threshold = guaranteed_risk(losses, u, 0.05, start=starts[i % 4]).threshold_
        except NoValidThresholdError:
            continue
        wrong[i] = threshold >= 0.6
    assert wrong.mean() <= allowed(DRAWS, 0.05)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("first", "last"), [(1.0, 0.0), (0.0, 1.0), (1.0, 0.1), (0.0, 0.1)])
def test_atoms_of_high_and_low_risk(first, last, method):
    check(Mixture(step(2 / 50, first, last, 0.1)), 50, method=method)


@pytest.mark.parametrize("method", ["betting", "hoeffding-bentkus"])
def test_atoms_and_real_losses(method):
    check(Mixture(step(3 / 60, 0.9, 0.02, 0.1), loss="real"), 60, method=method)


@pytest.mark.parametrize(("number", "n"), [(2, 20), (2, 100), (5, 67), (20, 60), (100, 60), (1000, 30)])
def test_discrete_uncertainties(number, n):
    # at the bound everywhere, so that every certificate is wrong
    check(Mixture(levels(number, lambda u: np.full_like(u, 0.10001))), n)
    # good and bad by turns
    check(Mixture(levels(number, lambda u: 0.101 + 0.09 * np.where(np.arange(len(u)) % 2, -1, 1))), n)


@pytest.mark.parametrize("method", METHODS)
def test_continuous_uncertainties(method):
    check(Mixture([Piece(1, 0, 1, 0.10001)]), 60, method=method)
    check(Mixture([Piece(0.3, 0, 0.3, 0.0999), Piece(0.7, 0.3, 1, 0.1003)]), 30, method=method)


@pytest.mark.parametrize("n", [20, 500])
def test_samples_of_other_sizes(n):
    check(Mixture(step(2 / n, 1.0, 0.05, 0.1)), n)


def test_atoms_in_one_group():
    n, delta, bound = 120, 0.1, 0.1
    group_of = {"a": Mixture(step(2 / n, 1.0, 0.0, bound)), "b": Mixture([Piece(1, 0, 1, 0.02)])}
    rng = np.random.default_rng(2)
    common, own = np.full(DRAWS, -np.inf), np.full(DRAWS, -np.inf)
    for i in range(DRAWS):
        parts = [mixture.draw(rng, n // 2) for mixture in group_of.values()]
        losses, u = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        names = np.repeat(list(group_of), n // 2)
        with contextlib.suppress(NoValidThresholdError):
            common[i] = guaranteed_risk(losses, u, bound, delta, groups=names).threshold_
        with contextlib.suppress(NoValidThresholdError):
            own[i] = guaranteed_risk_per_group(losses, u, names, bound, delta).thresholds_["a"]
    for thresholds in (common, own):
        assert np.mean(group_of["a"].risk(thresholds) > bound) <= allowed(DRAWS, delta)


@pytest.mark.parametrize("bound", [2.0, None])
def test_weights_and_atoms(bound):
    """New examples have atoms twice as often as calibration examples, the others half as often."""
    mixture = Mixture([Piece(0.8, 0, 0.5, 0.05), Piece(0.04, 0.6, 0.6, 0.6), Piece(0.16, 0.7, 0.7, 0.1)])
    check(mixture, 100, weight=lambda u: np.where(u > 0.5, 2.0, 0.5), weight_bound=bound)


@pytest.mark.parametrize("number", [2, 10, 100])
def test_coverage_of_discrete_uncertainties(number):
    rng = np.random.default_rng(3)
    n, delta, share = 60, 0.1, 0.501
    thresholds = np.array(
        [guaranteed_coverage(rng.integers(number, size=n), share, delta).threshold_ for _ in range(DRAWS)]
    )
    assert np.mean((thresholds + 1) / number < share) <= allowed(DRAWS, delta)
