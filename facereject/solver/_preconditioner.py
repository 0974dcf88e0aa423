"""An approximate inverse Hessian of a linear objective, from the Gram matrix of its features."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from facereject._validation import FloatArray
from facereject.solver._protocols import Preconditioner

# Above this many features the eigenvectors of XᵀX cost more than the iterations they save.
MAX_FEATURES = 600


class HasGrams(Protocol):
    """The part of a linear objective that concerns its features; see ``LinearObjective``."""

    n_features: int
    n_blocks: int
    shared_weights: bool
    fit_intercept: bool

    def split(self, w: FloatArray, /) -> tuple[FloatArray, FloatArray]: ...
    def grams(self) -> list[FloatArray]: ...


def gram_preconditioner(objective: HasGrams) -> Preconditioner | None:
    """Make the inverse of curvature · XᵀX/n + alpha, block by block; None where it would not pay.

    The Hessian of a linear objective is Xᵀ D X with D the second derivative of the risk in the scores. With D
    replaced by a constant its inverse removes the correlation of the features, which makes small alpha slow.
    """
    n_features = objective.n_features + (not objective.shared_weights and objective.fit_intercept)
    if n_features > MAX_FEATURES:
        return None
    spectra = [spectrum(gram) for gram in objective.grams()]

    def solve(v: FloatArray, curvature: float, alpha: float) -> FloatArray:
        out = np.empty_like(v)
        coefficients, intercepts = objective.split(v)
        out_coefficients, out_intercepts = objective.split(out)
        for k in range(objective.n_blocks):
            eigenvalues, vectors = spectra[k if len(spectra) > 1 else 0]
            row = coefficients[k]
            if vectors.shape[0] > row.size:
                row = np.append(row, intercepts[k])
            solved = vectors @ ((vectors.T @ row) / (curvature * eigenvalues + alpha + 1e-300))
            out_coefficients[k] = solved[: coefficients.shape[1]]
            if vectors.shape[0] > coefficients.shape[1]:
                out_intercepts[k] = solved[-1]
        if objective.shared_weights:
            out_intercepts[:] = intercepts / (curvature + alpha)
        return out

    return solve


def spectrum(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute the eigenvalues, floored, and eigenvectors of a Gram matrix."""
    eigenvalues, vectors = np.linalg.eigh(gram)
    # without a floor, steps in directions without data are unbounded for tiny alpha
    return np.maximum(eigenvalues, 1e-10 * max(eigenvalues[-1], 1e-300)), vectors
