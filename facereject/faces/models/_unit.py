"""A unit from few annotated faces: expected errors are multiplied by what these faces say, with caution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from facereject._validation import FloatArray

#: fewer annotated faces than this tell no unit
LEAST_FACES = 10

# standard deviations of the two logarithms before any face is seen. On faces of other kinds, expected errors
# were off by factors of 1.3 to 1.6: they are a little larger than that
_PRIOR_FACTOR, _PRIOR_POWER = 0.5, 0.3

# the same where expected errors have no unit yet: nothing is known
_UNKNOWN_FACTOR, _UNKNOWN_POWER = 10.0, 1.0

# the spread of the calibration faces counts as this many faces
_PRIOR_SPREAD_FACES = 10

_MIN_ERROR = 1e-3
_STEPS = 50


@dataclass(frozen=True)
class Unit:
    """How expected errors are corrected: e becomes e * factor * (e / centre)^power, between low and high.

    Parameters
    ----------
    n : int
        Annotated faces it was learned from.
    factor : float
        At the centre.
    power : float
        At least -1, so that the corrected error never falls with e.
    centre : float
        Geometric mean of the expected errors of these faces, in percent.
    low, high : float
        Least and largest of them; beyond, the correction stays what it is there.
    standard_error : float
        Of the logarithm of the factor.

    Examples
    --------
    >>> unit = Unit(30, 1.5, 0.0, 3.0, 1.0, 8.0, 0.1)
    >>> unit([2.0, 4.0]).tolist()
    [1.5, 1.5]
    >>> unit.interval
    (1.23, 1.82)
    """

    n: int
    factor: float
    power: float
    centre: float
    low: float
    high: float
    standard_error: float

    def __call__(self, expected: ArrayLike) -> FloatArray:
        """What expected errors in percent are multiplied by."""
        inside = np.clip(np.asarray(expected, dtype=np.float64), self.low, self.high)
        return np.asarray(self.factor * (inside / self.centre) ** self.power)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the factor."""
        spread = math.exp(1.96 * self.standard_error)
        return round(self.factor / spread, 2), round(self.factor * spread, 2)


def fit_unit(expected: FloatArray, losses: FloatArray, dispersion: float, *, relative: bool = False) -> Unit:
    """Learn the correction of expected errors from annotated faces.

    With e_i the expected and y_i the true error of a face, and x_i = log(e_i / centre), the mean of y_i is
    taken to be m_i = e_i exp(a + b x_i) and its variance phi m_i. a and b minimise

        sum(m_i - y_i log m_i) / phi + a^2 / (2 * 0.5^2) + b^2 / (2 * 0.3^2),

    a quasi-Poisson regression, whose mean error is that of the faces, with shrinkage towards no correction:
    it matters for few faces only. The inverse of the second derivative gives the uncertainty.

    Parameters
    ----------
    expected, losses : ndarray of shape (n,)
        In percent.
    dispersion : float
        phi of the calibration faces; it counts as much as ten of the annotated faces.
    relative : bool, default=False
        Expected errors have no unit yet: there is hardly any shrinkage.
    """
    log_expected = np.log(np.maximum(expected, _MIN_ERROR))
    centre = float(log_expected.mean())
    X = np.column_stack([np.ones(len(losses)), log_expected - centre])
    # errors without a unit may be of any size: begin with the ratio of the means
    start = math.log(max(float(losses.mean()), _MIN_ERROR) / max(float(expected.mean()), _MIN_ERROR))
    coef, phi = np.array([start, 0.0]), dispersion * math.exp(start)
    priors = (_UNKNOWN_FACTOR, _UNKNOWN_POWER) if relative else (_PRIOR_FACTOR, _PRIOR_POWER)
    penalty = np.array(priors) ** -2.0
    hessian = np.diag(penalty + 1.0)
    for _ in range(_STEPS):
        mean = np.exp(log_expected + X @ coef)
        pearson = float(((losses - mean) ** 2 / mean).sum())
        phi = (_PRIOR_SPREAD_FACES * dispersion * math.exp(coef[0]) + pearson) / (
            _PRIOR_SPREAD_FACES + len(losses)
        )
        phi = max(phi, _MIN_ERROR)
        gradient = X.T @ (mean - losses) / phi + penalty * coef
        hessian = (X.T * mean) @ X / phi + np.diag(penalty)
        step = np.clip(np.linalg.solve(hessian, gradient), -0.5, 0.5)
        coef = coef - step
        coef[1] = max(coef[1], -1.0)
        if np.abs(step).max() < 1e-9:
            break
    error = math.sqrt(np.linalg.inv(hessian)[0, 0])
    low, high = np.exp([log_expected.min(), log_expected.max()]).tolist()
    return Unit(len(losses), math.exp(coef[0]), float(coef[1]), math.exp(centre), low, high, error)


def unit_record(unit: Unit) -> dict[str, Any]:
    """The correction as plain JSON, for ``FaceRejector.info``."""
    low, high = unit.interval
    return {
        "faces": unit.n,
        "factor": unit.factor,
        "factor_low": low,
        "factor_high": high,
        "standard_error": unit.standard_error,
    }
