"""SelectivePredictor: honest calibration, third-party parts, and scikit-learn's own checks."""

import doctest

import numpy as np
import pytest
from selective_problems import classes, numbers, quick
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import facereject.selective._estimator
from facereject.losses import absolute_error, zero_one_loss
from facereject.metrics import aurc
from facereject.predictors import OrdinalSVM
from facereject.scores import (
    BoostedSELEScore,
    MarginScore,
    MaxClassProbability,
    RegressionScore,
    RegressionScoreCV,
    SELEScore,
    SELEScoreCV,
    TrueClassProbabilityScore,
)
from facereject.selection import (
    BoundedCoverage,
    CostBased,
    NoValidThresholdError,
    Selector,
    guaranteed_risk,
    suggest_start,
)
from facereject.selective import SelectivePredictor, neg_aurc
from facereject.selective._estimator import _default_folds

WEIGHTS = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "a repeated row is its own neighbour in another fold",
)


@parametrize_with_checks(
    [
        quick(cv=3),
        quick(Ridge(), RegressionScore(), cv=3),
        quick(score=MaxClassProbability(), cv=3),
        SelectivePredictor(LogisticRegression()),
        SelectivePredictor(Ridge()),
    ],
    expected_failed_checks=lambda model: (
        {} if isinstance(model.uncertainty_score, MaxClassProbability) else WEIGHTS
    ),
)
def test_check_estimator(estimator, check):
    check(estimator)


def test_docstring_examples():
    result = doctest.testmod(facereject.selective._estimator)
    assert result.attempted > 10
    assert result.failed == 0


# --- what is learned ---


@pytest.mark.parametrize("load", [load_digits, load_breast_cancer])
def test_selection_lowers_the_error(load):
    X, X_test, y, y_test = train_test_split(*load(return_X_y=True), test_size=0.5, random_state=0)
    model = SelectivePredictor(GaussianNB(), SELEScoreCV([1e-3, 1e-1, 10.0]), BoundedCoverage(0.8)).fit(X, y)
    wrong = model.predict(X_test) != y_test
    accepted = model.accept(X_test)
    assert accepted.dtype == bool
    assert wrong[accepted].mean() < 0.75 * wrong.mean()
    curve = model.risk_coverage(X_test, y_test)
    risk = dict(zip(np.round(curve.coverage, 2), curve.risk, strict=True))
    assert risk[0.5] <= risk[0.8] < risk[1.0] == pytest.approx(wrong.mean())


SCORES = [
    SELEScoreCV([1e-4, 1e-2, 1.0, 100.0]),
    RegressionScoreCV(),
    TrueClassProbabilityScore(),
    BoostedSELEScore(40),
    MaxClassProbability(),
]


@pytest.mark.parametrize("score", SCORES, ids=lambda score: type(score).__name__)
def test_coverage_and_expected_loss_hold_on_new_examples(score):
    n, target = 600, 0.7
    X_new, y_new = classes(4000, seed=99)
    coverage, bias, areas = [], [], []
    for seed in range(4):
        model = quick(score=score, rejection=BoundedCoverage(target), random_state=seed)
        model.fit(*classes(n, seed))
        losses, uncertainty = zero_one_loss(y_new, model.predict(X_new)), model.uncertainty(X_new)
        coverage.append(model.accept(X_new, random_state=0).mean() - model.selector_.coverage_)
        bias.append(model.expected_error(X_new).mean() - losses.mean())
        areas.append(aurc(losses, uncertainty) / losses.mean())
    # three standard errors of a share estimated from n, averaged over four samples
    tolerance = 3 * np.sqrt(0.25 / n / 4)
    assert abs(np.mean(coverage)) < tolerance
    assert abs(np.mean(bias)) < tolerance
    # a random ranking has AuRC = mean loss
    assert np.mean(areas) < 0.75


class InAnyUnit(RegressionScore):
    """A score whose unit and origin depend on the examples it was fitted to, as those of a ranking may."""

    def fit(self, X, losses, predictions=None):
        self.unit_, self.origin_ = 10.0 ** (X.sum() % 5), 100 * X.mean()
        return super().fit(X, losses, predictions)

    def predict(self, X, predictions=None):
        return self.origin_ + self.unit_ * super().predict(X, predictions)


