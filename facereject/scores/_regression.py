"""Regression score: a linear estimate of the loss itself, by ridge regression in closed form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray
from facereject.risks import SquaredError
from facereject.scores._base import Standardizer, TrainingSet
from facereject.scores._confidence import START_ALPHA, ColumnRange, Confidence, LinearStart
from facereject.scores._linear.model import LinearScore, LinearScoreCV, Solution
from facereject.solver import LinearObjective
from facereject.solver._closed_form import ridge_path
from facereject.solver._standardized import Standardized


class RidgePath(LinearScore):
    """Minimises the squared error in closed form, for all alphas at once."""

    def _path(
        self, Z: Standardized, blocks: NDArray[np.intp] | None, data: TrainingSet, alphas: Sequence[float]
    ) -> list[Solution]:
        target = data.target if data.start is None else data.target - data.start
        objective = LinearObjective(Z, SquaredError(target, data.sample_weight), blocks)
        return [Solution(*objective.split(w)) for w in ridge_path(objective, alphas)]

    def _fit_start(
        self, confidence: Confidence, target: FloatArray, sample_weight: FloatArray | None
    ) -> LinearStart:
        return ridge_start(confidence, target, sample_weight)


def ridge_start(confidence: Confidence, target: FloatArray, sample_weight: FloatArray | None) -> LinearStart:
    """Least squares on the columns about the predictor."""
    bounds = ColumnRange.of(confidence)
    columns = bounds(confidence.columns)
    standardizer = Standardizer.of(columns, sample_weight)
    risk = SquaredError(target, sample_weight)
    (theta,) = ridge_path(LinearObjective(standardizer(columns), risk), [START_ALPHA])
    return LinearStart(bounds, standardizer, theta[:-1], intercept=float(theta[-1]))


class RegressionScore(RidgePath):
    """Linear score that estimates the loss: ridge regression (REG in the paper).

        alpha/2 ‖θ‖² + 1/n Σᵢ (ℓᵢ − s(xᵢ))²
        s(x) = ⟨w_k, x⟩ + b_k,  k the predicted class (one block for all without predictions)

    The score has the unit of the losses, and scales with it: alpha is the paper's C in any unit.

    Parameters
    ----------
    alpha : float
        Regularisation ≥ 0, of weights and biases alike, on standardised features.
    use_outputs : bool
        As in ``SELEScore``.

    Attributes
    ----------
    coef_, intercept_, classes_, mean_, scale_, unseen_uncertainty_, start_
        See ``LinearScore``.

    See Also
    --------
    RegressionScoreCV : Picks alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.scores import RegressionScore
    >>> X = np.arange(10.0)[:, None]
    >>> RegressionScore(alpha=0.0).fit(X, 2.0 * X[:, 0] + 1.0).predict([[4.5]]).round(6)
    array([10.])
    """


class RegressionScoreCV(RidgePath, LinearScoreCV):
    """``RegressionScore`` with alpha picked by validation AuRC, from one factorisation per fold and block.

    Parameters
    ----------
    alphas, cv, random_state, use_outputs
        As in ``SELEScoreCV``.

    Attributes
    ----------
    alpha_, alphas_, validation_aurc_
        As in ``SELEScoreCV``.
    coef_, intercept_, classes_, mean_, scale_, unseen_uncertainty_, start_
        As in ``RegressionScore``.

    See Also
    --------
    RegressionScore : With a given alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.scores import RegressionScoreCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> losses = rng.exponential(np.exp(X[:, 0]))
    >>> hard, easy = RegressionScoreCV().fit(X, losses).predict([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0]])
    >>> bool(hard > easy)
    True
    """
