"""SelectivePredictor with scikit-learn's tools, and what it says of mistakes."""

import pickle

import numpy as np
import pandas as pd
import pytest
from selective_problems import classes, numbers, quick
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingRegressor, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import BayesianRidge, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags

from facereject.losses import absolute_error, zero_one_loss
from facereject.metrics import aurc
from facereject.scores import (
    BoostedSELEScore,
    MarginScore,
    MaxClassProbability,
    SELEScore,
)
from facereject.selection import (
    BoundedCoverage,
    BoundedImprovement,
    InfeasibleTargetError,
)
from facereject.selective import SelectivePredictor, neg_aurc

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
    forest = RandomForestClassifier(200, random_state=0)
    model = quick(forest, score=BoostedSELEScore(5), cv=5).fit(X, y)
    data = pickle.dumps(model)
    # the forest and the models asked for a second opinion; forests of the folds would be too much
    assert len(data) < 2 * len(pickle.dumps(clone(forest).fit(X, y)))
    restored = pickle.loads(data)  # noqa: S301
    again = clone(model).fit(X, y)
    for other in (restored, again):
        np.testing.assert_array_equal(other.uncertainty(X), model.uncertainty(X))
        assert other.selector_ == model.selector_
    assert clone(model).set_params(random_state=1).fit(X, y).selector_ != model.selector_


def test_score_is_a_parameter_and_a_method():
    model = quick(score=SELEScore(0.5))
    assert model.get_params()["uncertainty_score__alpha"] == 0.5
    model.set_params(uncertainty_score__alpha=2.0, rejection=BoundedCoverage(0.6), estimator__C=3.0)
    model.set_params(rejection__coverage=0.5)
    copy = clone(model)
    assert copy.get_params()["uncertainty_score"].alpha == 2.0
    assert (copy.rejection.coverage, copy.estimator.C) == (0.5, 3.0)
    assert "score=SELEScore(alpha=2.0)" in repr(model)
    X, y = classes(200)
    assert neg_aurc(model.fit(X, y), X, y) == pytest.approx(-np.mean(model.risk_coverage(X, y).risk))
    # what scikit-learn means by it: the accuracy of all predictions
    assert model.score(X, y) == model.estimator_.score(X, y) == np.mean(model.predict(X) == y)
    model.set_params(uncertainty_score=MaxClassProbability()).fit(X, y)
    assert isinstance(model.uncertainty_score_, MaxClassProbability)


def pipeline_aurc(pipeline, X, y):
    return neg_aurc(pipeline[-1], pipeline[:-1].transform(X), y)


def test_grid_search_over_a_pipeline():
    X, y = classes(300)
    pipeline = make_pipeline(StandardScaler(), quick(rejection=BoundedCoverage(0.5), cv=3))
    grid = {
        "selectivepredictor__estimator__C": [1e-6, 1.0],
        "selectivepredictor__uncertainty_score__alpha": [1e-3, 1e-1],
    }
    search = GridSearchCV(pipeline, grid, scoring=pipeline_aurc, cv=3).fit(X, y)
    assert search.best_params_["selectivepredictor__estimator__C"] == 1.0
    assert (search.predict(X) == y).mean() > 0.6
    assert -0.5 < search.best_score_ < 0
    assert 0.5 < search.best_estimator_.score(X, y) < 1


# --- mistakes ---


class ReturnsItself(BaseEstimator):
    """As fit of most estimators does."""

    def fit(self, losses, uncertainty):
        return self


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"estimator": LogisticRegression}, TypeError, "estimator must be an object with fit and predict"),
        ({"estimator": StandardScaler()}, TypeError, "estimator must be .* classifier or regressor"),
        (
            {"uncertainty_score": "sele"},
            TypeError,
            r"uncertainty_score must be .* for instance BoostedSELEScore\(\); got 'sele'",
        ),
        ({"rejection": 0.9}, TypeError, r"rejection must be .* for instance BoundedCoverage\(0.9\); got 0.9"),
        ({"rejection": IsotonicRegression()}, TypeError, "must take the keywords losses, uncertainty"),
        ({"rejection": ReturnsItself()}, TypeError, "must return a Selector, got ReturnsItself"),
        ({"loss": "zero_one"}, TypeError, "loss must be a function of .* one loss per example"),
        ({"loss": lambda y, predicted: 0.0}, ValueError, "loss must return one value per example"),
        ({"rejection": BoundedCoverage(2.0)}, ValueError, "coverage must be <= 1"),
        (
            {"estimator": Ridge(), "uncertainty_score": MarginScore()},
            TypeError,
            "Ridge has no decision_function",
        ),
    ],
)
def test_mistakes_are_explained(settings, error, message):
    X, y = classes(60)
    with pytest.raises(error, match=message):
        SelectivePredictor(**{"estimator": GaussianNB(), "uncertainty_score": SELEScore(), **settings}).fit(
            X, y
        )


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
    assert model.uncertainty_score_.with_predictions
    np.testing.assert_allclose(model.uncertainty(X), np.abs(X[:, -1]) + model.uncertainty_score_.mean)
    assert 0.85 < model.accept(X).mean() < 1


