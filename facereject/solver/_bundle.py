"""Regularised risk minimisation with a certificate of optimality.

Minimises F(w) = alpha/2 ‖w‖² + R(w) for a convex R given by values and subgradients. Every subgradient gives
a cut, a linear function below R. The cuts give a lower bound of F, and a run stops when
(best F − bound) / best F ≤ tol. The bound holds for any choice of steps. The methods differ in where they
evaluate R:

``"certified-quasi-newton"`` (default)
    Along quasi-Newton directions, with a line search; the cutting-plane model serves the certificate only.
    Where the bound improves slowly, as with hinge risks, or a step fails at a kink, one more cut is made near
    the best point, towards the minimiser of the model, where F exceeds the best value by about tol; if F is
    lower there, that point is kept. A risk that can be smoothed (the multi-class hinge) is replaced for the
    steps by a smooth upper bound whose temperature falls with the gap; the cuts are those of the risk itself.
``"bmrm"``
    At the minimiser of the model: the bundle method of Teo et al. (2010), which the paper uses. For small
    alpha the minimiser is far away, and ten times as many evaluations and more are needed
    (``tools/bench/solver.py``).
``"bmrm-line-search"``
    On the line from the best point to the minimiser of the model.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.exceptions import ConvergenceWarning

from facereject._log import logger
from facereject._validation import FloatArray
from facereject.solver._cuts import Bundle
from facereject.solver._protocols import Objective, PlainObjective
from facereject.solver._quasi_newton import QuasiNewton
from facereject.solver._run import Iteration, Point, Run, Steps
from facereject.solver._steps import ModelSteps, QuasiNewtonSteps

_LOG = logger(__name__)

#: Names of the methods; the first is the default.
METHODS = ("certified-quasi-newton", "bmrm", "bmrm-line-search")
# BMRM as published keeps every cut; beyond this number the oldest inactive ones go
_BMRM_CUTS = 1000


def bundle_minimize(
    objective: Objective | Callable[[FloatArray], tuple[float, FloatArray]],
    alpha: float,
    *,
    tol: float = 0.01,
    max_iter: int = 1000,
    method: str = METHODS[0],
    x0: Any = None,
    bundle: Bundle | None = None,
    callback: Callable[[Iteration], Any] | None = None,
    time_limit: float | None = None,
) -> OptimizeResult:
    """Minimise alpha/2 ‖w‖² + R(w) for a convex risk R, with a certificate of optimality.

    Parameters
    ----------
    objective : LinearObjective, or callable w -> (value, subgradient)
        The risk R. Line searches over a `LinearObjective` need no products with X.
    alpha : float
        Regularisation ≥ 0. With alpha = 0 there is no bound over all w; see Notes.
    tol : float
        Relative gap at which to stop.
    max_iter : int
        Number of iterations after which to stop without success.
    method : {"certified-quasi-newton", "bmrm", "bmrm-line-search"}
        Where R is evaluated: along quasi-Newton directions, at the minimiser of the cutting-plane model, or
        on the line to that minimiser. The stopping rule is the same.
    x0 : array of shape (n_weights,), optional
        Start; zeros by default. Required for a plain function, whose number of weights it tells. Zero is
        evaluated too: R(0) is the unit in which a value counts as negligible.
    bundle : Bundle, optional
        Cuts of the same R from an earlier run (``result.bundle``), for instance at another alpha; extended in
        place.
    callback : callable, optional
        Called after every iteration with a named tuple: ``iteration``, ``n_evaluations``, ``n_cuts``,
        ``fun``, ``dual``, ``gap``, ``seconds``. Raising StopIteration ends the run.
    time_limit : float, optional
        Seconds after which to stop without success.

    Returns
    -------
    result : OptimizeResult
        ``x``, ``fun`` (best alpha/2‖w‖² + R), ``dual`` (lower bound), ``gap`` (their difference relative to
        ``fun``; 0 if both are below 1e-9 R(0)), ``nit``, ``nfev``, ``success``, ``message``, ``history`` (as
        for the callback), ``bundle``.

    Raises
    ------
    NonFiniteRiskError
        If the risk or a subgradient is NaN or infinite; the message names the evaluation.
    SubgradientError
        If a lower bound lies above a value of R: the subgradient is wrong, or R is not convex. Small errors
        of a subgradient can go unnoticed, and the bound is then as wrong as they are.

    Warns
    -----
    ConvergenceWarning
        If ``max_iter``, ``time_limit`` or the callback ends the run before the gap is closed; ``success``
        is then False. Features of very large scale make that likely: standardise them.

    See Also
    --------
    bundle_path : Minimises for several alpha.
    LinearObjective : A risk of linear scores.
    ridge_path : The closed form for the squared error.

    Notes
    -----
    With alpha = 0 the bound comes from a proximal term around x and holds in a ball: at the stop, no w with
    ‖w − x‖ ≤ max(1, ‖x‖) has R(w) < (1 − tol) R(x). ``dual`` is the bound over that ball.

    References
    ----------
    C. H. Teo, S. V. N. Vishwanathan, A. Smola, Q. V. Le: Bundle methods for regularized risk minimization.
    Journal of Machine Learning Research 11, 2010.

    V. Franc, S. Sonnenburg: Optimized cutting plane algorithm for large-scale risk minimization. Journal of
    Machine Learning Research 10, 2009.

    Examples
    --------
    A risk of your own, here the mean absolute deviation from a point:

    >>> import numpy as np
    >>> from facereject.solver import bundle_minimize
    >>> target = np.array([3.0, -1.0, 0.2])
    >>> def risk(w):
    ...     residual = w - target
    ...     return np.abs(residual).mean(), np.sign(residual) / residual.size
    >>> result = bundle_minimize(risk, alpha=0.5, x0=np.zeros(3), tol=1e-4)
    >>> result.success, result.fun >= result.dual
    (True, True)
    >>> np.round(result.x, 1)
    array([ 0.7, -0.7,  0.2])
    """
    problem = _prepare(objective, x0, method)
    return _minimize(problem, alpha, tol, max_iter, _start(problem, x0), bundle, callback, time_limit)[0]


def bundle_path(
    objective: Objective | Callable[[FloatArray], tuple[float, FloatArray]],
    alphas: Iterable[float],
    *,
    tol: float = 0.01,
    max_iter: int = 1000,
    method: str = METHODS[0],
    x0: Any = None,
    bundle: Bundle | None = None,
    callback: Callable[[Iteration], Any] | None = None,
    time_limit: float | None = None,
) -> list[OptimizeResult]:
    """Minimise alpha/2 ‖w‖² + R(w) for several alpha in one go.

    Goes from the largest alpha to the smallest; cuts, metric and solutions are reused.

    Parameters
    ----------
    objective : LinearObjective, or callable w -> (value, subgradient)
        As in `bundle_minimize`.
    alphas : iterable of float
        Regularisations ≥ 0, in any order.
    tol, max_iter, method
        As in `bundle_minimize`, for each alpha.
    x0, bundle
        As in `bundle_minimize`, for the first run.
    callback, time_limit
        As in `bundle_minimize`, for each alpha.

    Returns
    -------
    results : list of OptimizeResult
        In the order of ``alphas``.

    See Also
    --------
    bundle_minimize : Minimises for one alpha, and describes the parameters.
    ridge_path : The closed form for the squared error.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.risks import SELE
    >>> from facereject.solver import LinearObjective, bundle_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> objective = LinearObjective(X, SELE(np.abs(X[:, 0])))
    >>> [result.success for result in bundle_path(objective, [1.0, 0.1, 0.01])]
    [True, True, True]
    """
    values = [float(alpha) for alpha in alphas]
    problem = _prepare(objective, x0, method)
    start: FloatArray | Point = _start(problem, x0)
    results: dict[int, OptimizeResult] = {}
    scale = None
    for i in sorted(range(len(values)), key=lambda i: -values[i]):
        results[i], run = _minimize(
            problem, values[i], tol, max_iter, start, bundle, callback, time_limit, scale
        )
        start, bundle, scale = run.best, run.bundle, run.scale
    return [results[i] for i in range(len(values))]


class _Problem(NamedTuple):
    """An objective, and what is shared by all alpha."""

    objective: Objective
    make_steps: Callable[[], Steps]
    max_cuts: int


def _prepare(objective: Any, x0: Any, method: str) -> _Problem:
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    if not isinstance(objective, Objective):
        if not callable(objective):
            raise TypeError(
                f"objective must be callable: w -> (value, subgradient); got {type(objective).__name__}"
            )
        if x0 is None:
            raise ValueError("x0 is required: a plain function does not tell its number of weights")
        objective = PlainObjective(objective, np.size(x0))
    if method != METHODS[0]:
        return _Problem(objective, partial(ModelSteps, method == "bmrm-line-search"), _BMRM_CUTS)
    precondition = getattr(objective, "preconditioner", None)
    metric = QuasiNewton(None if precondition is None else precondition())
    return _Problem(objective, partial(QuasiNewtonSteps, metric), Bundle.MAX_CUTS)


def _start(problem: _Problem, x0: Any) -> FloatArray:
    n_weights = problem.objective.n_weights
    start = np.zeros(n_weights) if x0 is None else np.array(x0, dtype=np.float64).ravel()
    if start.size != n_weights:
        raise ValueError(f"x0 must hold {n_weights} weights, got {start.size}")
    return start


def _minimize(
    problem: _Problem,
    alpha: float,
    tol: float,
    max_iter: int,
    start: FloatArray | Point,
    bundle: Bundle | None,
    callback: Callable[[Iteration], Any] | None,
    time_limit: float | None,
    scale: float | None = None,
) -> tuple[OptimizeResult, Run]:
    if not (np.isfinite(alpha) and alpha >= 0):
        raise ValueError(f"alpha must be finite and not negative, got {alpha}")
    if not tol > 0:
        raise ValueError(f"tol must be positive, got {tol}")
    if max_iter < 0:
        raise ValueError(f"max_iter must not be negative, got {max_iter}")
    n_weights = problem.objective.n_weights
    if bundle is None:
        bundle = Bundle(n_weights, problem.max_cuts)
    elif bundle.n_weights != n_weights:
        raise ValueError(f"bundle was built for {bundle.n_weights} weights, the objective has {n_weights}")
    run = Run(problem.objective, problem.make_steps(), float(alpha), tol, start, bundle, scale)
    message = run.until(max_iter, callback, time_limit)
    run.finish()
    converged = bool(run.gap <= tol)
    _LOG.debug("alpha %g: %s; %d evaluations, gap %.2g", alpha, message, run.n_evaluations, run.gap)
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
