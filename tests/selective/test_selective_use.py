"""SelectivePredictor with scikit-learn's tools, and what it says of mistakes."""

import pickle

import numpy as np
import pandas as pd
import pytest
from selective_problems import classes, numbers, quick
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from facereject.losses import absolute_error
from facereject.scores import (
    BoostedSELEScore,
    MarginScore,
    MaxClassProbability,
    SELEScore,
    cross_fit,
)
from facereject.selection import (
    BoundedCoverage,
    BoundedImprovement,
    InfeasibleTargetError,
)
from facereject.selective import SelectivePredictor

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


class ReturnsItself(BaseEstimator):
    def fit(self, losses, uncertainty):
        return self


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"predictor": LogisticRegression}, TypeError, "predictor must be an object with fit and predict"),
        ({"predictor": StandardScaler()}, TypeError, "predictor must be .* classifier or regressor"),
        ({"score": "sele"}, TypeError, r"score must be .* for instance SELEScoreCV\(\); got 'sele'"),
        ({"rejection": 0.9}, TypeError, r"rejection must be .* for instance BoundedCoverage\(0.9\); got 0.9"),
        ({"rejection": IsotonicRegression()}, TypeError, "must take the keywords losses and uncertainty"),
        ({"rejection": ReturnsItself()}, TypeError, "must return a Selector, got ReturnsItself"),
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
