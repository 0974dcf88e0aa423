"""The bundle: cutting planes below a convex risk, and the best lower bound they give."""

from __future__ import annotations

import numpy as np

from facereject._validation import FloatArray
from facereject.solver._simplex_qp import solve_simplex_qp


class Bundle:
    """Cuts R(w) ≥ ⟨a_t, w⟩ + b_t of one risk. They do not depend on alpha, so a grid shares them.

    Parameters
    ----------
    n_weights : int
        Length of w.
    max_cuts : int
        When reached, the half of the cuts with the least weight in the last bound is dropped. The weighted
        sum of all cuts, itself a valid cut that gives the same bound, takes their place.
    """

    #: Default of ``max_cuts``.
    MAX_CUTS = 100

    def __init__(self, n_weights: int, max_cuts: int = MAX_CUTS):
        if max_cuts < 4:
            raise ValueError(f"max_cuts must be at least 4, got {max_cuts}")
        self.n_weights = n_weights
        self.max_cuts = max_cuts
        self._slopes = np.empty((max_cuts, n_weights))
        self._offsets = np.empty(max_cuts)
        self._gram = np.empty((max_cuts, max_cuts))
        self._multipliers = np.zeros(max_cuts)
        self.n_cuts = 0

    def __repr__(self) -> str:
        return f"Bundle(n_cuts={self.n_cuts}, n_weights={self.n_weights}, max_cuts={self.max_cuts})"

    def add(
        self, value: float, subgradient: FloatArray, w: FloatArray, precision: float = np.finfo(float).eps
    ) -> None:
        """Add the cut that touches the risk at ``w``, lowered by its rounding error.

        ``precision`` is the unit of rounding of value and subgradient. Far from the origin the offset is a
        small difference of large numbers, and its error must not raise the bound.
        """
        if self.n_cuts == self.max_cuts:
            self._thin()
        rounding = 4.0 * precision * (abs(value) + float(np.abs(subgradient) @ np.abs(w)))
        self._append(subgradient, value - float(subgradient @ w) - rounding)

    def bound(self, rho: float, centre: FloatArray | None = None) -> tuple[float, FloatArray]:
        """Minimise ρ/2 ‖w − centre‖² + max_t(⟨a_t, w⟩ + b_t); centre 0 by default.

        Returns
        -------
        value : float
            A lower bound of min_w ρ/2 ‖w − centre‖² + R(w); it holds for any accuracy of the inner solver.
        w : array of shape (n_weights,)
            The minimiser.

        Notes
        -----
        The dual is max over the simplex of Σ μ_t (b_t + ⟨a_t, centre⟩) − ‖Σ μ_t a_t‖²/(2ρ), and
        w = centre − Σ μ_t a_t / ρ.
        """
        k = self.n_cuts
        slopes, gram = self._slopes[:k], self._gram[:k, :k]
        offsets = self._offsets[:k] if centre is None else self._offsets[:k] + slopes @ centre
        multipliers = solve_simplex_qp(gram, rho * offsets, self._multipliers[:k])
        # a single flat cut among steep ones can be the best bound, and too small for the solver to see
        alone = offsets - gram.diagonal() / (2.0 * rho)
        best = int(alone.argmax())
        if alone[best] > multipliers @ offsets - multipliers @ gram @ multipliers / (2.0 * rho):
            multipliers = np.zeros(k)
            multipliers[best] = 1.0
        self._multipliers[:k] = multipliers
        # not by the Gram matrix: where the slopes cancel, μᵀGμ would be rounding errors only
        slope = multipliers @ slopes
        value = float(multipliers @ offsets - slope @ slope / (2.0 * rho))
        w = slope / -rho
        return value, w if centre is None else w + centre

    def _append(self, slope: FloatArray, offset: float) -> None:
        k = self.n_cuts
        self._slopes[k] = slope
        self._offsets[k] = offset
        self._gram[k, : k + 1] = self._gram[: k + 1, k] = self._slopes[: k + 1] @ slope
        self._multipliers[k] = 0.0 if k else 1.0
        self.n_cuts += 1

    def _thin(self) -> None:
        multipliers = self._multipliers[: self.n_cuts]
        aggregate = multipliers @ self._slopes[: self.n_cuts]
        offset = float(multipliers @ self._offsets[: self.n_cuts])
        # of equals the newest stay: recent cuts describe the neighbourhood of the optimum
        order = np.lexsort((np.arange(multipliers.size), multipliers))
        keep = np.sort(order[-(self.max_cuts // 2) :])
        k = keep.size
        self._slopes[:k] = self._slopes[keep]
        self._offsets[:k] = self._offsets[keep]
        self._gram[:k, :k] = self._gram[np.ix_(keep, keep)]
        self.n_cuts = k
        self._append(aggregate, offset)
        self._multipliers[: k + 1] = 0.0
        self._multipliers[k] = 1.0
