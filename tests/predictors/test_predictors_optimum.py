"""The predictors minimise what they say: objectives against other solvers, and invariances of the optimum."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from facereject.predictors import LogisticClassifier, OrdinalSVM, SVMClassifier

FIXED = [LogisticClassifier, SVMClassifier, OrdinalSVM]
TIGHT = {"tol": 1e-5, "max_iter": 5000}


def table(n_classes, n=120, d=4, seed=0):
    """Overlapping classes, in order along a direction."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    position = X @ np.linspace(1.0, 2.0, d) + rng.normal(size=n)
    y = np.searchsorted(np.quantile(position, np.arange(1, n_classes) / n_classes), position)
    return X, y


def with_constant(X):
    """A regularised intercept is the weight of a constant feature."""
    return np.column_stack([X, np.ones(len(X))])


def logistic_objective(coef, intercept, X, y, alpha):
    """By the definition; two classes are written with a vector each, w_1 = −w_0."""
    if len(coef) == 1:
        coef, intercept = np.vstack([-coef, coef]) / 2, np.append(-intercept, intercept) / 2
    losses = []
    for x, label in zip(X, y, strict=True):
        scores = coef @ x + intercept
        losses.append(np.log(np.exp(scores).sum()) - scores[label])
    return alpha / 2 * ((coef**2).sum() + (intercept**2).sum()) + np.mean(losses)


def svm_objective(coef, intercept, X, y, alpha):
    losses = []
    for x, label in zip(X, y, strict=True):
        scores = coef @ x + intercept
        if len(coef) == 1:
            losses.append(max(0.0, 1 - (2 * label - 1) * scores[0]))
        else:
            losses.append(max(scores[k] - scores[label] + (k != label) for k in range(len(coef))))
    return alpha / 2 * ((coef**2).sum() + (intercept**2).sum()) + np.mean(losses)


def ordinal_objective(w, b, X, y, alpha):
    losses = [
        sum(max(0.0, 1 - x @ w + b[k]) if k < label else max(0.0, 1 + x @ w - b[k]) for k in range(len(b)))
        for x, label in zip(X, y, strict=True)
    ]
    return alpha / 2 * (w @ w + b @ b) + np.mean(losses)


def objective(model, X, y):
    if isinstance(model, OrdinalSVM):
        return ordinal_objective(model.coef_, model.thresholds_, X, y, model.alpha_)
    by_definition = logistic_objective if isinstance(model, LogisticClassifier) else svm_objective
    return by_definition(model.coef_, model.intercept_, X, y, model.alpha_)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("alpha", [None, 0.1])
def test_logistic_reaches_the_optimum_of_scikit_learn(n_classes, alpha):
    X, y = table(n_classes)
    model = LogisticClassifier(alpha, **TIGHT).fit(X, y)
    C = (2 if n_classes == 2 else 1) / (len(y) * model.alpha_)
    peer = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(with_constant(X), y)
    reference = logistic_objective(peer.coef_[:, :-1], peer.coef_[:, -1], X, y, model.alpha_)
    assert objective(model, X, y) == pytest.approx(reference, rel=2e-5)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(with_constant(X)), atol=0.01)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("alpha", [None, 0.1])
def test_svm_reaches_the_optimum_of_scikit_learn(n_classes, alpha):
    X, y = table(n_classes)
    model = SVMClassifier(alpha, **TIGHT).fit(X, y)
    peer = LinearSVC(
        C=1 / (len(y) * model.alpha_), loss="hinge", multi_class=["crammer_singer", "ovr"][n_classes == 2],
        fit_intercept=False, tol=1e-8, max_iter=1_000_000, random_state=0,
    ).fit(with_constant(X), y)  # fmt: skip
    reference = svm_objective(peer.coef_[:, :-1], peer.coef_[:, -1], X, y, model.alpha_)
    assert objective(model, X, y) == pytest.approx(reference, rel=2e-5)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_ordinal_reaches_the_optimum_of_a_quadratic_program(n_classes):
    X, y = table(n_classes, n=30, d=2)
    alpha, k = 0.05, n_classes - 1
    # variables w, b and one slack per example and threshold: slack ≥ 0, slack ≥ 1 − sign (⟨w, x⟩ − b)
    sign = np.where(np.arange(k) < y[:, None], 1.0, -1.0).ravel()
    rows = np.hstack([np.repeat(X, k, axis=0), -np.tile(np.eye(k), (len(y), 1))]) * sign[:, None]
    A = np.hstack([rows, np.eye(rows.shape[0])])
    n_weights = 2 + k
    gradient_of_slack = np.full(rows.shape[0], 1 / len(y))

    def value(v):
        theta = v[:n_weights]
        return alpha / 2 * theta @ theta + gradient_of_slack @ v[n_weights:], np.append(
            alpha * theta, gradient_of_slack
        )

    start = np.append(np.zeros(n_weights), np.ones(rows.shape[0]))
    bounds = [(None, None)] * n_weights + [(0, None)] * rows.shape[0]
    constraint = {"type": "ineq", "fun": lambda v: A @ v - 1, "jac": lambda v: A}
    reference = minimize(
        value, start, jac=True, bounds=bounds, constraints=constraint, method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )  # fmt: skip
    assert reference.success
    model = OrdinalSVM(alpha, **TIGHT).fit(X, y)
    assert objective(model, X, y) == pytest.approx(reference.fun, rel=2e-5)
    np.testing.assert_allclose(model.coef_, reference.x[:2], atol=0.02)


def test_two_ordered_classes_are_a_binary_svm():
    X, y = table(2)
    svm, ordinal = SVMClassifier(0.01, **TIGHT).fit(X, y), OrdinalSVM(0.01, **TIGHT).fit(X, y)
    assert objective(ordinal, X, y) == pytest.approx(objective(svm, X, y), rel=2e-5)
    np.testing.assert_allclose(ordinal.thresholds_, -svm.intercept_, atol=0.02)


