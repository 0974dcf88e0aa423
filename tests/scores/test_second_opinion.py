"""Second opinions: where other models disagree with a predictor, it errs."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from facereject.losses import absolute_error, zero_one_loss
from facereject.metrics import aurc
from facereject.scores import BoostedSELEScore, ConfidenceScore, cross_fit
from facereject.scores._reading import second_opinion
from facereject.scores._reading.second_opinion import PANELS, ClassOpinion, OpinionPanel, SecondOpinion
from facereject.selective import SelectivePredictor


@pytest.fixture(scope="module")
def waves():
    """Targets that a line cannot follow."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1200, 3))
    return X, 3.0 * np.sin(4.0 * X[:, 0]) + X[:, 1] + 0.05 * rng.normal(size=1200)


def ask(X, y, losses=None, panel=PANELS["many"]):
    """An opinion on examples whose losses do not matter unless given."""
    return SecondOpinion(X, y, np.ones(len(y)) if losses is None else losses, panel)


def test_disagreement_tells_where_a_linear_predictor_errs(waves):
    X, y = waves
    line = Ridge().fit(X[:600], y[:600])
    predictions = line.predict(X[600:])
    found = ask(X[:600], y[:600]).columns(X[600:], predictions)
    losses = absolute_error(y[600:], predictions)
    assert found.shape == (600, 6)
    assert spearmanr(found[:, 0], losses).statistic > 0.9
    assert spearmanr(found[:, 4], losses).statistic > 0.8


def test_random_trees_tell_where_targets_are_noisy():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(2000, 2))
    y = X[:, 1] + np.where(X[:, 0] > 0, 2.0, 0.1) * rng.normal(size=2000)
    within = ask(X, y).columns(X, X[:, 1])[:, 3]
    assert np.median(within[X[:, 0] > 0.05]) > np.median(within[X[:, 0] < -0.05]) + 1.0


def test_distance_to_the_targets_is_made_up_of_its_three_parts(waves):
    X, y = waves
    found = np.exp(ask(X, y).columns(X, np.zeros(len(X)))) - second_opinion._TINY
    np.testing.assert_allclose(found[:, 4] ** 2, (found[:, 1:4] ** 2).sum(axis=1))


def test_the_unit_of_the_targets_does_not_matter(waves):
    X, y = waves
    plain = ask(X, y).columns(X[:50], y[:50] + 1.0)
    # a power of two leaves the digits as they are
    other = ask(X, 1024.0 * y).columns(X[:50], 1024.0 * (y[:50] + 1.0))
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
    assert np.isfinite(ask(X, y).columns(X, np.zeros(n))).all()


def test_leaves_remember_how_well_their_examples_were_predicted(waves):
    X, y = waves
    losses = np.where(X[:, 1] > 0, 5.0, 1.0)
    last = ask(X[:600], y[:600], losses[:600]).columns(X[600:], y[600:])[:, -1]
    assert spearmanr(last, losses[600:]).statistic > 0.7
    # in units of their mean
    other = ask(X[:600], y[:600], 8.0 * losses[:600]).columns(X[600:], y[600:])[:, -1]
    np.testing.assert_allclose(last, other)


def test_stretching_a_feature_changes_no_random_tree(waves):
    X, y = waves
    panel = OpinionPanel(n_trees=5, boosted=False, max_rows=10_000)
    stretched = X.copy()
    stretched[:, 0] = np.exp(10.0 * X[:, 0])
    plain = ask(X[:600], y[:600], panel=panel).columns(X[:600], y[:600])
    np.testing.assert_allclose(
        plain, ask(stretched[:600], y[:600], panel=panel).columns(stretched[:600], y[:600])
    )


def test_large_tables_are_sampled(waves):
    X, y = waves
    opinion = ask(X, y, panel=OpinionPanel(n_trees=5, boosted=True, max_rows=300))
    found = opinion.columns(X, np.zeros(len(X)))
    assert spearmanr(found[:, 0], np.abs(y)).statistic > 0.9
    # each example of the sample is in one leaf of each tree, and leaves hold two at least
    assert max(tree.n_leaves for tree in opinion._random._trees) <= 300 // 2


def test_a_score_that_asks_for_it_gains(waves, monkeypatch):
    X, y = waves
    # columns that mean nothing: neighbours tell little then
    X = np.hstack([X, np.random.default_rng(3).uniform(-1, 1, size=(len(X), 20))])
    areas = []
    for asks in ("many", "few", None):
        monkeypatch.setattr(BoostedSELEScore, "reference_models", asks)
        score = BoostedSELEScore(60, max_leaf_nodes=8, random_state=0)
        fitted = cross_fit(Ridge(), score, X[:600], y[:600], absolute_error, 2, random_state=0)
        losses = absolute_error(y[600:], fitted.estimator.predict(X[600:]))
        areas.append(aurc(losses, fitted.uncertainty(X[600:])))
    assert max(areas[:2]) < 0.95 * areas[2]


def test_the_default_asks_a_line_but_no_ensemble(waves, monkeypatch):
    X, y = waves
    asked = []

    class Spy(SecondOpinion):
        def __init__(self, features, targets, losses, panel):
            asked.append(panel)
            super().__init__(features, targets, losses, panel)

    monkeypatch.setattr("facereject.scores._reading.training_part.SecondOpinion", Spy)
    SelectivePredictor(RandomForestRegressor(5, random_state=0)).fit(X[:600], y[:600])
    assert not asked
    SelectivePredictor(Ridge()).fit(X[:600], y[:600])
    # once for all examples, and once for every fold
    assert len(asked) > 2
    assert {id(panel) for panel in asked} == {id(PANELS["few"])}


