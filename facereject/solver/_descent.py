"""The steps of the bundle method: descent in the primal, cuts for the dual, a check of every subgradient."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from facereject._validation import FloatArray
from facereject.solver.cuts import Bundle
from facereject.solver.quasi_newton import QuasiNewton

# Weak Wolfe conditions: enough decrease, and a slope that has flattened.
_DECREASE, _FLATTEN = 1e-4, 0.9
_MAX_TRIALS = 12
# fractions of the way to the minimiser of the model tried after a failed line search
_MODEL_STEPS = (1.0, 0.3, 0.1)
# a bound may exceed a value by this share before a subgradient counts as wrong
_WRONG = 1e-6
# temperature at which risks that can be relaxed start; hinges have a margin of one
_FIRST_TAU = 0.1
# the bound lags when the gap has fallen by less than a quarter over this many iterations
_PATIENCE, _LAG = 5, 0.75


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


class Objective(Protocol):
    """What the solver needs: a risk of scores that are linear in w."""

    @property
    def n_weights(self) -> int: ...

    def risk(self, scores: FloatArray) -> tuple[float, FloatArray]: ...
    def scores(self, w: FloatArray) -> FloatArray: ...
    def pull_back(self, gradient: FloatArray) -> FloatArray: ...


class Evaluation(NamedTuple):
    """The risk at some scores: a value not below it, a slope, and the cut with that slope.

    Exact oracles have value = cut = R. A relaxed one (``tau`` > 0) is smooth, with cut ≤ R ≤ value.
    """

    scores: FloatArray
    value: float
    gradient: FloatArray
    cut: float
    tau: float


class Point(NamedTuple):
    """A place where the risk was evaluated; all but ``fun`` holds for every C."""

    w: FloatArray
    risk: Evaluation
    subgradient: FloatArray  # of the risk in w
    fun: float


class Problem(NamedTuple):
    """An objective and what is known of it at every C."""

    objective: Objective
    metric: QuasiNewton
    precision: float = float(np.finfo(float).eps)  # unit of rounding of its products


class Run:
    """State of one minimisation."""

    def __init__(
        self,
        problem: Problem,
        C: float,
        tol: float,
        start: FloatArray | Point,
        bundle: Bundle,
        scale: float | None = None,
    ):
        self.objective, self._metric, self._precision = problem
        self.C, self.tol, self.bundle = C, tol, bundle
        self.n_evaluations = 0
        self.history: list[Progress] = []
        self.dual = -np.inf
        self.gap = np.inf
        self._probe_step = 0.1
        self._tau = _FIRST_TAU if hasattr(self.objective.risk, "relaxed") else 0.0
        if isinstance(start, Point) and start.risk.tau == self._tau:
            # the end of a run at another C, its cut in the bundle
            self.best = start._replace(fun=self._fun(start.risk.value, start.w))
        elif isinstance(start, Point):
            self.best = self._make_point(start.w, self.evaluate(start.risk.scores))
        else:
            self.best = self._make_point(start, self.evaluate(self.objective.scores(start)))
        self.scale = self._find_scale() if scale is None else scale

    def _find_scale(self) -> float:
        """|R(0)|: the unit in which values are negligible. Zero is also where a poor start is left for."""
        if not self.best.w.any():
            return abs(self.best.risk.value)
        zero = np.zeros_like(self.best.w)
        point = self._make_point(zero, self.evaluate(self.objective.scores(zero)))
        if point.fun < self.best.fun:
            self.best = point
        return abs(point.risk.value)

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
            if callback is not None:
                try:
                    callback(entry)
                except StopIteration:
                    return "stopped by the callback"
            if self.gap <= self.tol:
                return f"gap {self.gap:.2g} ≤ tol {self.tol:.2g}"
            if time_limit is not None and entry.seconds >= time_limit:
                return f"time limit of {time_limit:g} s reached"
            if iteration < max_iter:
                self._tighten()
                # after a step without progress the same direction would fail again
                stuck = not ((not stuck and self._quasi_newton_step()) or self._model_step(target))
                if iteration >= _PATIENCE and self.gap > _LAG * self.history[-_PATIENCE - 1].gap:
                    self._probe(target)
        return f"max_iter = {max_iter} reached"

    def finish(self) -> None:
        """Replace a relaxed value at the best point by the exact one, which is not above it."""
        if self._tau > 0:
            self._tau = 0.0
            self.best = self._make_point(self.best.w, self.evaluate(self.best.risk.scores))
            self._update_bound()
            self.history[-1] = self.history[-1]._replace(
                n_evaluations=self.n_evaluations, n_cuts=self.bundle.n_cuts,
                fun=self.best.fun, dual=self.dual, gap=self.gap,
            )  # fmt: skip

    def _tighten(self) -> None:
        """Relax less once the relaxation is what keeps the gap open."""
        error = self.best.risk.value - self.best.risk.cut
        scale = max(abs(self.best.fun), self._negligible())
        if error > 0.4 * self.tol * scale and error > min(0.5 * self.gap, 0.5) * scale:
            self._tau *= 0.5
            self.best = self._make_point(self.best.w, self.evaluate(self.best.risk.scores))

    def _update_bound(self) -> FloatArray:
        """Renew dual and gap; returns the minimiser of the model."""
        fun = self.best.fun
        if self.C > 0:
            bound, target = self.bundle.bound(self.C)
            self.dual = max(self.dual, bound)
        else:
            radius = max(1.0, float(np.linalg.norm(self.best.w)))
            rho = max(self.tol * abs(fun), self._negligible()) / radius**2
            bound, target = self.bundle.bound(rho, self.best.w)
            self.dual = bound - 0.5 * rho * radius**2
        if self.dual - fun > _WRONG * max(abs(fun), abs(self.dual)) + self._negligible():
            raise SubgradientError(
                f"the lower bound {self.dual:.6g} exceeds the value {fun:.6g} after {self.n_evaluations} "
                "evaluations: a subgradient is wrong, or the risk is not convex"
            )
        difference = max(fun - self.dual, 0.0)
        # where F falls to zero no relative gap is ever reached: such differences count as none
        nothing = abs(fun) <= self._negligible() and difference <= self._negligible()
        self.gap = 0.0 if nothing else difference / max(abs(fun), 1e-290)
        return target

    def _negligible(self) -> float:
        return max(1e-9 * self.scale, 1e-290)

    def _quasi_newton_step(self) -> bool:
        """Line search in a quasi-Newton direction; True when it lowered F."""
        point = self.best
        gradient = point.subgradient + self.C * point.w
        direction = self._metric.direction(gradient, self.C)
        slope = float(gradient @ direction)
        if not slope < 0:
            self._metric.forget()
            return False
        ray = _Ray(self, point, direction)
        low, high, step = 0.0, np.inf, 1.0
        for _ in range(_MAX_TRIALS):
            trial = ray.at(step)
            if trial.fun > point.fun + _DECREASE * step * slope:
                high = step
            elif trial.slope < _FLATTEN * slope:
                low = step
            else:
                break
            if high == np.inf:
                step = 2.0 * step
            elif low > 0:
                step = 0.5 * (low + high)
            else:  # the minimum of the parabola through both ends, which may lie orders of magnitude nearer
                parabola = -0.5 * slope * high**2 / (trial.fun - point.fun - slope * high)
                step = min(max(parabola, 1e-4 * high), 0.5 * high)
        landed = self._land(trial)
        bend = _dot(landed.risk.gradient - point.risk.gradient, ray.along)
        length = trial.step * max(_dot(ray.along, ray.along), np.finfo(float).tiny)
        curvature = bend * ray.along.shape[0] / length
        self._metric.update(landed.w - point.w, landed.subgradient - point.subgradient, curvature)
        return landed.fun < point.fun

    def _model_step(self, target: FloatArray) -> bool:
        """Evaluate towards the minimiser of the model; True when it lowered F."""
        point = self.best
        ray = _Ray(self, point, target - point.w)
        return any(self._land(ray.at(step)).fun < point.fun for step in _MODEL_STEPS)

    def _probe(self, target: FloatArray) -> None:
        """Add one cut towards the minimiser of the model, at a distance that keeps F within about tol."""
        point = self.best
        probed = self._land(_Ray(self, point, target - point.w).at(self._probe_step))
        excess = (probed.fun - point.fun) / max(abs(point.fun), self._negligible())
        if excess > 2.0 * self.tol:
            self._probe_step *= 0.5
        elif excess < 0.5 * self.tol:
            self._probe_step = min(1.0, 2.0 * self._probe_step)

    def evaluate(self, scores: FloatArray) -> Evaluation:
        """The risk at some scores, counted and checked."""
        self.n_evaluations += 1
        if not np.isfinite(scores).all():
            raise NonFiniteRiskError(
                f"the scores are not finite at evaluation {self.n_evaluations} "
                f"(iteration {len(self.history)})"
            )
        if self._tau > 0:
            value, gradient, cut = self.objective.risk.relaxed(scores, self._tau)  # type: ignore[attr-defined]
        else:
            value, gradient = self.objective.risk(scores)
            cut = value
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            what = "risk" if not np.isfinite(value) else "subgradient of the risk"
            raise NonFiniteRiskError(
                f"the {what} is not finite at evaluation {self.n_evaluations} "
                f"(iteration {len(self.history)}, largest score {np.abs(scores).max():.3g})"
            )
        return Evaluation(scores, float(value), gradient, float(cut), self._tau)

    def _fun(self, risk: float, w: FloatArray) -> float:
        return risk + 0.5 * self.C * float(w @ w)

    def _make_point(self, w: FloatArray, risk: Evaluation) -> Point:
        """Add the cut at ``w``."""
        subgradient = self.objective.pull_back(risk.gradient)
        self.bundle.add(risk.cut, subgradient, w, self._precision)
        return Point(w, risk, subgradient, self._fun(risk.value, w))

    def _land(self, trial: _Trial) -> Point:
        """Add the cut at a point of a ray, check it, and make the point the best if it is."""
        point = self._make_point(trial.w, trial.risk)
        change = float(point.subgradient @ (self.best.w - point.w))
        excess = point.risk.cut + change - self.best.risk.value
        size = abs(point.risk.cut) + abs(change) + abs(self.best.risk.value)
        terms = float(np.abs(point.subgradient) @ (np.abs(self.best.w) + np.abs(point.w)))
        if excess > _WRONG * size + 1e3 * self._precision * terms + self._negligible():
            raise SubgradientError(
                f"at evaluation {self.n_evaluations} the cut exceeds the risk at the best point by "
                f"{excess:.3g}: the subgradient is wrong, or the risk is not convex"
            )
        if point.fun < self.best.fun:
            self.best = point
        return point


class _Trial(NamedTuple):
    step: float
    w: FloatArray
    risk: Evaluation
    fun: float
    slope: float  # of F along the ray


class _Ray:
    """F on the half-line from a point; the scores move linearly, so no product with X is needed on it."""

    def __init__(self, run: Run, point: Point, direction: FloatArray):
        self.along = run.objective.scores(direction)
        self._run, self._point, self._direction = run, point, direction

    def at(self, step: float) -> _Trial:
        w = self._point.w + step * self._direction
        risk = self._run.evaluate(self._point.risk.scores + step * self.along)
        C = self._run.C
        slope = _dot(risk.gradient, self.along) + C * float(w @ self._direction)
        return _Trial(step, w, risk, risk.value + 0.5 * C * float(w @ w), slope)


def _dot(a: FloatArray, b: FloatArray) -> float:
    """Sum of products; np.vdot copies arrays that lie in memory column by column, as scores of classes do."""
    return float(np.vdot(a.T, b.T) if a.flags.f_contiguous else np.vdot(a, b))
