"""The small quadratic programme of the bundle method: a convex quadratic over the simplex.

Own solver because the programme is solved after every cut, from an answer that is almost right: a warm
active set needs two or three solves of a system as large as the number of *active* cuts. General solvers
start cold and work on all of them; ``tools/bench/simplex_qp.py`` compares. Accuracy is not critical for the
bundle method: every feasible α gives a valid lower bound.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from facereject._validation import FloatArray

# Relative to the largest diagonal entry: makes dependent cuts solvable, changes the optimum by as little.
_RIDGE = 1e-13


def solve_simplex_qp(
    Q: FloatArray, q: FloatArray, alpha: FloatArray | None = None, *, tol: float = 1e-10, max_iter: int = 1000
) -> FloatArray:
    """Minimise ½ αᵀQα − qᵀα over α ≥ 0, Σα = 1, by a primal active-set method.

    Parameters
    ----------
    Q : array of shape (k, k), positive semi-definite
    q : array of shape (k,)
    alpha : array of shape (k,), optional
        A feasible point to start from; by default the best vertex.
    tol : float
        Stop when no coordinate can lower the objective at a rate above ``tol`` times its scale.
    max_iter : int
        Changes of the active set; the best feasible point so far is returned if they run out.

    Returns
    -------
    alpha : array of shape (k,)
    """
    diagonal = Q.diagonal()
    ridge = _RIDGE * float(diagonal.max(initial=0.0))
    if alpha is None:
        alpha = np.zeros(q.size)
        alpha[np.argmin(0.5 * diagonal - q)] = 1.0
    else:
        alpha = alpha.copy()
    scale = float(np.abs(diagonal).max() + np.abs(q).max())
    active = alpha > 0
    for _ in range(max_iter):
        support = np.flatnonzero(active)
        target, level = _solve_on(Q, q, support, ridge)
        step = target - alpha[support]
        shrinking = step < 0
        reach = np.full(support.size, np.inf)
        reach[shrinking] = alpha[support][shrinking] / -step[shrinking]
        blocking = int(reach.argmin())
        if reach[blocking] < 1.0:
            alpha[support] += reach[blocking] * step
            alpha[support[blocking]] = 0.0
            active[support[blocking]] = False
            continue
        alpha[support] = target
        slope = Q[:, support] @ target - q - level
        slope[support] = 0.0
        entering = int(slope.argmin())
        if slope[entering] >= -tol * scale:
            break
        active[entering] = True
    alpha = np.maximum(alpha, 0.0)
    return alpha / alpha.sum()


def _solve_on(
    Q: FloatArray, q: FloatArray, support: NDArray[np.intp], ridge: float
) -> tuple[FloatArray, float]:
    """Minimise over Σα = 1 alone on the support; returns α and the common slope."""
    block = Q[np.ix_(support, support)]
    block.flat[:: support.size + 1] += ridge if ridge > 0 else 1.0
    right = np.stack([q[support], np.ones(support.size)], axis=1)
    try:
        factor = scipy.linalg.cho_factor(block, lower=True, check_finite=False, overwrite_a=True)
        free, ones = scipy.linalg.cho_solve(factor, right, check_finite=False).T
    except np.linalg.LinAlgError:
        block = Q[np.ix_(support, support)]
        free, ones = np.linalg.lstsq(block, right, rcond=None)[0].T
    level = (free.sum() - 1.0) / ones.sum()
    # the slope of ½αᵀQα − qᵀα is −level on the support
    return free - level * ones, -level