def test_the_unit_of_a_score_does_not_matter():
    X, y = classes(300)
    X_new, _ = classes(1000, seed=1)
    plain, other = (
        quick(score=score, rejection=BoundedCoverage(0.6))
        for score in (RegressionScore(use_outputs=False), InAnyUnit(use_outputs=False))
    )
    plain.fit(X, y)
    other.fit(X, y)
    in_unit = (other.oof_uncertainty_ - other.uncertainty_score_.origin_) / other.uncertainty_score_.unit_
    np.testing.assert_allclose(in_unit, plain.oof_uncertainty_, atol=1e-9)
    assert np.mean(plain.accept(X_new) != other.accept(X_new)) < 0.002


def test_alpha_is_chosen_once():
    # scores of alpha 1e-6 and 1e3 differ in scale by orders of magnitude: folds must not choose their own
    X, y = classes(300)
    chosen = quick(score=RegressionScoreCV()).fit(X, y)
    fixed = quick(score=RegressionScore(chosen.uncertainty_score_.alpha_)).fit(X, y)
    np.testing.assert_allclose(chosen.oof_uncertainty_, fixed.oof_uncertainty_)
    assert chosen.selector_ == fixed.selector_


def test_calibration_is_not_fooled_by_a_score_that_overfits():
    # labels are coin tosses and the score can memorise losses: no ranking is better than another
    honest, flattered = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(600, 60)), rng.integers(2, size=600)
        predictor = LogisticRegression().fit(X[:300], y[:300])
        model = quick(predictor, RegressionScore(0.0, use_outputs=False), prefit=True).fit(X[300:], y[300:])
        losses = model.oof_losses_
        honest.append(aurc(losses, model.oof_uncertainty_) / losses.mean())
        flattered.append(aurc(losses, model.uncertainty(X[300:])) / losses.mean())
    assert np.mean(honest) == pytest.approx(1.0, abs=0.1)
    assert np.mean(flattered) < 0.6


@pytest.mark.parametrize(
    ("y", "kind", "groups", "default", "expected"),
    [
        (np.arange(1999) % 2, "classifier", None, True, 5),
        (np.arange(2000) % 2, "classifier", None, True, 2),
        (np.arange(2000) % 2, "classifier", None, False, 5),
        (np.arange(1999.0), "regressor", None, True, 5),
        (np.repeat(["a", "b"], [90, 1]), "classifier", None, True, 5),
        (np.repeat(["a", "b"], [3, 3]), "classifier", None, False, 3),
        (np.arange(100.0), "regressor", np.arange(100) % 4, True, 4),
    ],
)
def test_default_folds(y, kind, groups, default, expected):
    assert _default_folds(y, kind, groups, default) == expected


class Counted(LogisticRegression):
    """Remembers which methods of it and its copies were called, and with how many examples."""

    def __init__(self, calls=None):
        super().__init__()
        self.calls = calls

    def __sklearn_clone__(self):
        return Counted(self.calls)

    def fit(self, X, y, sample_weight=None):
        self.calls.append(("fit", len(X)))
        return super().fit(X, y, sample_weight)

    def predict(self, X):
        self.calls.append(("predict", len(X)))
        return super().predict(X)

    def predict_proba(self, X):
        self.calls.append(("predict_proba", len(X)))
        return super().predict_proba(X)


def test_the_default_asks_nothing_of_the_predictor_twice():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = (X[:, 0] + rng.normal(size=2000) > 0).astype(int)
    predictor = Counted([])
    model = SelectivePredictor(predictor).fit(X, y)
    half = [(name, 1000) for name in ("fit", "predict_proba", "predict")]
    assert sorted(predictor.calls) == sorted([*half, *half, ("fit", 2000)])
    predictor.calls.clear()
    model.uncertainty(X[:7])
    assert sorted(predictor.calls) == [("predict", 7), ("predict_proba", 7)]


