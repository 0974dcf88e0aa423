"""SelectivePredictor: honest calibration, third-party parts, and scikit-learn's own checks and tools."""

import doctest
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import facereject.selective
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
    cross_fit,
)
from facereject.selection import (
    BoundedCoverage,
    BoundedImprovement,
    CostBased,
    InfeasibleTargetError,
    Selector,
    guaranteed_risk,
)
from facereject.selective import SelectivePredictor


def classes(n, seed=0, d=4):
    """Three classes, the first feature of which tells them apart; harder where the last one is large."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, d))
    X[:, 0] = 2.0 * y + np.exp(0.7 * X[:, -1]) * rng.normal(size=n)
    return X, y


def numbers(n, seed=0):
    """y = a + noise that grows with b."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.exp(X[:, 1]) * rng.normal(size=n)


def quick(predictor=None, score=None, **settings):
    """With cheap parts by default."""
    predictor = LogisticRegression() if predictor is None else predictor
    return SelectivePredictor(predictor, SELEScore() if score is None else score, **settings)


@parametrize_with_checks(
    [
        quick(cv=3),
        quick(Ridge(), RegressionScore(), cv=3),
        quick(score=MaxClassProbability(), cv=3),
    ]
)
def test_check_estimator(estimator, check):
    check(estimator)


def test_docstring_examples():
    result = doctest.testmod(facereject.selective)
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
        bias.append(model.expected_loss(X_new).mean() - losses.mean())
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
        quick(score=score, rejection=BoundedCoverage(0.6)) for score in (RegressionScore(), InAnyUnit())
    )
    plain.fit(X, y)
    other.fit(X, y)
    in_unit = (other.oof_uncertainty_ - other.score_.origin_) / other.score_.unit_
    np.testing.assert_allclose(in_unit, plain.oof_uncertainty_, atol=1e-9)
    assert np.mean(plain.accept(X_new) != other.accept(X_new)) < 0.002


def test_alpha_is_chosen_once():
    # scores of alpha 1e-6 and 1e3 differ in scale by orders of magnitude: folds must not choose their own
    X, y = classes(300)
    chosen = quick(score=RegressionScoreCV()).fit(X, y)
    fixed = quick(score=RegressionScore(chosen.score_.alpha_)).fit(X, y)
    np.testing.assert_allclose(chosen.oof_uncertainty_, fixed.oof_uncertainty_)
    assert chosen.selector_ == fixed.selector_


def test_calibration_is_not_fooled_by_a_score_that_overfits():
    # labels are coin tosses and the score can memorise losses: no ranking is better than another
    honest, flattered = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(600, 60)), rng.integers(2, size=600)
        predictor = LogisticRegression().fit(X[:300], y[:300])
        model = quick(predictor, RegressionScore(0.0), prefit=True).fit(X[300:], y[300:])
        losses = model.oof_losses_
        honest.append(aurc(losses, model.oof_uncertainty_) / losses.mean())
        flattered.append(aurc(losses, model.uncertainty(X[300:])) / losses.mean())
    assert np.mean(honest) == pytest.approx(1.0, abs=0.1)
    assert np.mean(flattered) < 0.6


def test_out_of_fold_attributes_follow_from_the_parts():
    X, y = classes(200)
    folds = KFold(4)
    model = SelectivePredictor(KNeighborsClassifier(1), SELEScore(), CostBased(0.3), zero_one_loss, folds)
    model.fit(X, y)
    expected = cross_val_predict(KNeighborsClassifier(1), X, y, cv=folds)
    np.testing.assert_array_equal(model.oof_predictions_, expected)
    np.testing.assert_array_equal(model.oof_losses_, expected != y)
    assert CostBased(0.3).fit(model.oof_uncertainty_, model.oof_losses_) == model.selector_
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
    expected = model.expected_loss(X_new)[order]
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
    assert -wrapped.score(X_new, y_new) < 0.85 * losses.mean()
    assert is_classifier(wrapped)

    trained = clone(predictor).fit(X, y)
    prefit = SelectivePredictor(trained, score, cv=3, prefit=True).fit(X_cal, y_cal)
    assert prefit.predictor_ is trained
    np.testing.assert_array_equal(prefit.predict(X_new), wrapped.predict(X_new))
    np.testing.assert_array_equal(prefit.oof_predictions_, trained.predict(X_cal))
    assert -prefit.score(X_new, y_new) < 0.85 * losses.mean()
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
    assert clone(model).predictor is trained
    assert clone(model).get_params()["score"] is not model.get_params()["score"]
    search = GridSearchCV(model, {"score__alpha": [1e-3, 1.0]}, cv=3).fit(*classes(300, seed=1))
    assert search.best_estimator_.predictor_ is trained
    with pytest.raises(NotFittedError):
        SelectivePredictor(GaussianNB(), prefit=True).fit(X, y)


