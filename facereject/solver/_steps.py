"""The steps of the methods: quasi-Newton with extra cuts for the bound, and BMRM."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from facereject._validation import FloatArray
from facereject.solver._quasi_newton import QuasiNewton
from facereject.solver._run import Evaluation, Point, Run

# Weak Wolfe conditions: enough decrease, and a slope that has flattened.
_DECREASE, _FLATTEN = 1e-4, 0.9
_MAX_TRIALS = 12
# the bound lags if the gap has fallen by less than a quarter within _PATIENCE iterations
_PATIENCE, _LAG = 5, 0.75
# BMRM with a line search cuts beyond the minimum on the line, by this share of the rest of the way
_BEYOND = 0.1


class QuasiNewtonSteps:
    """Quasi-Newton steps; their evaluations are the cuts, with probes where the bound lags.

    Parameters
    ----------
    metric : QuasiNewton
        What earlier runs learned about the same risk.
    """

    smooths = True

    def __init__(self, metric: QuasiNewton):
        self._metric = metric
        self._probe_step = 0.1

    def advance(self, run: Run, target: FloatArray) -> None:
        """Take a descent step, and a probe if that failed or the bound lags."""
        lags = len(run.history) > _PATIENCE and run.gap > _LAG * run.history[-_PATIENCE - 1].gap
        if not self._descend(run) or lags:
            self._probe(run, target)

    def _descend(self, run: Run) -> bool:
        """Search along a quasi-Newton direction; True if that lowered F."""
        point = run.best
        gradient = point.subgradient + run.alpha * point.w
        direction = self._metric.direction(gradient, run.alpha)
        if not gradient @ direction < 0:
            self._metric.forget()
            return False
        ray = _Ray(run, point, direction)
        slope = ray.slope
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
            else:  # the minimum of the parabola through both ends can be orders of magnitude nearer
                parabola = -0.5 * slope * high**2 / (trial.fun - point.fun - slope * high)
                step = min(max(parabola, 1e-4 * high), 0.5 * high)
        landed = run.land(trial.w, trial.risk)
        bend = _dot(landed.risk.gradient - point.risk.gradient, ray.along)
        length = trial.step * max(_dot(ray.along, ray.along), np.finfo(float).tiny)
        curvature = bend * ray.along.shape[0] / length
        self._metric.update(landed.w - point.w, landed.subgradient - point.subgradient, curvature)
        if landed.fun < point.fun:
            return True
        self._metric.forget()  # the same direction would fail again
        return False

    def _probe(self, run: Run, target: FloatArray) -> None:
        """Add one cut towards the minimiser of the model, at a distance that keeps F within about tol."""
        point = run.best
        trial = _Ray(run, point, target - point.w).at(self._probe_step)
        probed = run.land(trial.w, trial.risk)
        excess = (probed.fun - point.fun) / max(abs(point.fun), run.negligible())
        if excess > 2.0 * run.tol:
            self._probe_step *= 0.5
        elif excess < 0.5 * run.tol:
            self._probe_step = min(1.0, 2.0 * self._probe_step)


class ModelSteps:
    """BMRM (Teo et al. 2010): each cut is made at the minimiser of the cutting-plane model.

    Parameters
    ----------
    line_search : bool
        Minimise F on the line from the best point to that minimiser, go there, and cut a tenth of the
        remaining way beyond (Franc and Sonnenburg 2009).
    """

    smooths = False

    def __init__(self, line_search: bool):
        self._line_search = line_search

    def advance(self, run: Run, target: FloatArray) -> None:
        """Make one cut, or two with a line search."""
        ray = _Ray(run, run.best, target - run.best.w)
        if not self._line_search:
            trial = ray.at(1.0)
            run.land(trial.w, trial.risk)
            return
        reached = 0.0
        if ray.slope < 0:  # else the best point is a kink, and the minimum on the line
            trial = _minimum_on(ray)
            run.land(trial.w, trial.risk)
            reached = trial.step
        if reached < 1.0:
            beyond = ray.at(reached + _BEYOND * (1.0 - reached))
            run.land(beyond.w, beyond.risk)


class _Trial(NamedTuple):
    step: float
    w: FloatArray
    risk: Evaluation
    fun: float
    slope: float  # of F along the ray


class _Ray:
    """F on a half-line from a point. The scores are linear on it, so it needs no products with X."""

    def __init__(self, run: Run, point: Point, direction: FloatArray):
        self.along = run.objective.scores(direction)
        self._run, self._point, self._direction = run, point, direction
        self.slope = float((point.subgradient + run.alpha * point.w) @ direction)

    def at(self, step: float) -> _Trial:
        w = self._point.w + step * self._direction
        risk = self._run.evaluate(self._point.risk.scores + step * self.along)
        slope = _dot(risk.gradient, self.along) + self._run.alpha * float(w @ self._direction)
        return _Trial(step, w, risk, self._run.regularised(risk.value, w), slope)


def _minimum_on(ray: _Ray) -> _Trial:
    """Minimise F on [0, 1] of the ray by false position, to a tenth of the slope at 0."""
    low, high, low_slope, high_slope = 0.0, np.inf, ray.slope, 0.0
    flat, step = 0.1 * abs(ray.slope), 1.0
    for _ in range(_MAX_TRIALS):
        trial = ray.at(step)
        if abs(trial.slope) <= flat or (high == np.inf and trial.slope < 0) or high - low < 0.1 * high:
            break
        if trial.slope > 0:
            high, high_slope = step, trial.slope
        else:
            low, low_slope = step, trial.slope
        share = low_slope / (low_slope - high_slope)
        step = low + (high - low) * min(max(share, 0.1), 0.9)
    return trial


def _dot(a: FloatArray, b: FloatArray) -> float:
    """Compute the sum of products. np.vdot would copy scores of classes, which are in column order."""
    return float(np.vdot(a.T, b.T) if a.flags.f_contiguous else np.vdot(a, b))
