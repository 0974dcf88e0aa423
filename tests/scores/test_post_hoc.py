"""Scores read from saved outputs, against their formulas, and what is learned from outputs alone."""

import doctest

import numpy as np
import pytest
from scipy.special import softmax

import facereject.scores._post_hoc
from facereject.metrics import aurc
from facereject.scores import BoostedSELEScore, ConfidenceScore, MaxClassProbability, PostHocScore
from facereject.scores._post_hoc import _KINDS
from facereject.selective import SelectivePredictor


def network(n, seed, n_classes=6):
    """Logits whose length says nothing, features that tell where the noise is, and labels."""
    rng = np.random.default_rng(seed)
    y, features = rng.integers(n_classes, size=n), rng.normal(size=(n, 4))
    logits = 3.0 * np.eye(n_classes)[y] + np.exp(0.7 * features[:, :1]) * rng.normal(size=(n, n_classes))
    return logits * np.exp(0.5 * rng.normal(size=(n, 1))), y, features


def read(kind, logits, losses=None):
    return PostHocScore(kind).fit(None, losses, outputs=logits).predict(None, outputs=logits)


def test_docstring_examples():
    assert doctest.testmod(facereject.scores._post_hoc).failed == 0


@pytest.mark.parametrize("probabilities", [False, True])
def test_formulas(probabilities):
    logits, _, _ = network(200, 0)
    p = softmax(logits, axis=1)
    outputs = p if probabilities else logits
    top = np.sort(p, axis=1)
    np.testing.assert_allclose(read("max-softmax", outputs), np.log((1 - top[:, -1]) / top[:, -1]), rtol=1e-6)
    np.testing.assert_allclose(read("entropy", outputs), -(p * np.log(p)).sum(axis=1), atol=1e-12)
    squares = (p**2).sum(axis=1)
    np.testing.assert_allclose(read("doctor", outputs), np.log((1 - squares) / squares), rtol=1e-6)
    z = np.log(p) if probabilities else logits
    np.testing.assert_allclose(read("gap", outputs), -np.diff(np.sort(z, axis=1))[:, -1], atol=1e-9)
    np.testing.assert_allclose(read("energy", outputs), -np.log(np.exp(z).sum(axis=1)), atol=1e-9)


@pytest.mark.parametrize("kind", ["temperature", "max-logit"])
def test_the_parameter_with_the_lowest_aurc_is_taken(kind):
    logits, y, _ = network(1500, 1)
    losses = (logits.argmax(axis=1) != y).astype(float)
    score = PostHocScore(kind).fit(None, losses, outputs=logits)
    formula, values = _KINDS[kind]
    areas = [aurc(losses, formula(logits, value)) for value in values]
    assert score.parameter_ == values[int(np.argmin(areas))]
    with pytest.raises(ValueError, match="losses are needed"):
        PostHocScore(kind).fit(None, outputs=logits)


def test_max_logit_by_hand():
    logits = np.array([[3.0, 0.0, 0.0], [4.0, 3.0, -7.0]])
    centred = logits - logits.mean(axis=1, keepdims=True)
    expected = [-row.max() / np.sqrt((row**2).sum()) for row in centred]
    np.testing.assert_allclose(_KINDS["max-logit"][0](logits, 2.0), expected)
    np.testing.assert_allclose(_KINDS["max-logit"][0](logits, 0.0), -centred.max(axis=1))


def test_auto_takes_what_is_clearly_better():
    logits, y, _ = network(1500, 2)
    losses = (logits.argmax(axis=1) != y).astype(float)
    assert PostHocScore().fit(None, losses, outputs=logits).kind_ == "max-logit"
    rng = np.random.default_rng(0)
    p = softmax(rng.normal(0, 2.0, size=(5800, 4)), axis=1)
    honest = (rng.uniform(size=5800) > p.max(axis=1)).astype(float)
    chosen = PostHocScore().fit(None, honest[:800], outputs=p[:800])
    best = aurc(honest[800:], read("max-softmax", p[800:]))
    assert aurc(honest[800:], chosen.predict(None, outputs=p[800:])) < 1.01 * best
    assert PostHocScore().fit(None, np.zeros(800), outputs=p[:800]).kind_ == "max-softmax"


def test_a_single_row_is_read_as_all_of_them():
    """Logits of one example that happen to sum to one are no probabilities."""
    logits, y, _ = network(300, 3)
    logits[0] = [0.5, 0.2, 0.1, 0.1, 0.1, 0.0]
    score = PostHocScore("energy").fit(None, outputs=logits)
    np.testing.assert_allclose(
        score.predict(None, outputs=logits[:1]), score.predict(None, outputs=logits)[:1]
    )
    model = SelectivePredictor.from_outputs(logits, y)
    np.testing.assert_allclose(model.predict_proba(logits[:1]), softmax(logits[:1], axis=1))


def test_two_classes_in_one_column():
    logit = np.random.default_rng(3).normal(size=50)
    both = np.column_stack([np.zeros(50), logit])
    np.testing.assert_allclose(read("max-softmax", logit), read("max-softmax", both))
    p = 1 / (1 + np.exp(-logit))
    np.testing.assert_allclose(read("max-softmax", p), read("max-softmax", both), atol=1e-9)


def test_mistakes():
    logits, _, _ = network(20, 4)
    with pytest.raises(ValueError, match="kind must be one of max-softmax, gap"):
        PostHocScore("softmax").fit(None, outputs=logits)
    with pytest.raises(ValueError, match="must have 6 columns as in fit, got 4"):
        PostHocScore("gap").fit(None, outputs=logits).predict(None, outputs=logits[:, :4])