@pytest.mark.parametrize("predictor", [Ridge(), RandomForestRegressor(20, random_state=0)])
def test_regressors(predictor):
    X, y = numbers(500)
    X_new, y_new = numbers(2000, seed=1)
    model = SelectivePredictor(predictor, rejection=BoundedCoverage(0.7)).fit(X, y)
    assert is_regressor(model)
    assert model.loss_ is absolute_error
    assert model.score_.classes_ is None
    assert not hasattr(model, "classes_")
    losses = np.abs(y_new - model.predict(X_new))
    assert losses[model.accept(X_new)].mean() < 0.75 * losses.mean()
    assert model.score(X_new, y_new) == pytest.approx(-aurc(losses, model.uncertainty(X_new)))
    assert model.expected_loss(X_new).mean() == pytest.approx(losses.mean(), rel=0.15)


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
    np.testing.assert_allclose(costly.expected_loss(X_cost), 10 * plain.expected_loss(X_cost), atol=1e-6)


def test_a_guarantee_from_examples_set_aside():
    model = quick(score=BoostedSELEScore(40)).fit(*classes(800))
    X_cal, y_cal = classes(2000, seed=1)
    X_new, y_new = classes(4000, seed=2)
    losses = zero_one_loss(y_cal, model.predict(X_cal))
    selector = guaranteed_risk(model.uncertainty(X_cal), losses, max_risk=0.15, delta=0.01)
    accepted = selector.accept(model.uncertainty(X_new))
    wrong = model.predict(X_new) != y_new
    assert wrong[accepted].mean() < 0.15 < wrong.mean()
    assert accepted.mean() > 0.2


# --- scikit-learn's tools ---


def test_frames_and_string_labels():
    X, y = classes(300)
    names = np.array(["easy", "hard", "odd"])
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = quick(score=BoostedSELEScore(10)).fit(frame, pd.Series(names[y]))
    numeric = quick(score=BoostedSELEScore(10)).fit(X, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert set(model.predict(frame)) <= set(names)
    np.testing.assert_allclose(model.uncertainty(frame), numeric.uncertainty(X))
    np.testing.assert_allclose(model.oof_losses_, numeric.oof_losses_)
    with pytest.raises(ValueError, match="feature names"):
        model.accept(frame.rename(columns={"a": "z"}))


def test_input_that_is_no_table():
    texts = ["good day", "good night", "bad day", "bad luck"] * 10
    predictor = make_pipeline(CountVectorizer(), LogisticRegression())
    model = SelectivePredictor(predictor, MaxClassProbability(), cv=2).fit(texts, [1, 1, 0, 0] * 10)
    assert model.uncertainty(["good", "day"]).argmax() == 1


def test_features_may_be_missing_where_predictor_and_score_allow_it():
    X, y = classes(300)
    X[::7, 1] = np.nan
    predictor = HistGradientBoostingClassifier(max_iter=10)
    for score, allowed in ((BoostedSELEScore(5), True), (MaxClassProbability(), True), (SELEScore(), False)):
        model = SelectivePredictor(predictor, score, cv=3)
        assert get_tags(model).input_tags.allow_nan == allowed
        if allowed:
            assert np.isfinite(model.fit(X, y).uncertainty(X)).all()
        else:
            with pytest.raises(ValueError, match="X contains NaN"):
                model.fit(X, y)
    assert not get_tags(SelectivePredictor(GaussianNB(), BoostedSELEScore())).input_tags.allow_nan


def test_random_decisions_repeat():
    X, y = classes(300)
    everywhere_alike = DummyClassifier().fit(X, y)
    model = SelectivePredictor(everywhere_alike, MaxClassProbability(), BoundedCoverage(0.5), prefit=True)
    assert model.fit(X, y).selector_.acceptance_ == pytest.approx(0.5)
    np.testing.assert_array_equal(model.accept(X), model.accept(X))
    np.testing.assert_array_equal(model.accept(X), model.accept(X, random_state=0))
    assert (model.accept(X) != model.accept(X, random_state=1)).any()


def test_pickle_repeats_and_carries_no_fold_predictors():
    X, y = classes(300)
    forest = RandomForestClassifier(20, random_state=0)
    model = quick(forest, score=BoostedSELEScore(5), cv=5).fit(X, y)
    data = pickle.dumps(model)
    assert len(data) < 2 * len(pickle.dumps(clone(forest).fit(X, y)))
    restored = pickle.loads(data)  # noqa: S301
    again = clone(model).fit(X, y)
    for other in (restored, again):
        np.testing.assert_array_equal(other.uncertainty(X), model.uncertainty(X))
        assert other.selector_ == model.selector_
    assert clone(model).set_params(random_state=1).fit(X, y).selector_ != model.selector_


def test_score_is_a_parameter_and_a_method():
    model = quick(score=SELEScore(0.5))
    assert model.get_params()["score__alpha"] == 0.5
    model.set_params(score__alpha=2.0, rejection=BoundedCoverage(0.6), predictor__C=3.0)
    model.set_params(rejection__coverage=0.5)
    copy = clone(model)
    assert copy.get_params()["score"].alpha == 2.0
    assert (copy.rejection.coverage, copy.predictor.C) == (0.5, 3.0)
    assert "score=SELEScore(alpha=2.0)" in repr(model)
    X, y = classes(200)
    assert model.fit(X, y).score(X, y) == pytest.approx(-np.mean(model.risk_coverage(X, y).risk))
    assert model.set_params(score=MaxClassProbability()).fit(X, y).score(X, y) <= 0
    assert isinstance(model.score_, MaxClassProbability)


def test_grid_search_over_a_pipeline():
    X, y = classes(300)
    pipeline = make_pipeline(StandardScaler(), quick(rejection=BoundedCoverage(0.5), cv=3))
    grid = {
        "selectivepredictor__predictor__C": [1e-6, 1.0],
        "selectivepredictor__score__alpha": [1e-3, 1e-1],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_["selectivepredictor__predictor__C"] == 1.0
    assert (search.predict(X) == y).mean() > 0.6
    assert -0.5 < search.best_score_ < 0


# --- mistakes ---


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"predictor": LogisticRegression}, TypeError, "predictor must be an object with fit and predict"),
        ({"predictor": StandardScaler()}, TypeError, "predictor must be .* classifier or regressor"),
        ({"score": "sele"}, TypeError, r"score must be .* for instance SELEScoreCV\(\); got 'sele'"),
        ({"rejection": 0.9}, TypeError, r"rejection must be .* for instance BoundedCoverage\(0.9\); got 0.9"),
        # its fit(uncertainty, losses) takes vectors too, and returns itself
        ({"rejection": IsotonicRegression()}, TypeError, "must return a Selector, got IsotonicRegression"),
        ({"loss": "zero_one"}, TypeError, "loss must be a function of .* one loss per example"),
        ({"loss": lambda y, predicted: 0.0}, ValueError, "loss must return one value per example"),
        ({"rejection": BoundedCoverage(2.0)}, ValueError, "coverage must be <= 1"),
        ({"predictor": Ridge(), "score": MarginScore()}, TypeError, "Ridge has no decision_function"),
    ],
)
def test_mistakes_are_explained(settings, error, message):
    X, y = classes(60)
    with pytest.raises(error, match=message):
        SelectivePredictor(**{"predictor": GaussianNB(), "score": SELEScore(), **settings}).fit(X, y)


