"""The state of one minimisation: checked evaluations, the lower bound, the stopping rule."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from facereject._validation import FloatArray
from facereject.risks._base import SmoothableRisk, check_answer
from facereject.solver._cuts import Bundle
from facereject.solver._protocols import Objective

# a bound may exceed a value by this share before a subgradient counts as wrong
_WRONG = 1e-6
# first temperature of smoothed risks; hinges have a margin of one
_FIRST_TAU = 0.1


class NonFiniteRiskError(ArithmeticError):
    """The risk or its subgradient is NaN or infinite."""


class SubgradientError(ArithmeticError):
    """A subgradient contradicts a value of the risk: it is wrong, or the risk is not convex."""


class Iteration(NamedTuple):
    """The state of a run after an iteration."""

    iteration: int
    n_evaluations: int
    n_cuts: int
    fun: float
    dual: float
    gap: float
    seconds: float


class Evaluation(NamedTuple):
    """The risk at some scores: a value not below it, a slope, and the cut with that slope.

    Exact oracles have value = cut = R. A smoothed one (``tau`` > 0) has cut ≤ R ≤ value.
    """

    scores: FloatArray
    value: float
    gradient: FloatArray
    cut: float
    tau: float


class Point(NamedTuple):
    """A point where the risk was evaluated; only ``fun`` depends on alpha."""

    w: FloatArray
    risk: Evaluation
    subgradient: FloatArray  # of the risk in w
    fun: float


class Steps(Protocol):
    """The steps of a method; see ``facereject.solver._steps``."""

    smooths: bool  # uses the smoothed risk where there is one

    def advance(self, run: Run, target: FloatArray) -> None:
        """Do one iteration; ``target`` is the minimiser of the cutting-plane model."""
        ...


class Run:
    """State of one minimisation."""

    def __init__(
        self,
        objective: Objective,
        steps: Steps,
        alpha: float,
        tol: float,
        start: FloatArray | Point,
        bundle: Bundle,
        scale: float | None = None,
    ):
        self.objective, self._steps = objective, steps
        self.alpha, self.tol, self.bundle = alpha, tol, bundle
        self._precision = float(getattr(objective, "precision", np.finfo(float).eps))
        self.n_evaluations = 0
        self.history: list[Iteration] = []
        self.dual = -np.inf
        self.gap = np.inf
        self._tau = _FIRST_TAU if steps.smooths and isinstance(objective.risk, SmoothableRisk) else 0.0
        if isinstance(start, Point) and start.risk.tau == self._tau:
            # the end of a run at another alpha, its cut in the bundle
            self.best = start._replace(fun=self.regularised(start.risk.value, start.w))
        elif isinstance(start, Point):
            self.best = self._make_point(start.w, self.evaluate(start.risk.scores))
        else:
            self.best = self._make_point(start, self.evaluate(self.objective.scores(start)))
        self.scale = self._find_scale() if scale is None else scale

    def _find_scale(self) -> float:
        """Compute |R(0)|, the unit in which values are negligible, and start at 0 if F is lower there."""
        if not self.best.w.any():
            return abs(self.best.risk.value)
        zero = np.zeros_like(self.best.w)
        point = self._make_point(zero, self.evaluate(self.objective.scores(zero)))
        if point.fun < self.best.fun:
            self.best = point
        return abs(point.risk.value)

    def until(
        self, max_iter: int, callback: Callable[[Iteration], Any] | None, time_limit: float | None
    ) -> str:
        """Iterate until a stopping rule applies; return its description."""
        begin = time.perf_counter()
        for iteration in range(max_iter + 1):
            target = self._update_bound()
            entry = Iteration(
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
                self._steps.advance(self, target)
        return f"max_iter = {max_iter} reached"

    def finish(self) -> None:
        """Replace the smoothed value at the best point by the exact one, which is not above it."""
        if self._tau > 0:
            self._tau = 0.0
            self.best = self._make_point(self.best.w, self.evaluate(self.best.risk.scores))
            self._update_bound()
            self.history[-1] = self.history[-1]._replace(
                n_evaluations=self.n_evaluations, n_cuts=self.bundle.n_cuts,
                fun=self.best.fun, dual=self.dual, gap=self.gap,
            )  # fmt: skip

    def _tighten(self) -> None:
        """Smooth less where the smoothing keeps the gap open."""
        error = self.best.risk.value - self.best.risk.cut
        scale = max(abs(self.best.fun), self.negligible())
        if error > 0.4 * self.tol * scale and error > min(0.5 * self.gap, 0.5) * scale:
            self._tau *= 0.5
            self.best = self._make_point(self.best.w, self.evaluate(self.best.risk.scores))

    def _update_bound(self) -> FloatArray:
        """Update dual and gap; return the minimiser of the model."""
        fun = self.best.fun
        if self.alpha > 0:
            bound, target = self.bundle.bound(self.alpha)
            self.dual = max(self.dual, bound)
        else:
            radius = max(1.0, float(np.linalg.norm(self.best.w)))
            rho = max(self.tol * abs(fun), self.negligible()) / radius**2
            bound, target = self.bundle.bound(rho, self.best.w)
            self.dual = bound - 0.5 * rho * radius**2
        if self.dual - fun > _WRONG * max(abs(fun), abs(self.dual)) + self.negligible():
            raise SubgradientError(
                f"the lower bound {self.dual:.6g} exceeds the value {fun:.6g} after {self.n_evaluations} "
                "evaluations: a subgradient is wrong, or the risk is not convex"
            )
        difference = max(fun - self.dual, 0.0)
        # where F falls to zero no relative gap is reached
        nothing = abs(fun) <= self.negligible() and difference <= self.negligible()
        self.gap = 0.0 if nothing else difference / max(abs(fun), 1e-290)
        return target

    def negligible(self) -> float:
        """Largest difference of values that counts as none."""
        return max(1e-9 * self.scale, 1e-290)

    def regularised(self, risk: float, w: FloatArray) -> float:
        """Compute F = R + alpha/2 ‖w‖²."""
        return risk + 0.5 * self.alpha * float(w @ w)

    def evaluate(self, scores: FloatArray) -> Evaluation:
        """Evaluate the risk at some scores; count and check the result."""
        self.n_evaluations += 1
        where = f"at evaluation {self.n_evaluations} (iteration {len(self.history)}"
        if not np.isfinite(scores).all():
            raise NonFiniteRiskError(f"the scores are not finite {where})")
        seen = scores.view()
        seen.flags.writeable = False  # a risk that changed them would move the point
        risk = self.objective.risk
        if self._tau > 0 and isinstance(risk, SmoothableRisk):
            *answer, cut = risk.smoothed(seen, self._tau)
            value, gradient = check_answer(answer, scores.shape)
        else:
            value, gradient = check_answer(risk(seen), scores.shape)
            cut = value
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            what = "risk" if not np.isfinite(value) else "subgradient of the risk"
            raise NonFiniteRiskError(
                f"the {what} is not finite {where}, largest score {np.abs(scores).max():.3g})"
            )
        return Evaluation(scores, value, gradient, float(cut), self._tau)

    def _make_point(self, w: FloatArray, risk: Evaluation) -> Point:
        """Add the cut at ``w`` to the bundle."""
        subgradient = self.objective.pull_back(risk.gradient)
        self.bundle.add(risk.cut, subgradient, w, self._precision)
        return Point(w, risk, subgradient, self.regularised(risk.value, w))

    def land(self, w: FloatArray, risk: Evaluation) -> Point:
        """Add the cut at ``w``, check it, and keep the point if it is the best."""
        point = self._make_point(w, risk)
        change = float(point.subgradient @ (self.best.w - w))
        excess = risk.cut + change - self.best.risk.value
        size = abs(risk.cut) + abs(change) + abs(self.best.risk.value)
        terms = float(np.abs(point.subgradient) @ (np.abs(self.best.w) + np.abs(w)))
        if excess > _WRONG * size + 1e3 * self._precision * terms + self.negligible():
            raise SubgradientError(
                f"at evaluation {self.n_evaluations} the cut exceeds the risk at the best point by "
                f"{excess:.3g}: the subgradient is wrong, or the risk is not convex"
            )
        if point.fun < self.best.fun:
            self.best = point
        return point
