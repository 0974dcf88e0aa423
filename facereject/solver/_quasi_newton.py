"""L-BFGS directions with a preconditioner."""

from __future__ import annotations

from collections import deque

import numpy as np

from facereject._validation import FloatArray
from facereject.solver._protocols import Preconditioner

_MEMORY = 10


class QuasiNewton:
    """Approximates (∇²R + alpha)⁻¹ by differences of gradients of R, so that alpha can change along a path.

    Parameters
    ----------
    solve : callable (v, curvature, alpha) -> array, optional
        A first approximation of that inverse; ``curvature`` is the mean second derivative of the risk in a
        score along the last step. A multiple of the identity by default.
    """

    def __init__(self, solve: Preconditioner | None = None):
        self._solve = solve
        self._steps: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=_MEMORY)
        self._curvature = 0.0

    def update(self, step: FloatArray, gradient_change: FloatArray, curvature: float) -> None:
        """Learn from a step in w, the change of the gradient of R along it, and its curvature per score."""
        size = float(np.linalg.norm(step) * np.linalg.norm(gradient_change))
        if step @ gradient_change > 1e-14 * size:
            self._steps.append((step, gradient_change))
            self._curvature = curvature

    def forget(self) -> None:
        """Drop what was learned."""
        self._steps.clear()

    def direction(self, gradient: FloatArray, alpha: float) -> FloatArray:
        """Compute −(approximate inverse) · gradient by the two-loop recursion."""
        pairs = [(s, y + alpha * s) for s, y in self._steps]
        q = gradient.copy()
        weights = []
        for s, y in reversed(pairs):
            weight = (s @ q) / (s @ y)
            weights.append(weight)
            q -= weight * y
        if not pairs:
            q /= max(float(np.linalg.norm(q)), np.finfo(float).tiny)
        else:
            s, y = pairs[-1]
            if self._solve is not None and self._curvature > 0:
                q, guess = self._solve(q, self._curvature, alpha), self._solve(y, self._curvature, alpha)
                q *= (s @ y) / (y @ guess)
            else:
                q *= (s @ y) / (y @ y)
        for (s, y), weight in zip(pairs, reversed(weights), strict=True):
            q += s * (weight - (y @ q) / (s @ y))
        return -q