def test_target_out_of_reach():
    X, y = classes(60)
    model = quick(rejection=BoundedImprovement(0.5), loss=lambda y, predicted: np.ones(len(y)))
    with pytest.raises(InfeasibleTargetError, match="smallest reachable risk is 1"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_neither_classifier_nor_regressor_needs_a_loss():
    class Constant(BaseEstimator):
        def fit(self, X, y):
            self.value_ = np.mean(y)
            return self

        def predict(self, X):
            return np.full(len(X), self.value_)

    X, y = numbers(100)
    with pytest.raises(ValueError, match="Constant is neither a classifier nor a regressor: pass loss"):
        quick(Constant()).fit(X, y)
    assert quick(Constant(), loss=absolute_error).fit(X, y).accept(X).any()


class PlainScore:
    """Nothing of scikit-learn in it; fit returns nothing."""

    def fit(self, X, losses, predictions=None):
        self.mean, self.with_predictions = np.average(X[:, -1], weights=losses), predictions is not None

    def predict(self, X, predictions=None):
        return list(np.abs(X[:, -1]) + self.mean)


@pytest.mark.parametrize("prefit", [False, True])
def test_a_score_that_is_no_estimator(prefit):
    (X, y), score = classes(300), PlainScore()
    predictor = GaussianNB().fit(*classes(300, seed=1))
    model = clone(SelectivePredictor(predictor, score, prefit=prefit)).fit(X, y)
    assert vars(score) == {}
    assert model.score_.with_predictions
    np.testing.assert_allclose(model.uncertainty(X), np.abs(X[:, -1]) + model.score_.mean)
    assert 0.85 < model.accept(X).mean() < 1


class PlainPredictor:
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros(len(X))


@pytest.mark.parametrize("prefit", [False, True])
def test_a_predictor_that_is_no_estimator_is_refused_in_one_sentence(prefit):
    X, y = numbers(50)
    model = SelectivePredictor(PlainPredictor(), loss=absolute_error, prefit=prefit)
    message = "predictor must be a scikit-learn estimator, got an object of type PlainPredictor"
    with pytest.raises(TypeError, match=message):
        model.fit(X, y)
    with pytest.raises(TypeError, match=message):
        cross_fit(PlainPredictor(), SELEScore(), X, y, absolute_error)


def test_unfitted():
    for method in ("predict", "accept", "uncertainty", "expected_loss"):
        with pytest.raises(NotFittedError):
            getattr(quick(), method)([[0.0]])
