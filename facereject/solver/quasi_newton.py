"""Directions of steepest descent in a metric learned on the way: L-BFGS with a preconditioner."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from facereject._validation import FloatArray
from facereject.solver.linear import LinearObjective

# Above this many features the eigenvectors of XᵀX cost more than the iterations they save.
_MAX_FEATURES = 600
_MEMORY = 10


class QuasiNewton:
    """Approximates (∇²R + C)⁻¹ from differences of gradients of R, so that C may change along a path.

    Parameters
    ----------
    solve : callable (v, curvature, C) -> array, optional
        A first guess of that inverse, ``curvature`` being the mean second derivative of the risk in a score
        along the last step; by default a multiple of the identity.
    """

    def __init__(self, solve: Callable[[FloatArray, float, float], FloatArray] | None = None):
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

    def direction(self, gradient: FloatArray, C: float) -> FloatArray:
        """−(approximate inverse) · gradient, by the two-loop recursion."""
        pairs = [(s, y + C * s) for s, y in self._steps]
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
                q, guess = self._solve(q, self._curvature, C), self._solve(y, self._curvature, C)
                q *= (s @ y) / (y @ guess)
            else:
                q *= (s @ y) / (y @ y)
        for (s, y), weight in zip(pairs, reversed(weights), strict=True):
            q += s * (weight - (y @ q) / (s @ y))
        return -q


def gram_preconditioner(
    objective: LinearObjective,
) -> Callable[[FloatArray, float, float], FloatArray] | None:
    """Inverse of curvature · XᵀX/n + C, block by block; None where it would not pay.

    The Hessian of a linear objective is Xᵀ D X with D the second derivative of the risk in the scores. With D
    replaced by a constant it takes out the correlation of the features, which is what slows small C down.
    """
    n_features = objective.n_features + (not objective.shares_weights and objective.fit_intercept)
    if n_features > _MAX_FEATURES:
        return None
    spectra = [_spectrum(gram) for gram in objective.grams()]

    def solve(v: FloatArray, curvature: float, C: float) -> FloatArray:
        out = np.empty_like(v)
        coefficients, intercepts = objective.split(v)
        out_coefficients, out_intercepts = objective.split(out)
        for k in range(objective.n_blocks):
            eigenvalues, vectors = spectra[k if len(spectra) > 1 else 0]
            row = coefficients[k]
            if vectors.shape[0] > row.size:
                row = np.append(row, intercepts[k])
            solved = vectors @ ((vectors.T @ row) / (curvature * eigenvalues + C + 1e-300))
            out_coefficients[k] = solved[: coefficients.shape[1]]
            if vectors.shape[0] > coefficients.shape[1]:
                out_intercepts[k] = solved[-1]
        if objective.shares_weights:
            out_intercepts[:] = intercepts / (curvature + C)
        return out

    return solve


def _spectrum(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    eigenvalues, vectors = np.linalg.eigh(gram)
    # a floor keeps directions without data from taking unbounded steps when C is tiny
    return np.maximum(eigenvalues, 1e-10 * max(eigenvalues[-1], 1e-300)), vectors
