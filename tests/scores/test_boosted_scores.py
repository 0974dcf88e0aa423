"""Boosted scores: the objective, early stopping, and what happens without LightGBM."""

import builtins
import subprocess
import sys

import numpy as np
import pytest

from facereject.metrics import aurc
from facereject.scores import BoostedRegressionScore, BoostedSELEScore, SELEScoreCV
from facereject.scores._boosted import sele_objective
from facereject.scores._lightgbm import LightGBMNotAvailableError

BOTH = pytest.mark.parametrize("kind", [BoostedSELEScore, BoostedRegressionScore])


def ring(n, seed):
    """Errors in a ring around the origin: no linear score can tell."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    radius = np.hypot(*X.T)
    return X, (rng.uniform(size=n) < 0.6 * ((radius > 0.7) & (radius < 1.2))).astype(float)


def sele_by_definition(scores, losses, weight):
    weight = weight / weight.sum()
    softplus = np.logaddexp(0.0, scores[None, :] - scores[:, None])
    return (weight * losses) @ softplus @ weight


def test_gradient_and_curvature_by_finite_differences():
    rng = np.random.default_rng(0)
    n = 12
    scores, losses, weight = rng.normal(size=n), rng.exponential(size=n), rng.uniform(0.5, 2, size=n)
    gradient, curvature = sele_objective(losses, weight, learning_rate=1.0)(scores, None)
    for k in range(n):
        step = np.zeros(n)
        step[k] = 1e-4
        up, down = (sele_by_definition(scores + sign * step, losses, weight) for sign in (1, -1))
        middle = sele_by_definition(scores, losses, weight)
        assert gradient[k] == pytest.approx(n * (up - down) / 2e-4, rel=1e-5, abs=1e-8)
        # the curvature counts the pair of k with itself, which the value does not bend
        own = n * 0.5 * losses[k] * (weight[k] / weight.sum()) ** 2
        assert curvature[k] == pytest.approx(n * (up - 2 * middle + down) / 1e-8 + own, rel=1e-4)


def test_errors_do_not_slow_each_other_down():
    rng = np.random.default_rng(0)
    n, rate = 30, 0.1
    scores, losses = rng.normal(size=n), 4.0 * (rng.uniform(size=n) < 0.4)
    _, curvature = sele_objective(losses, np.ones(n), rate)(scores, None)
    for k in range(n):
        expected = 0.0
        for j in range(n):
            sigmoid = 1.0 / (1.0 + np.exp(scores[j] - scores[k]))
            share = rate if losses[k] == losses[j] else 1.0
            expected += share * (losses[k] + losses[j]) * sigmoid * (1.0 - sigmoid) / n
        assert curvature[k] == pytest.approx(expected, rel=1e-9)


@BOTH
def test_sees_what_no_linear_score_can(kind):
    X, losses = ring(3000, 0)
    X_test, losses_test = ring(3000, 1)
    boosted = aurc(losses_test, kind(100).fit(X, losses).predict(X_test))
    linear = aurc(losses_test, SELEScoreCV(cv=3).fit(X, losses).predict(X_test))
    assert linear > 0.9 * losses.mean()
    assert boosted < 0.5 * linear


@BOTH
def test_stops_where_the_validation_aurc_is_lowest(kind):
    X, losses = ring(1000, 0)
    held = ring(500, 1)
    score = kind(200, learning_rate=0.1, max_leaf_nodes=31, patience=10).fit(X, losses, validation=held)
    assert 1 <= score.n_estimators_ < 190
    best = aurc(held[1], score.predict(held[0]))
    for n_trees in (1, score.n_estimators_ - 1, score.n_estimators_ + 5):
        other = score.booster_.predict(held[0], num_iteration=n_trees)
        assert aurc(held[1], other) >= best


def test_own_validation_part_is_used_for_the_trees_in_the_end():
    X, losses = ring(1000, 0)
    score = BoostedSELEScore(60, validation_fraction=0.5).fit(X, losses)
    assert score.booster_.num_trees() == score.n_estimators_
    # the root of a tree counts the examples it was grown on
    root = score.booster_.dump_model()["tree_info"][0]["tree_structure"]
    assert root["internal_count"] == len(X)


@BOTH
def test_number_of_threads_does_not_matter(kind):
    X, losses = ring(500, 0)
    one, two = (kind(5, n_jobs=n).fit(X, losses).predict(X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@BOTH
def test_reads_classes_and_outputs(kind):
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(2000, 1))
    predictions = rng.integers(6, size=2000)
    probability = rng.dirichlet(np.ones(3), size=2000)
    hard = np.isin(predictions, [1, 4]) * 0.3 + (probability.max(axis=1) < 0.6) * 0.4
    losses = (rng.uniform(size=2000) < hard).astype(float)
    train, test = slice(0, 1000), slice(1000, 2000)

    def area(classes, outputs):
        given = {} if outputs is None else {"outputs": outputs[train]}
        score = kind(50).fit(
            noise[train], losses[train], None if classes is None else classes[train], **given
        )
        given = {} if outputs is None else {"outputs": outputs[test]}
        return aurc(
            losses[test], score.predict(noise[test], None if classes is None else classes[test], **given)
        )

    alone, with_classes = area(None, None), area(predictions, None)
    with_outputs, with_both = area(None, probability), area(predictions, probability)
    assert with_both < min(with_classes, with_outputs)
    assert max(with_classes, with_outputs) < 0.9 * alone


@BOTH
def test_nothing_to_split(kind):
    X, losses = ring(40, 0)
    for few in (2, 3):
        assert np.isfinite(kind(5).fit(X[:few], losses[:few]).predict(X)).all()
    flat = np.ones((40, 3))
    for predictions in (None, np.arange(40) % 3):
        score = kind(5).fit(flat, losses, predictions)
        assert np.isfinite(score.predict(flat, predictions)).all()
    with pytest.raises(ValueError, match="at least 2 examples"):
        kind().fit(X[:1], losses[:1])


@BOTH
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n_estimators", (0, 2.5, "x")),
        ("learning_rate", (0.0, 1.5)),
        ("max_leaf_nodes", (1, None)),
        ("l2_regularization", (-1.0,)),
        ("min_samples_leaf", (0,)),
        ("patience", (0,)),
        ("validation_fraction", (0.0, 1.0, 1.5)),
    ],
)
def test_settings_are_checked(kind, name, values):
    X, losses = ring(50, seed=0)
    for value in values:
        with pytest.raises(ValueError, match=f"^{name} must be"):
            kind(**{name: value}).fit(X, losses)


def test_outputs_go_to_both_or_neither():
    X, losses = ring(100, 0)
    score = BoostedSELEScore(5).fit(X, losses, outputs=np.abs(X))
    with pytest.raises(ValueError, match="outputs must be given to fit and to predict, or to neither"):
        score.predict(X)
    with pytest.raises(ValueError, match="outputs must have 2 columns"):
        score.predict(X, outputs=X[:, :1])
    with pytest.raises(ValueError, match="one row per row of X"):
        score.predict(X, outputs=X[:5])
    with pytest.raises(ValueError, match="validation must be a tuple"):
        score.fit(X, losses, validation=X)


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (ModuleNotFoundError("No module named 'lightgbm'"), "pip install lightgbm"),
        (OSError("libgomp.so.1: cannot open shared object file"), "apt install libgomp1"),
    ],
)
@BOTH
def test_without_lightgbm_a_sentence_says_what_to_install(kind, error, advice, monkeypatch):
    original = builtins.__import__

    def without(name, *arguments, **options):
        if name.split(".")[0] == "lightgbm":
            raise error
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(LightGBMNotAvailableError, match=advice) as caught:
        kind().fit(*ring(50, 0))
    assert isinstance(caught.value, ImportError)
    assert caught.value.__suppress_context__


def test_lightgbm_is_loaded_when_a_score_is_fitted_and_not_before():
    code = (
        "import sys, facereject.scores, facereject.selective\n"
        "assert 'lightgbm' not in sys.modules\n"
        "facereject.scores.BoostedSELEScore(2).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 1.0])\n"
        "assert 'lightgbm' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("interaction", "expected"), [(True, 8), (False, 2)])
def test_the_size_of_the_trees_is_that_of_the_lower_area_held_out(interaction, expected):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1500, 2))
    hard = np.sign(X[:, 0] * X[:, 1]) if interaction else 2.0 * X[:, 0]
    losses = (rng.uniform(size=1500) < 1 / (1 + np.exp(-2.0 * hard))).astype(float)
    settings = {"n_estimators": 60, "learning_rate": 0.2, "l2_regularization": 1.0, "patience": 10}
    score = BoostedSELEScore(max_leaf_nodes=(2, 8), **settings).fit(X, losses)
    assert score.max_leaf_nodes_ == expected
    alone = BoostedSELEScore(max_leaf_nodes=expected, **settings).fit(X, losses)
    np.testing.assert_array_equal(score.predict(X), alone.predict(X))
    repeated = BoostedSELEScore(max_leaf_nodes=(2, 8), **settings).fit(X, losses, validation=(X, losses))
    assert repeated.booster_.num_trees() >= repeated.n_estimators_ > 0
