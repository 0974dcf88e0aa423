"""A score for a risk of your own: against known optima, and in the tools it is combined with."""

from __future__ import annotations

import doctest
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, QuantileRegressor
from sklearn.model_selection import GridSearchCV

import facereject.scores._linear_risk
from facereject import BoundedCoverage, SelectivePredictor
from facereject.losses import zero_one_loss
from facereject.metrics import aurc
from facereject.risks import SELE, CrossEntropy, SquaredError
from facereject.scores import (
    LinearRiskScore,
    LinearRiskScoreCV,
    RegressionScore,
    RegressionScoreCV,
    SELEScore,
    cross_fit,
)
from facereject.solver import NonFiniteRiskError
from facereject.solver._bundle import METHODS


def quantile(losses, sample_weight):
    """The 0.9-quantile of the loss."""

    def risk(scores):
        slope = np.where(losses > scores, 0.9, -0.1)
        return sample_weight @ (slope * (losses - scores)), -sample_weight * slope

    return risk


def squared(losses, sample_weight):
    def risk(scores):
        error = scores - losses
        return sample_weight @ error**2, 2 * sample_weight * error

    return risk


@pytest.fixture
def examples(rng):
    X = 5.0 + rng.normal(size=(300, 3)) * [1.0, 10.0, 0.1]
    predictions = rng.integers(2, size=300)
    losses = rng.exponential(np.exp((X[:, 0] - 5.0) * np.where(predictions == 0, 1.0, -1.0)))
    return X, losses, predictions


def test_the_example_in_the_docstring():
    results = doctest.testmod(facereject.scores._linear_risk)
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize("solver", METHODS)
def test_quantiles_are_those_of_scikit_learn(examples, solver):
    X, losses, _ = examples
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    peer = QuantileRegressor(quantile=0.9, alpha=0.0).fit(Z, losses)
    risk = quantile(losses, np.full(300, 1 / 300))
    score = LinearRiskScore(quantile, alpha=1e-9, tol=1e-3, max_iter=3000, solver=solver).fit(X, losses)
    assert score.gap_ <= 1e-3
    assert risk(score.predict(X))[0] <= risk(peer.predict(Z))[0] * (1 + 1.1e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_squared_error_is_the_regression_score(examples, weighted, rng):
    X, losses, predictions = examples
    weight = rng.random(300) if weighted else None
    for risk in (squared, SquaredError):
        score = LinearRiskScore(risk, 0.1, tol=1e-8).fit(X, losses, predictions, sample_weight=weight)
        known = RegressionScore(0.1).fit(X, losses, predictions, sample_weight=weight)
        np.testing.assert_allclose(
            score.predict(X, predictions), known.predict(X, predictions), rtol=1e-3, atol=1e-3
        )


def test_the_grid_is_searched_by_aurc(examples):
    X, losses, predictions = examples
    alphas = [0.01, 1.0, 100.0]
    own = LinearRiskScoreCV(squared, alphas, tol=1e-8).fit(X, losses, predictions)
    known = RegressionScoreCV(alphas).fit(X, losses, predictions)
    np.testing.assert_allclose(own.validation_aurc_, known.validation_aurc_, rtol=1e-2)
    assert own.alpha_ == known.alpha_
    held_out = (X[200:], losses[200:], predictions[200:])
    own.fit(X[:200], losses[:200], predictions[:200], validation=held_out)
    assert own.score(*held_out) == pytest.approx(-own.validation_aurc_.min())


def test_sele_with_losses_of_mean_one_is_the_sele_score(examples):
    X, losses, predictions = examples
    losses = losses / losses.mean()
    own = LinearRiskScore(SELE, 0.01, tol=1e-7).fit(X, losses, predictions)
    known = SELEScore(0.01, tol=1e-7).fit(X, losses, predictions)
    np.testing.assert_allclose(
        own.predict(X, predictions), known.predict(X, predictions), rtol=1e-2, atol=2e-3
    )


@pytest.mark.parametrize("alpha", [1e3, 1e8])
@pytest.mark.parametrize("risk", [SELE, squared, quantile])
def test_strong_regularisation_still_ranks(examples, risk, alpha):
    X, losses, predictions = examples
    values = LinearRiskScore(risk, alpha).fit(X, losses, predictions).predict(X, predictions)
    assert len(np.unique(values)) == len(values)
    assert aurc(losses, values) < losses.mean()


def test_a_risk_without_a_slope_at_zero_scores_all_alike(examples):
    X, losses, _ = examples
    score = LinearRiskScore(lambda losses, sample_weight: lambda s: (1.0 + s @ s, 2 * s)).fit(X, losses)
    np.testing.assert_array_equal(score.predict(X), 0.0)


def test_works_where_scores_work():
    X, y = load_iris(return_X_y=True)
    weak = LogisticRegression(C=0.01)
    fitted = cross_fit(weak, LinearRiskScore(quantile), X, y, zero_one_loss)
    assert aurc(fitted.losses, fitted.out_of_fold_uncertainty(X)) < 0.8 * fitted.losses.mean()
    model = SelectivePredictor(weak, LinearRiskScoreCV(SELE, [1e-3, 1.0]), BoundedCoverage(0.8)).fit(X, y)
    assert model.accept(X).mean() == pytest.approx(0.8, abs=0.1)
    parameter = next(name for name in model.get_params() if name.endswith("__alphas"))
    search = GridSearchCV(model, {parameter: [[1e-3], [10.0]]}, cv=3).fit(X, y)
    assert search.best_params_[parameter] in ([1e-3], [10.0])


def test_grid_search_clone_and_pickle(examples):
    X, losses, _ = examples
    search = GridSearchCV(LinearRiskScore(quantile), {"alpha": [1e-3, 1e4]}, cv=3).fit(X, losses)
    best = search.best_estimator_
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert clone(best).get_params() == best.get_params()
    restored = pickle.loads(pickle.dumps(best))  # noqa: S301
    np.testing.assert_array_equal(restored.predict(X), best.predict(X))


def test_mistakes_are_named(examples):
    X, losses, _ = examples
    with pytest.raises(TypeError, match=r"risk must be a function of \(losses, sample_weight\)"):
        LinearRiskScore("sele").fit(X, losses)
    with pytest.raises(ValueError, match="method must be one of"):
        LinearRiskScore(SELE, solver="sgd").fit(X, losses)
    with pytest.raises(ValueError, match="risk must take one score per example"):
        LinearRiskScore(lambda losses, sample_weight: CrossEntropy(losses > 1)).fit(X, losses)
    with pytest.raises(NonFiniteRiskError, match="the risk is not finite at evaluation 1"):
        LinearRiskScore(lambda losses, sample_weight: lambda s: (np.nan, np.full(300, np.nan))).fit(X, losses)
    with pytest.raises(ValueError, match="the subgradient must have shape"):
        LinearRiskScore(lambda losses, sample_weight: lambda scores: (1.0, np.ones(2))).fit(X, losses)