# --- SelectivePredictor.from_outputs ---


@pytest.mark.parametrize("seed", range(3))
def test_never_worse_than_the_best_baseline_beyond_chance(seed):
    logits, y, features = network(800, seed)
    new, y_new, features_new = network(6000, 100 + seed)
    losses = (new.argmax(axis=1) != y_new).astype(float)
    model = SelectivePredictor.from_outputs(logits, y)
    best = min(
        aurc(
            losses, PostHocScore(kind).fit(None, model.oof_losses_, outputs=logits).predict(None, outputs=new)
        )
        for kind in _KINDS
    )
    assert aurc(losses, model.uncertainty(new)) < 1.05 * best
    with_features = SelectivePredictor.from_outputs(
        logits, y, features, uncertainty_score=BoostedSELEScore(100)
    )
    assert aurc(losses, with_features.uncertainty(np.hstack([new, features_new]))) < 0.95 * best


def test_answers_of_the_model():
    logits, y, _ = network(600, 5)
    names = np.array(["ant", "bee", "cat", "dog", "eel", "fox"])
    model = SelectivePredictor.from_outputs(logits, names[y], classes=names)
    np.testing.assert_array_equal(model.predict(logits), names[logits.argmax(axis=1)])
    np.testing.assert_allclose(model.predict_proba(logits), softmax(logits, axis=1))
    assert model.classes_.tolist() == names.tolist()
    assert model.score(logits, names[y]) == np.mean(logits.argmax(axis=1) == y)
    accepted = model.accept(logits)
    assert model.oof_losses_[accepted].mean() < model.oof_losses_.mean()
    # probabilities say the same as their logarithms, which are logits
    p = softmax(logits, axis=1)
    same = SelectivePredictor.from_outputs(p, y)
    np.testing.assert_allclose(same.uncertainty(p), same.uncertainty(np.log(p)), rtol=1e-6, atol=1e-9)


def test_from_outputs_explains_mistakes():
    logits, y, features = network(60, 6)
    with pytest.raises(ValueError, match="pass classes, the label of each column"):
        SelectivePredictor.from_outputs(logits, y + 100)
    with pytest.raises(ValueError, match="y holds 6, but the columns of outputs are the classes 0 to 5"):
        SelectivePredictor.from_outputs(logits, y + 1)
    with pytest.raises(ValueError, match="classes must name the 6 columns"):
        SelectivePredictor.from_outputs(logits, y, classes=[0, 1])
    with pytest.raises(ValueError, match="ascending order"):
        SelectivePredictor.from_outputs(logits, y, classes=[5, 4, 3, 2, 1, 0])
    with pytest.raises(ValueError, match="features must have shape"):
        SelectivePredictor.from_outputs(logits, y, features[:5])
    with pytest.raises(ValueError, match="outputs must be finite"):
        SelectivePredictor.from_outputs(np.where(logits > 3, np.nan, logits), y)


@pytest.mark.parametrize("n_features", [0, 2])
def test_columns_of_new_examples_are_counted(n_features):
    logits, y, features = network(300, 6)
    features = features[:, :n_features] if n_features else None
    model = SelectivePredictor.from_outputs(logits, y, features)
    for columns in (logits[:, :5], np.hstack([logits, logits]), logits[:, 0]):
        for method in (model.predict, model.accept):
            with pytest.raises(ValueError, match=f"6 columns of outputs and {n_features} of features"):
                method(columns)


def test_one_column_of_outputs_beside_features():
    rng = np.random.default_rng(11)
    p, features = rng.uniform(size=300), rng.normal(size=(300, 2))
    y = (rng.uniform(size=300) < p).astype(int)
    model = SelectivePredictor.from_outputs(p, y, features, uncertainty_score=BoostedSELEScore(10))
    one, two = (np.column_stack([outputs, features]) for outputs in (p, np.column_stack([1 - p, p])))
    np.testing.assert_array_equal(model.predict(one), p > 0.5)
    np.testing.assert_allclose(model.uncertainty(one), model.uncertainty(two))


class OnlyPredicts:
    """A network behind an interface: no ``fit``, nothing of scikit-learn."""

    def predict(self, X):
        return np.asarray(X).argmax(axis=1)

    def predict_proba(self, X):
        return softmax(np.asarray(X), axis=1)


def test_prefit_objects_need_no_fit():
    logits, y, _ = network(800, 7)
    new, y_new, _ = network(4000, 8)
    model = SelectivePredictor(OnlyPredicts(), prefit=True).fit(logits, y)
    losses = (new.argmax(axis=1) != y_new).astype(float)
    own = MaxClassProbability().from_outputs(softmax(new, axis=1))
    assert aurc(losses, model.uncertainty(new)) < 1.02 * aurc(losses, own)
    with pytest.raises(TypeError, match="estimator must be an object with fit and predict"):
        SelectivePredictor(OnlyPredicts()).fit(logits, y)


def test_confidence_score_on_saved_outputs():
    logits, y, _ = network(800, 9)
    new, y_new, _ = network(4000, 10)
    losses, losses_new = ((z.argmax(axis=1) != t).astype(float) for z, t in ((logits, y), (new, y_new)))
    for change in (lambda z: z, lambda z: softmax(z, axis=1)):
        score = ConfidenceScore().fit(None, losses, outputs=change(logits))
        own = PostHocScore("max-softmax").fit(None, outputs=logits).predict(None, outputs=new)
        assert aurc(losses_new, score.predict(None, outputs=change(new))) < 1.02 * aurc(losses_new, own)
