"""Properties of every score, over one list: a new member gets all of them."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from facereject.metrics import aurc
from facereject.scores import (
    BoostedRegressionScore,
    BoostedSELEScore,
    ConfidenceScore,
    GapScore,
    MarginScore,
    MaxClassProbability,
    PlugInRisk,
    RegressionScore,
    RegressionScoreCV,
    SELEScore,
    SELEScoreCV,
    TrueClassProbabilityScore,
    TrueClassProbabilityScoreCV,
)
from facereject.scores._reading.predictor import PredictorScore
from facereject.scores._weighting import Weighting

ALPHAS = (1e-3, 1e-1)
LINEAR = [
    SELEScore(1e-2, tol=1e-5),
    RegressionScore(1e-2),
    TrueClassProbabilityScore(1e-2),
    SELEScoreCV(ALPHAS, cv=3, tol=1e-5),
    RegressionScoreCV(ALPHAS, cv=3),
    TrueClassProbabilityScoreCV(ALPHAS, cv=3),
]
# the paper's features: X and the predicted class
PLAIN = [clone(score).set_params(use_outputs=False) for score in LINEAR]
BOOSTED = [BoostedSELEScore(30), BoostedRegressionScore(30)]
READ = [
    MaxClassProbability(),
    PlugInRisk(1.0 - np.eye(3)),
    MarginScore(),
    GapScore(),
    GapScore(response="decision_function"),
]
LINEAR += PLAIN
LEARNED = LINEAR + BOOSTED
ALL = LEARNED + READ + [ConfidenceScore()]


def name(score):
    return str(score).replace("\n", "").replace(" ", "")[:60]


all_scores = pytest.mark.parametrize("score", ALL, ids=name)
learned_scores = pytest.mark.parametrize("score", LEARNED, ids=name)
linear_scores = pytest.mark.parametrize("score", LINEAR, ids=name)


@dataclass
class Problem:
    """Examples of a classifier, and what a score may learn from them."""

    X: np.ndarray
    y: np.ndarray
    predictor: object

    def __post_init__(self):
        self.predictions = self.predictor.predict(self.X)
        self.losses = 100.0 * (self.predictions != self.y)
        self.outputs = self.predictor.predict_proba(self.X)
        self.true_class_probability = self.outputs[np.arange(len(self.y)), self.y]

    def rows(self, index):
        return Problem(self.X[index], self.y[index], self.predictor)


def draw(n, seed):
    """Three overlapping classes in four dimensions."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    centres = 2.0 * np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [-0.5, -0.5, 0, 0]])
    return centres[y] + rng.normal(size=(n, 4)), y


@pytest.fixture(scope="module")
def train():
    predictor = make_pipeline(StandardScaler(), LogisticRegression()).fit(*draw(300, 0))
    return Problem(*draw(900, 1), predictor)


@pytest.fixture(scope="module")
def fresh(train):
    return Problem(*draw(1500, 2), train.predictor)


def reads_outputs(score):
    return not isinstance(score, PredictorScore) and getattr(score, "use_outputs", True)


def fit(score, problem, **changes):
    """A fitted copy of the score; ``changes`` replace arguments of fit."""
    if isinstance(score, PredictorScore):
        return score.bind(problem.predictor)
    arguments = {
        "X": problem.X,
        score.target: getattr(problem, score.target),
        "predictions": problem.predictions,
    }
    if reads_outputs(score):
        arguments["outputs"] = problem.outputs
    if isinstance(score, TrueClassProbabilityScoreCV):
        arguments["losses"] = problem.losses
    return clone(score).fit(**{**arguments, **changes})


def uncertainty(score, problem, **changes):
    arguments = {"X": problem.X, "predictions": problem.predictions}
    if reads_outputs(score):
        arguments["outputs"] = problem.outputs
    return score.predict(**{**arguments, **changes})


@all_scores
def test_ranks_much_better_than_chance(score, train, fresh):
    found = aurc(fresh.losses, uncertainty(fit(score, train), fresh))
    chance, best = fresh.losses.mean(), aurc(fresh.losses, fresh.losses)
    assert found < best + 0.6 * (chance - best)


@all_scores
def test_gives_one_finite_float_per_row(score, train, fresh):
    values = uncertainty(fit(score, train), fresh)
    assert values.shape == (len(fresh.y),)
    assert values.dtype == np.float64
    assert np.isfinite(values).all()


