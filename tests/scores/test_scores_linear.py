"""Linear scores against independent solvers, and the choice of alpha."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold

from facereject.metrics import aurc
from facereject.scores import (
    RegressionScore,
    RegressionScoreCV,
    SELEScore,
    SELEScoreCV,
    TrueClassProbabilityScore,
    TrueClassProbabilityScoreCV,
)
from facereject.scores._base import ALPHAS


def examples(n=60, d=3, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = 5.0 + rng.normal(size=(n, d)) * [1.0, 10.0, 0.1][:d]
    predictions = rng.integers(n_classes, size=n)
    losses = rng.exponential(np.exp((X[:, 0] - 5.0) * np.where(predictions == 0, 1.0, -1.0)))
    return X, losses, predictions


def standardise(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def wide(Z, predictions):
    """The feature map written out: one copy of (x, 1) per class, zero for the classes not predicted."""
    extended = np.column_stack([Z, np.ones(len(Z))])
    return np.hstack([extended * (predictions == k)[:, None] for k in np.unique(predictions)])


def sele_by_loops(scores, losses):
    total = 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            total += losses[i] * np.logaddexp(0.0, scores[j] - scores[i])
    return total / len(scores) ** 2


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])
def test_sele_minimises_the_double_loop(alpha):
    X, losses, predictions = examples(n=25)
    A = wide(standardise(X), predictions)
    scaled = losses / losses.mean()

    def objective(theta):
        return alpha / 2 * theta @ theta + sele_by_loops(A @ theta, scaled)

    best = minimize(objective, np.zeros(A.shape[1]), method="L-BFGS-B", options={"ftol": 1e-12}).fun
    score = SELEScore(alpha, tol=1e-6).fit(X, losses, predictions)
    theta = np.column_stack([score.coef_, score.intercept_]).ravel()
    assert objective(theta) <= best * (1 + 1e-5)
    np.testing.assert_allclose(score.predict(X, predictions), A @ theta)
    assert score.gap_ <= 1e-6


def test_alpha_of_sele_is_the_papers_constant_over_the_mean_loss():
    X, losses, _ = examples(n=25)
    C = 0.05
    A = np.column_stack([standardise(X), np.ones(len(X))])

    def paper(theta):
        return C / 2 * theta @ theta + sele_by_loops(A @ theta, losses)

    best = minimize(paper, np.zeros(4), method="L-BFGS-B", options={"ftol": 1e-12}).fun
    score = SELEScore(C / losses.mean(), tol=1e-6).fit(X, losses)
    assert paper(np.append(score.coef_[0], score.intercept_[0])) <= best * (1 + 1e-5)


@pytest.mark.parametrize("alpha", [100.0, 1e3, 1e6])
def test_strong_regularisation_still_ranks(alpha):
    X, losses, predictions = examples(n=200)
    values = SELEScore(alpha).fit(X, losses, predictions).predict(X, predictions)
    assert len(np.unique(values)) == len(values)
    assert aurc(losses, values) < 0.8 * losses.mean()


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_regression_equals_scikit_learn_ridge(alpha, weighted):
    X, losses, predictions = examples()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=len(X)) if weighted else np.ones(len(X))
    mean = np.average(X, axis=0, weights=weight)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    A = wide((X - mean) / scale, predictions)
    # Ridge: penalty ‖θ‖² + Σ ω (t − s)²; ours: alpha/2 ‖θ‖² + Σ ω (t − s)² / Σ ω
    ridge = Ridge(0.5 * alpha * weight.sum(), fit_intercept=False, solver="svd")
    ridge.fit(A, losses, sample_weight=weight)
    score = RegressionScore(alpha).fit(X, losses, predictions, sample_weight=weight)
    np.testing.assert_allclose(score.predict(X, predictions), ridge.predict(A), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 1e-6, 1.0])
def test_regression_with_fewer_rows_than_columns(alpha):
    rng = np.random.default_rng(0)
    X, losses = rng.normal(size=(20, 50)), rng.exponential(size=20)
    A = np.column_stack([standardise(X), np.ones(20)])
    # alpha = 0 is the limit: the shortest of the exact fits
    if alpha:
        expected = Ridge(0.5 * alpha * 20, fit_intercept=False, solver="svd").fit(A, losses).coef_
    else:
        expected = np.linalg.lstsq(A, losses)[0]
    score = RegressionScore(alpha).fit(X, losses)
    np.testing.assert_allclose(np.append(score.coef_[0], score.intercept_[0]), expected, rtol=1e-6, atol=1e-8)


def test_float32_features_give_the_same_ridge_to_their_precision():
    X, losses, predictions = examples(n=5000)
    exact = RegressionScore().fit(X, losses, predictions).predict(X, predictions)
    single = RegressionScore().fit(X.astype(np.float32), losses, predictions)
    np.testing.assert_allclose(single.predict(X.astype(np.float32), predictions), exact, rtol=1e-3, atol=1e-4)


def test_blocks_of_a_regression_are_separate_regressions():
    X, losses, predictions = examples(n=80)
    both = RegressionScore(0.1).fit(X, losses, predictions)
    for k in (0, 1):
        rows = predictions == k
        # the mean is over all rows, so a block of its own sees alpha · n / n_k
        Z = standardise(X)[rows]
        A = np.column_stack([Z, np.ones(len(Z))])
        theta = np.linalg.solve(A.T @ A + 0.05 * len(X) * np.eye(4), A.T @ losses[rows])
        np.testing.assert_allclose(both.predict(X[rows], predictions[rows]), A @ theta, rtol=1e-9)


def test_true_class_probability_is_a_negated_regression():
    X, losses, predictions = examples()
    probability = 1.0 / (1.0 + losses)
    score = TrueClassProbabilityScore(0.1).fit(X, probability, predictions)
    regression = RegressionScore(0.1).fit(X, probability, predictions)
    np.testing.assert_allclose(score.predict(X, predictions), -regression.predict(X, predictions))
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\], got 1\.5"):
        score.fit(X, np.append(probability[:-1], 1.5))


PAIRS = [(SELEScore, SELEScoreCV), (RegressionScore, RegressionScoreCV)]


@pytest.mark.parametrize(("single", "search"), PAIRS)
def test_validation_set_picks_the_alpha_of_lowest_aurc(single, search):
    X, losses, predictions = examples(n=300)
    held = examples(n=200, seed=1)
    score = search(tol=1e-4) if search is SELEScoreCV else search()
    score.fit(X, losses, predictions, validation=held)
    np.testing.assert_array_equal(score.alphas_, ALPHAS)
    for alpha, area in zip(score.alphas_[::3], score.validation_aurc_[::3], strict=True):
        options = {"tol": 1e-4} if single is SELEScore else {}
        alone = single(alpha, **options).fit(X, losses, predictions)
        assert aurc(held[1], alone.predict(held[0], held[2])) == pytest.approx(area, rel=5e-3)
    assert score.alpha_ == score.alphas_[score.validation_aurc_.argmin()]
    area = aurc(held[1], score.predict(held[0], held[2]))
    assert area == score.validation_aurc_.min()


@pytest.mark.parametrize(("single", "search"), PAIRS)
def test_folds_pick_alpha_and_the_score_is_fitted_to_all(single, search):
    X, losses, predictions = examples(n=120)
    folds = KFold(4)
    score = search([1e-3, 1.0], cv=folds).fit(X, losses, predictions)
    areas = []
    for train, held in folds.split(X):
        alone = single(1.0).fit(X[train], losses[train], predictions[train])
        areas.append(aurc(losses[held], alone.predict(X[held], predictions[held])))
    assert score.validation_aurc_[1] == pytest.approx(np.mean(areas), rel=5e-3)
    final = single(score.alpha_).fit(X, losses, predictions)
    np.testing.assert_array_equal(score.coef_, final.coef_)


def test_equally_good_alphas_give_the_largest():
    X, losses, _ = examples(n=50)
    score = RegressionScoreCV([0.0, 10.0, 1.0]).fit(X, losses, validation=(X, np.zeros(50)))
    assert score.alpha_ == 10.0


def test_search_needs_losses_and_whole_validation_sets():
    X, losses, predictions = examples()
    probability = np.full(len(X), 0.5)
    with pytest.raises(ValueError, match="pass losses or validation"):
        TrueClassProbabilityScoreCV().fit(X, probability)
    with pytest.raises(ValueError, match=r"validation must be a tuple \(X, losses, predictions\)"):
        SELEScoreCV().fit(X, losses, predictions, validation=(X, losses))
    with pytest.raises(ValueError, match="lengths differ: X of validation has 60"):
        SELEScoreCV().fit(X, losses, validation=(X, losses[:3]))
    for wrong in (-1.0, np.nan, "x", None):
        with pytest.raises(ValueError, match="alpha must be"):
            SELEScore(wrong).fit(X, losses)


@pytest.mark.data
def test_sele_beats_regression_on_real_data(uci_dir):
    from sklearn.linear_model import LogisticRegression

    with np.load(uci_dir / "pendigit.npz") as table:
        X, y = table["X"].astype(float), table["y"]
    parts = np.array_split(np.random.default_rng(0).permutation(len(y)), 4)
    predictor = LogisticRegression(max_iter=300).fit(X[parts[0]] / 100, y[parts[0]])
    predictions = predictor.predict(X / 100)
    losses = 100.0 * (predictions != y)
    train, held, test = ((X[rows], losses[rows], predictions[rows]) for rows in parts[1:])
    areas = [
        aurc(test[1], search().fit(*train, validation=held).predict(test[0], test[2])) for _, search in PAIRS
    ]
    assert areas[0] < 0.95 * areas[1]


@pytest.mark.parametrize(("kind", "alone"), [(SELEScoreCV, SELEScore), (RegressionScoreCV, RegressionScore)])
def test_examples_of_one_group_are_held_out_together(kind, alone):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(8), 15)
    # every group has features and a mean loss of its own, which tell nothing about another group
    X = rng.normal(size=(8, 3))[groups] + 0.01 * rng.normal(size=(120, 3))
    losses = rng.exponential(rng.exponential(size=8)[groups])
    alphas = [1e-3, 10.0]
    score = kind(alphas, cv=4).fit(X, losses, groups=groups)
    folds = list(GroupKFold(4, shuffle=True, random_state=0).split(X, groups=groups))
    expected = [
        np.mean(
            [aurc(losses[out], alone(a).fit(X[rest], losses[rest]).predict(X[out])) for rest, out in folds]
        )
        for a in alphas
    ]
    np.testing.assert_allclose(score.validation_aurc_, expected, rtol=1e-3)
    # more folds than groups: one group each
    few = np.minimum(groups, 2)
    assert np.isfinite(kind(alphas, cv=5).fit(X, losses, groups=few).validation_aurc_).all()
    with pytest.raises(ValueError, match="groups must hold one group per row of X"):
        kind(alphas).fit(X, losses, groups=groups[1:])
    with pytest.raises(ValueError, match="at least 2 groups"):
        kind(alphas).fit(X, losses, groups=np.zeros(120))
