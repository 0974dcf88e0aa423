"""The weight of a learned score: no more than held-out losses support."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from facereject.metrics import aurc
from facereject.scores import (
    BoostedSELEScore,
    ConfidenceScore,
    RegressionScore,
    SELEScore,
    SELEScoreCV,
    TrueClassProbabilityScore,
)
from facereject.scores._weighting import RankScale, _aurc, choose_weighting


def sample(n, seed, error=0.2, noise=1.0):
    """0/1 losses, a base score that tells how likely they are, and a noisy copy of it."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(size=n) + np.log(error / (1 - error))
    losses = (rng.uniform(size=n) < 1 / (1 + np.exp(-odds))).astype(float)
    return losses, odds, odds + noise * rng.normal(size=n)


@pytest.mark.parametrize("decimals", [1, 8])
def test_area_and_influences(decimals):
    losses, scores, other = (values.round(decimals) for values in sample(500, 0))
    weight = np.ones(500)
    area, influence = _aurc(losses, scores, weight)
    assert area == pytest.approx(aurc(losses, scores))
    assert influence.sum() == pytest.approx(0, abs=1e-12)
    # the bootstrap is the independent way to the standard error of a difference
    rng = np.random.default_rng(1)
    drawn = []
    for _ in range(1500):
        rows = rng.integers(500, size=500)
        drawn.append(aurc(losses[rows], scores[rows]) - aurc(losses[rows], other[rows]))
    error = np.sqrt(((influence - _aurc(losses, other, weight)[1]) ** 2).sum())
    assert error == pytest.approx(np.std(drawn), rel=0.1)


def test_weights_count_as_repeated_rows():
    losses, base, learned = sample(400, 2, noise=3.0)
    weight = np.random.default_rng(3).integers(0, 3, size=400)
    rows = np.repeat(np.arange(400), weight)
    weighted = _aurc(losses[weight > 0], base[weight > 0], weight[weight > 0].astype(float))[0]
    # the risk of a repeated row is that of its last copy: a difference of at most 1/n
    assert weighted == pytest.approx(aurc(losses[rows], base[rows]), abs=1 / 400)
    assert choose_weighting(losses, learned, base, weight.astype(float)).weight > 0


def test_a_better_score_gets_weight_and_a_worse_one_none():
    losses, good, bad = sample(3000, 4, noise=2.0)
    assert choose_weighting(losses, bad, good).weight >= 0.5
    worse = choose_weighting(losses, good, bad)
    assert worse.weight == 0.0
    np.testing.assert_array_equal(worse(good, bad), good)


def test_few_errors_are_not_enough():
    losses, good, bad = sample(500, 5, noise=2.0)
    few = np.zeros(500)
    few[np.flatnonzero(losses)[:1]] = 1.0
    decided = choose_weighting(few, bad, good)
    assert (decided.weight, decided.reason) == (0.0, "1 error: not enough to learn from")
    assert choose_weighting(np.zeros(500), bad, good).weight == 0.0


@pytest.mark.parametrize(
    ("n_errors", "most"), [(3, 0.0), (7, 0.0), (9, 0.1), (15, 0.25), (25, 0.5), (35, 0.75), (40, 1.0)]
)
def test_few_errors_limit_the_weight(n_errors, most):
    # the base score places errors in the middle, the learned one at the end
    losses = np.zeros(2000)
    losses[:n_errors] = 1.0
    base = np.random.default_rng(0).uniform(size=2000)
    base[:n_errors] = np.linspace(0.45, 0.55, n_errors)
    learned = losses + 0.1 * base
    decided = choose_weighting(losses, base, learned)
    assert decided.weight == most
    assert decided.reason.startswith(f"{n_errors} errors: ")
    assert decided.reason.endswith("too few errors for more weight") == (0 < most < 1)
    if most == 0:
        assert decided.reason == f"{n_errors} errors: not enough to learn from"


def test_two_lucky_errors_among_many_get_no_weight():
    losses, base, _ = sample(500, 6)
    learned = base.copy()
    learned[np.flatnonzero(losses)[:2]] = base.max()
    assert aurc(losses, learned) < aurc(losses, base)
    decided = choose_weighting(losses, base, learned)
    why = "the learned score is better only within chance"
    assert (decided.weight, decided.reason) == (0.0, f"{losses.sum():.0f} errors: {why}")