def test_out_of_fold_attributes_follow_from_the_parts():
    X, y = classes(200)
    folds = KFold(4)
    model = SelectivePredictor(KNeighborsClassifier(1), SELEScore(), CostBased(0.3), zero_one_loss, folds)
    model.fit(X, y)
    expected = cross_val_predict(KNeighborsClassifier(1), X, y, cv=folds)
    np.testing.assert_array_equal(model.oof_predictions_, expected)
    np.testing.assert_array_equal(model.oof_losses_, expected != y)
    assert CostBased(0.3).fit(losses=model.oof_losses_, uncertainty=model.oof_uncertainty_) == model.selector_
    # fitted to all examples: the nearest neighbour of each is itself
    np.testing.assert_array_equal(model.predict(X), y)
    assert model.n_features_in_ == 4
    assert model.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(model.accept(X, 0), model.selector_.accept(model.uncertainty(X), 0))


def test_expected_loss_rises_with_uncertainty_and_is_clipped():
    X, y = numbers(400)
    model = quick(Ridge(), RegressionScore()).fit(X, y)
    X_new = np.vstack([numbers(500, seed=1)[0], [[0, 1e3, 0], [0, -1e3, 0]]])
    order = np.argsort(model.uncertainty(X_new))
    expected = model.expected_error(X_new)[order]
    assert (np.diff(expected) >= 0).all()
    assert expected[-1] > 3 * expected[0]
    assert model.oof_losses_.min() <= expected[0]
    assert expected[-1] <= model.oof_losses_.max()


# --- parts of others ---


PREDICTORS = [
    (RandomForestClassifier(20, random_state=0), SELEScore()),
    (HistGradientBoostingClassifier(max_iter=20), BoostedSELEScore(30)),
    (make_pipeline(StandardScaler(), LinearSVC()), MarginScore()),
    (make_pipeline(StandardScaler(), OrdinalSVM()), MarginScore()),
    (make_pipeline(StandardScaler(), LogisticRegression()), MaxClassProbability()),
]


@pytest.mark.parametrize(("predictor", "score"), PREDICTORS)
def test_classifiers_wrapped_and_prefit(predictor, score):
    X, y = classes(400)
    X_cal, y_cal = classes(400, seed=1)
    X_new, y_new = classes(1000, seed=2)
    wrapped = SelectivePredictor(predictor, score, cv=3).fit(X, y)
    losses = zero_one_loss(y_new, wrapped.predict(X_new))
    assert -neg_aurc(wrapped, X_new, y_new) < 0.85 * losses.mean()
    assert is_classifier(wrapped)

    trained = clone(predictor).fit(X, y)
    prefit = SelectivePredictor(trained, score, cv=3, prefit=True).fit(X_cal, y_cal)
    assert prefit.estimator_ is trained
    np.testing.assert_array_equal(prefit.predict(X_new), wrapped.predict(X_new))
    np.testing.assert_array_equal(prefit.oof_predictions_, trained.predict(X_cal))
    assert -neg_aurc(prefit, X_new, y_new) < 0.85 * losses.mean()
    if isinstance(score, (MaxClassProbability, MarginScore)):
        # nothing is learned: the same predictor has the same uncertainties
        np.testing.assert_allclose(prefit.uncertainty(X_new), wrapped.uncertainty(X_new))
        np.testing.assert_allclose(prefit.oof_uncertainty_, prefit.uncertainty(X_cal))


@pytest.mark.parametrize("score", [TrueClassProbabilityScore(), BoostedSELEScore(10), MaxClassProbability()])
def test_prefit_classes_differ_from_those_at_hand(score):
    X, y = classes(300)
    trained = LogisticRegression().fit(X, y)
    X_cal, y_cal = classes(200, seed=1)
    y_cal = np.where(y_cal == 1, 7, y_cal)
    rows = y_cal != 2
    model = SelectivePredictor(trained, score, prefit=True).fit(X_cal[rows], y_cal[rows])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.accept(X).shape == (300,)
    assert model.oof_losses_[y_cal[rows] == 7].all()


def test_prefit_survives_clones_and_grid_search():
    X, y = classes(300)
    trained = GaussianNB().fit(X, y)
    model = SelectivePredictor(trained, SELEScore(), cv=3, prefit=True)
    assert clone(model).estimator is trained
    assert clone(model).get_params()["uncertainty_score"] is not model.get_params()["uncertainty_score"]
    search = GridSearchCV(model, {"uncertainty_score__alpha": [1e-3, 1.0]}, cv=3).fit(*classes(300, seed=1))
    assert search.best_estimator_.estimator_ is trained
    with pytest.raises(NotFittedError):
        SelectivePredictor(GaussianNB(), prefit=True).fit(X, y)


