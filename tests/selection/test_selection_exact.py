"""Known discrete distributions against linear programming, and conversion between the models."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from facereject.selection import (
    BoundedCoverage,
    BoundedImprovement,
    CostBased,
    InfeasibleTargetError,
    convert,
    optimal_selection,
)


def instances(count=60):
    """Random distributions; every second one has tied risks and inputs of probability 0."""
    rng = np.random.default_rng(1)
    for i in range(count):
        m = int(rng.integers(1, 15))
        p = rng.dirichlet(np.ones(m))
        r = rng.random(m)
        if i % 2:
            r = np.round(r * 4) / 4
            p[rng.random(m) < 0.2] = 0
            p = p / p.sum() if p.sum() > 0 else np.full(m, 1 / m)
        yield p, r


def solve(cost, **constraints):
    result = linprog(cost, bounds=(0, 1), method="highs", **constraints)
    return result.fun if result.success else None


@pytest.mark.parametrize("cost", [0.0, 0.25, 0.4, 2.0])
def test_cost_based_equals_the_linear_program(cost):
    for p, r in instances():
        c = optimal_selection(CostBased(cost), p, r).accept_probability(r)
        assert p @ (c * (r - cost)) == pytest.approx(solve(p * (r - cost)), abs=1e-9)


@pytest.mark.parametrize("risk", [0.0, 0.25, 0.4, 2.0])
def test_bounded_improvement_equals_the_linear_program(risk):
    for p, r in instances():
        coverage = -solve(-p, A_ub=[p * (r - risk)], b_ub=[0.0])
        if coverage < 1e-9:
            with pytest.raises(InfeasibleTargetError):
                optimal_selection(BoundedImprovement(risk), p, r)
            continue
        selector = optimal_selection(BoundedImprovement(risk), p, r)
        c = selector.accept_probability(r)
        assert p @ c == pytest.approx(coverage, abs=1e-9)
        assert p @ (c * (r - risk)) <= 1e-9
        assert selector.coverage_ == pytest.approx(coverage, abs=1e-9)


@pytest.mark.parametrize("coverage", [0.05, 0.5, 0.9, 1.0])
def test_bounded_coverage_equals_the_linear_program(coverage):
    for p, r in instances():
        selector = optimal_selection(BoundedCoverage(coverage), p, r)
        c = selector.accept_probability(r)
        # Coverage beyond the target never lowers the risk here: the quotient is the LP's value / coverage.
        best = solve(p * r, A_eq=[p], b_eq=[coverage]) / coverage
        assert p @ c == pytest.approx(coverage, abs=1e-9)
        assert p @ (c * r) / (p @ c) == pytest.approx(best, abs=1e-9)
        assert selector.selective_risk_ == pytest.approx(best, abs=1e-9)


def test_probabilities_are_checked():
    with pytest.raises(ValueError, match="probabilities must sum to 1"):
        optimal_selection(CostBased(1.0), [0.5, 0.4], [0.0, 1.0])
    with pytest.raises(ValueError, match="probabilities must not be negative"):
        optimal_selection(CostBased(1.0), [1.5, -0.5], [0.0, 1.0])
    with pytest.raises(ValueError, match="lengths differ"):
        optimal_selection(CostBased(1.0), [1.0], [0.0, 1.0])


def distribution(p, r):
    return {"uncertainty": r, "losses": r, "sample_weight": p}


@pytest.mark.parametrize("target", [BoundedImprovement, BoundedCoverage])
def test_a_cost_and_its_equivalent_select_the_same_rule(target):
    for p, r in instances():
        cost = CostBased(np.median(r) + 1e-3)
        expected = optimal_selection(cost, p, r)
        if expected.coverage_ == 0:
            with pytest.raises(InfeasibleTargetError, match="rejects every example"):
                convert(cost, target, **distribution(p, r))
            continue
        selector = optimal_selection(convert(cost, target, **distribution(p, r)), p, r)
        assert selector.coverage_ == pytest.approx(expected.coverage_, abs=1e-9)
        assert selector.selective_risk_ == pytest.approx(expected.selective_risk_, abs=1e-9)


def cost_criterion(selector, cost):
    risk = selector.selective_risk_ if selector.coverage_ else 0.0
    return selector.coverage_ * risk + cost * (1 - selector.coverage_)


@pytest.mark.parametrize("model", [BoundedImprovement(0.3), BoundedCoverage(0.35), BoundedCoverage(1.0)])
def test_a_rule_for_a_known_distribution_is_optimal_at_its_equivalent_cost(model):
    for p, r in instances():
        try:
            selector = optimal_selection(model, p, r)
        except InfeasibleTargetError:
            continue
        cost = convert(model, CostBased, **distribution(p, r))
        assert cost.cost == pytest.approx(r[(r <= selector.threshold_) & (p > 0)].max())
        best = optimal_selection(cost, p, r)
        assert cost_criterion(selector, cost.cost) == pytest.approx(cost_criterion(best, cost.cost))
        assert best.coverage_ >= selector.coverage_ - 1e-12


def test_costs_survive_the_round_trip_on_a_noisy_sample(rng):
    for _ in range(30):
        uncertainty = rng.integers(0, 30, 200)
        losses = (rng.random(200) < uncertainty / 40).astype(float)
        cost = CostBased(0.3)
        first = cost.fit(losses=losses, uncertainty=uncertainty)
        for target in (BoundedImprovement, BoundedCoverage):
            there = convert(cost, target, losses=losses, uncertainty=uncertainty)
            back = convert(there, CostBased, losses=losses, uncertainty=uncertainty)
            assert there.fit(losses=losses, uncertainty=uncertainty).coverage_ == pytest.approx(
                first.coverage_
            )
            assert back.fit(losses=losses, uncertainty=uncertainty) == first
            assert back.cost <= 0.3


def test_risk_and_coverage_convert_directly():
    uncertainty, losses = np.arange(4), [0.0, 0.2, 0.4, 0.6]
    assert (
        convert(BoundedImprovement(0.2), BoundedCoverage, losses=losses, uncertainty=uncertainty).coverage
        == 0.75
    )
    assert convert(
        BoundedCoverage(0.75), BoundedImprovement, losses=losses, uncertainty=uncertainty
    ).risk == pytest.approx(0.2)
    assert convert(
        BoundedCoverage(0.75), CostBased, losses=losses, uncertainty=uncertainty
    ).cost == pytest.approx(0.4)


def test_conversion_to_the_same_kind_copies():
    model = BoundedCoverage(0.3)
    copy = convert(model, BoundedCoverage, losses=[0.0, 1.0], uncertainty=[0.0, 1.0])
    assert copy is not model
    assert copy.coverage == 0.3


def test_conversion_to_something_else_is_refused():
    with pytest.raises(ValueError, match="to must be CostBased"):
        convert(CostBased(1.0), dict, losses=[0.0], uncertainty=[0.0])
