"""Boosted scores: sums of regression trees, fitted to the SELE proxy over all pairs or to the loss itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from facereject._validation import FloatArray
from facereject.risks import SELE
from facereject.scores._boosting import BoostedScore

# where the curvature vanishes, in the far tails, LightGBM would divide by it
_MIN_CURVATURE = 1e-6


class BoostedSELEScore(BoostedScore):
    """Gradient-boosted trees that minimise SELE over all pairs of examples: a non-linear SELE score.

        ψ(s) = 1/n² Σᵢ Σⱼ (ℓᵢ/ℓ̄) log(1 + exp(s(xⱼ) − s(xᵢ))),     ℓ̄ the mean loss

    Each tree takes a Newton step, with the exact gradient and the diagonal of the Hessian from the
    linear-time sum of ``facereject.risks.SELE``. Early stopping watches the validation AuRC itself. The score
    orders predictions; its differences are log-odds, not losses, and do not depend on the unit of the losses.

    Parameters
    ----------
    n_trees : int
        At most this many trees; early stopping decides.
    learning_rate : float
    max_leaves : int
        Leaves per tree.
    min_leaf : int
        Examples per leaf, at least; never more than 5 % of the examples, so that small samples still split.
    patience : int
        Trees without a lower validation AuRC after which to stop.
    validation_fraction : float
        Share of the examples held out to find the number of trees when ``fit`` gets no validation set.
    n_threads : int
        Threads of LightGBM; the result does not depend on it.
    random_state : int, RandomState or None
        Draws the examples held out.

    Attributes
    ----------
    booster_ : lightgbm.Booster
    n_trees_ : int
    classes_ : ndarray or None
        Predicted classes seen in training.
    unit_ : float
        Mean loss.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.scores import BoostedSELEScore
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2))
    >>> losses = (rng.uniform(size=1000) < 0.5 * (np.abs(X[:, 0]) < 0.3)).astype(float)  # hard in the middle
    >>> score = BoostedSELEScore(n_trees=50).fit(X, losses)
    >>> left, middle, right = score.predict([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    >>> bool(middle > max(left, right))
    True
    """

    def _objective(self, target: FloatArray, weight: FloatArray) -> Any:
        return sele_objective(target, weight)


class BoostedRegressionScore(BoostedScore):
    """Gradient-boosted trees that estimate the loss by least squares: what trees do without SELE.

        1/n Σᵢ (ℓᵢ − s(xᵢ))²

    The score has the unit of the losses. Everything but the objective is as in ``BoostedSELEScore``, early
    stopping on AuRC included: a difference between the two is due to the objective.

    Parameters
    ----------
    n_trees, learning_rate, max_leaves, min_leaf, patience, validation_fraction, n_threads, random_state
        As in ``BoostedSELEScore``.

    Attributes
    ----------
    booster_, n_trees_, classes_, unit_
        As in ``BoostedSELEScore``.
    """

    def _objective(self, target: FloatArray, weight: FloatArray) -> Any:
        return "regression"

    def _score_unit(self) -> float:
        return self.unit_


def sele_objective(
    losses: FloatArray, sample_weight: FloatArray
) -> Callable[[FloatArray, Any], tuple[FloatArray, FloatArray]]:
    """n ψ as a LightGBM objective: (scores, dataset) -> (gradient, curvature), one of each per example.

    The factor n makes the numbers of an example independent of n: about (1 − ℓ)/2 and (1 + ℓ)/4 at the start.
    """
    risk = SELE(losses, sample_weight)
    n = losses.size

    def objective(scores: FloatArray, _: Any) -> tuple[FloatArray, FloatArray]:
        _, gradient, curvature = risk.with_curvature(scores)
        return n * gradient, np.maximum(n * curvature, _MIN_CURVATURE)

    return objective