def test_chance_rarely_wins():
    # both scores are equally good: the learned one is the base score with noise of the same size
    chosen = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        losses, odds, _ = sample(300, seed)
        base, learned = (odds + rng.normal(size=300) for _ in range(2))
        decided = choose_weighting(losses, base, learned)
        chosen.append(decided.weight)
    # a mean of both is better than either, but that is rarely sure
    assert np.mean(np.array(chosen) > 0) < 0.25
    assert max(chosen) < 1.0


@pytest.mark.parametrize("n", [3, 50, 5000])
def test_rank_scale(n):
    sample_, new = np.random.default_rng(0).normal(size=(2, n)).round(2)
    scale = RankScale.of(sample_)
    below = [(np.mean(sample_ < value) + np.mean(sample_ <= value)) / 2 for value in sample_]
    np.testing.assert_allclose(scale(sample_), below, atol=2e-3)
    far = np.sort(np.concatenate([new, [-50.0, -40.0, 40.0, 50.0]]))
    assert (np.diff(scale(np.unique(far))) > 0).all()
    assert np.isfinite(RankScale.of(np.zeros(5))(far)).all()


def problem(n, seed, helpful):
    """Probabilities, two further columns and losses; the first column tells more if it is helpful."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    odds = rng.normal(size=n) - 1.5
    true = odds + (2.0 * X[:, 0] if helpful else 0.0)
    losses = (rng.uniform(size=n) < 1 / (1 + np.exp(-true))).astype(float)
    p = 1 / (1 + np.exp(-np.abs(odds)))
    return X, losses, np.column_stack([p, 1 - p]), np.abs(odds)


SCORES = [
    ConfidenceScore(),
    SELEScore(),
    SELEScoreCV([1e-3, 1.0], cv=3),
    RegressionScore(),
    TrueClassProbabilityScore(),
    BoostedSELEScore(50),
]


def arguments(score, X, losses, outputs):
    given = {"X": X, "outputs": outputs}
    given["auxiliary" if isinstance(score, ConfidenceScore) else "X"] = X
    if losses is not None:
        given["losses"] = losses
    if losses is not None and score.target != "losses":
        given[score.target] = np.where(losses > 0, 0.2, 0.8)
    return given


@pytest.mark.parametrize("score", SCORES, ids=lambda score: type(score).__name__)
def test_every_score_earns_its_weight(score):
    X, losses, outputs, _ = problem(600, 0, helpful=True)
    X_new, losses_new, outputs_new, _ = problem(4000, 1, helpful=True)
    fitted = clone(score).fit(**arguments(score, X, losses, outputs))
    assert fitted.weight_ > 0
    new = fitted.predict(**arguments(score, X_new, None, outputs_new))
    own = -outputs_new.max(axis=1)
    assert aurc(losses_new, new) < 0.9 * aurc(losses_new, own)
    assert f"# weight {fitted.weight_:g}: {int(losses.sum())} errors: AuRC 0." in repr(fitted)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(fitted)).predict(**arguments(score, X_new, None, outputs_new)),  # noqa: S301
        new,
    )
    # where nothing more can be known the order of the predictor is kept, or nearly so
    X, losses, outputs, _ = problem(600, 2, helpful=False)
    X_new, losses_new, outputs_new, _ = problem(4000, 3, helpful=False)
    fitted = clone(score).fit(**arguments(score, X, losses, outputs))
    new = fitted.predict(**arguments(score, X_new, None, outputs_new))
    assert aurc(losses_new, new) < 1.05 * aurc(losses_new, -outputs_new.max(axis=1))


def test_few_errors_leave_the_predictors_order():
    X, losses, outputs, _ = problem(300, 4, helpful=True)
    losses[np.flatnonzero(losses)[1:]] = 0.0
    score = ConfidenceScore().fit(None, losses, outputs=outputs, auxiliary=X)
    assert score.weight_ == 0.0
    assert repr(score) == "ConfidenceScore()  # weight 0: 1 error: not enough to learn from"
    assert repr(clone(score)) == "ConfidenceScore()"
    uncertainty = score.predict(None, outputs=outputs, auxiliary=X)
    np.testing.assert_array_equal(np.argsort(uncertainty), np.argsort(-outputs.max(axis=1)))


def test_no_base_score_to_compare_with():
    X, losses, _, _ = problem(300, 5, helpful=True)
    assert SELEScore().fit(X, losses).weight_ == 1.0
    assert repr(SELEScore().fit(X, losses)) == "SELEScore()"
