"""Scores read from a predictor: their formulas, and the predictors they read from."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from facereject.predictors import LogisticClassifier, OrdinalSVM, SVMClassifier
from facereject.scores import GapScore, MarginScore, MaxClassProbability, PlugInRisk


def examples(n_classes=3, n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    return rng.normal(size=(n, 4)) + y[:, None] * [1.0, 0.5, 0.0, 0.0], y


def test_plug_in_risk_by_loops():
    rng = np.random.default_rng(0)
    matrix, probabilities = rng.uniform(size=(4, 4)), rng.dirichlet(np.ones(4), size=30)
    predictions = rng.integers(4, size=30)
    score = PlugInRisk(matrix)
    for i, risk in enumerate(score.from_outputs(probabilities, predictions)):
        expected = sum(probabilities[i, y] * matrix[y, predictions[i]] for y in range(4))
        assert risk == pytest.approx(expected, abs=1e-12)
    for i, risk in enumerate(score.from_outputs(probabilities)):
        expected = min(sum(probabilities[i, y] * matrix[y, k] for y in range(4)) for k in range(4))
        assert risk == pytest.approx(expected, abs=1e-12)


def test_maximum_class_probability_is_the_zero_one_case():
    probabilities = np.random.default_rng(0).dirichlet(np.ones(5), size=50)
    mcp = MaxClassProbability().from_outputs(probabilities)
    np.testing.assert_allclose(mcp, 1.0 - probabilities.max(axis=1))
    np.testing.assert_allclose(mcp, PlugInRisk(1.0 - np.eye(5)).from_outputs(probabilities))


def test_maximum_class_probability_ranks_the_almost_certain():
    # 1 − p is the same number for both
    probabilities = np.array([[1.0, 1e-18, 0.0], [1.0, 1e-20, 0.0]])
    values = MaxClassProbability().from_outputs(probabilities)
    assert values[0] > values[1] > 0


def test_plug_in_risk_of_columns_in_any_order():
    score, probabilities = PlugInRisk([[0, 1], [5, 0]]), [[0.9, 0.1], [0.2, 0.8]]
    expected = score.from_outputs(probabilities, predictions=[0, 1])
    named = score.from_outputs(probabilities, predictions=["b", "a"], classes=["b", "a"])
    np.testing.assert_array_equal(named, expected)
    for classes in (["a"], ["a", "a"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="classes must be 2 different names"):
            score.from_outputs(probabilities, predictions=["a", "a"], classes=classes)


def test_plug_in_risk_takes_the_names_of_the_classes_from_the_predictor():
    X, y = examples()
    names = np.array(["ant", "bee", "cat"])
    predictor = LogisticRegression().fit(X, names[y])
    probabilities = predictor.predict_proba(X)
    values = MaxClassProbability(predictor).predict(X, np.repeat("bee", len(X)))
    np.testing.assert_allclose(values, 1.0 - probabilities[:, 1])
    with pytest.raises(ValueError, match="'dog', which is not among the classes"):
        MaxClassProbability(predictor).predict(X, np.repeat("dog", len(X)))


def test_margin_of_a_binary_and_a_multi_class_machine():
    X, y = examples()
    for machine in (SVMClassifier(), LinearSVC(), make_pipeline(StandardScaler(), SVC())):
        machine.fit(X, y)
        values = machine.decision_function(X)
        np.testing.assert_allclose(MarginScore(machine).predict(X), -values.max(axis=1))
        top, second = np.sort(values, axis=1)[:, [-1, -2]].T
        np.testing.assert_allclose(GapScore(machine).predict(X), second - top)
        machine.fit(X, y > 0)
        np.testing.assert_allclose(MarginScore(machine).predict(X), -np.abs(machine.decision_function(X)))
        np.testing.assert_allclose(GapScore(machine).predict(X), -np.abs(machine.decision_function(X)))


def test_margin_of_an_ordinal_machine_is_the_distance_to_the_nearest_threshold():
    X, y = examples(n_classes=5)
    for machine in (OrdinalSVM(), make_pipeline(StandardScaler(), OrdinalSVM())):
        machine.fit(X, y)
        last = machine if isinstance(machine, OrdinalSVM) else machine[-1]
        Z = X if last is machine else machine[0].transform(X)
        expected = [-min(abs(x @ last.coef_ - b) for b in last.thresholds_) for x in Z]
        np.testing.assert_allclose(MarginScore(machine).predict(X), expected)


def test_gap_reads_probabilities_or_decision_values():
    X, y = examples()
    predictor = LogisticClassifier().fit(X, y)
    for response in ("predict_proba", "decision_function"):
        values = np.sort(getattr(predictor, response)(X), axis=1)
        found = GapScore(predictor, response=response).predict(X)
        np.testing.assert_allclose(found, values[:, -2] - values[:, -1])
    np.testing.assert_array_equal(
        GapScore(predictor).predict(X), GapScore(predictor, response="predict_proba").predict(X)
    )


def test_errors_say_what_to_do():
    X, y = examples(n_classes=4)
    with pytest.raises(ValueError, match="pass estimator= or use bind"):
        MarginScore().predict(X)
    with pytest.raises(TypeError, match="LinearSVC has no predict_proba"):
        MaxClassProbability(LinearSVC().fit(X, y)).predict(X)
    with pytest.raises(ValueError, match="6 decision values for 4 classes"):
        MarginScore(SVC(decision_function_shape="ovo").fit(X, y)).predict(X)
    with pytest.raises(ValueError, match=r"loss_matrix must have shape \(3, 3\)"):
        PlugInRisk(np.eye(2)).from_outputs([[0.2, 0.3, 0.5]])
    with pytest.raises(ValueError, match="sum to one"):
        MaxClassProbability().from_outputs([[0.2, 0.3]])
    with pytest.raises(ValueError, match="decision_values must be finite"):
        MarginScore().from_outputs([[0.2, np.nan]])


def test_bind_leaves_the_original_alone():
    X, y = examples()
    unbound = MarginScore()
    bound = unbound.bind(SVMClassifier().fit(X, y))
    assert unbound.estimator is None
    assert bound.fit(X) is bound
    assert bound.predict(X).shape == (len(X),)
