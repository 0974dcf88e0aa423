"""The confidence score, and the scores that start from it."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from sklearn.base import clone

from facereject.metrics import aurc
from facereject.risks import SELE
from facereject.scores import (
    BoostedRegressionScore,
    BoostedSELEScore,
    ConfidenceScore,
    MaxClassProbability,
    RegressionScore,
    SELEScore,
    SELEScoreCV,
    TrueClassProbabilityScore,
)
from facereject.scores._confidence import OutputReader, _fit_slope, count_errors
from facereject.scores._weighting import Weighting

STARTED = [SELEScore(1.0), RegressionScore(1.0), BoostedSELEScore(30), BoostedRegressionScore(30)]


def honest(n, seed, k=3):
    """A classifier that knows its probabilities; features that tell nothing."""
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(k, 0.4), size=n)
    losses = (rng.uniform(size=n) > probabilities.max(axis=1)).astype(float)
    return rng.normal(size=(n, 6)), losses, probabilities


def test_columns_by_definition():
    p = np.array([[0.7, 0.2, 0.1], [0.5, 0.5, 0.0]])
    odds, top, gap, entropy = OutputReader(p)(p).T
    np.testing.assert_allclose(odds, np.log([0.3 / 0.7, 1.0]))
    np.testing.assert_allclose(top, [-0.7, -0.5])
    np.testing.assert_allclose(gap, [-0.5, 0.0], atol=1e-15)
    np.testing.assert_allclose(
        entropy, [-(0.7 * np.log(0.7) + 0.2 * np.log(0.2) + 0.1 * np.log(0.1)), np.log(2)]
    )
    decisions = np.array([[3.0, -1.0, 1.0]])
    np.testing.assert_allclose(OutputReader(decisions)(decisions), [[-2.0, -3.0]])
    np.testing.assert_allclose(OutputReader([-2.0, 0.5])([-3.0]), [[-3.0]])


def test_unanimous_ensembles_have_finite_odds():
    p = np.array([[1.0, 0.0], [0.9, 0.1], [0.8, 0.2]])
    odds = OutputReader(p)(p)[:, 0]
    assert np.isfinite(odds).all()
    assert odds[0] < odds[1] < odds[2]


def test_minimises_the_stated_objective():
    rng = np.random.default_rng(0)
    auxiliary, losses = rng.normal(size=(60, 2)), rng.exponential(size=60)
    score = ConfidenceScore(0.4, tol=1e-8).fit(None, losses, auxiliary=auxiliary)
    inside = np.clip(auxiliary, *np.quantile(auxiliary, (0.02, 0.98), axis=0))
    Z = (inside - inside.mean(axis=0)) / inside.std(axis=0)

    def objective(w):
        s = Z @ w
        pairs = (losses / losses.mean())[:, None] * np.logaddexp(0.0, s[None, :] - s[:, None])
        return 0.2 * w @ w + pairs.mean()

    best = minimize(objective, np.zeros(2), tol=1e-10).x
    np.testing.assert_allclose(score.start_.weights, best, atol=1e-4)


def test_what_rounds_to_certainty_is_equally_certain():
    p = np.array([[1.0, 1e-30], [1.0, 1e-200], [1 - 1e-9, 1e-9], [0.6, 0.4]])
    odds = OutputReader(p)(p)[:, 0]
    assert odds[0] == odds[1] < odds[2] < odds[3]


def test_weight_of_the_offset_is_the_best_one():
    """With errors enough the score on the base_score alone is the minimum over β of the stated objective."""
    rng = np.random.default_rng(0)
    base_score = rng.normal(size=300)
    losses = (rng.uniform(size=300) < 1 / (1 + np.exp(-base_score))).astype(float)
    beta = _fit_slope(SELE(losses / losses.mean()), base_score, 0.05)

    def objective(beta):
        s = beta * base_score
        pairs = (losses / losses.mean())[:, None] * np.logaddexp(0.0, s[None, :] - s[:, None])
        return 0.025 * beta * beta + pairs.mean()

    assert beta == pytest.approx(minimize_scalar(objective, bounds=(0, 10), method="bounded").x, rel=0.02)
    assert _fit_slope(SELE(1 - losses), base_score, 0.05) == 0.0


@pytest.mark.parametrize("n_errors", [3, 10])
def test_a_few_errors_do_not_overrule_the_predictor(n_errors):
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(20):
        p = rng.uniform(0.5, 1.0, size=3400)
        losses = (rng.uniform(size=3400) > p).astype(float)
        outputs, auxiliary = np.column_stack([p, 1 - p]), rng.normal(size=(3400, 8))
        errors = np.flatnonzero(losses[:400])[n_errors:]
        rows = np.delete(np.arange(400), errors)
        score = ConfidenceScore().fit(None, losses[rows], outputs=outputs[rows], auxiliary=auxiliary[rows])
        found = score.predict(None, outputs=outputs[400:], auxiliary=auxiliary[400:])
        ratios.append(aurc(losses[400:], found) / aurc(losses[400:], -p[400:]))
    assert np.mean(ratios) < 1.15


def test_number_of_errors():
    losses, weight = np.array([0.0, 1.0, 1.0, 0.0, 1.0]), np.array([1.0, 2.0, 2.0, 5.0, 2.0])
    assert count_errors(losses, None) == pytest.approx(3)
    # a weight counts as so many examples; as a share of all, the largest counts as one
    assert count_errors(7e-200 * losses, weight) == pytest.approx(6)
    assert count_errors(losses, weight / 100) == pytest.approx(6 / 5)
    assert count_errors(losses, np.full(5, 0.01)) == pytest.approx(3)
    assert count_errors(np.array([1.0, 0.01]), None) == pytest.approx(1.02, rel=1e-3)


def test_close_to_the_best_order_where_the_predictor_knows():
    _, losses, outputs = honest(3000, 0)
    _, losses_new, outputs_new = honest(6000, 1)
    score = ConfidenceScore().fit(None, losses, outputs=outputs)
    own = aurc(losses_new, MaxClassProbability().from_outputs(outputs_new))
    assert aurc(losses_new, score.predict(None, outputs=outputs_new)) < 1.02 * own


def test_without_errors_the_order_of_the_offset_stands():
    rng = np.random.default_rng(0)
    base_score, auxiliary = rng.normal(size=50), rng.normal(size=(50, 2))
    score = ConfidenceScore().fit(None, np.zeros(50), auxiliary=auxiliary, base_score=base_score)
    np.testing.assert_array_equal(
        np.argsort(score.predict(None, auxiliary=auxiliary, base_score=base_score)), np.argsort(base_score)
    )


def test_columns_that_leave_their_range_count_as_its_end():
    rng = np.random.default_rng(0)
    auxiliary, losses = rng.normal(size=(200, 1)), rng.exponential(size=200)
    auxiliary[:, 0] += losses
    score = ConfidenceScore().fit(None, losses, auxiliary=auxiliary)
    highest, beyond, below = score.predict(None, auxiliary=[[auxiliary.max()], [1e9], [np.median(auxiliary)]])
    assert highest == beyond > below


def test_a_few_copies_do_not_become_the_most_certain_of_all():
    """Near copies of training examples are no better predicted here, though near examples in general are."""
    rng = np.random.default_rng(0)

    def draw(n):
        p, near = rng.uniform(0.6, 1.0, size=n), rng.normal(size=n)
        wrong = rng.uniform(size=n) > np.clip(p - 0.1 * near, 0.0, 1.0)
        copies = np.arange(n) < n // 200
        return np.column_stack([p, 1 - p]), np.where(copies, -30.0, near)[:, None], wrong | copies

    outputs, auxiliary, losses = draw(4000)
    score = ConfidenceScore().fit(None, losses.astype(float), outputs=outputs, auxiliary=auxiliary)
    outputs, auxiliary, losses = draw(4000)
    own = aurc(losses.astype(float), MaxClassProbability().from_outputs(outputs))
    assert aurc(losses.astype(float), score.predict(None, outputs=outputs, auxiliary=auxiliary)) < 1.02 * own


@pytest.mark.parametrize("score", STARTED, ids=lambda score: type(score).__name__)
def test_useless_features_do_not_spoil_what_the_predictor_knows(score):
    X, losses, outputs = honest(1500, 0)
    X_new, losses_new, outputs_new = honest(4000, 1)
    fitted = clone(score).fit(X, losses, outputs=outputs)
    own = aurc(losses_new, MaxClassProbability().from_outputs(outputs_new))
    assert aurc(losses_new, fitted.predict(X_new, outputs=outputs_new)) < 1.1 * own


def test_large_alpha_leaves_the_start():
    X, losses, outputs = honest(500, 0)
    started = SELEScore(1e9).fit(X, losses, outputs=outputs).predict(X, outputs=outputs)
    alone = ConfidenceScore().fit(None, losses, outputs=outputs).predict(None, outputs=outputs)
    np.testing.assert_allclose(started, alone, atol=1e-6)


def test_zero_trees_are_a_valid_outcome():
    X, losses, outputs = honest(1500, 0)
    score = BoostedSELEScore(50).fit(X, losses, outputs=outputs)
    assert score.n_estimators_ == 0
    assert score.booster_ is None
    alone = ConfidenceScore().fit(None, losses, outputs=outputs)
    np.testing.assert_allclose(score.predict(X, outputs=outputs), alone.predict(None, outputs=outputs))


def test_trees_are_added_where_they_help():
    rng = np.random.default_rng(0)
    X, _, outputs = honest(2000, 0)
    hidden = np.abs(X[:, 0]) < 0.4
    losses = (rng.uniform(size=2000) < 0.02 + 0.5 * hidden).astype(float)
    score = BoostedSELEScore(60).fit(X, losses, outputs=outputs)
    assert score.n_estimators_ > 0
    values = score.predict(X, outputs=outputs)
    assert values[hidden].mean() > values[~hidden].mean() + 0.5


def test_groups_are_held_out_together():
    # the group tells the loss in training and nothing about other groups: trees that memorise it do not help
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 25)
    X = np.column_stack([groups + 0.01 * rng.normal(size=1000), rng.normal(size=1000)])
    bad = rng.permutation(40) < 12
    losses = (rng.uniform(size=1000) < np.where(bad[groups], 0.9, 0.05)).astype(float)
    base_score = rng.normal(size=1000)
    apart = BoostedSELEScore(40, max_leaf_nodes=31, min_samples_leaf=5).fit(
        X, losses, base_score=base_score, groups=groups
    )
    mixed = BoostedSELEScore(40, max_leaf_nodes=31, min_samples_leaf=5).fit(X, losses, base_score=base_score)
    assert apart.n_estimators_ < mixed.n_estimators_
    for wrong, message in (([0] * 1000, "at least 2 groups"), ([0, 1], "one group per row of X")):
        with pytest.raises(ValueError, match=message):
            BoostedSELEScore(5).fit(X, losses, groups=wrong)


def test_validation_carries_outputs():
    X, losses, outputs = honest(600, 0)
    X_val, losses_val, outputs_val = honest(600, 1)
    score = SELEScoreCV([1e-3, 1e3])
    score.fit(X, losses, outputs=outputs, validation=(X_val, losses_val, None, outputs_val))
    areas = []
    for alpha in (1e-3, 1e3):
        fitted = SELEScore(alpha).fit(X, losses, outputs=outputs)
        # alpha is chosen by the learned score alone
        fitted._weighting = Weighting(1.0, "")
        areas.append(aurc(losses_val, fitted.predict(X_val, outputs=outputs_val)))
    np.testing.assert_allclose(score.validation_aurc_, areas, rtol=2e-2)
    with pytest.raises(ValueError, match="outputs must be given to fit and to predict"):
        score.fit(X, losses, outputs=outputs, validation=(X_val, losses_val))


def test_true_class_probability_from_outputs():
    X, losses, outputs = honest(800, 0)
    score = TrueClassProbabilityScore(1e6).fit(X, np.where(losses > 0, 0.1, 0.9), outputs=outputs)
    own = MaxClassProbability().from_outputs(outputs)
    assert np.corrcoef(score.predict(X, outputs=outputs), own)[0, 1] > 0.8


def test_mistakes_are_named():
    X, losses, outputs = honest(50, 0)
    with pytest.raises(ValueError, match="pass outputs, auxiliary or base_score"):
        ConfidenceScore().fit(X, losses)
    with pytest.raises(ValueError, match="alpha must be > 0"):
        ConfidenceScore(0.0).fit(X, losses, outputs=outputs)
    with pytest.raises(ValueError, match="auxiliary must have one row per row of X"):
        ConfidenceScore().fit(X, losses, auxiliary=X[:3])
    score = ConfidenceScore().fit(X, losses, outputs=outputs, auxiliary=X)
    with pytest.raises(ValueError, match="auxiliary must be given to fit and to predict"):
        score.predict(X, outputs=outputs)
    with pytest.raises(ValueError, match="outputs must have 3 columns"):
        score.predict(X, outputs=outputs[:, :2], auxiliary=X)
    with pytest.raises(ValueError, match="auxiliary must have 6 columns"):
        score.predict(X, outputs=outputs, auxiliary=X[:, :2])
