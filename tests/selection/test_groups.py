"""Guarantees for every group at once: kept in all of them, one threshold or one per group, a table."""

from __future__ import annotations

import math

import numpy as np
import pandas
import pytest
from guarantee_problems import DELTA, MAX_RISK, allowed

from facereject.selection import NoValidThresholdError, guaranteed_risk, guaranteed_risk_per_group

LEVELS = {"easy": 0.1, "hard": 0.6, "middle": 0.3}  # R(t) = level * t^2 / 3
DRAWS = 250


def draw(rng, n):
    names = np.array(sorted(LEVELS))[rng.choice(3, n, p=[0.5, 0.2, 0.3])]
    u = rng.random(n)
    level = np.array([LEVELS[name] for name in names])
    return {"losses": (rng.random(n) < level * u**2).astype(float), "uncertainty": u, "groups": names}


def worst_risk(thresholds):
    return max(LEVELS[name] * min(max(t, 0.0), 1.0) ** 2 / 3 for name, t in thresholds.items())


@pytest.mark.parametrize("options", [{}, {"start": 0.3}, {"start": 0.3, "start_share": 0.7}], ids=str)
def test_a_common_threshold_keeps_the_risk_in_every_group(options):
    rng = np.random.default_rng(1)
    risks, coverages = [], []
    for _ in range(DRAWS):
        try:
            selector = guaranteed_risk(**draw(rng, 4000), max_risk=MAX_RISK, delta=DELTA, **options)
        except NoValidThresholdError:
            continue
        risks.append(worst_risk(dict.fromkeys(LEVELS, selector.threshold_)))
        coverages.append(min(selector.threshold_, 1.0))
    assert np.sum(np.array(risks) > MAX_RISK) <= allowed(DRAWS) * DRAWS
    # the oracle is 0.5: 0.6 * 0.25 / 3 = 0.05
    assert np.sum(coverages) / DRAWS > 0.28


def test_thresholds_of_their_own_keep_the_risk_and_accept_more():
    rng = np.random.default_rng(2)
    failed, own, common = 0, [], []
    for _ in range(DRAWS):
        sample = draw(rng, 2000)
        selector = guaranteed_risk_per_group(**sample, max_risk=MAX_RISK, delta=DELTA)
        failed += worst_risk(selector.thresholds_) > MAX_RISK
        own.append(selector.coverage_)
        try:
            common.append(guaranteed_risk(**sample, max_risk=MAX_RISK, delta=DELTA).coverage_)
        except NoValidThresholdError:
            common.append(0.0)
    assert failed <= allowed(DRAWS) * DRAWS
    assert np.mean(own) > np.mean(common) + 0.1


def test_without_groups_the_hard_one_is_not_safe(rng):
    """The reason for groups: a threshold for everybody together exceeds the bound in the hard group."""
    sample = draw(rng, 50_000)
    groups = sample.pop("groups")
    threshold = guaranteed_risk(**sample, max_risk=MAX_RISK).threshold_
    accepted = (groups == "hard") & (sample["uncertainty"] <= threshold)
    assert sample["losses"][accepted].mean() > 1.5 * MAX_RISK


def test_numbers_and_table_of_the_groups(rng):
    sample = draw(rng, 4000)
    selector = guaranteed_risk(**sample, max_risk=MAX_RISK, delta=0.1)
    guarantee = selector.guarantee_
    assert [row.name for row in guarantee.groups] == ["easy", "hard", "middle"]
    assert guarantee.group_delta == 0.1
    for row in guarantee.groups:
        mine = sample["groups"] == row.name
        accepted = mine & (sample["uncertainty"] <= selector.threshold_)
        assert (row.n, row.n_accepted) == (mine.sum(), accepted.sum())
        assert row.coverage == pytest.approx(accepted.sum() / mine.sum())
        assert row.selective_risk == pytest.approx(sample["losses"][accepted].mean())
    assert "in each of the 3 groups" in guarantee.statement
    lines = guarantee.table.splitlines()
    assert len(lines) == 4
    assert lines[2].split()[:3] == ["hard", str(guarantee.groups[1].n), str(guarantee.groups[1].n_accepted)]
    own = guaranteed_risk_per_group(**sample, max_risk=MAX_RISK, delta=0.1)
    assert own.guarantee_.group_delta == pytest.approx(0.1 / 3)


def test_one_group_is_no_group(rng):
    sample = draw(rng, 1000)
    del sample["groups"]
    one = guaranteed_risk(**sample, max_risk=MAX_RISK, groups=np.zeros(1000, int))
    assert one.threshold_ == guaranteed_risk(**sample, max_risk=MAX_RISK).threshold_


def test_of_many_groups_some_are_named():
    with pytest.raises(NoValidThresholdError, match=r"none in: 0, .* and 90 more\)"):
        guaranteed_risk_per_group([0.0] * 100, [0.5] * 100, np.arange(100), max_risk=MAX_RISK)


def test_a_group_that_stands_in_the_way_is_named(rng):
    sample = draw(rng, 3000)
    sample["losses"][sample["groups"] == "hard"] = 1.0
    with pytest.raises(NoValidThresholdError, match=r"none in: hard\)"):
        guaranteed_risk(**sample, max_risk=MAX_RISK)
    selector = guaranteed_risk_per_group(**sample, max_risk=MAX_RISK)
    assert selector.thresholds_["hard"] == -math.inf
    assert math.isnan(selector.guarantee_.groups[1].selective_risk)
    accepted = selector.accept(sample["uncertainty"], sample["groups"])
    assert not accepted[sample["groups"] == "hard"].any()
    assert accepted.mean() == pytest.approx(selector.coverage_)
    assert sample["losses"][accepted].mean() == pytest.approx(selector.selective_risk_)
    with pytest.raises(ValueError, match="'martian', about which nothing is known"):
        selector.accept([0.1, 0.2], ["easy", "martian"])
    sample["losses"][:] = 1.0
    with pytest.raises(NoValidThresholdError, match="easy, hard, middle"):
        guaranteed_risk_per_group(**sample, max_risk=MAX_RISK)


def test_labels_of_any_kind(rng):
    sample = draw(rng, 2000)
    names = sample.pop("groups")
    expected = guaranteed_risk(**sample, max_risk=0.1, groups=names)
    for labels in (pandas.Series(names, dtype="category"), names.astype(object), names.tolist()):
        assert guaranteed_risk(**sample, max_risk=0.1, groups=labels) == expected
    numbers = guaranteed_risk(**sample, max_risk=0.1, groups=np.searchsorted(sorted(LEVELS), names))
    assert [row.name for row in numbers.guarantee_.groups] == ["0", "1", "2"]
    with_gap = pandas.Series([*names[:-1], pandas.NA], dtype=object)
    with pytest.raises(ValueError, match=r"groups\[1999\] is <NA>"):
        guaranteed_risk(**sample, max_risk=0.1, groups=with_gap)
