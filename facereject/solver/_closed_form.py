"""The closed form of the minimiser of the squared error, for many alpha at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray
from facereject.risks import SquaredError
from facereject.solver._linear import LinearObjective
from facereject.solver._standardized import slices


def ridge_path(objective: LinearObjective, alphas: Sequence[float]) -> list[FloatArray]:
    """Minimise alpha/2 ‖w‖² + mean (t − s(w))² for several alpha in closed form.

    The counterpart of `bundle_path` for ridge regression: one factorisation per block of weights serves all
    alpha. Exact up to rounding, so there is no gap to certify.

    Parameters
    ----------
    objective : LinearObjective
        Its risk must be a `facereject.risks.SquaredError`.
    alphas : sequence of float
        Regularisations ≥ 0. At 0 directions without data get weight zero, the limit of alpha → 0.

    Returns
    -------
    weights : list of ndarray of shape (n_weights,)
        In the order of ``alphas``.

    See Also
    --------
    bundle_path : For every other risk.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.risks import SquaredError
    >>> from facereject.solver import LinearObjective, ridge_path
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> exact, flat = ridge_path(LinearObjective(X, SquaredError([1.0, 3.0, 5.0])), [0.0, 1e6])
    >>> np.round(exact, 6), bool(np.abs(flat).max() < 1e-4)
    (array([2., 1.]), True)
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
    """Solve (alpha/2 I + AᵀA) θ = Aᵀ √ω t for θ = (w, b) of one block, with A = √ω (X, 1).

    By the eigenvectors of AᵀA, or of AAᵀ where there are fewer rows than columns.
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
