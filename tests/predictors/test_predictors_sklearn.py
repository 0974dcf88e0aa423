"""The predictors as scikit-learn estimators: its own checks, and the tools users combine them with."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from facereject.predictors import (
    LogisticClassifier,
    LogisticClassifierCV,
    OrdinalSVM,
    OrdinalSVMCV,
    SVMClassifier,
    SVMClassifierCV,
)

FIXED = [LogisticClassifier, SVMClassifier, OrdinalSVM]
SEARCH = [LogisticClassifierCV, SVMClassifierCV, OrdinalSVMCV]
ALL = FIXED + SEARCH

WITHIN_TOL = (
    "compares 7 digits, but runs on differently arranged examples stop at different points within tol of the "
    "optimum; test_weights_equal_repetition compares what is promised"
)
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": WITHIN_TOL,
    "check_sample_weight_equivalence_on_sparse_data": WITHIN_TOL,
}


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@parametrize_with_checks(
    [c() for c in FIXED] + [c(cs=(1, 10), cv=3) for c in SEARCH],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("predictor", ALL)
def test_survives_clone_and_pickle(predictor, iris):
    X, y = iris
    model = predictor(tol=0.05).fit(X, y)
    assert clone(model).get_params() == model.get_params()
    restored = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert np.array_equal(restored.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("predictor", FIXED)
def test_pipeline_in_a_grid_search(predictor, iris):
    X, y = iris
    grid = {predictor.__name__.lower() + "__alpha": [None, 1e-3, 10.0]}
    search = GridSearchCV(make_pipeline(StandardScaler(), predictor()), grid, cv=3).fit(X, y)
    assert (search.predict(X) == y).mean() > 0.9
    # the strongest regularisation leaves nothing to predict with
    assert np.argmin(search.cv_results_["mean_test_score"]) == 2


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("predictor", ALL)
def test_frames_and_string_labels(predictor, iris):
    X, y = iris
    names = np.array(["a setosa", "b versicolor", "c virginica"])
    frame = pd.DataFrame(X, columns=["sl", "sw", "pl", "pw"])
    model = predictor().fit(frame, pd.Series(names[y]))
    assert model.feature_names_in_.tolist() == ["sl", "sw", "pl", "pw"]
    assert model.classes_.tolist() == names.tolist()
    assert np.array_equal(model.predict(frame), names[predictor().fit(X, y).predict(X)])


@pytest.mark.parametrize("predictor", ALL)
def test_one_class_is_refused(predictor, iris):
    with pytest.raises(ValueError, match="at least two classes"):
        predictor().fit(iris[0], np.zeros(150, dtype=int))


@pytest.mark.parametrize("alpha", [-1.0, np.nan, np.inf, "x"])
def test_bad_alpha_is_named(alpha, iris):
    with pytest.raises(ValueError, match=r"^alpha "):
        SVMClassifier(alpha=alpha).fit(*iris)


@pytest.mark.parametrize("predictor", ALL)
def test_giving_up_warns(predictor, iris):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = predictor(max_iter=2, tol=1e-6).fit(*iris)
    assert model.gap_ > 1e-6


@pytest.mark.parametrize("predictor", FIXED)
def test_default_alpha_is_one_over_n(predictor, iris):
    X, y = iris
    assert predictor().fit(X, y).alpha_ == pytest.approx(1 / 150)
    weighted = predictor().fit(X, y, sample_weight=np.full(150, 2.0))
    assert weighted.alpha_ == pytest.approx(1 / 300)


def test_ordinal_score_is_minus_the_mean_absolute_error(iris):
    X, y = iris
    model = OrdinalSVM().fit(X, y)
    error = np.abs(model.predict(X) - y)
    assert model.score(X, y) == pytest.approx(-error.mean())
    assert model.score(X, y, sample_weight=y + 1) == pytest.approx(-np.average(error, weights=y + 1))
    assert cross_val_score(model, X, y).max() <= 0
    with pytest.raises(ValueError, match="was not seen in fit"):
        model.score(X, y + 1)


def test_probabilities_belong_to_the_scores(iris):
    X, y = iris
    for rows in (np.arange(150), np.flatnonzero(y > 0)):
        model = LogisticClassifier().fit(X[rows], y[rows])
        probabilities = model.predict_proba(X)
        scores = model.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros(150), scores])
        expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(probabilities, expected)
        np.testing.assert_allclose(model.predict_log_proba(X), np.log(expected), rtol=1e-10)
    far = model.predict_log_proba(np.full((1, 4), 1e5))
    assert np.isfinite(far).all()
    assert not hasattr(SVMClassifier, "predict_proba")
    assert not hasattr(OrdinalSVM, "predict_proba")