def test_an_ensemble_gets_no_second_forest(waves):
    X, y = waves
    of_line, of_forest = (
        cross_fit(predictor, BoostedSELEScore(2), X[:300], y[:300], absolute_error, 2).material.auxiliary
        for predictor in (Ridge(), RandomForestRegressor(5, random_state=0))
    )
    assert of_line.shape[1] - of_forest.shape[1] == 5


@pytest.fixture(scope="module")
def rings():
    """Three classes, one inside the other: nothing for a line."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1500, 2))
    return X, np.digitize(np.hypot(*X.T), [0.8, 1.5])


@pytest.mark.parametrize(("panel", "n_columns"), [("few", 3), ("many", 4)])
def test_other_classifiers_doubt_the_classes_that_are_wrong(rings, panel, n_columns):
    X, y = rings
    line = LogisticRegression().fit(X[:700], y[:700])
    predictions = line.predict(X[700:])
    found = ClassOpinion(X[:700], y[:700], PANELS[panel]).columns(X[700:], predictions)
    assert found.shape == (800, n_columns)
    wrong = zero_one_loss(y[700:], predictions)
    for column in (0, *range(2, n_columns)):  # the second is another line
        assert spearmanr(found[:, column], wrong).statistic > 0.7


def test_a_class_opinion_takes_names_missing_values_and_sparse_tables(rings):
    X, y = rings
    names = np.array(["in", "middle", "out"])[y]
    plain = ClassOpinion(X, names, PANELS["many"]).columns(X[:50], names[:50])
    np.testing.assert_array_equal(ClassOpinion(X, y, PANELS["many"]).columns(X[:50], y[:50]), plain)
    holes = X.copy()
    holes[::7, 0] = np.nan
    holes[3, 1] = 1e300
    assert np.isfinite(ClassOpinion(holes, y, PANELS["many"]).columns(holes, y)).all()
    sparse = sp.csr_matrix(X)
    assert np.isfinite(ClassOpinion(sparse, y, PANELS["few"]).columns(sparse, y)).all()


def test_a_class_that_no_other_model_has_seen_is_doubted_most(rings):
    X, y = rings
    found = ClassOpinion(X[y < 2], y[y < 2], PANELS["few"]).columns(X[:40], np.full(40, 2))
    assert (found[:, 0] == np.log((1 + 0.5 / 30) / (0.5 / 30))).all()
    assert (found[:, 1:] > 0).all()


def test_one_class_alone_is_no_reason_to_fail(rings):
    X, _ = rings
    opinion = ClassOpinion(X[:60], np.zeros(60, dtype=int), PANELS["many"])
    assert np.isfinite(opinion.columns(X[:5], np.array([0, 0, 1, 0, 0]))).all()


def test_rows_beyond_a_block_get_the_same_columns(rings, monkeypatch):
    X, y = rings
    opinion = ClassOpinion(X, y, PANELS["few"])
    expected = opinion.columns(X, y)
    monkeypatch.setattr(second_opinion, "_ROWS", 400)
    np.testing.assert_allclose(opinion.columns(X, y), expected)


def test_a_linear_classifier_is_found_out_by_others(rings):
    X, y = rings
    fitted = cross_fit(LogisticRegression(), ConfidenceScore(), X[:700], y[:700], zero_one_loss)
    losses = zero_one_loss(y[700:], fitted.estimator.predict(X[700:]))
    own = -fitted.estimator.predict_proba(X[700:]).max(axis=1)
    assert fitted.score.weight_ > 0.5
    # half of the predictions are wrong: no order gets far below 0.3
    assert aurc(losses, fitted.uncertainty(X[700:])) < 0.4 * aurc(losses, own)


def test_other_losses_than_0_1_add_what_the_models_expect():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(900, 2))
    y = np.clip((5 * X[:, 0]).astype(int) + rng.choice([-2, 0, 0, 2], 900) * (X[:, 1] > 0.5), 0, 4)
    classes, matrix = np.arange(6), np.abs(np.subtract.outer(np.arange(6), np.arange(6))).astype(float)
    predictions = (5 * X[600:, 0]).astype(int)
    for panel, n_models in (("few", 3), ("many", 4)):
        opinion = ClassOpinion(X[:600], y[:600], PANELS[panel], classes, matrix)
        found = opinion.columns(X[600:], predictions)
        assert found.shape == (300, 2 * n_models)
        chances = opinion._trees.predict_proba(opinion._table(X[600:]))
        # the matrix of the classes that occur, by hand
        expected = [p @ np.abs(np.arange(5) - k) / 5 for p, k in zip(chances, predictions, strict=True)]
        np.testing.assert_allclose(np.exp(found[:, n_models]), np.array(expected) + 1e-3)
        losses = np.abs(y[600:] - predictions)
        # trees, unlike the linear model, know where the labels jump
        assert spearmanr(found[:, n_models], losses).statistic > 0.3
    assert np.isfinite(opinion.columns(X[:5], np.full(5, 5))).all()