@pytest.mark.parametrize("predictor", [Ridge(), RandomForestRegressor(20, random_state=0)])
def test_regressors(predictor):
    X, y = numbers(500)
    X_new, y_new = numbers(2000, seed=1)
    model = SelectivePredictor(predictor, rejection=BoundedCoverage(0.7)).fit(X, y)
    assert is_regressor(model)
    assert model.loss_ is absolute_error
    assert model._cross_fit.classes is None
    assert not hasattr(model, "classes_")
    losses = np.abs(y_new - model.predict(X_new))
    assert losses[model.accept(X_new)].mean() < 0.75 * losses.mean()
    assert neg_aurc(model, X_new, y_new) == pytest.approx(-aurc(losses, model.uncertainty(X_new)))
    assert model.expected_error(X_new).mean() == pytest.approx(losses.mean(), rel=0.15)


def test_a_loss_and_a_rejection_of_the_user():
    class HalfOfThem(BaseEstimator):
        def __init__(self, share=0.5):
            self.share = share

        def fit(self, uncertainty, losses):
            self.seen_ = len(losses)
            return Selector(float(np.quantile(uncertainty, self.share)), 1.0, self.share, float("nan"))

    def distance(y, predicted):
        return np.linalg.norm(y - predicted, axis=1)

    X, y = numbers(300)
    model = SelectivePredictor(LinearRegression(), SELEScore(), HalfOfThem(), distance, cv=3)
    model.fit(X, np.column_stack([y, X[:, 2]]))
    assert model.predict(X).shape == (300, 2)
    assert model.loss_ is distance
    assert not hasattr(model.rejection, "seen_")
    assert model.accept(X).mean() == pytest.approx(0.5, abs=0.1)
    X_cost, y_cost = classes(300)
    costly = quick(loss=lambda y, predicted: 10.0 * (y != predicted)).fit(X_cost, y_cost)
    plain = quick().fit(X_cost, y_cost)
    np.testing.assert_allclose(costly.expected_error(X_cost), 10 * plain.expected_error(X_cost), atol=1e-6)


def test_a_guarantee_from_examples_set_aside():
    model = quick(score=BoostedSELEScore(40)).fit(*classes(800))
    before = model.selector_
    X_cal, y_cal = classes(2000, seed=1)
    X_new, y_new = classes(4000, seed=2)
    with pytest.raises(NoValidThresholdError):
        model.calibrate(X_cal[:50], y_cal[:50], max_risk=0.01)
    assert model.selector_ is before
    selector = model.calibrate(X_cal, y_cal, max_risk=0.15, delta=0.01)
    assert model.selector_ is selector
    guarantee = selector.guarantee_
    assert (guarantee.bound, guarantee.delta, guarantee.n) == (0.15, 0.01, 2000)
    assert guarantee.start == suggest_start(
        losses=model.oof_losses_,
        uncertainty=model.oof_uncertainty_,
        max_risk=0.15,
        delta=0.01,
        n=2000,
        start_share=0.9,
    )
    accepted = model.accept(X_new)
    wrong = model.predict(X_new) != y_new
    assert wrong[accepted].mean() < 0.15 < wrong.mean()
    assert accepted.mean() > 0.2
    # the same as by hand, up to where the search starts
    by_hand = guaranteed_risk(
        losses=zero_one_loss(y_cal, model.predict(X_cal)),
        uncertainty=model.uncertainty(X_cal),
        max_risk=0.15,
        delta=0.01,
    )
    assert selector.coverage_ == pytest.approx(by_hand.coverage_, abs=0.1)


def test_a_guarantee_for_groups_and_other_data():
    model = quick().fit(*classes(800))
    X_cal, y_cal = classes(3000, seed=1)
    groups = np.where(X_cal[:, 0] > 0, "right", "left")
    selector = model.calibrate(X_cal, y_cal, max_risk=0.2, groups=groups)
    assert [row.name for row in selector.guarantee_.groups] == ["left", "right"]
    weighted = model.calibrate(X_cal, y_cal, max_risk=0.2, weights=np.where(groups == "left", 2.0, 1.0))
    assert weighted.guarantee_.weight_bound == 2
