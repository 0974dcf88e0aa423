"""What risks and objectives declare, and what the solver does with risks and objectives of your own."""

from __future__ import annotations

import numpy as np
import pytest
from linear_problems import LABELS, LOSSES, K, N, X

from facereject.risks import SELE, CrossEntropy, MulticlassHinge, Risk
from facereject.risks._base import ShapedRisk, SmoothableRisk
from facereject.solver import LinearObjective, bundle_minimize
from facereject.solver._bundle import METHODS
from facereject.solver._protocols import Objective


def test_protocols_say_what_each_risk_and_objective_can_do():
    sele, hinge = SELE(LOSSES), MulticlassHinge(LABELS, K)
    assert not isinstance(sele, SmoothableRisk)
    assert isinstance(hinge, SmoothableRisk)
    assert isinstance(hinge, ShapedRisk)

    def plain(scores):
        return float(scores @ scores), 2 * scores

    assert isinstance(plain, Risk)
    assert not isinstance(plain, ShapedRisk)
    objective = LinearObjective(X, sele)
    assert isinstance(objective, Objective)
    assert objective.preconditioner() is not None
    assert LinearObjective(X.astype(np.float32), sele).precision == np.finfo(np.float32).eps


class Repeated:
    """The smallest objective: SELE of X w, no preconditioner, no precision."""

    n_weights = X.shape[1]
    risk = staticmethod(SELE(LOSSES))

    def scores(self, w):
        return X @ w

    def pull_back(self, gradient):
        return X.T @ gradient


@pytest.mark.parametrize("method", METHODS)
def test_an_objective_of_your_own_takes_part(method):
    assert isinstance(Repeated(), Objective)
    result = bundle_minimize(Repeated(), 0.01, tol=1e-4, method=method)
    known = bundle_minimize(LinearObjective(X, SELE(LOSSES), fit_intercept=False), 0.01, tol=1e-6)
    assert result.fun == pytest.approx(known.fun, rel=1.1e-4)


def test_a_risk_cannot_move_the_point_it_is_asked_about():
    def careless(scores):
        scores -= LOSSES
        return float(scores @ scores), 2 * scores

    with pytest.raises(ValueError, match="read-only"):
        bundle_minimize(LinearObjective(X, careless), 1.0)


@pytest.mark.parametrize("answer", [3.0, None, (np.ones(2), np.ones(2)), (1.0, np.ones(2), 3)], ids=str)
def test_an_answer_that_is_no_pair_is_refused(answer):
    for objective in (LinearObjective(X, lambda scores: answer), lambda w: answer):
        with pytest.raises(TypeError, match=r"a risk must return a number and an array"):
            bundle_minimize(objective, 1.0, x0=np.zeros(X.shape[1] + 1))


def test_a_gradient_of_the_wrong_shape_is_refused():
    objective = LinearObjective(X, lambda scores: (0.0, np.zeros(3)))
    with pytest.raises(ValueError, match=rf"the subgradient must have shape \({N},\), got \(3,\)"):
        bundle_minimize(objective, 1.0)


def test_risks_without_a_shape_take_as_many_scores_as_they_are_told():
    shaped = CrossEntropy(LABELS, K)
    plain = LinearObjective(X, lambda scores: shaped(scores), n_scores=K)
    known = LinearObjective(X, shaped)
    assert plain.score_shape == known.score_shape == (N, K)
    w = np.random.default_rng(0).normal(size=known.n_weights)
    np.testing.assert_array_equal(plain(w)[1], known(w)[1])
