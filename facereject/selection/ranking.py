"""Examples in order of uncertainty, ties as one group: all that a threshold rule can tell apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from facereject._validation import (
    FloatArray,
    check_losses_and_uncertainty,
    check_same_length,
    check_vector,
    safe_exponent,
)
from facereject.selection.selector import Selector

# Two sums of the same losses in another order differ by rounding; differences below this, relative to the
# quantity compared, are ties. Far above n * 2^-53 for any n in use and far below anything of interest.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Ranking:
    """Groups of equal uncertainty, ascending, with cumulative weights and losses.

    Attributes
    ----------
    values : ndarray of shape (G,)
        The distinct uncertainties.
    weight : ndarray of shape (G + 1,)
        weight[k] = total weight of the k most certain groups; a count if examples are not weighted.
    loss : ndarray of shape (G + 1,)
        loss[k] = their weighted sum of losses, times 2^exponent.
    largest : float
        The largest loss, times 2^exponent.
    exponent : int
        So chosen that no sum leaves the range of numbers.
    """

    values: FloatArray
    weight: FloatArray
    loss: FloatArray
    largest: float
    exponent: int

    @classmethod
    def of(cls, losses: Any, uncertainty: Any, sample_weight: Any = None) -> Ranking:
        losses, uncertainty = check_losses_and_uncertainty(losses, uncertainty)
        if sample_weight is None:
            weights = np.ones_like(losses)
        else:
            weights = check_vector(sample_weight, "sample_weight", non_negative=True)
            check_same_length(losses=losses, uncertainty=uncertainty, sample_weight=weights)
            present = weights > 0
            if not present.any():
                raise ValueError("sample_weight must have a positive entry")
            losses, uncertainty, weights = losses[present], uncertainty[present], weights[present]
            # Only ratios matter, and a power of two changes none of them.
            weights = np.ldexp(weights, -math.frexp(float(weights.max()))[1])
        exponent = safe_exponent(losses, len(losses))
        losses = np.ldexp(losses, exponent)
        # Ties are also sorted by loss and weight, so that the order of the input cannot change a rounding.
        order = np.lexsort((weights, losses, uncertainty))
        losses, uncertainty, weights = losses[order], uncertainty[order], weights[order]
        last = np.append(np.flatnonzero(np.diff(uncertainty)), len(uncertainty) - 1)
        return cls(
            values=uncertainty[last],
            weight=np.append(0.0, np.cumsum(weights)[last]),
            loss=np.append(0.0, np.cumsum(weights * losses)[last]),
            largest=float(losses.max()),
            exponent=exponent,
        )

    def scaled(self, value: float) -> float:
        """A risk or cost in units of ``loss``; one above all losses is as good as twice the largest."""
        with np.errstate(over="ignore"):
            scaled = float(np.ldexp(value, self.exponent))
        return min(scaled, 2 * self.largest) if self.largest else value

    def in_unit(self, mean: float) -> float:
        """A mean of ``loss`` in the unit of the losses."""
        return float(np.ldexp(np.minimum(mean, self.largest), -self.exponent))

    @property
    def selective_risks(self) -> FloatArray:
        """Selective risk of accepting the 1, 2, ..., G most certain groups, times 2^exponent."""
        return self.loss[1:] / self.weight[1:]

    def selector(self, k: int, acceptance: float = 0.0) -> Selector:
        """The rule that accepts the k most certain groups, and the next with probability ``acceptance``.

        A rule that accepts them all rejects nothing, not even what is more uncertain than all of them.
        """
        weight, risk = self._mass_and_risk(k, acceptance)
        if acceptance > 0:
            threshold = float(self.values[k])
        else:
            threshold = float(self.values[k - 1]) if k else -math.inf
            threshold = math.inf if k == len(self.values) else threshold
            acceptance = 1.0
        return Selector(
            threshold_=threshold,
            acceptance_=float(acceptance),
            coverage_=float(weight / self.weight[-1]),
            selective_risk_=self.in_unit(risk),
        )

    def risk(self, k: int, acceptance: float = 0.0) -> float:
        """Selective risk of that rule, times 2^exponent."""
        return self._mass_and_risk(k, acceptance)[1]

    def _mass_and_risk(self, k: int, acceptance: float) -> tuple[float, float]:
        weight, loss = float(self.weight[k]), float(self.loss[k])
        if acceptance > 0:
            weight += acceptance * float(self.weight[k + 1] - self.weight[k])
            loss += acceptance * float(self.loss[k + 1] - self.loss[k])
        return weight, loss / weight if weight > 0 else math.nan

    def conditional_risks(self) -> FloatArray:
        """Slopes of the largest convex function below the curve weight -> loss, one per group, in its unit.

        This is the isotonic regression of the loss on the uncertainty, i.e. the conditional risk r(x) as far
        as a monotone function of the uncertainty can express it. If the uncertainty is r(x), it is r(x).
        """
        # imported here: only `convert` needs it, and the import takes longer than scoring a photo
        from sklearn.isotonic import isotonic_regression

        mass = np.diff(self.weight)
        return np.asarray(
            isotonic_regression(np.diff(self.loss) / mass, sample_weight=mass), dtype=np.float64
        )
