"""The small quadratic programme of the bundle method: a convex quadratic over the simplex.

The programme is solved after every cut, and few of the cuts are active: a warm-started active set works on
these only. ``tools/bench/simplex_qp.py`` compares it with others. quadprog is faster below 50 cuts, where the
time does not matter, and several times slower at 100 to 200, which hinge risks need; it also requires a
definite matrix, which dependent cuts do not give. Clarabel's bounds are too low by up to 1e-4. Accuracy is
not critical for the bundle method: every feasible x gives a valid lower bound.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from facereject._validation import FloatArray

# Relative to the largest diagonal entry of the reduced matrix: makes affinely dependent cuts solvable.
_RIDGE = 1e-13


def solve_simplex_qp(
    Q: FloatArray, q: FloatArray, start: FloatArray | None = None, *, tol: float = 1e-10, max_iter: int = 1000
) -> FloatArray:
    """Minimise ½ xᵀQx − qᵀx over x ≥ 0, Σx = 1, by a primal active-set method.

    Parameters
    ----------
    Q : array of shape (k, k)
        Positive semi-definite.
    q : array of shape (k,)
        Linear term.
    start : array of shape (k,), optional
        A feasible point to start from; by default the best vertex.
    tol : float
        Stop when no coordinate can lower the objective at a rate above ``tol`` times the size of its terms.
    max_iter : int
        Limit of changes of the active set; then the best feasible point so far is returned.

    Returns
    -------
    x : array of shape (k,)
        The minimiser.
    """
    diagonal = Q.diagonal()
    rounding = np.finfo(float).eps * float(diagonal.max())
    if start is None:
        x = np.zeros(q.size)
        x[np.argmin(0.5 * diagonal - q)] = 1.0
    else:
        x = start.copy()
    active = x > 0
    previous = np.inf
    for _ in range(max_iter):
        support = np.flatnonzero(active)
        heaviest = int(x[support].argmax())
        support[[0, heaviest]] = support[[heaviest, 0]]
        target = _solve_on(Q, q, support)
        step = target - x[support]
        shrinking = step < 0
        reach = np.full(support.size, np.inf)
        reach[shrinking] = x[support][shrinking] / -step[shrinking]
        blocking = int(reach.argmin())
        if reach[blocking] < 1.0:
            x[support] += reach[blocking] * step
            x[support[blocking]] = 0.0
            active[support[blocking]] = False
            continue
        x[support] = target
        pull = Q[:, support] @ target
        quadratic, linear = float(target @ pull[support]), float(target @ q[support])
        slope = pull - q - (quadratic - linear)  # how fast the objective changes towards each vertex
        slope[support] = 0.0
        entering = int(slope.argmin())
        value, size = 0.5 * quadratic - linear, quadratic + abs(linear)
        # once the value no longer falls, rounding decides what enters, and the set would cycle
        if slope[entering] >= -(tol * size + rounding) or value >= previous - np.finfo(float).eps * size:
            break
        previous = value
        active[entering] = True
    x = np.maximum(x, 0.0)
    return np.asarray(x / x.sum())


def _solve_on(Q: FloatArray, q: FloatArray, support: NDArray[np.intp]) -> FloatArray:
    """Minimise over Σx = 1 alone on the support.

    Σx = 1 is eliminated through the first, x₀ = 1 − Σ others. The reduced matrix is regular for affinely
    independent cuts, where Q itself is singular as soon as there are more cuts than weights.
    """
    block = Q[support[:, None], support]
    row = block[0, 1:] - block[0, 0]
    reduced = block[1:, 1:] - row[:, None] - block[0, 1:]
    if reduced.size == 0:
        return np.ones(1)
    ridge = max(_RIDGE * reduced.diagonal().max(), 4 * np.finfo(float).eps * block.diagonal().max())
    reduced.flat[:: row.size + 1] += ridge or 1.0
    right = q[support[1:]] - q[support[0]] - row
    _, free, failed = scipy.linalg.lapack.dposv(reduced, right)
    if failed:
        free = np.linalg.lstsq(reduced, right, rcond=None)[0]
    return np.concatenate([[1.0 - free.sum()], free])
