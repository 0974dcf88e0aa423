"""Bundle method for regularised risk minimisation, with a certificate of optimality.

Minimises F(w) = C/2 ‖w‖² + R(w) for a convex R given by values and subgradients. Two parts work on the same
evaluations:

* *Primal.* Each step goes in a quasi-Newton direction with a line search. Where that fails, at a kink of R,
  it goes towards the minimiser of the cutting-plane model, which is the step of plain BMRM.
* *Dual.* Every subgradient is a cut of R from below. The cuts give a lower bound of F, and the run stops when
  (best F − bound) / best F ≤ tol. When the bound is what lags, as with hinge risks, extra cuts are made a
  little off the best point, where F exceeds it by about tol. No step rule can invalidate the bound.

Plain BMRM evaluates R at the minimiser of the model only, which for small C jumps far away: it needs ten
times the evaluations and more (``tools/bench/solver.py``).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.exceptions import ConvergenceWarning

from facereject._validation import FloatArray
from facereject.solver.cuts import Bundle
from facereject.solver.linear import LinearObjective
from facereject.solver.quasi_newton import QuasiNewton, gram_preconditioner

# Weak Wolfe conditions: enough decrease, and a slope that has flattened.
_DECREASE, _FLATTEN = 1e-4, 0.9
_MAX_TRIALS = 12
# fractions of the way to the minimiser of the model tried after a failed line search
_MODEL_STEPS = (1.0, 0.3, 0.1)
# the bound lags when the gap has not halved over this many iterations
_PATIENCE = 5
# a cut may exceed R by this share of the numbers it is computed from before it counts as wrong
_ROUNDING = 1e-6


class NonFiniteRiskError(ArithmeticError):
    """The risk or its subgradient was NaN or infinite."""


class SubgradientError(ArithmeticError):
    """A subgradient contradicts a value of the risk: it is wrong, or the risk is not convex."""


class Progress(NamedTuple):
    """One line of the history: where the run stood after an iteration."""

    iteration: int
    n_evaluations: int
    n_cuts: int
    fun: float
    dual: float
    gap: float
    seconds: float


class _Objective(Protocol):
    """What the solver needs: a risk of scores that are linear in w."""

    n_weights: int

    def risk(self, scores: FloatArray) -> tuple[float, FloatArray]: ...
    def scores(self, w: FloatArray) -> FloatArray: ...
    def pull_back(self, gradient: FloatArray) -> FloatArray: ...


class _Plain:
    """A function of w is a risk of scores, the scores being w itself."""

    def __init__(self, function: Callable[[FloatArray], tuple[float, FloatArray]], n_weights: int):
        self.risk = function
        self.n_weights = n_weights

    def scores(self, w: FloatArray) -> FloatArray:
        return w

    def pull_back(self, gradient: FloatArray) -> FloatArray:
        return gradient


class _Point(NamedTuple):
    w: FloatArray
    scores: FloatArray
    risk: float
    score_gradient: FloatArray
    subgradient: FloatArray  # of R in w
    fun: float


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
        Start; zeros by default. Needed for a plain function, as it tells the number of weights.
    bundle : Bundle, optional
        Cuts of the same R from an earlier run, for instance at another C; extended in place.
    callback : callable(Progress), optional
        Called after every iteration; raising StopIteration ends the run.
    time_limit : float, optional
        Seconds after which to stop.

    Returns
    -------
    result : OptimizeResult
        ``x``, ``fun`` (best C/2‖w‖² + R), ``dual`` (lower bound), ``gap`` (relative), ``nit``, ``nfev``,
        ``success``, ``message``, ``history`` (a list of ``Progress``), ``bundle``.

    Warns
    -----
    ConvergenceWarning
        When ``max_iter`` or ``time_limit`` ends the run; ``success`` is then False.

    Raises
    ------
    NonFiniteRiskError
        The risk or a subgradient is NaN or infinite; the message names the iterate.
    SubgradientError
        A lower bound lies above a value of R: wrong subgradient, or R not convex.

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
    return _minimize(_prepare(objective, x0), C, tol, max_iter, x0, bundle, callback, time_limit)


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
    start = x0
    problem = _prepare(objective, x0)
    results: dict[int, OptimizeResult] = {}
    for i in sorted(range(len(values)), key=lambda i: -values[i]):
        result = _minimize(problem, values[i], tol, max_iter, start, bundle, callback, time_limit)
        results[i] = result
        start, bundle = result.x, result.bundle
    return [results[i] for i in range(len(values))]


class _Problem(NamedTuple):
    """An objective and the metric learned on it, which does not depend on C either."""

    objective: _Objective
    metric: QuasiNewton


def _prepare(objective: Any, x0: Any) -> _Problem:
    if all(hasattr(objective, name) for name in ("risk", "scores", "pull_back", "n_weights")):
        linear = isinstance(objective, LinearObjective)
        return _Problem(objective, QuasiNewton(gram_preconditioner(objective) if linear else None))
    if not callable(objective):
        raise TypeError(
            f"objective must be callable: w -> (value, subgradient); got {type(objective).__name__}"
        )
    if x0 is None:
        raise ValueError("x0 is needed: a plain function does not tell its number of weights")
    return _Problem(_Plain(objective, np.size(x0)), QuasiNewton())


def _minimize(
    problem: _Problem,
    C: float,
    tol: float,
    max_iter: int,
    x0: Any,
    bundle: Bundle | None,
    callback: Callable[[Progress], Any] | None,
    time_limit: float | None,
) -> OptimizeResult:
    if not (np.isfinite(C) and C >= 0):
        raise ValueError(f"C must be finite and not negative, got {C}")
    if not tol > 0:
        raise ValueError(f"tol must be positive, got {tol}")
    n_weights = problem.objective.n_weights
    start = np.zeros(n_weights) if x0 is None else np.array(x0, dtype=np.float64).ravel()
    if start.size != n_weights:
        raise ValueError(f"x0 must hold {n_weights} weights, got {start.size}")
    if bundle is None:
        bundle = Bundle(n_weights)
    elif bundle.n_weights != n_weights:
        raise ValueError(f"bundle was built for {bundle.n_weights} weights, the objective has {n_weights}")
    run = _Run(problem, float(C), tol, start, bundle)
    message = run.until(max_iter, callback, time_limit)
    if not run.converged:
        warnings.warn(f"bundle_minimize: {message} (gap {run.gap:.2g})", ConvergenceWarning, stacklevel=3)
    return OptimizeResult(
        x=run.best.w,
        fun=run.best.fun,
        dual=run.dual,
        gap=run.gap,
        nit=len(run.history) - 1,
        nfev=run.n_evaluations,
        success=run.converged,
        message=message,
        history=run.history,
        bundle=bundle,
    )


class _Run:
    """State of one minimisation."""

    def __init__(self, problem: _Problem, C: float, tol: float, start: FloatArray, bundle: Bundle):
        self.objective, self._metric = problem
        self.C, self.tol, self.bundle = C, tol, bundle
        self.n_evaluations = 0
        self.history: list[Progress] = []
        self.dual = -np.inf
        self.gap = np.inf
        self.converged = False
        self._probe_step = 0.1
        scores = self.objective.scores(start)
        value, score_gradient = self._risk(scores)
        self.best = self._land(start, scores, value, score_gradient)
        # where F falls to zero no relative gap is ever reached: differences this small count as none
        self._negligible = max(1e-12 * abs(self.best.fun), 1e-290)

    def until(
        self, max_iter: int, callback: Callable[[Progress], Any] | None, time_limit: float | None
    ) -> str:
        """Iterate to a stop; returns the reason."""
        begin = time.perf_counter()
        stuck = False
        for iteration in range(max_iter + 1):
            target = self._update_bound()
            entry = Progress(
                iteration, self.n_evaluations, self.bundle.n_cuts, self.best.fun, self.dual, self.gap,
                time.perf_counter() - begin,
            )  # fmt: skip
            self.history.append(entry)
            if self.gap <= self.tol:
                self.converged = True
                return f"gap {self.gap:.2g} ≤ tol {self.tol:.2g}"
            if callback is not None:
                try:
                    callback(entry)
                except StopIteration:
                    return "stopped by the callback"
            if time_limit is not None and entry.seconds >= time_limit:
                return f"time limit of {time_limit:g} s reached"
            if iteration < max_iter:
                # after a step without progress the same direction would fail again
                stuck = not ((not stuck and self._quasi_newton_step()) or self._model_step(target))
                if iteration >= _PATIENCE and self.gap > 0.5 * self.history[-_PATIENCE - 1].gap:
                    self._probe(target)
        return f"max_iter = {max_iter} reached"

    def _update_bound(self) -> FloatArray:
        """Renew dual and gap; returns the minimiser of the model."""
        fun = self.best.fun
        if self.C > 0:
            bound, target = self.bundle.bound(self.C)
            self.dual = max(self.dual, bound)
        else:
            radius = max(1.0, float(np.linalg.norm(self.best.w)))
            rho = max(self.tol * abs(fun), self._negligible) / radius**2
            bound, target = self.bundle.bound(rho, self.best.w)
            self.dual = bound - 0.5 * rho * radius**2
        if self.dual - fun > _ROUNDING * max(abs(fun), abs(self.dual)):
            raise SubgradientError(
                f"the lower bound {self.dual:.6g} exceeds the value {fun:.6g} after {self.n_evaluations} "
                "evaluations: a subgradient is wrong, or the risk is not convex"
            )
        difference = max(fun - self.dual, 0.0)
        self.gap = 0.0 if difference <= self._negligible else difference / max(abs(fun), np.finfo(float).tiny)
        return target

    def _quasi_newton_step(self) -> bool:
        """Line search in a quasi-Newton direction; True when it lowered F."""
        point = self.best
        gradient = point.subgradient + self.C * point.w
        direction = self._metric.direction(gradient, self.C)
        slope = float(gradient @ direction)
        if not slope < 0:
            self._metric.forget()
            return False
        ray = self._ray(point, direction)
        low, high, step = 0.0, np.inf, 1.0
        for _ in range(_MAX_TRIALS):
            trial_fun, trial_slope, land = ray(step)
            if trial_fun > point.fun + _DECREASE * step * slope:
                high = step
            elif trial_slope < _FLATTEN * slope:
                low = step
            else:
                break
            step = 2.0 * step if high == np.inf else 0.5 * (low + high)
        landed = land()
        move = landed.scores - point.scores
        bend = float(np.vdot(landed.score_gradient - point.score_gradient, move))
        curvature = bend * move.shape[0] / max(float(np.vdot(move, move)), np.finfo(float).tiny)
        self._metric.update(landed.w - point.w, landed.subgradient - point.subgradient, curvature)
        return landed.fun < point.fun

    def _model_step(self, target: FloatArray) -> bool:
        """Evaluate towards the minimiser of the model; True when it lowered F."""
        point = self.best
        ray = self._ray(point, target - point.w)
        return any(ray(step)[2]().fun < point.fun for step in _MODEL_STEPS)

    def _probe(self, target: FloatArray) -> None:
        """Add one cut towards the minimiser of the model, at a distance that keeps F within about tol."""
        point = self.best
        fun, _, land = self._ray(point, target - point.w)(self._probe_step)
        land()
        excess = (fun - point.fun) / max(abs(point.fun), np.finfo(float).tiny)
        if excess > 2.0 * self.tol:
            self._probe_step *= 0.5
        elif excess < 0.5 * self.tol:
            self._probe_step = min(1.0, 2.0 * self._probe_step)

    def _ray(self, point: _Point, direction: FloatArray) -> Callable[[float], tuple[float, float, Callable]]:
        """F along point + k · direction: k -> (value, slope, function that adds the cut there)."""
        along = self.objective.scores(direction)
        square, mixed, own = point.w @ point.w, point.w @ direction, direction @ direction

        def at(step: float) -> tuple[float, float, Callable[[], _Point]]:
            scores = point.scores + step * along
            value, gradient = self._risk(scores)
            fun = value + 0.5 * self.C * float(square + 2 * step * mixed + step * step * own)
            slope = float(np.vdot(gradient, along)) + self.C * float(mixed + step * own)
            return fun, slope, lambda: self._land(point.w + step * direction, scores, value, gradient)

        return at

    def _risk(self, scores: FloatArray) -> tuple[float, FloatArray]:
        self.n_evaluations += 1
        value, gradient = self.objective.risk(scores)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            what = "risk" if not np.isfinite(value) else "subgradient of the risk"
            raise NonFiniteRiskError(
                f"the {what} is not finite at evaluation {self.n_evaluations} "
                f"(iteration {len(self.history)}, largest score {np.abs(scores).max():.3g})"
            )
        return float(value), gradient

    def _land(self, w: FloatArray, scores: FloatArray, value: float, gradient: FloatArray) -> _Point:
        """Add the cut at ``w`` and make it the best point if it is."""
        subgradient = self.objective.pull_back(gradient)
        point = _Point(w, scores, value, gradient, subgradient, value + 0.5 * self.C * float(w @ w))
        self.bundle.add(value, subgradient, w)
        if self.n_evaluations == 1:
            return point
        change = float(subgradient @ (self.best.w - w))
        if value + change - self.best.risk > _ROUNDING * (abs(value) + abs(change) + abs(self.best.risk)):
            raise SubgradientError(
                f"at evaluation {self.n_evaluations} the cut exceeds the risk at the best point by "
                f"{value + change - self.best.risk:.3g}: the subgradient is wrong, or the risk is not convex"
            )
        if point.fun < self.best.fun:
            self.best = point
        return point
