"""Tables of the kinds people have: tiny, rare classes, missing values, texts, sparse, no errors at all."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from facereject.scores import BoostedSELEScore, SELEScore
from facereject.scores._reading import tables
from facereject.scores._reading.second_opinion import _ClassRidge
from facereject.selective import SelectivePredictor

X, Y = make_classification(120, 6, n_informative=3, random_state=0)
WITH_NAN = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.1, np.nan, X)
TREES = HistGradientBoostingClassifier(max_iter=5)


def mixed_frame():
    frame = pd.DataFrame(WITH_NAN[:, :2], columns=["a", "b"])
    frame["city"] = np.resize(["Brno", "Prague", np.nan], len(frame)).astype(object)
    return frame


def mixed_pipeline():
    imputed = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    return make_pipeline(
        make_column_transformer((SimpleImputer(), ["a", "b"]), (imputed, ["city"])), LogisticRegression()
    )


def nullable_frame():
    whole = pd.array(np.resize([1, 2, None], 120), dtype="Int64")
    return pd.DataFrame({"a": whole, "b": X[:, 0], "c": pd.array(X[:, 1] > 0, dtype="boolean")})


TABLES = {
    "12 rows": (GaussianNB(), X[:12], Y[:12]),
    "6 rows": (GaussianNB(), X[:6], [0, 1] * 3),
    "one example of a class": (GaussianNB(), X, np.where(np.arange(120) == 0, 7, Y)),
    "strings": (GaussianNB(), X, np.where(Y, "yes", "no").astype(object)),
    "categories": (
        GaussianNB(),
        pd.DataFrame(X).add_prefix("x"),
        pd.Series(np.where(Y, "a", "b"), dtype="category"),
    ),
    "equal rows": (GaussianNB(), np.repeat(X[:12], 10, axis=0), np.repeat(Y[:12], 10)),
    "constant features": (LogisticRegression(), np.ones((120, 2)), Y),
    "constant predictor": (DummyClassifier(), X, Y),
    "more features than rows": (GaussianNB(), np.tile(X[:40], 60), Y[:40]),
    "missing values": (TREES, WITH_NAN, Y),
    "nullable columns": (TREES, nullable_frame(), Y),
    "a pipeline for a frame": (mixed_pipeline(), mixed_frame(), Y),
    "sparse": (LogisticRegression(), sp.coo_array(np.where(X > 0.5, X, 0.0)), Y),
    "texts": (
        make_pipeline(CountVectorizer(), LogisticRegression()),
        np.where(X[:, 0] > 0, "a good film", "no film"),
        Y,
    ),
}


@pytest.mark.parametrize("score", [None, BoostedSELEScore()], ids=["default", "boosted"])
@pytest.mark.parametrize("name", TABLES)
def test_fits_and_says_what_was_decided(name, score):
    predictor, features, labels = TABLES[name]
    model = SelectivePredictor(predictor, score).fit(features, labels)
    assert np.isfinite(model.uncertainty(features)).all()
    assert np.isfinite(model.expected_error(features)).all()
    assert model.accept(features).any()
    assert f"# weight {model.uncertainty_score_.weight_:g}: " in repr(model.uncertainty_score_)


@pytest.mark.parametrize("score", [None, BoostedSELEScore()], ids=["default", "boosted"])
def test_a_perfect_predictor_keeps_its_own_uncertainty(score):
    model = SelectivePredictor(DecisionTreeClassifier(), score).fit(np.sign(X), X[:, 0] > 0)
    assert model.uncertainty_score_.weight_ == 0
    assert "0 errors: not enough to learn from" in repr(model.uncertainty_score_)


def test_two_groups_are_enough():
    model = SelectivePredictor(GaussianNB(), BoostedSELEScore()).fit(X, Y, groups=np.arange(120) % 2)
    assert np.isfinite(model.uncertainty(X)).all()


def test_a_rare_class_does_not_cost_folds():
    trained_on = []

    class Counted(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            trained_on.append(len(X))
            return super().fit(X, y, sample_weight)

    SelectivePredictor(Counted()).fit(X, np.where(np.arange(120) == 0, 7, Y))
    assert sorted(trained_on) == [96] * 5 + [120]


def test_a_regressor_without_a_spread_has_no_base_score():
    model = SelectivePredictor(Ridge()).fit(X, X[:, 0])
    assert repr(model.uncertainty_score_).endswith("# weight 1: there is no base score to compare it with")


def test_several_targets_need_a_loss():
    with pytest.raises(ValueError, match="y has 2 columns: pass loss"):
        SelectivePredictor(Ridge()).fit(X, X[:, :2])


def test_a_sparse_table_that_is_too_large_to_write_out(monkeypatch):
    monkeypatch.setattr(tables, "_MAX_DENSE", 100)
    with pytest.raises(ValueError, match="SELEScore needs dense features, and 120 rows of 6 are too large"):
        SelectivePredictor(LogisticRegression(), SELEScore()).fit(sp.csr_array(X), Y)


def test_both_ways_to_the_weights_of_a_ridge_model_agree():
    rng = np.random.default_rng(0)
    points, codes = rng.normal(size=(20, 30)), rng.integers(3, size=20)
    centred, target = points - points.mean(axis=0), np.eye(3)[codes] - np.eye(3)[codes].mean(axis=0)
    expected = np.linalg.solve(centred.T @ centred + np.eye(30), centred.T @ target)
    np.testing.assert_allclose(_ClassRidge(points, codes)._weights, expected, atol=1e-10)
