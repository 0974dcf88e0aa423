"""Cross-fitting: honest losses for all examples, and scores of every kind fitted to them."""

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from facereject.losses import absolute_error, zero_one_loss
from facereject.metrics import aurc
from facereject.predictors import OrdinalSVM, SVMClassifier
from facereject.scores import (
    BoostedSELEScore,
    ConfidenceScore,
    MarginScore,
    MaxClassProbability,
    PlugInRisk,
    RegressionScore,
    SELEScore,
    SELEScoreCV,
    TrueClassProbabilityScore,
    TrueClassProbabilityScoreCV,
    cross_fit,
)


def examples(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return rng.normal(size=(n, 3)) + 1.5 * np.eye(3)[y], y


def test_losses_are_those_of_out_of_fold_predictions():
    X, y = examples()
    fitted = cross_fit(KNeighborsClassifier(1), SELEScore(), X, y, zero_one_loss, random_state=3)
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    expected = cross_val_predict(KNeighborsClassifier(1), X, y, cv=folds)
    np.testing.assert_array_equal(fitted.predictions, expected)
    np.testing.assert_array_equal(fitted.losses, expected != y)
    # the final predictor has seen all examples: one neighbour is the example itself
    np.testing.assert_array_equal(fitted.estimator.predict(X), y)


@pytest.mark.parametrize(
    "predictor",
    [
        RandomForestClassifier(20, random_state=0),
        make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=5, random_state=0)),
        LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1),
    ],
    ids=("forest", "pipeline", "LightGBM"),
)
def test_predictions_read_from_probabilities_are_those_of_predict(predictor):
    X, y = examples()
    # a rare class, which a fold lacks in training
    names = np.array(["a", "b", "c", "rare"])[np.where(np.arange(300) < 1, 3, y)]
    folds = KFold(3)
    fitted = cross_fit(predictor, ConfidenceScore(), X, names, zero_one_loss, folds)
    np.testing.assert_array_equal(fitted.predictions, cross_val_predict(predictor, X, names, cv=folds))


def test_a_predictor_that_does_not_predict_the_most_probable_class_is_asked():
    class Cautious(RandomForestClassifier):
        def predict(self, X):
            return np.where(self.predict_proba(X).max(axis=1) > 0.8, super().predict(X), 0)

    X, y = examples()
    predictor, folds = Cautious(20, random_state=0), KFold(3)
    fitted = cross_fit(predictor, ConfidenceScore(), X, y, zero_one_loss, folds)
    np.testing.assert_array_equal(fitted.predictions, cross_val_predict(predictor, X, y, cv=folds))


SCORES = [
    SELEScore(),
    RegressionScore(),
    TrueClassProbabilityScore(),
    TrueClassProbabilityScoreCV([1e-3, 1.0], cv=2),
    BoostedSELEScore(20),
    MaxClassProbability(),
]


@pytest.mark.parametrize("score", SCORES, ids=lambda score: type(score).__name__)
def test_every_kind_of_score(score):
    X, y = examples()
    X_test, y_test = examples(1000, seed=1)
    fitted = cross_fit(LogisticRegression(), score, X, y, zero_one_loss)
    losses = zero_one_loss(y_test, fitted.estimator.predict(X_test))
    assert aurc(losses, fitted.uncertainty(X_test)) < 0.8 * losses.mean()
    out_of_fold = fitted.out_of_fold_uncertainty(X)
    assert aurc(fitted.losses, out_of_fold) < 0.8 * fitted.losses.mean()
    assert not hasattr(score, "coef_")


@pytest.mark.parametrize(
    "score", [SELEScore(), ConfidenceScore(), MaxClassProbability()], ids=lambda s: type(s).__name__
)
def test_another_score_for_the_same_predictor_is_the_one_cross_fitted_with_it(score):
    X, y = examples()
    X_test, _ = examples(100, seed=1)
    fitted = cross_fit(LogisticRegression(), BoostedSELEScore(5), X, y, zero_one_loss)
    other, expected = fitted.with_score(score, X), cross_fit(LogisticRegression(), score, X, y, zero_one_loss)
    np.testing.assert_allclose(other.uncertainty(X_test), expected.uncertainty(X_test))
    np.testing.assert_allclose(other.out_of_fold_uncertainty(X), expected.out_of_fold_uncertainty(X))
    assert other.estimator is fitted.estimator


