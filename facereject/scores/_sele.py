"""SELE score: a linear uncertainty score that minimises the convex proxy of the area under the RC curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from facereject._validation import FloatArray
from facereject.risks import SELE, Risk
from facereject.scores._base import ALPHAS
from facereject.scores._confidence import START_ALPHA, START_TOL, Confidence, LinearStart, fit_start
from facereject.scores._linear.model import LinearScoreCV
from facereject.scores._linear_risk import LinearFunction, RiskPath
from facereject.solver._bundle import METHODS


class _SELEPath(RiskPath):
    """The risk SELE, of losses in units of their mean."""

    _takes_dask = True

    def _make_risk(self, target: FloatArray, sample_weight: FloatArray | None) -> Risk:
        mean = np.average(target, weights=sample_weight)
        # in units of their mean: alpha then means the same for fractions, percent and pixels
        return SELE(target / mean if mean > 0 else target, sample_weight)

    def _first_point(self, objective: LinearFunction, alpha: float) -> FloatArray:
        """One gradient step from zero, by 1/(alpha + a bound on the mean curvature)."""
        _, gradient = objective(np.zeros(objective.n_weights))
        # ψ'' ≤ mean ‖xᵢ − xⱼ‖²/4 = d/2 for standardised features and losses of mean 1
        return np.asarray(-gradient / (alpha + 0.5 * (objective.n_features + 1)))

    def _fit_start(
        self, confidence: Confidence, target: FloatArray, sample_weight: FloatArray | None
    ) -> LinearStart:
        return fit_start(confidence, target, sample_weight, START_ALPHA, START_TOL)


class SELEScore(_SELEPath):
    """Linear score learned by minimising SELE, over all pairs of examples.

        alpha/2 ‖θ‖² + 1/n² Σᵢ Σⱼ (ℓᵢ/ℓ̄) log(1 + exp(s(xⱼ) − s(xᵢ))),     ℓ̄ the mean loss
        s(x) = ⟨w_k, x⟩ + b_k,  k the predicted class (one block for all without predictions)

    The score orders predictions; its differences are log-odds, not losses. Dividing by the mean loss makes
    the score independent of the unit of the losses. It is the paper's score at C = alpha · ℓ̄.

    Given outputs of the predictor, or auxiliary features of its predictions, s(x) is added to the linear
    ``ConfidenceScore`` of them, which is fitted first: large alpha leaves that alone.

    Parameters
    ----------
    alpha : float
        Regularisation ≥ 0, of weights and biases alike, on standardised features.
    tol : float
        Relative gap to the optimum at which the solver stops; the paper uses 0.01.
    max_iter : int
        Iterations after which the solver stops with a ConvergenceWarning.
    solver : {"certified-quasi-newton", "bmrm", "bmrm-line-search"}
        See ``facereject.solver.bundle_minimize``; the paper uses BMRM.
    use_outputs : bool
        Whether ``cross_fit`` and ``SelectivePredictor`` pass outputs and auxiliary features to ``fit``. False
        leaves the score with the paper's features: X and the predicted class.

    Attributes
    ----------
    coef_, intercept_, classes_, mean_, scale_, unseen_uncertainty_, start_
        See ``LinearScore``.
    n_iter_ : int
    gap_ : float
        Certified relative distance of the objective from its minimum.

    See Also
    --------
    SELEScoreCV : Picks alpha.

    Notes
    -----
    Dask collections need not fit in memory, and give the same optimum. All arguments have the same
    partitions, as the columns of one frame do; ``dask.dataframe.read_parquet(folder)`` makes such a frame.
    Partitions are read twice per evaluation of the risk, so ``X.persist()`` pays where the workers' memory
    holds it. Workers keep 30 to 50 bytes per example; what they send does not grow with the number of
    examples. A Dask client, if there is one, runs the work on its cluster and makes up for lost workers; else
    local threads run it.

    References
    ----------
    .. [1] V. Franc, D. Prusa, V. Voracek, "Optimal strategies for reject option classifiers", Journal of
       Machine Learning Research 24, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.scores import SELEScore
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> losses = rng.exponential(np.exp(X[:, 0]))  # the first feature tells how hard an example is
    >>> score = SELEScore(alpha=1e-3).fit(X, losses)
    >>> hard, easy = score.predict([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0]])
    >>> bool(hard > easy)
    True
    """

    def __init__(
        self,
        alpha: float = 1e-3,
        *,
        tol: float = 0.01,
        max_iter: int = 1000,
        solver: str = METHODS[0],
        use_outputs: bool = True,
    ):
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.use_outputs = use_outputs


class SELEScoreCV(_SELEPath, LinearScoreCV):
    """``SELEScore`` with alpha picked by validation AuRC; the grid shares cutting planes.

    Parameters
    ----------
    alphas : sequence of float
        Values to try. Of equally good ones the largest is taken.
    cv : int, cross-validation splitter or iterable of (train, test)
        Folds, used when ``fit`` gets no validation set.
    random_state : int, RandomState or None
        Shuffles the rows before they are cut into folds.
    tol, max_iter, solver, use_outputs
        As in ``SELEScore``.

    Attributes
    ----------
    alpha_ : float
    alphas_, validation_aurc_ : ndarrays of equal length
        AuRC on the validation set, or its mean over the folds.
    coef_, intercept_, classes_, mean_, scale_, unseen_uncertainty_, start_, n_iter_, gap_
        As in ``SELEScore``.

    See Also
    --------
    SELEScore : With a given alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.scores import SELEScoreCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> losses = rng.exponential(np.exp(X[:, 0]))
    >>> score = SELEScoreCV([1e-3, 1e-1, 10.0]).fit(X, losses)
    >>> score.alpha_ in (1e-3, 1e-1, 10.0)
    True
    """

    def __init__(
        self,
        alphas: Sequence[float] = ALPHAS,
        *,
        cv: Any = 5,
        random_state: Any = 0,
        tol: float = 0.01,
        max_iter: int = 1000,
        solver: str = METHODS[0],
        use_outputs: bool = True,
    ):
        super().__init__(alphas, cv=cv, random_state=random_state, use_outputs=use_outputs)
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
