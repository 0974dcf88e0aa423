"""A start fixed in advance: the promise is kept, more is certified, and training examples tell where."""

from __future__ import annotations

import numpy as np
import pytest
from guarantee_problems import DELTA, MAX_RISK, allowed, quadratic, thresholds

from facereject.selection import guaranteed_risk, suggest_start

DRAWS = 600
ORACLE = 0.5**0.5  # 0.1 t^2 = 0.05


def certify(n, **options):
    def once(rng):
        losses, u = quadratic(rng, n)
        return guaranteed_risk(losses=losses, uncertainty=u, max_risk=MAX_RISK, **options)

    return once


@pytest.mark.parametrize("options", [{"start": 0.3}, {"start": 0.6}, {"start": 0.6, "start_share": 0.5}, {}])
def test_risk_is_kept(options):
    found = thresholds(certify(400, delta=DELTA, **options), DRAWS, seed=1)
    assert np.mean(found > ORACLE) <= allowed(DRAWS)


@pytest.mark.parametrize(("n", "coverage"), [(200, 0.13), (500, 0.43), (2000, 0.60)])
def test_little_data_certifies_much_of_what_can_be(n, coverage):
    found = thresholds(certify(n, start=0.35), 300, seed=2)
    assert np.maximum(found, 0).mean() > coverage


def test_without_a_start_500_examples_certify_more_than_a_fixed_sequence_of_quantiles():
    found = thresholds(certify(500), 300, seed=3)
    assert np.maximum(found, 0).mean() > 0.36


def test_a_suggested_start_depends_on_the_size_to_come_and_helps(rng):
    losses, u = quadratic(rng, 1000)
    start = suggest_start(losses=losses, uncertainty=u, max_risk=MAX_RISK, n=200)
    assert start is not None
    assert 0.25 < start < 0.6
    with_start = np.maximum(thresholds(certify(200, start=start), 300, seed=4), 0).mean()
    without = np.maximum(thresholds(certify(200), 300, seed=4), 0).mean()
    assert with_start > without
    assert suggest_start(losses=losses, uncertainty=u, max_risk=MAX_RISK, n=200) == start


def test_no_start_is_suggested_where_none_can_help(rng):
    u = rng.random(300)
    assert suggest_start(losses=np.ones(300), uncertainty=u, max_risk=MAX_RISK, n=100) is None
    assert suggest_start(losses=[0.0], uncertainty=[3.0], max_risk=MAX_RISK, n=5) is None


@pytest.mark.parametrize(("change", "name"), [({"n": 0}, "n must"), ({"start_share": 2.0}, "start_share")])
def test_bad_arguments_are_named(change, name):
    arguments = {"losses": [0.0, 1.0], "uncertainty": [0.0, 1.0], "max_risk": 0.1, "n": 5}
    with pytest.raises(ValueError, match=name):
        suggest_start(**(arguments | change))
