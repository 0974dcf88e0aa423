"""A predictor for a risk of your own: against known optima, and scikit-learn's checks and tools."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import QuantileRegressor, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from facereject import SelectivePredictor
from facereject.predictors import (
    LinearRiskPredictor,
    LinearRiskPredictorCV,
    LogisticClassifier,
    OrdinalSVM,
    OrdinalSVMCV,
    SVMClassifier,
    SVMClassifierCV,
)
from facereject.risks import BinaryHinge, CrossEntropy, MulticlassHinge, OrdinalHinge, SquaredError
from facereject.scores import SELEScore

TIGHT = {"tol": 1e-6, "max_iter": 5000}
WITHIN_TOL = "compares 7 digits, but runs on differently arranged examples stop within tol of the optimum"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": WITHIN_TOL,
    "check_sample_weight_equivalence_on_sparse_data": WITHIN_TOL,
}


class Named:
    """A function whose text has no address in it: test processes must agree on the names of tests."""

    def __init__(self, function):
        self.function = function

    def __call__(self, y, sample_weight):
        return self.function(y, sample_weight)

    def __repr__(self):
        return self.function.__name__


def quantile(y, sample_weight):
    def risk(scores):
        slope = np.where(y > scores, 0.9, -0.1)
        return sample_weight @ (slope * (y - scores)), -sample_weight * slope

    return risk


def softmax_risk(y, sample_weight):
    """Cross-entropy as a user would write it: (n, K) scores, and one score for two classes."""

    def risk(scores):
        if scores.ndim == 1:
            sign = np.where(y > 0, -1.0, 1.0)
            return sample_weight @ np.logaddexp(0, sign * scores), sample_weight * sign / (
                1 + np.exp(-sign * scores)
            )
        top = scores - scores.max(axis=1, keepdims=True)
        p = np.exp(top) / np.exp(top).sum(axis=1, keepdims=True)
        rows = np.arange(len(y))
        value = -sample_weight @ np.log(p[rows, y])
        p[rows, y] -= 1
        return value, sample_weight[:, None] * p

    return risk


def hinge_of_thresholds(y, sample_weight):
    def risk(scores):
        sign = np.where(np.arange(scores.shape[1]) < y[:, None], 1.0, -1.0)
        slack = np.maximum(0, 1 - sign * scores)
        return sample_weight @ slack.sum(axis=1), -sample_weight[:, None] * sign * (slack > 0)

    return risk


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@parametrize_with_checks(
    [
        LinearRiskPredictor(CrossEntropy),
        LinearRiskPredictor(MulticlassHinge),
        LinearRiskPredictor(OrdinalHinge, "ordinal"),
        LinearRiskPredictor(SquaredError, "regression"),
        LinearRiskPredictorCV(Named(softmax_risk), cs=(1, 10), cv=3),
        LinearRiskPredictorCV(Named(quantile), "regression", cs=(1, 10), cv=3),
    ],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("own", "known"),
    [
        (LinearRiskPredictor(CrossEntropy, alpha=0.01, **TIGHT), LogisticClassifier(0.01, **TIGHT)),
        (LinearRiskPredictor(softmax_risk, alpha=0.01, **TIGHT), LogisticClassifier(0.01, **TIGHT)),
        (LinearRiskPredictor(MulticlassHinge, alpha=0.01, **TIGHT), SVMClassifier(0.01, **TIGHT)),
        (LinearRiskPredictor(OrdinalHinge, "ordinal", alpha=0.01, **TIGHT), OrdinalSVM(0.01, **TIGHT)),
        (LinearRiskPredictor(hinge_of_thresholds, "ordinal", alpha=0.01, **TIGHT), OrdinalSVM(0.01, **TIGHT)),
    ],
    ids=["cross-entropy", "own cross-entropy", "hinge", "ordinal", "own ordinal"],
)
def test_known_risks_give_the_known_predictors(own, known, iris):
    X, y = iris
    own.fit(X, y), known.fit(X, y)
    # alpha/2 ‖θ − θ*‖² ≤ tol · objective bounds how far two such models can be apart
    np.testing.assert_allclose(own.decision_function(X), known.decision_function(X), atol=0.15)
    assert (own.predict(X) == known.predict(X)).mean() > 0.98
    assert own.score(X, y) == pytest.approx(known.score(X, y), abs=0.02)


@pytest.mark.parametrize("risk", [BinaryHinge, MulticlassHinge])
def test_two_classes_by_one_score_or_by_two(risk, iris):
    X, y = iris[0][50:], iris[1][50:]
    own = LinearRiskPredictor(risk, **TIGHT).fit(X, y)
    assert own.decision_function(X).shape == (100,)
    np.testing.assert_array_equal(own.predict(X), own.classes_[(own.decision_function(X) > 0).astype(int)])
    # with two vectors w_1 = −w_0 the same margin costs half as much
    alpha = 1 / 100 if risk is BinaryHinge else 1 / 200
    known = SVMClassifier(alpha, **TIGHT).fit(X, y)
    np.testing.assert_allclose(own.decision_function(X), known.decision_function(X), atol=0.1)


def test_regression_is_ridge_and_quantile_regression():
    X, y = load_diabetes(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), y / 100
    ridge = LinearRiskPredictor(SquaredError, "regression", alpha=0.1, **TIGHT).fit(X, y)
    design = np.column_stack([X, np.ones(len(X))])
    peer = Ridge(0.05 * len(y), fit_intercept=False).fit(design, y)
    np.testing.assert_allclose(ridge.predict(X), peer.predict(design), atol=5e-3)
    model = LinearRiskPredictor(quantile, "regression", alpha=1e-9, tol=1e-3).fit(X, y)
    exact = QuantileRegressor(quantile=0.9, alpha=0.0).fit(X, y).predict(X)
    risk = quantile(y, np.full(len(y), 1 / len(y)))
    assert risk(exact)[0] * (1 - 1e-6) <= risk(model.predict(X))[0] <= risk(exact)[0] * (1 + 1.1e-3)
    assert model.score(X, y) == pytest.approx(-risk(model.predict(X))[0])
    assert not hasattr(model, "decision_function")
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("risk", "task", "known"),
    [(MulticlassHinge, "classification", SVMClassifierCV), (OrdinalHinge, "ordinal", OrdinalSVMCV)],
)
def test_the_search_is_that_of_the_known_predictors(risk, task, known, iris):
    X, y = iris
    own, peer = LinearRiskPredictorCV(risk, task, cv=4).fit(X, y), known(cv=4).fit(X, y)
    np.testing.assert_allclose(own.validation_losses_, peer.validation_losses_, atol=0.01)
    assert own.alpha_ in own.alphas_
    validation = (X[::3], y[::3])
    own.fit(X[1::3], y[1::3], validation=validation)
    assert own.validation_losses_.min() == pytest.approx(abs(own.score(*validation) - (task[0] == "c")))


def test_regression_is_searched_by_its_own_risk():
    X, y = load_diabetes(return_X_y=True)
    folds = KFold(3)
    model = LinearRiskPredictorCV(quantile, "regression", cs=(1e-4, 1, 1e6), cv=folds).fit(X, y)
    total = 0.0
    for train, test in folds.split(X):
        part = LinearRiskPredictor(quantile, "regression", alpha=1 / len(train)).fit(X[train], y[train])
        error = y[test] - part.predict(X[test])
        total += (error * np.where(error > 0, 0.9, -0.1)).sum()
    assert model.validation_losses_[1] == pytest.approx(total / len(y), rel=0.03)
    assert model.alpha_ == model.alphas_[model.validation_losses_.argmin()]


@pytest.mark.parametrize("task", ["classification", "ordinal"])
def test_a_class_that_a_fold_lacks_is_never_predicted_there(task, iris):
    X, y = iris
    y = y.copy()
    y[[0, 1]] = 3  # two examples, both held out by the first fold
    risk = MulticlassHinge if task == "classification" else OrdinalHinge
    order = np.random.default_rng(0).permutation(np.arange(2, 150))
    folds = [(order[70:], np.r_[0, 1, order[:70]]), (np.r_[0, 1, order[:70]], order[70:])]
    model = LinearRiskPredictorCV(risk, task, cs=(1,), cv=folds).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    part = LinearRiskPredictor(risk, task, alpha=1 / 78).fit(X[folds[0][0]], y[folds[0][0]])
    assert set(part.predict(X)) <= {0, 1, 2}
    assert model.validation_losses_[0] > 2 / 150


def test_works_where_predictors_work(iris):
    X, y = iris
    names = np.array(["a", "b", "c"])[y]
    frame = pd.DataFrame(X, columns=list("pqrs"))
    model = LinearRiskPredictor(softmax_risk).fit(frame, names)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.feature_names_in_.tolist() == list("pqrs")
    assert is_classifier(model)
    assert is_regressor(LinearRiskPredictor(quantile, "regression"))
    sparse = LinearRiskPredictor(softmax_risk).fit(sp.csr_array(X), names)
    assert sparse.score(sp.csr_array(X), names) == pytest.approx(model.score(frame, names), abs=0.02)
    pipeline = make_pipeline(StandardScaler(), LinearRiskPredictor(softmax_risk))
    grid = {"linearriskpredictor__alpha": [1e-3, 10.0], "linearriskpredictor__risk": [softmax_risk]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_["linearriskpredictor__alpha"] == 1e-3
    assert clone(model).get_params() == model.get_params()
    restored = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(restored.predict(frame), model.predict(frame))
    selective = SelectivePredictor(LinearRiskPredictor(softmax_risk, alpha=0.1), SELEScore()).fit(X, y)
    assert selective.uncertainty(X).shape == (150,)


@pytest.mark.parametrize("solver", ["bmrm", "bmrm-line-search"])
def test_bmrm_trains_the_same_predictor(solver, iris):
    X, y = iris
    for make in (
        lambda **k: LinearRiskPredictor(softmax_risk, alpha=0.1, **k),
        lambda **k: LogisticClassifier(0.1, **k),
        lambda **k: SVMClassifier(0.1, **k),
        lambda **k: OrdinalSVM(0.1, **k),
    ):
        own, default = make(solver=solver, tol=1e-4).fit(X, y), make(tol=1e-4).fit(X, y)
        assert own.gap_ <= 1e-4
        np.testing.assert_allclose(own.decision_function(X), default.decision_function(X), atol=0.1)


def test_mistakes_are_named(iris):
    X, y = iris
    with pytest.raises(TypeError, match=r"^risk "):
        LinearRiskPredictor(None).fit(X, y)
    with pytest.raises(ValueError, match=r"^task "):
        LinearRiskPredictor(CrossEntropy, "ranking").fit(X, y)
    with pytest.raises(ValueError, match=r"the risk takes one score per example, but classification .* 3"):
        LinearRiskPredictor(SquaredError).fit(X, y)
    with pytest.raises(ValueError, match=r"the risk takes 3 scores per example, but ordinal .* needs 2"):
        LinearRiskPredictor(CrossEntropy, "ordinal").fit(X, y)
    with pytest.raises(ValueError, match="needs at least two classes"):
        LinearRiskPredictor(CrossEntropy).fit(X, np.zeros(150))
    folds = [(np.arange(50), np.arange(50, 150))]
    with pytest.raises(ValueError, match="one class only"):
        LinearRiskPredictorCV(CrossEntropy, cv=folds).fit(X, y)
    with pytest.raises(ValueError, match="label 7 was not seen in fit"):
        LinearRiskPredictor(OrdinalHinge, "ordinal").fit(X, y).score(X, np.full(150, 7))
    with pytest.raises(ValueError, match=r"^fit_intercept "):
        LinearRiskPredictor(OrdinalHinge, "ordinal", fit_intercept=False).fit(X, y)