class PlainPredictor:
    """Nothing of scikit-learn in it; fit returns nothing."""

    def fit(self, X, y):
        self.weights = np.linalg.lstsq(np.asarray(X), y, rcond=None)[0]

    def predict(self, X):
        return np.asarray(X) @ self.weights


def test_a_predictor_that_is_no_estimator():
    X, y = numbers(300)
    X_new, y_new = numbers(2000, seed=1)
    plain = PlainPredictor()
    model = SelectivePredictor(plain, loss=absolute_error).fit(X, y)
    assert vars(plain) == {}
    losses = np.abs(y_new - model.predict(X_new))
    assert losses[model.accept(X_new)].mean() < losses.mean()
    assert -neg_aurc(model, X_new, y_new) < 0.8 * losses.mean()
    assert neg_aurc(clone(model).fit(X, y), X_new, y_new) == neg_aurc(model, X_new, y_new)
    with pytest.raises(ValueError, match="PlainPredictor is neither a classifier nor a regressor: pass loss"):
        SelectivePredictor(plain).fit(X, y)


def test_a_function_that_predicts():
    X, y = classes(400)
    trained = LogisticRegression().fit(*classes(400, seed=1))
    model = SelectivePredictor(trained.predict, loss=zero_one_loss, prefit=True).fit(X, y)
    X_new, y_new = classes(2000, seed=2)
    np.testing.assert_array_equal(model.predict(X_new), trained.predict(X_new))
    # it knows the neighbours, and nothing of the probabilities
    assert -neg_aurc(model, X_new, y_new) < 0.9 * (model.predict(X_new) != y_new).mean()
    assert clone(model).estimator == trained.predict
    with pytest.raises(TypeError, match="a function of X that predicts needs prefit=True"):
        SelectivePredictor(trained.predict, loss=zero_one_loss).fit(X, y)


