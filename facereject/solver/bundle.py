"""Bundle method for regularised risk minimisation, with a certificate of optimality.

Minimises F(w) = C/2 ‖w‖² + R(w) for a convex R given by values and subgradients. Two parts work on the same
evaluations:

* *Primal.* Each step goes in a quasi-Newton direction with a line search. Where that fails, at a kink of R,
  it goes towards the minimiser of the cutting-plane model, which is the step of plain BMRM.
* *Dual.* Every subgradient is a cut of R from below. The cuts give a lower bound of F, and the run stops when
  (best F − bound) / best F ≤ tol. When the bound is what lags, as with hinge risks, extra cuts are made a
  little off the best point, where F exceeds it by about tol. No step rule can invalidate the bound.

A risk that can be *relaxed* (the multi-class hinge) is stepped on through a smooth function above it, whose
temperature falls as the gap closes, while the cuts stay those of the risk itself.

Plain BMRM evaluates R at the minimiser of the model only, which for small C jumps far away: it needs ten
times the evaluations and more (``tools/bench/solver.py``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.exceptions import ConvergenceWarning

from facereject._validation import FloatArray
from facereject.solver._descent import Point, Problem, Progress, Run
from facereject.solver.cuts import Bundle
from facereject.solver.quasi_newton import QuasiNewton


def bundle_minimize(
    objective: Callable[[FloatArray], tuple[float, FloatArray]],
    C: float,
    *,
    tol: float = 0.01,
    max_iter: int = 1000,
    x0: Any = None,
    bundle: Bundle | None = None,
    callback: Callable[[Progress], Any] | None = None,
    time_limit: float | None = None,
) -> OptimizeResult:
    """Minimise C/2 ‖w‖² + R(w) for a convex risk R.

    Parameters
    ----------
    objective : callable w -> (value, subgradient)
        The risk R. A ``LinearObjective`` is searched along lines without products with X.
    C : float
        Regularisation ≥ 0. With C = 0 there is no bound over all w; see Notes.
    tol : float
        Relative gap at which to stop.
    max_iter : int
    x0 : array of shape (n_weights,), optional
        Start; zeros by default. Needed for a plain function, as it tells the number of weights. Zero is
        evaluated too: R(0) is the unit in which a value counts as negligible.
    bundle : Bundle, optional
        Cuts of the same R from an earlier run, for instance at another C; extended in place.
    callback : callable(Progress), optional
        Called after every iteration; raising StopIteration ends the run.
    time_limit : float, optional
        Seconds after which to stop.

    Returns
    -------
    result : OptimizeResult
        ``x``, ``fun`` (best C/2‖w‖² + R), ``dual`` (lower bound), ``gap`` (their difference relative to
        ``fun``; 0 if both are below 1e-9 R(0)), ``nit``, ``nfev``, ``success``, ``message``, ``history`` (a
        list of ``Progress``), ``bundle``.

    Warns
    -----
    ConvergenceWarning
        When ``max_iter``, ``time_limit`` or the callback ends the run before the gap is closed; ``success``
        is then False. Features of very large scale make that likely: standardise them.

    Raises
    ------
    NonFiniteRiskError
        The risk or a subgradient is NaN or infinite; the message names the iterate.
    SubgradientError
        A lower bound lies above a value of R: wrong subgradient, or R not convex. Small errors of a
        subgradient can go unnoticed, and the bound is then as wrong as they are.

    Notes
    -----
    With C = 0 the bound comes from a proximal term around x and holds in a ball: at the stop, no w with
    ‖w − x‖ ≤ max(1, ‖x‖) has R(w) < (1 − tol) R(x). ``dual`` is the bound over that ball.

    Examples
    --------
    A risk of your own, here the mean absolute deviation from a point:

    >>> import numpy as np
    >>> from facereject.solver import bundle_minimize
    >>> target = np.array([3.0, -1.0, 0.2])
    >>> def risk(w):
    ...     residual = w - target
    ...     return np.abs(residual).mean(), np.sign(residual) / residual.size
    >>> result = bundle_minimize(risk, C=0.5, x0=np.zeros(3), tol=1e-4)
    >>> result.success, result.fun >= result.dual
    (True, True)
    >>> np.round(result.x, 1)
    array([ 0.7, -0.7,  0.2])
    """
    problem = _prepare(objective, x0)
    return _minimize(problem, C, tol, max_iter, _start(problem, x0), bundle, callback, time_limit)[0]


def bundle_path(
    objective: Callable[[FloatArray], tuple[float, FloatArray]],
    Cs: Iterable[float],
    *,
    tol: float = 0.01,
    max_iter: int = 1000,
    x0: Any = None,
    bundle: Bundle | None = None,
    callback: Callable[[Progress], Any] | None = None,
    time_limit: float | None = None,
) -> list[OptimizeResult]:
    """Minimise for several C, from the largest to the smallest, sharing cuts, metric and starting points.

    Parameters
    ----------
    objective : callable w -> (value, subgradient)
    Cs : iterable of float
    tol, max_iter, callback, time_limit
        As in ``bundle_minimize``, for each of the runs.
    x0, bundle
        As in ``bundle_minimize``, for the first of the runs.

    Returns
    -------
    results : list of OptimizeResult, in the order of ``Cs``
    """
    values = [float(C) for C in Cs]
    problem = _prepare(objective, x0)
    start: FloatArray | Point = _start(problem, x0)
    results: dict[int, OptimizeResult] = {}
    scale = None
    for i in sorted(range(len(values)), key=lambda i: -values[i]):
        results[i], run = _minimize(
            problem, values[i], tol, max_iter, start, bundle, callback, time_limit, scale
        )
        start, bundle, scale = run.best, run.bundle, run.scale
    return [results[i] for i in range(len(values))]


class _Plain:
    """A function of w is a risk of scores, the scores being w itself."""

    def __init__(self, function: Callable[[FloatArray], tuple[float, FloatArray]], n_weights: int):
        self._function = function
        self.n_weights = n_weights

    def risk(self, scores: FloatArray) -> tuple[float, FloatArray]:
        # copies: the function may change its argument, or use one array for all its answers
        value, subgradient = self._function(scores.copy())
        subgradient = np.array(subgradient, dtype=np.float64)
        if subgradient.shape != scores.shape:
            raise ValueError(f"the subgradient must have shape {scores.shape}, got {subgradient.shape}")
        return value, subgradient

    def scores(self, w: FloatArray) -> FloatArray:
        return w

    def pull_back(self, gradient: FloatArray) -> FloatArray:
        return gradient


def _prepare(objective: Any, x0: Any) -> Problem:
    if all(hasattr(objective, name) for name in ("risk", "scores", "pull_back", "n_weights")):
        if not hasattr(objective, "preconditioner"):
            return Problem(objective, QuasiNewton())
        return Problem(objective, QuasiNewton(objective.preconditioner()), objective.precision)
    if not callable(objective):
        raise TypeError(
            f"objective must be callable: w -> (value, subgradient); got {type(objective).__name__}"
        )
    if x0 is None:
        raise ValueError("x0 is needed: a plain function does not tell its number of weights")
    return Problem(_Plain(objective, np.size(x0)), QuasiNewton())


def _start(problem: Problem, x0: Any) -> FloatArray:
    n_weights = problem.objective.n_weights
    start = np.zeros(n_weights) if x0 is None else np.array(x0, dtype=np.float64).ravel()
    if start.size != n_weights:
        raise ValueError(f"x0 must hold {n_weights} weights, got {start.size}")
    return start


def _minimize(
    problem: Problem,
    C: float,
    tol: float,
    max_iter: int,
    start: FloatArray | Point,
    bundle: Bundle | None,
    callback: Callable[[Progress], Any] | None,
    time_limit: float | None,
    scale: float | None = None,
) -> tuple[OptimizeResult, Run]:
    if not (np.isfinite(C) and C >= 0):
        raise ValueError(f"C must be finite and not negative, got {C}")
    if not tol > 0:
        raise ValueError(f"tol must be positive, got {tol}")
    if max_iter < 0:
        raise ValueError(f"max_iter must not be negative, got {max_iter}")
    n_weights = problem.objective.n_weights
    if bundle is None:
        bundle = Bundle(n_weights)
    elif bundle.n_weights != n_weights:
        raise ValueError(f"bundle was built for {bundle.n_weights} weights, the objective has {n_weights}")
    run = Run(problem, float(C), tol, start, bundle, scale)
    message = run.until(max_iter, callback, time_limit)
    run.finish()
    converged = bool(run.gap <= tol)
    if not converged:
        warnings.warn(f"bundle_minimize: {message} (gap {run.gap:.2g})", ConvergenceWarning, stacklevel=3)
    result = OptimizeResult(
        x=run.best.w,
        fun=run.best.fun,
        dual=run.dual,
        gap=run.gap,
        nit=len(run.history) - 1,
        nfev=run.n_evaluations,
        success=converged,
        message=message,
        history=run.history,
        bundle=bundle,
    )
    return result, run