@pytest.mark.parametrize("predictor", FIXED)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_weights_equal_repetition(predictor, n_classes):
    X, y = table(n_classes)
    weights = np.random.default_rng(1).integers(0, 4, size=len(y))
    repeated_X, repeated_y = X.repeat(weights, axis=0), y.repeat(weights)
    weighted = predictor(**TIGHT).fit(X, y, sample_weight=weights)
    repeated = predictor(**TIGHT).fit(repeated_X, repeated_y)
    assert weighted.alpha_ == pytest.approx(repeated.alpha_)
    values = [objective(model, repeated_X, repeated_y) for model in (weighted, repeated)]
    assert values[0] == pytest.approx(values[1], rel=2e-5)
    # alpha/2 ‖θ − θ*‖² ≤ gap · value, so two such models differ by at most twice that in θ
    apart = 2 * np.sqrt(2 * TIGHT["tol"] * max(values) / weighted.alpha_)
    difference = weighted.decision_function(X) - repeated.decision_function(X)
    # class scores of the ordinal model add up several thresholds
    terms = n_classes if predictor is OrdinalSVM else 1
    allowed = terms * apart * np.linalg.norm(with_constant(X), axis=1)
    assert (allowed >= np.abs(difference).T).all()


@pytest.mark.parametrize("predictor", FIXED)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("convert", [sp.csr_matrix, sp.csc_array, np.float32], ids=["csr", "csc", "float32"])
def test_other_forms_of_X_give_the_same_model(predictor, n_classes, convert):
    X, y = table(n_classes)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    expected = predictor().fit(X, y)
    other = predictor().fit(convert(X), y)
    assert objective(other, X, y) == pytest.approx(objective(expected, X, y), rel=0.01)
    np.testing.assert_allclose(
        expected.decision_function(convert(X)), expected.decision_function(X), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(
    ("predictor", "scale", "shift"),
    [
        (LogisticClassifier, [1, 10, 100, 1e3], [0, 0, 0, 1e5]),
        (OrdinalSVM, [1, 10, 100, 100], [0, 0, 1e3, 1e4]),
    ],
)
def test_float32_features_on_large_scales(predictor, scale, shift):
    """Products rounded to float32 would put the lower bound above the objective here."""
    X, y = table(3)
    X = (X * scale + shift).astype(np.float32)
    model = predictor().fit(X, y)
    assert model.gap_ <= 0.01
    assert objective(model, X.astype(np.float64), y) <= 1.01 * objective(
        predictor().fit(X.astype(np.float64), y), X.astype(np.float64), y
    )


@pytest.mark.parametrize("predictor", [LogisticClassifier, SVMClassifier])
def test_names_of_classes_do_not_matter(predictor):
    X, y = table(4)
    order = np.array([2, 0, 3, 1])
    plain, renamed = predictor(**TIGHT).fit(X, y), predictor(**TIGHT).fit(X, order[y])
    assert objective(renamed, X, order[y]) == pytest.approx(objective(plain, X, y), rel=2e-5)
    np.testing.assert_allclose(renamed.coef_[order], plain.coef_, atol=0.05)


def test_reversed_order_turns_the_ordinal_model_round():
    X, y = table(4)
    plain, turned = OrdinalSVM(**TIGHT).fit(X, y), OrdinalSVM(**TIGHT).fit(X, 3 - y)
    assert objective(turned, X, 3 - y) == pytest.approx(objective(plain, X, y), rel=2e-5)
    np.testing.assert_allclose(turned.coef_, -plain.coef_, atol=0.05)
    np.testing.assert_allclose(turned.thresholds_, -plain.thresholds_[::-1], atol=0.05)


@pytest.mark.parametrize("predictor", [LogisticClassifier, SVMClassifier])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_intercept(predictor, n_classes):
    X, y = table(n_classes)
    model = predictor(fit_intercept=False, **TIGHT).fit(with_constant(X), y)
    assert not model.intercept_.any()
    expected = predictor(**TIGHT).fit(X, y)
    assert objective(model, with_constant(X), y) == pytest.approx(objective(expected, X, y), rel=2e-5)


@pytest.mark.parametrize("predictor", FIXED)
def test_stops_within_tol(predictor):
    X, y = table(4)
    loose, tight = predictor(tol=0.05).fit(X, y), predictor(**TIGHT).fit(X, y)
    assert loose.gap_ <= 0.05
    assert tight.gap_ <= 1e-5
    assert loose.n_iter_ < tight.n_iter_
    assert objective(loose, X, y) * (1 - 0.05) <= objective(tight, X, y) <= objective(loose, X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ordinal_prediction_counts_thresholds():
    X, y = table(5)
    model = OrdinalSVM(max_iter=3, tol=0.5).fit(X, y * 10)
    assert (np.diff(model.thresholds_) >= 0).all()
    counted = [sum(x @ model.coef_ > b for b in model.thresholds_) for x in X]
    assert np.array_equal(model.predict(X), 10 * np.array(counted))
    assert np.array_equal(model.decision_function(X).argmax(axis=1), counted)
    np.testing.assert_allclose(model.threshold_distances(X), (X @ model.coef_)[:, None] - model.thresholds_)


def test_sorting_thresholds_never_raises_the_ordinal_objective():
    X, y = table(4, n=40)
    rng = np.random.default_rng(0)
    for _ in range(200):
        w, b = rng.normal(size=4), rng.normal(scale=3, size=3)
        sorted_value = ordinal_objective(w, np.sort(b), X, y, 0.1)
        assert sorted_value <= ordinal_objective(w, b, X, y, 0.1) + 1e-12