def mixed_frame(n, seed):
    """Numbers, texts, categories and gaps; one of the texts is hard."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    colour = rng.choice(["red", "green", "blue"], size=n)
    size = 2.0 * y + np.where(colour == "red", 3.0, 0.7) * rng.normal(size=n)
    frame = pd.DataFrame(
        {"size": size, "colour": colour, "kind": pd.Categorical(rng.choice(["a", "b"], size=n))}
    )
    frame.loc[::11, "size"] = np.nan
    return frame, y


def mixed_pipeline():
    numbers_ = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (numbers_, ["size"]), (OneHotEncoder(sparse_output=False), ["colour", "kind"])
    )
    return make_pipeline(columns, LogisticRegression())


@pytest.mark.parametrize("score", [None, SELEScore(), BoostedSELEScore(20)], ids=repr)
@pytest.mark.parametrize("output", ["default", "pandas"])
def test_mixed_frames_with_a_pipeline(score, output):
    frame, y = mixed_frame(400, 0)
    frame_new, y_new = mixed_frame(2000, 1)
    pipeline = mixed_pipeline().set_output(transform=output)
    model = SelectivePredictor(pipeline, score, cv=3).fit(frame, y)
    wrong = model.predict(frame_new) != y_new
    assert aurc(wrong, model.uncertainty(frame_new)) < 0.8 * wrong.mean()
    if score is not None:
        # the score sees what reaches the last step
        assert model.uncertainty_score_.n_features_in_ == 6
    assert model.feature_names_in_.tolist() == ["size", "colour", "kind"]


def test_mixed_frames_with_a_predictor_that_takes_them():
    frame, y = mixed_frame(400, 0)
    frame["colour"] = frame["colour"].astype("category")
    predictor = HistGradientBoostingClassifier(max_iter=20, categorical_features="from_dtype")
    for score in (None, BoostedSELEScore(10)):
        model = SelectivePredictor(predictor, score, cv=2).fit(frame, y)
        assert model.uncertainty(frame).shape == (400,)


def test_texts_with_a_pipeline_and_the_default_score():
    texts = ["good day", "good night", "bad day", "bad luck", "day night"] * 10
    labels = [1, 1, 0, 0, 1] * 8 + [1, 1, 0, 0, 0] * 2
    model = SelectivePredictor(make_pipeline(CountVectorizer(), LogisticRegression())).fit(texts, labels)
    assert model.uncertainty(["bad luck", "day night"]).argmax() == 1


def test_weights_reach_all_parts():
    X, y = classes(400)
    flipped = np.random.default_rng(0).uniform(size=400) < 0.4
    labels = np.where(flipped, (y + 1) % 3, y)
    X_new, y_new = classes(2000, seed=1)
    weighted = SelectivePredictor(LogisticRegression()).fit(
        X, labels, sample_weight=np.where(flipped, 0.0, 1.0)
    )
    plain = SelectivePredictor(LogisticRegression()).fit(X, labels)
    # examples without weight count neither for the threshold nor for the expected error
    assert weighted.expected_error(X_new).mean() < 0.75 * plain.expected_error(X_new).mean()
    assert neg_aurc(weighted, X_new, y_new) > neg_aurc(plain, X_new, y_new)
    accepted = weighted.accept(X_new).mean()
    assert 0.85 < accepted <= 1
    piped = SelectivePredictor(make_pipeline(StandardScaler(), LogisticRegression()))
    assert piped.fit(X, labels, sample_weight=np.ones(400)).accept(X).any()
    with pytest.raises(TypeError, match=r"sample_weight is given, but KNeighborsClassifier.fit does not"):
        SelectivePredictor(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(400))


def test_groups_share_a_fold():
    X, y = classes(300)
    groups = np.arange(300) // 10
    model = SelectivePredictor(LogisticRegression(), cv=3).fit(X, y, groups=groups)
    fold = model._cross_fit.fold
    assert all(len(np.unique(fold[groups == g])) == 1 for g in range(30))
    with pytest.raises(ValueError, match="one group per example"):
        SelectivePredictor(LogisticRegression()).fit(X, y, groups=groups[:5])


def test_reachable_in_a_pipeline():
    X, y = classes(300)
    pipeline = make_pipeline(StandardScaler(), SelectivePredictor(LogisticRegression()))
    pipeline.set_output(transform="pandas").fit(X, y)
    table, model = pipeline.transform(X), pipeline[-1]
    scaled = pipeline[0].transform(X)
    assert list(table) == ["uncertainty", "expected_error", "accepted"]
    np.testing.assert_array_equal(table["uncertainty"], model.uncertainty(scaled))
    np.testing.assert_array_equal(table["accepted"], model.accept(scaled))
    np.testing.assert_allclose(pipeline.predict_proba(X), model.estimator_.predict_proba(scaled))
    assert pipeline.score(X, y) == model.score(scaled, y)
    assert not hasattr(SelectivePredictor(Ridge()), "predict_proba")
    assert hasattr(SelectivePredictor(LinearSVC()), "decision_function")


def test_default_is_not_worse_than_the_maximum_class_probability():
    X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), test_size=0.5, random_state=0)
    forest = RandomForestClassifier(50, random_state=0)
    default, trivial = (
        SelectivePredictor(forest, score).fit(X, y) for score in (None, MaxClassProbability())
    )
    assert neg_aurc(default, X_test, y_test) > 1.05 * neg_aurc(trivial, X_test, y_test)


@pytest.mark.parametrize("predictor", [BayesianRidge(), BaggingRegressor(n_estimators=5, random_state=0)])
def test_spread_that_a_regressor_states(predictor):
    X, y = numbers(300)
    model = SelectivePredictor(predictor).fit(X, y)
    assert model._cross_fit.material.base_score is not None
    assert np.isfinite(model.uncertainty(X)).all()


def test_unfitted():
    for method in ("predict", "accept", "uncertainty", "expected_error"):
        with pytest.raises(NotFittedError):
            getattr(quick(), method)([[0.0]])
