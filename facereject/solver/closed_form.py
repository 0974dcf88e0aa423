"""Linear objectives of the squared error, minimised in closed form for many alpha at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray
from facereject.risks import SquaredError
from facereject.solver.linear import LinearObjective
from facereject.solver.standardized import slices


def ridge_path(objective: LinearObjective, alphas: Sequence[float]) -> list[FloatArray]:
    """Minimise alpha/2 ‖w‖² + mean (t − s(w))² for each alpha, from one factorisation per block.

    The counterpart of ``bundle_path`` for the one risk whose minimiser can be written down. Exact up to
    rounding, so there is no gap to certify.

    Parameters
    ----------
    objective : LinearObjective
        Of the risk ``SquaredError``.
    alphas : sequence of float ≥ 0
        At 0 directions without data get weight zero, which is the limit of alpha → 0.

    Returns
    -------
    weights : list of arrays of shape (n_weights,), in the order of ``alphas``
    """
    risk = objective.risk
    if not isinstance(risk, SquaredError):
        raise TypeError(f"only SquaredError has a closed form, not {type(risk).__name__}: use bundle_path")
    solutions = np.empty((len(alphas), objective.n_weights))
    for k, examples in enumerate(objective.examples_of_blocks()):
        theta = _ridge(objective, risk, examples, alphas)
        for w, found in zip(solutions, theta, strict=True):
            coefficients, intercepts = objective.split(w)
            coefficients[k] = found[: objective.n_features]
            if objective.fit_intercept:
                intercepts[k] = found[-1]
    return list(solutions)


def _ridge(
    objective: LinearObjective, risk: SquaredError, examples: NDArray[np.intp], alphas: Sequence[float]
) -> FloatArray:
    """(w, b) of one block for each alpha: (alpha/2 I + AᵀA) θ = Aᵀ √ω t with A = √ω (X, 1).

    From the eigenvectors of AᵀA, or of AAᵀ where there are fewer rows than columns.
    """

    def design(part: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        A = objective.features(part)
        if objective.fit_intercept:
            A = np.column_stack([A, np.ones(len(A))])
        root = np.sqrt(risk.weights[part])
        return A * root[:, None], root * risk.targets[part]

    n, d = examples.size, objective.n_features + objective.fit_intercept
    if n < d:
        A, right = design(examples)
        eigenvalues, vectors = np.linalg.eigh(A @ A.T)
        projected, back = vectors.T @ right, A.T @ vectors
    else:
        gram, right = np.zeros((d, d)), np.zeros(d)
        for rows in slices(n, d):
            A, part_right = design(examples[rows])
            gram += A.T @ A
            right += A.T @ part_right
        eigenvalues, back = np.linalg.eigh(gram)
        projected = back.T @ right
    floor = max(n, d) * np.finfo(np.float64).eps * max(eigenvalues.max(initial=0.0), 0.0)
    inside = eigenvalues > floor
    denominators = np.maximum(eigenvalues, 0.0) + 0.5 * np.asarray(alphas, np.float64)[:, None]
    shrunk = np.divide(projected, denominators, out=np.zeros(denominators.shape), where=inside)
    return np.asarray(shrunk @ back.T)