def test_out_of_fold_uncertainty_does_not_flatter():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 60)), rng.integers(2, size=200)
    fitted = cross_fit(LinearSVC(), RegressionScore(0.0, use_outputs=False), X, y, zero_one_loss)
    # labels are coin tosses: nothing can be known about the losses
    in_sample = aurc(fitted.losses, fitted.score.predict(X, fitted.predictions))
    assert in_sample < 0.6 * fitted.losses.mean()
    assert aurc(fitted.losses, fitted.out_of_fold_uncertainty(X)) > 0.8 * fitted.losses.mean()


@pytest.mark.parametrize("predictor", [SVMClassifier(), OrdinalSVM()])
def test_margin_of_each_fold_predictor(predictor):
    X, y = examples()
    fitted = cross_fit(predictor, MarginScore(), X, y, absolute_error, cv=3)
    uncertainty = fitted.out_of_fold_uncertainty(X)
    for k, part in enumerate(fitted.fold_estimators):
        rows = fitted.fold == k
        np.testing.assert_allclose(uncertainty[rows], MarginScore(part).predict(X[rows]))


def test_regressors_and_frames():
    import pandas

    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    y = X["a"] + rng.normal(size=300) * np.exp(X["b"])
    for predictor in (LinearRegression(), RandomForestRegressor(10, random_state=0)):
        fitted = cross_fit(predictor, SELEScore(), X, y, absolute_error)
        assert fitted.uncertainty(X).shape == (300,)
        assert fitted.score.classes_ is None
        assert np.corrcoef(fitted.out_of_fold_uncertainty(X), X["b"])[0, 1] > 0.8


def test_probabilities_of_a_class_that_a_fold_lacks():
    X, y = examples()
    y = np.append(y, 3)
    X = np.vstack([X, np.full((1, 3), 9.0)])
    fitted = cross_fit(LogisticRegression(), BoostedSELEScore(5), X, y, zero_one_loss, cv=KFold(3))
    assert fitted.outputs.shape == (301, 4)
    assert fitted.outputs[-1, 3] == 0.0
    assert fitted.uncertainty(X).shape == (301,)


@pytest.mark.parametrize("score", [BoostedSELEScore(5), PlugInRisk(1.0 - np.eye(3)), MaxClassProbability()])
def test_two_classes_left_of_three(score):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(61, 2)), np.append(np.arange(60) % 2, 2)
    fitted = cross_fit(LogisticRegression(), score, X, y, zero_one_loss, cv=KFold(3))
    uncertainty = fitted.out_of_fold_uncertainty(X)
    assert np.isfinite(uncertainty).all()
    if not isinstance(score, BoostedSELEScore):
        last = fitted.fold == 2
        probabilities = fitted.fold_estimators[2].predict_proba(X[last])
        np.testing.assert_allclose(uncertainty[last], 1.0 - probabilities.max(axis=1))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_values_of_a_class_that_a_fold_lacks(n_classes):
    rng = np.random.default_rng(0)
    X, y = 1e-3 * rng.normal(size=(61, 2)), np.append(np.arange(60) % n_classes, n_classes)
    fitted = cross_fit(LinearSVC(), BoostedSELEScore(5), X, y, zero_one_loss, cv=KFold(3))
    assert fitted.outputs.shape == (61, n_classes + 1)
    last = fitted.outputs[fitted.fold == 2]
    # never the largest: also where all values happen to lie between 0 and 1
    assert (last[:, -1] == last[:, :-1].min(axis=1)).all()
    if n_classes == 2:
        np.testing.assert_array_equal(last[:, 0], -last[:, 1])


@pytest.mark.parametrize("score", [SELEScoreCV([1e-3, 1.0]), MaxClassProbability()])
def test_folds_as_pairs_of_unequal_length(score):
    X, y = examples(100)
    folds = [(np.arange(30, 100), np.arange(30)), (np.arange(30), np.arange(30, 100))]
    if isinstance(score, SELEScoreCV):
        score.set_params(cv=folds).fit(X, 1.0 * (y == 0))
        score.set_params(cv=2)
    fitted = cross_fit(LogisticRegression(), score, X, y, zero_one_loss, cv=folds)
    np.testing.assert_array_equal(fitted.fold, np.arange(100) >= 30)


def test_mistakes_are_explained():
    X, y = examples()
    with pytest.raises(ValueError, match="every example exactly once"):
        cross_fit(LogisticRegression(), SELEScore(), X, y, zero_one_loss, cv=ShuffleSplit(3))
    with pytest.raises(TypeError, match="needs predict_proba, which LinearSVC lacks"):
        cross_fit(LinearSVC(), TrueClassProbabilityScore(), X, y, zero_one_loss)
    with pytest.raises(ValueError, match=r"loss must return one value per example, shape \(60,\)"):
        cross_fit(LogisticRegression(), SELEScore(), X, y, lambda y, predicted: 0.0)
