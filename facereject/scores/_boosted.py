"""Boosted scores: sums of regression trees, fitted to the SELE proxy over all pairs or to the loss itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from facereject._validation import FloatArray
from facereject.risks import SELE
from facereject.scores._boosting import BoostedScore
from facereject.scores._confidence import Confidence, LinearStart
from facereject.scores._regression import ridge_start

# where the curvature vanishes, in the far tails, LightGBM would divide by it
_MIN_CURVATURE = 1e-6


class BoostedSELEScore(BoostedScore):
    """Gradient-boosted trees that minimise SELE over all pairs of examples: a non-linear SELE score.

        ψ(s) = 1/n² Σᵢ Σⱼ (ℓᵢ/ℓ̄) log(1 + exp(s(xⱼ) − s(xᵢ))),     ℓ̄ the mean loss

    Given outputs of the predictor, or auxiliary features of its predictions, s starts from the linear
    ``ConfidenceScore`` of them, and trees only correct it, as long as they lower the AuRC of held-out
    examples; there may be none. Each tree takes a Newton step, with the exact gradient and a diagonal
    curvature (``sele_objective``) from the linear-time sum of ``facereject.risks.SELE``. The score orders
    predictions; its differences are log-odds, not losses, and do not depend on the unit of the losses.

    Parameters
    ----------
    n_estimators : int
        At most this many trees; early stopping decides.
    learning_rate : float
        Share of its Newton step that each tree takes, in (0, 1].
    max_leaf_nodes : int or sequence of int
        Leaves per tree. Of several numbers the one with the lowest AuRC of the examples held out is taken,
        an earlier one if they are on a par: small trees suit a strong predictor, whose score is a good start;
        where features tell much that the predictor does not know, large ones do. Without a search
        (``validation_fraction`` None) it is the first.
    l2_regularization : float
        Added to the curvature of a leaf, which is about 1/2 per example at the start: small leaves step less.
    min_samples_leaf : int
        Examples per leaf, at least; never more than 5 % of the examples, so that small samples still split.
    patience : int
        Trees without a lower validation AuRC after which to stop.
    validation_fraction : float or None
        Share of the examples held out to find the number of trees when ``fit`` gets no validation set. Where
        there is a score to start from, parts of that size are held out in turn until every example has been;
        the mean of their AuRC decides. None: exactly ``n_estimators``.
    use_base_score : bool
        Start from the predictor's own uncertainty. Without it the outputs are mere columns of the trees.
    n_jobs : int
        Threads of LightGBM; the result does not depend on it.
    random_state : int, RandomState or None
        Draws the examples held out.

    Attributes
    ----------
    booster_ : lightgbm.Booster or None
        None with zero trees: the start was not to be improved on, or no column can be split.
    n_estimators_, max_leaf_nodes_ : int
    start_ : LinearStart or None
        The linear score that the trees correct; None without outputs, auxiliary features and base score.
    classes_ : ndarray or None
        Predicted classes seen in training.
    mean_loss_ : float

    See Also
    --------
    ConfidenceScore : The linear score it starts from; cheaper.
    BoostedRegressionScore : The same trees, fitted to the loss itself.

    References
    ----------
    .. [1] V. Franc, D. Prusa, V. Voracek, "Optimal strategies for reject option classifiers", Journal of
       Machine Learning Research 24, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.scores import BoostedSELEScore
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2))
    >>> losses = (rng.uniform(size=1000) < 0.5 * (np.abs(X[:, 0]) < 0.3)).astype(float)  # hard in the middle
    >>> score = BoostedSELEScore(n_estimators=50).fit(X, losses)
    >>> left, middle, right = score.predict([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    >>> bool(middle > max(left, right))
    True
    """

    def _objective(self, target: FloatArray, weight: FloatArray) -> Any:
        return sele_objective(target, weight, self.learning_rate)


class BoostedRegressionScore(BoostedScore):
    """Gradient-boosted trees that estimate the loss by least squares: what trees do without SELE.

        1/n Σᵢ (ℓᵢ − s(xᵢ))²

    The score has the unit of the losses. Everything but the objective is as in ``BoostedSELEScore``, early
    stopping on AuRC included: a difference between the two is due to the objective.

    Parameters
    ----------
    n_estimators, learning_rate, max_leaf_nodes, l2_regularization, min_samples_leaf, patience, \
validation_fraction, use_base_score, n_jobs, random_state
        As in ``BoostedSELEScore``.

    Attributes
    ----------
    booster_, n_estimators_, max_leaf_nodes_, start_, classes_, mean_loss_
        As in ``BoostedSELEScore``; the start is fitted by least squares too.

    See Also
    --------
    BoostedSELEScore : Ranks better where the ranking is what counts.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.scores import BoostedRegressionScore
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(1000, 2))
    >>> losses = rng.exponential(1.0 + 4.0 * (X[:, 0] > 0.5))
    >>> easy, hard = BoostedRegressionScore(50).fit(X, losses).predict([[0.2, 0.5], [0.8, 0.5]])
    >>> bool(easy < 2.0 < hard)
    True
    """

    # losses come in units of their mean
    _origin = 1.0

    def _objective(self, target: FloatArray, weight: FloatArray) -> Any:
        def objective(scores: FloatArray, _: Any) -> tuple[FloatArray, FloatArray]:
            return weight * (scores - target), weight

        return objective

    def _fit_start(
        self, confidence: Confidence, target: FloatArray, sample_weight: FloatArray | None
    ) -> LinearStart:
        return ridge_start(confidence, target, sample_weight)

    def _score_unit(self) -> float:
        return self.mean_loss_


def sele_objective(
    losses: FloatArray, sample_weight: FloatArray, learning_rate: float
) -> Callable[[FloatArray, Any], tuple[FloatArray, FloatArray]]:
    """n ψ as a LightGBM objective: (scores, dataset) -> (gradient, curvature), one of each per example.

    The factor n makes the numbers of an example independent of n. The gradient is exact. The curvature is the
    diagonal of the Hessian less (1 − learning_rate) times the part that examples of equal loss add to each
    other's:

        H_k = 1/n Σⱼ (ℓ_k + ℓⱼ) σ'(sⱼ − s_k)            the diagonal
        E_k = 1/n Σⱼ 2 ℓ_k ℓⱼ/ℓ_max σ'(sⱼ − s_k) ≤ H_k    for 0/1 losses: all pairs of two errors

    Errors that rise together do not bend ψ against each other, yet their pairs make up most of H_k once
    errors and the rest are apart: by H_k alone the trees would take ever smaller steps. The share of E_k that
    is kept makes learning_rate times the step at most the full Newton step by H_k.
    """
    risk = SELE(losses, sample_weight)
    n, mean, highest = losses.size, float(np.average(losses, weights=sample_weight)), float(losses.max())
    # with a unit loss for all and weights ω ℓ the same fast sum gives E_k
    alike = SELE(np.ones(n), sample_weight * losses) if mean > 0 else None

    def objective(scores: FloatArray, _: Any) -> tuple[FloatArray, FloatArray]:
        _, gradient, curvature = risk.with_curvature(scores)
        if alike is not None:
            shared = mean * mean / highest * alike.with_curvature(scores)[2]
            curvature = curvature - (1.0 - learning_rate) * shared
        return n * gradient, np.maximum(n * curvature, _MIN_CURVATURE)

    return objective
