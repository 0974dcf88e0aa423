"""Rejection models on a sample: every property for every model, and optimality against brute force."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from facereject.selection import (
    BoundedCoverage,
    BoundedImprovement,
    CostBased,
    InfeasibleTargetError,
    Selector,
    convert,
)

MODELS = [
    CostBased(0.0),
    CostBased(0.3),
    CostBased(5.0),
    BoundedImprovement(0.0),
    BoundedImprovement(0.25),
    BoundedImprovement(9.0),
    BoundedCoverage(0.07),
    BoundedCoverage(0.6),
    BoundedCoverage(1.0),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=repr)

SHARES = np.linspace(0, 1, 101)


def evaluate(uncertainty, losses, probability):
    """Coverage and selective risk of acceptance probabilities, from the definitions."""
    coverage = np.mean(probability)
    return coverage, np.sum(probability * losses) / np.sum(probability) if coverage > 0 else math.nan


def every_rule(uncertainty):
    """Acceptance probabilities of all thresholds times a grid of boundary probabilities."""
    yield np.zeros(len(uncertainty))
    for threshold in np.unique(uncertainty):
        for share in SHARES[1:]:
            yield (uncertainty < threshold) + share * (uncertainty == threshold)


def criterion(model, coverage, risk):
    """What the model wants to be small; infinite where its constraint is violated."""
    slack = 1e-9
    if isinstance(model, CostBased):
        return (coverage * risk if coverage > 0 else 0.0) + model.cost * (1 - coverage)
    if isinstance(model, BoundedImprovement):
        return -coverage if coverage > 0 and risk <= model.risk + slack else math.inf
    return risk if coverage >= model.coverage - slack else math.inf


def fit_or_none(model, uncertainty, losses) -> Selector | None:
    try:
        return model.fit(losses=losses, uncertainty=uncertainty)
    except InfeasibleTargetError:
        return None


samples = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0])), min_size=1, max_size=12
)


@each_model
@settings(max_examples=40, deadline=None)
@given(sample=samples)
def test_no_threshold_rule_is_better(model, sample):
    uncertainty, losses = np.array(sample, dtype=float).T
    best = min(criterion(model, *evaluate(uncertainty, losses, c)) for c in every_rule(uncertainty))
    selector = fit_or_none(model, uncertainty, losses)
    if selector is None:
        assert best == math.inf
        return
    found = criterion(model, *evaluate(uncertainty, losses, selector.accept_probability(uncertainty)))
    assert found <= best + 1e-9


@each_model
@settings(max_examples=40, deadline=None)
@given(sample=samples)
def test_reported_numbers_are_those_of_the_rule(model, sample):
    uncertainty, losses = np.array(sample, dtype=float).T
    selector = fit_or_none(model, uncertainty, losses)
    if selector is None:
        return
    coverage, risk = evaluate(uncertainty, losses, selector.accept_probability(uncertainty))
    assert selector.coverage_ == pytest.approx(coverage, abs=1e-12)
    assert selector.selective_risk_ == pytest.approx(risk, abs=1e-9, nan_ok=True)


@pytest.fixture
def sample(rng):
    """Losses that grow with a coarse uncertainty, many ties; the first group has no loss."""
    uncertainty = rng.integers(0, 8, 300).astype(float)
    losses = rng.random(300) * uncertainty / 7
    return losses, uncertainty


@each_model
def test_order_of_the_sample_is_irrelevant(model, sample, rng):
    losses, uncertainty = sample
    order = rng.permutation(len(losses))
    assert model.fit(losses=losses[order], uncertainty=uncertainty[order]) == model.fit(
        losses=losses, uncertainty=uncertainty
    )


@each_model
def test_only_the_ranking_matters(model, sample):
    losses, uncertainty = sample
    plain, stretched = (
        model.fit(losses=losses, uncertainty=uncertainty),
        model.fit(losses=losses, uncertainty=np.expm1(uncertainty) - 5),
    )
    np.testing.assert_array_equal(
        plain.accept_probability(uncertainty), stretched.accept_probability(np.expm1(uncertainty) - 5)
    )
    assert (plain.coverage_, plain.acceptance_) == (stretched.coverage_, stretched.acceptance_)


@each_model
def test_losses_and_target_scale_together(model, sample):
    losses, uncertainty = sample
    scaled = clone(model)
    for name in {"cost", "risk"} & set(model.get_params()):
        scaled.set_params(**{name: 1024 * getattr(model, name)})
    plain, big = (
        model.fit(losses=losses, uncertainty=uncertainty),
        scaled.fit(losses=1024 * losses, uncertainty=uncertainty),
    )
    assert (plain.threshold_, plain.acceptance_) == (big.threshold_, big.acceptance_)


@each_model
def test_weights_are_repetitions(model, sample, rng):
    losses, uncertainty = sample
    times = rng.integers(0, 4, len(losses))
    repeated = model.fit(losses=np.repeat(losses, times), uncertainty=np.repeat(uncertainty, times))
    weighted = model.fit(losses=losses, uncertainty=uncertainty, sample_weight=times / 7)
    assert weighted.threshold_ == repeated.threshold_
    for name in ("acceptance_", "coverage_", "selective_risk_"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name))


@each_model
def test_accept_realises_the_expectation(model, sample):
    losses, uncertainty = sample
    selector = model.fit(losses=losses, uncertainty=uncertainty)
    generator = np.random.RandomState(0)
    accepted = np.array([selector.accept(uncertainty, random_state=generator) for _ in range(2000)])
    assert accepted.dtype == bool
    np.testing.assert_allclose(
        accepted.mean(axis=0), selector.accept_probability(uncertainty), atol=4.5 * 0.5 / np.sqrt(2000)
    )
    assert accepted.mean() == pytest.approx(selector.coverage_, abs=0.005)


@each_model
def test_equal_seeds_give_equal_decisions_and_fit_changes_nothing(model, sample):
    losses, uncertainty = sample
    before = model.get_params()
    first, second = (
        model.fit(losses=losses, uncertainty=uncertainty),
        model.fit(losses=losses, uncertainty=uncertainty),
    )
    assert first == second
    assert model.get_params() == before
    np.testing.assert_array_equal(
        first.accept(uncertainty, random_state=3), second.accept(uncertainty, random_state=3)
    )


@each_model
def test_clones_and_pickles(model, sample):
    assert clone(model).get_params() == model.get_params()
    assert pickle.loads(pickle.dumps(model.fit(*sample))) == model.fit(*sample)  # noqa: S301


@each_model
def test_one_example(model):
    selector = fit_or_none(model, [3.0], [0.2])
    if isinstance(model, BoundedImprovement) and model.risk < 0.2:
        assert selector is None
    elif isinstance(model, CostBased) and model.cost < 0.2:
        assert (selector.threshold_, selector.coverage_) == (-math.inf, 0.0)
        assert math.isnan(selector.selective_risk_)
    else:
        assert selector.selective_risk_ == pytest.approx(0.2)


@each_model
def test_constant_uncertainty(model):
    """One group: only a random choice is left, and the selective risk is the mean loss whatever it is."""
    selector = fit_or_none(model, np.ones(10), np.arange(10) / 10)
    if selector is not None and selector.coverage_ > 0:
        assert selector.selective_risk_ == pytest.approx(0.45)


@each_model
def test_losses_that_are_all_zero(model, rng):
    selector = model.fit(losses=np.zeros(10), uncertainty=rng.random(10))
    assert selector.selective_risk_ == 0
    assert selector.coverage_ == pytest.approx(getattr(model, "coverage", 1.0))


@each_model
@pytest.mark.parametrize(
    ("uncertainty", "losses", "message"),
    [
        ([0.0, np.nan], [0.0, 1.0], "uncertainty"),
        ([0.0, 1.0], [0.0, np.nan], "losses"),
        ([0.0, 1.0], [0.0, -1.0], "losses"),
        ([0.0, 1.0], [0.0], "lengths differ"),
        ([], [], "losses"),
        ([[0.0]], [0.0], "uncertainty"),
    ],
)
def test_bad_samples_are_named(model, uncertainty, losses, message):
    with pytest.raises(ValueError, match=message):
        model.fit(losses=losses, uncertainty=uncertainty)


@pytest.mark.parametrize("weights", [[1.0, -1.0], [0.0, 0.0], [1.0], [1.0, np.nan]])
def test_bad_weights_are_named(weights):
    with pytest.raises(ValueError, match="sample_weight"):
        CostBased(1.0).fit(losses=[0.0, 1.0], uncertainty=[0.0, 1.0], sample_weight=weights)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (CostBased(-0.1), "cost"),
        (CostBased(np.nan), "cost"),
        (CostBased("high"), "cost"),
        (BoundedImprovement(-1), "risk"),
        (BoundedImprovement(np.inf), "risk"),
        (BoundedCoverage(0), "coverage"),
        (BoundedCoverage(1.01), "coverage"),
        (BoundedCoverage(None), "coverage"),
    ],
)
def test_bad_settings_are_named(model, name):
    with pytest.raises(ValueError, match=name):
        model.fit(losses=[0.0], uncertainty=[0.0])


def test_infeasible_risk_says_what_is_reachable():
    with pytest.raises(InfeasibleTargetError, match=r"smallest reachable risk is 0\.25") as caught:
        BoundedImprovement(0.2).fit(losses=[0.5, 0.0, 1.0, 0.5, 1.0], uncertainty=[0, 1, 2, 3, 4])
    assert caught.value.reachable == 0.25
    assert pickle.loads(pickle.dumps(caught.value)).reachable == 0.25  # noqa: S301


def test_risk_target_holds_with_equality_unless_all_is_accepted(rng):
    for _ in range(50):
        uncertainty = rng.integers(0, 6, 40)
        losses = rng.random(40)
        selector = fit_or_none(BoundedImprovement(0.45), uncertainty, losses)
        if selector is not None and selector.coverage_ < 1:
            assert selector.selective_risk_ == pytest.approx(0.45, rel=1e-12)


def test_risk_target_looks_past_a_bad_start():
    """The two most certain examples are wrong; the risk falls below the target only later."""
    selector = BoundedImprovement(0.25).fit(losses=[1, 1, 0, 0, 0, 0, 0, 0, 1, 1], uncertainty=np.arange(10))
    assert selector.coverage_ == pytest.approx(0.8)
    assert selector.threshold_ == 7


def test_coverage_target_goes_further_if_that_lowers_the_risk():
    selector = BoundedCoverage(0.2).fit(losses=[1, 1, 0, 0, 0, 0, 0, 0, 1, 1], uncertainty=np.arange(10))
    assert (selector.coverage_, selector.selective_risk_) == (0.8, 0.25)


def test_ties_are_randomised_to_meet_the_coverage():
    selector = BoundedCoverage(0.5).fit(losses=[0.0, 0.5, 0.5, 0.5], uncertainty=[0, 1, 1, 1])
    assert (selector.threshold_, selector.coverage_) == (1, 0.5)
    assert selector.acceptance_ == pytest.approx(1 / 3)


@pytest.mark.parametrize("errors", range(1, 100))
def test_decimal_targets_are_met_exactly(errors):
    """0.29 * 100 is below 29 in floating point; the user still means 29 of 100."""
    losses = np.r_[np.zeros(100 - errors), np.ones(errors)]
    assert BoundedImprovement(errors / 100).fit(losses=losses, uncertainty=np.zeros(100)).coverage_ == 1
    selector = BoundedCoverage(errors / 100).fit(losses=losses, uncertainty=np.arange(100))
    assert selector.acceptance_ == 1
    assert selector.coverage_ == errors / 100


@pytest.mark.parametrize(
    ("model", "losses"),
    [
        (BoundedCoverage(1.0), [0.0, 1.0]),
        (BoundedCoverage(0.5), [1.0, 0.0]),
        (BoundedImprovement(5.0), [0.0, 1.0]),
        (CostBased(1e9), [0.0, 1.0]),
    ],
)
def test_accepting_the_whole_sample_is_accepting_everything(model, losses):
    selector = model.fit(losses=losses, uncertainty=[1.0, 2.0])
    assert (selector.threshold_, selector.acceptance_, selector.coverage_) == (np.inf, 1.0, 1.0)
    assert selector.accept([99.0]).all()


def test_accept_takes_an_empty_array_and_refuses_nan():
    selector = CostBased(0.5).fit(losses=[0.0, 1.0], uncertainty=[0.0, 1.0])
    assert selector.accept([]).shape == (0,)
    with pytest.raises(ValueError, match="uncertainty"):
        selector.accept([np.nan])


@pytest.mark.parametrize("size", [1e306, 5e-324 * 2**20])
def test_losses_at_the_ends_of_the_range(size, rng):
    uncertainty = rng.integers(0, 50, 400)
    losses = (uncertainty + rng.integers(0, 50, 400)).astype(float)
    for small, big in [
        (CostBased(60.0), CostBased(60 * size)),
        (BoundedImprovement(40.0), BoundedImprovement(40 * size)),
        (BoundedCoverage(0.4), BoundedCoverage(0.4)),
    ]:
        expected = small.fit(losses=losses, uncertainty=uncertainty)
        found = big.fit(losses=size * losses, uncertainty=uncertainty)
        assert found.threshold_ == expected.threshold_
        assert found.acceptance_ == pytest.approx(expected.acceptance_)
        assert found.selective_risk_ / size == pytest.approx(expected.selective_risk_)
    cost = convert(BoundedCoverage(0.4), CostBased, losses=size * losses, uncertainty=uncertainty).cost
    plain = convert(BoundedCoverage(0.4), CostBased, losses=losses, uncertainty=uncertainty).cost
    assert cost / size == pytest.approx(plain)
