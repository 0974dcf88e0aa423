"""A linear score for a risk of your own: any convex function of the scores and the losses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray
from facereject.metrics import aurc
from facereject.risks import Risk
from facereject.risks._base import RiskFactory, ShapedRisk, check_weights
from facereject.scores._base import ALPHAS, TrainingSet
from facereject.scores._confidence import ShiftedRisk
from facereject.scores._linear.model import LinearScore, LinearScoreCV, Solution
from facereject.solver import LinearObjective, bundle_path
from facereject.solver._bundle import METHODS
from facereject.solver._protocols import Objective
from facereject.solver._standardized import Standardized


class LinearFunction(Objective, Protocol):
    """A risk as a function of linear weights: ``LinearObjective``, or one whose examples are elsewhere."""

    n_features: int

    def split(self, w: FloatArray, /) -> tuple[FloatArray, FloatArray]:
        """Weights as (K, d) and intercepts as (K,)."""
        ...

    def __call__(self, w: FloatArray, /) -> tuple[float, FloatArray]:
        """Risk and subgradient at the weights."""
        ...


class RiskPath(LinearScore):
    """Minimises a risk with a certificate, cuts shared by all alphas. A subclass says which risk."""

    tol: float
    max_iter: int
    solver: str

    @abstractmethod
    def _make_risk(self, target: FloatArray, sample_weight: FloatArray | None) -> Risk:
        """The risk of examples with these losses."""

    def _first_point(self, objective: LinearFunction, alpha: float) -> FloatArray:
        """One gradient step from zero, by 1/(alpha + the curvature met on the way).

        For large alpha zero, which scores all examples alike, is within ``tol`` of the optimum. A solver that
        started there would stop at it with every example tied.
        """
        zero = np.zeros(objective.n_weights)
        _, gradient = objective(zero)
        reach = float(np.abs(objective.scores(gradient)).max())
        if not (0 < reach < np.inf):  # flat at zero; or not finite, which the solver reports
            return zero
        # the unit of scores is a step far enough to meet kinks, and any step will do for a parabola
        _, there = objective(-gradient / reach)
        curvature = reach * float((gradient - there) @ gradient) / float(gradient @ gradient)
        start = -gradient / max(alpha + curvature, 1e-3 * reach)
        return start if np.isfinite(start).all() else zero

    def _path(
        self, Z: Standardized, blocks: NDArray[np.intp] | None, data: TrainingSet, alphas: Sequence[float]
    ) -> list[Solution]:
        risk = self._make_risk(data.target, data.sample_weight)
        if data.start is not None:
            risk = ShiftedRisk(risk, data.start)
        return self._minimise(LinearObjective(Z, risk, blocks), alphas)

    def _minimise(self, objective: LinearFunction, alphas: Sequence[float]) -> list[Solution]:
        results = bundle_path(
            objective,
            alphas,
            tol=self.tol,
            max_iter=self.max_iter,
            method=self.solver,
            x0=self._first_point(objective, max(alphas)),
        )
        return [Solution(*objective.split(result.x), result.nit, float(result.gap)) for result in results]


class _OwnRiskPath(RiskPath):
    # a start is fitted to one risk, which need not suit another
    response = None
    reads_auxiliary = False
    risk: RiskFactory

    def _make_risk(self, target: FloatArray, sample_weight: FloatArray | None) -> Risk:
        if not callable(self.risk):
            raise TypeError(
                "risk must be a function of (losses, sample_weight) that returns a function of the scores, "
                f"for instance facereject.risks.SELE; got {self.risk!r}"
            )
        risk = self.risk(target, sample_weight=check_weights(sample_weight, target.size))
        if isinstance(risk, ShapedRisk) and len(risk.score_shape) != 1:
            raise ValueError(f"risk must take one score per example, not scores of shape {risk.score_shape}")
        return risk

    def _fit_start(self, *_: Any) -> Any:
        raise TypeError("outputs, auxiliary and base_score are not taken with a risk of your own: add to X")

    def score(self, X: Any, losses: Any, predictions: Any = None) -> float:
        """Negated AuRC on examples with these losses: higher is better, as ``GridSearchCV`` needs it.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features.
        losses : array-like of shape (n,)
            Losses of the predictions.
        predictions : array-like of shape (n,), optional
            Predicted classes, if ``fit`` had them.

        Returns
        -------
        float
            −AuRC.
        """
        return -aurc(losses, self.predict(X, predictions))


class LinearRiskScore(_OwnRiskPath):
    """Linear score that minimises a risk of your own.

        alpha/2 ‖θ‖² + risk(s(x_1), …, s(x_n)),     s(x) = ⟨w_k, x⟩ + b_k
        k the predicted class (one block for all without predictions)

    Parameters
    ----------
    risk : callable (losses, sample_weight) -> risk
        A function or class that is given the losses of the examples and their weights (arrays of
        shape (n,); the weights sum to 1, by the keyword ``sample_weight``). It returns a convex function of
        the scores, ``scores -> (value, gradient)``, all of shape (n,). The classes of ``facereject.risks`` of
        one score are such callables. The score can be pickled if this callable can: a lambda cannot.
    alpha : float
        Regularisation ≥ 0, of weights and biases alike, on standardised features. It is weighed against the
        risk as it is: losses in percent want another alpha than losses in fractions.
    tol : float
        Certified relative distance from the optimum at which the solver stops.
    max_iter : int
        Iterations after which the solver stops with a ConvergenceWarning.
    solver : {"certified-quasi-newton", "bmrm", "bmrm-line-search"}
        See ``facereject.solver.bundle_minimize``.

    Attributes
    ----------
    coef_, intercept_, classes_, mean_, scale_, unseen_uncertainty_
        See ``LinearScore``.
    n_iter_ : int
    gap_ : float
        Certified relative distance of the objective from its minimum.

    See Also
    --------
    LinearRiskScoreCV : Picks alpha.

    Examples
    --------
    The loss that nine in ten predictions like this one stay below, as their uncertainty:

    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from facereject.losses import absolute_error
    >>> from facereject.scores import LinearRiskScoreCV, cross_fit
    >>> def quantile(losses, sample_weight):
    ...     def risk(scores):
    ...         slope = np.where(losses > scores, 0.9, -0.1)
    ...         return sample_weight @ (slope * (losses - scores)), -sample_weight * slope
    ...     return risk
    >>> X, y = load_diabetes(return_X_y=True)
    >>> fitted = cross_fit(Ridge(), LinearRiskScoreCV(quantile), X, y, absolute_error)
    >>> bool(0.85 < np.mean(fitted.losses <= fitted.out_of_fold_uncertainty(X)) < 0.95)
    True
    """

    def __init__(
        self,
        risk: RiskFactory,
        alpha: float = 1e-3,
        *,
        tol: float = 0.01,
        max_iter: int = 1000,
        solver: str = METHODS[0],
    ):
        self.risk = risk
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver


class LinearRiskScoreCV(_OwnRiskPath, LinearScoreCV):
    """``LinearRiskScore`` with alpha picked by validation AuRC; the grid shares cutting planes.

    Parameters
    ----------
    risk
        As in ``LinearRiskScore``.
    alphas, cv, random_state
        As in ``SELEScoreCV``.
    tol, max_iter, solver
        As in ``LinearRiskScore``.

    Attributes
    ----------
    alpha_, alphas_, validation_aurc_
        As in ``SELEScoreCV``.
    coef_, intercept_, classes_, mean_, scale_, unseen_uncertainty_, n_iter_, gap_
        As in ``LinearRiskScore``.

    See Also
    --------
    LinearRiskScore : With a given alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.risks import SELE
    >>> from facereject.scores import LinearRiskScoreCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> losses = rng.exponential(np.exp(X[:, 0]))
    >>> score = LinearRiskScoreCV(SELE, [1e-2, 1.0]).fit(X, losses)
    >>> hard, easy = score.predict([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0]])
    >>> bool(hard > easy)
    True
    """

    def __init__(
        self,
        risk: RiskFactory,
        alphas: Sequence[float] = ALPHAS,
        *,
        cv: Any = 5,
        random_state: Any = 0,
        tol: float = 0.01,
        max_iter: int = 1000,
        solver: str = METHODS[0],
    ):
        super().__init__(alphas, cv=cv, random_state=random_state)
        self.risk = risk
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