@all_scores
def test_equal_seeds_give_equal_scores(score, train, fresh):
    first, second = (uncertainty(fit(score, train), fresh) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@all_scores
def test_survives_pickling(score, train, fresh):
    fitted = fit(score, train)
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301 - our own bytes
    np.testing.assert_array_equal(uncertainty(again, fresh), uncertainty(fitted, fresh))


@all_scores
def test_clone_has_the_same_parameters(score, train):
    fitted = fit(score, train)
    copy = clone(fitted)
    assert copy is not fitted
    assert str(copy) == str(fitted if isinstance(score, PredictorScore) else score)
    if not isinstance(score, PredictorScore):
        assert not [attribute for attribute in vars(copy) if attribute.endswith("_")]


@all_scores
def test_rows_are_scored_one_by_one(score, train, fresh):
    fitted = fit(score, train)
    index = np.random.default_rng(3).permutation(len(fresh.y))[:50]
    np.testing.assert_allclose(
        uncertainty(fitted, fresh.rows(index)), uncertainty(fitted, fresh)[index], rtol=1e-9, atol=1e-12
    )


@all_scores
def test_does_not_depend_on_units_of_the_features(score, train, fresh):
    # exact for powers of two; a shift rounds the values, and trees may then cut elsewhere
    factor, shift = np.array([4.0, 0.25, 1024.0, 1.0]), np.array([8.0, 0.0, -64.0, 2.0])
    if score in BOOSTED:
        shift = np.zeros(4)
    predictor = make_pipeline(StandardScaler(), LogisticRegression())
    changed_predictor = clone(predictor).fit(train.X * factor + shift, train.y)
    predictor.fit(train.X, train.y)
    plain, changed = (
        Problem(a, train.y, p)
        for a, p in ((train.X, predictor), (train.X * factor + shift, changed_predictor))
    )
    # predictions and outputs, equal but for rounding, are the same numbers for both
    for field in ("predictions", "losses", "outputs", "true_class_probability"):
        setattr(changed, field, getattr(plain, field))
    first = uncertainty(fit(score, plain), plain)
    second = uncertainty(fit(score, changed), changed)
    np.testing.assert_allclose(second, first, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("score", [score for score in LEARNED if score.target == "losses"], ids=name)
def test_ranking_does_not_depend_on_the_unit_of_the_losses(score, train, fresh):
    percent, other = fit(score, train), fit(score, train, losses=train.losses / 128)
    first, second = uncertainty(percent, fresh), uncertainty(other, fresh)
    # what is mixed with the base score, or replaced by it, has no unit
    in_unit = "Regression" in type(score).__name__ and getattr(percent, "weight_", 1.0) == 1.0
    np.testing.assert_allclose(second * (128 if in_unit else 1), first, rtol=1e-7, atol=1e-8)


@linear_scores
def test_order_of_the_training_rows_does_not_matter(score, train, fresh):
    order = np.random.default_rng(4).permutation(len(train.y))
    if hasattr(score, "cv"):
        # the folds follow the rows: alpha is picked on a given set instead
        outputs = (fresh.outputs,) if reads_outputs(score) else ()
        given = {"validation": (fresh.X, fresh.losses, fresh.predictions, *outputs)}
    else:
        given = {}
    first = uncertainty(fit(score, train, **given), fresh)
    second = uncertainty(fit(score, train.rows(order), **given), fresh)
    np.testing.assert_allclose(second, first, rtol=1e-3, atol=1e-3 * np.ptp(first))


# not those that choose alpha by folds, which may cut a repeated row in two
@pytest.mark.parametrize("score", [score for score in LINEAR if not hasattr(score, "cv")], ids=name)
def test_integer_weights_equal_repeated_rows(score, train, fresh):
    weight = np.random.default_rng(5).integers(0, 3, size=len(train.y))
    weighted = fit(score, train, sample_weight=weight)
    repeated = fit(score, train.rows(np.repeat(np.arange(len(train.y)), weight)))
    for fitted in (weighted, repeated):
        # folds, which decide the weight of the learned score, may cut a repeated row in two as well
        fitted._weighting = Weighting(1.0, "")
    first, second = uncertainty(weighted, fresh), uncertainty(repeated, fresh)
    np.testing.assert_allclose(second, first, rtol=1e-2, atol=5e-3 * np.ptp(first))


@learned_scores
@pytest.mark.parametrize("level", [0.0, 0.7])
def test_equal_losses_leave_nothing_to_rank(score, train, fresh, level):
    constant = np.full(len(train.y), level)
    if isinstance(score, TrueClassProbabilityScoreCV):
        fitted = fit(score, train, true_class_probability=constant, losses=constant)
    else:
        fitted = fit(score, train, **{score.target: constant})
    values = uncertainty(fitted, fresh)
    assert np.isfinite(values).all()
    if fitted.weight_ == 0.0:
        # nothing to learn from: the order is that of the predictor itself
        assert reads_outputs(score)
        own = MaxClassProbability().from_outputs(fresh.outputs)
        np.testing.assert_array_equal(np.argsort(values, kind="stable"), np.argsort(own, kind="stable"))
    elif "SELE" in type(score).__name__ or level == 0.0:
        assert np.ptp(values) < 1e-6


@learned_scores
def test_class_never_predicted_in_training(score, train, fresh):
    seen = train.rows(train.predictions != 2)
    fitted = fit(score, seen)
    values = uncertainty(fitted, fresh)
    assert np.isfinite(values).all()
    if score in PLAIN:
        unknown = fresh.predictions == 2
        assert (values[unknown] == uncertainty(fitted, seen).max()).all()


@learned_scores
def test_string_classes_and_no_classes(score, train, fresh):
    names = np.array(["ant", "bee", "cat"])
    plain = uncertainty(fit(score, train), fresh)
    named = fit(score, train, predictions=names[train.predictions])
    np.testing.assert_array_equal(uncertainty(named, fresh, predictions=names[fresh.predictions]), plain)
    boxed = uncertainty(named, fresh, predictions=names[fresh.predictions].astype(object))
    np.testing.assert_array_equal(boxed, plain)
    np.testing.assert_array_equal(
        uncertainty(fit(score, train), fresh, predictions=fresh.predictions.astype(object)), plain
    )
    alone = fit(score, train, predictions=None)
    assert aurc(fresh.losses, uncertainty(alone, fresh, predictions=None)) < fresh.losses.mean()


@learned_scores
@pytest.mark.parametrize("n", [4, 12])
def test_few_examples(score, train, n):
    few = train.rows(np.arange(n))
    assert np.isfinite(uncertainty(fit(score, few), few)).all()


@learned_scores
def test_constant_column_is_ignored(score, train, fresh):
    first = uncertainty(fit(score, train), fresh)
    with_constant = [np.column_stack([part.X, np.full(len(part.X), 7.0)]) for part in (train, fresh)]
    fitted = fit(score, train, X=with_constant[0])
    second = uncertainty(fitted, fresh, X=with_constant[1])
    np.testing.assert_allclose(second, first, rtol=1e-3, atol=1e-3 * np.ptp(first))


@learned_scores
def test_data_frames_keep_their_column_names(score, train):
    import pandas

    frame = pandas.DataFrame(train.X, columns=list("abcd"))
    fitted = fit(score, train, X=frame)
    assert list(fitted.feature_names_in_) == list("abcd")
    plain = uncertainty(fit(score, train), train)
    np.testing.assert_allclose(uncertainty(fitted, train, X=frame), plain, rtol=1e-9, atol=1e-9)


@learned_scores
def test_missing_features(score, train, fresh):
    gaps = [np.where(np.random.default_rng(0).random(p.X.shape) < 0.1, np.nan, p.X) for p in (train, fresh)]
    assert get_tags(score).input_tags.allow_nan == (score not in LINEAR)
    if score in LINEAR:
        with pytest.raises(ValueError, match="X contains NaN"):
            fit(score, train, X=gaps[0])
        with pytest.raises(ValueError, match="X contains NaN"):
            uncertainty(fit(score, train), fresh, X=gaps[1])
    else:
        values = uncertainty(fit(score, train, X=gaps[0]), fresh, X=gaps[1])
        assert aurc(fresh.losses, values) < 0.8 * fresh.losses.mean()


@learned_scores
def test_mistakes_are_named(score, train):
    fitted = fit(score, train)
    X = train.X.copy()
    X[3, 1] = np.nan
    target = getattr(train, score.target).copy()
    target[5] = np.nan
    for wrong, message in [
        ({"X": np.where(np.isnan(X), np.inf, X)}, "X contains infinity"),
        ({"X": sp.csr_matrix(train.X)}, "dense data is required"),
        ({score.target: target}, rf"{score.target}\[5\] is nan"),
        ({score.target: -np.ones(len(target))}, f"{score.target} must not be negative"),
        ({score.target: target[:4]}, f"{score.target} must be finite|lengths differ"),
        ({score.target: np.ones(7)}, f"lengths differ.*{score.target} has 7"),
        ({"predictions": train.predictions[:7]}, "predictions must hold one class per row"),
        ({"predictions": train.X[:, 0]}, "predictions must be classes"),
        ({"predictions": np.resize(np.array([1, "a"], object), len(target))}, "all strings or all numbers"),
        ({"sample_weight": np.zeros(len(target))}, "sample_weight must not be zero"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            fit(score, train, **wrong)
    for wrong, message in [
        ({"X": train.X[:, :2]}, "X has 2 features"),
        ({"predictions": None}, "predictions are needed"),
        # '0' is not 0, and not a class that was never seen either
        ({"predictions": train.predictions.astype(str)}, "predictions holds labels of type <U21"),
    ]:
        with pytest.raises(ValueError, match=message):
            uncertainty(fitted, train, **wrong)
    with pytest.raises(ValueError, match="predictions were not given to fit"):
        uncertainty(fit(score, train, predictions=None), train)
