"""Second opinions on a regressor: where they disagree with it, it errs."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge

from facereject.losses import absolute_error
from facereject.metrics import aurc
from facereject.scores import BoostedSELEScore, cross_fit
from facereject.scores._reading import second_opinion
from facereject.scores._reading.second_opinion import SecondOpinion
from facereject.selective import SelectivePredictor


@pytest.fixture(scope="module")
def waves():
    """Targets that a line cannot follow."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1200, 3))
    return X, 3.0 * np.sin(4.0 * X[:, 0]) + X[:, 1] + 0.05 * rng.normal(size=1200)


def test_disagreement_tells_where_a_linear_predictor_errs(waves):
    X, y = waves
    line = Ridge().fit(X[:600], y[:600])
    predictions = line.predict(X[600:])
    found = SecondOpinion(X[:600], y[:600], with_forest=True).columns(X[600:], predictions)
    losses = absolute_error(y[600:], predictions)
    assert found.shape == (600, 5)
    assert spearmanr(found[:, 0], losses).statistic > 0.9
    assert spearmanr(found[:, 4], losses).statistic > 0.8


def test_the_forest_tells_where_targets_are_noisy():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(2000, 2))
    y = X[:, 1] + np.where(X[:, 0] > 0, 2.0, 0.1) * rng.normal(size=2000)
    within = SecondOpinion(X, y, with_forest=True).columns(X, X[:, 1])[:, 3]
    assert np.median(within[X[:, 0] > 0.05]) > np.median(within[X[:, 0] < -0.05]) + 1.0


def test_distance_to_the_targets_is_made_up_of_its_three_parts(waves):
    X, y = waves
    found = np.exp(SecondOpinion(X, y, with_forest=True).columns(X, np.zeros(len(X)))) - second_opinion._TINY
    np.testing.assert_allclose(found[:, 4] ** 2, (found[:, 1:4] ** 2).sum(axis=1))


def test_the_unit_of_the_targets_does_not_matter(waves):
    X, y = waves
    plain = SecondOpinion(X, y, with_forest=True).columns(X[:50], y[:50] + 1.0)
    # a power of two leaves the digits as they are
    other = SecondOpinion(X, 1024.0 * y, with_forest=True).columns(X[:50], 1024.0 * (y[:50] + 1.0))
    np.testing.assert_allclose(plain, other, rtol=1e-6)


@pytest.mark.parametrize("n", [1, 3, 40])
@pytest.mark.parametrize("kind", ["constant", "missing", "infinite", "sparse", "equal targets"])
def test_odd_tables_give_finite_columns(kind, n):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    if kind == "constant":
        X[:] = 1.0
    elif kind == "missing":
        X[0] = np.nan
    elif kind == "infinite":
        X[0] = np.inf, -np.inf
    elif kind == "sparse":
        X = sp.csr_matrix(X)
    else:
        y[:] = 2.0
    assert np.isfinite(SecondOpinion(X, y, with_forest=True).columns(X, np.zeros(n))).all()


def test_large_tables_are_sampled(waves, monkeypatch):
    X, y = waves
    monkeypatch.setattr(second_opinion, "_BOOSTING_ROWS", 300)
    monkeypatch.setattr(second_opinion, "_TREE_ROWS", 200)
    opinion = SecondOpinion(X, y, with_forest=True)
    found = opinion.columns(X, np.zeros(len(X)))
    assert spearmanr(found[:, 0], np.abs(y)).statistic > 0.9
    # fewer examples per tree make fewer leaves
    assert max(tree.get_n_leaves() for tree in opinion._forest.estimators_) <= 200 // 5


def test_a_score_that_asks_for_it_gains(waves, monkeypatch):
    X, y = waves
    # columns that mean nothing: neighbours tell little then
    X = np.hstack([X, np.random.default_rng(3).uniform(-1, 1, size=(len(X), 20))])
    areas = []
    for asks in (True, False):
        monkeypatch.setattr(BoostedSELEScore, "asks_others", asks)
        score = BoostedSELEScore(60, max_leaves=8, random_state=0)
        fitted = cross_fit(Ridge(), score, X[:600], y[:600], absolute_error, 2, random_state=0)
        losses = absolute_error(y[600:], fitted.predictor.predict(X[600:]))
        areas.append(aurc(losses, fitted.uncertainty(X[600:])))
    assert areas[0] < 0.95 * areas[1]


def test_the_default_trains_no_other_model(waves, monkeypatch):
    X, y = waves
    monkeypatch.setattr("facereject.scores._reading.training_part.SecondOpinion", None)
    SelectivePredictor(Ridge()).fit(X[:300], y[:300])
    with pytest.raises(TypeError):
        SelectivePredictor(Ridge(), BoostedSELEScore()).fit(X[:300], y[:300])


def test_an_ensemble_gets_no_second_forest(waves):
    X, y = waves
    of_line, of_forest = (
        cross_fit(predictor, BoostedSELEScore(2), X[:300], y[:300], absolute_error, 2).material.evidence
        for predictor in (Ridge(), RandomForestRegressor(5, random_state=0))
    )
    assert of_line.shape[1] - of_forest.shape[1] == 4
