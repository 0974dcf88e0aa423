"""The numbers behind the plots of guarantees: p-values at every threshold, risk under other weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from facereject._validation import FloatArray, check_losses_and_uncertainty, check_same_length, check_vector
from facereject.selection._problem import RiskProblem
from facereject.selection._walk import Sample


class EvidenceCurve(NamedTuple):
    """Coverage, risk and p-value at every distinct uncertainty, ascending.

    Attributes
    ----------
    threshold : ndarray of shape (G,)
    coverage : ndarray of shape (G,)
        Accepted share of the calibration sample.
    risk : ndarray of shape (G,)
        Mean of min(loss, loss_bound) over the accepted.
    p_value : ndarray of shape (G,)
        Of the hypothesis that the true risk there is at least ``max_risk``; valid for one threshold chosen in
        advance. ``guaranteed_risk`` says how to choose among all.
    """

    threshold: FloatArray
    coverage: FloatArray
    risk: FloatArray
    p_value: FloatArray


def evidence_curve(
    losses: Any,
    uncertainty: Any,
    max_risk: float,
    delta: float = 0.05,
    loss_bound: float = 1.0,
    *,
    method: str = "auto",
) -> EvidenceCurve:
    """Test at every threshold whether the true risk is at most ``max_risk``.

    The tests are those of `guaranteed_risk` at the level delta, which divides delta among the ranks where it
    starts.

    Parameters
    ----------
    losses, uncertainty, max_risk, delta, loss_bound, method
        As in `guaranteed_risk`.

    Returns
    -------
    EvidenceCurve
        ``(threshold, coverage, risk, p_value)``, one entry per distinct uncertainty.

    See Also
    --------
    guaranteed_risk : Chooses a threshold with a guarantee.
    facereject.plotting.GuaranteeDisplay : Draws the curve.

    Examples
    --------
    >>> from facereject.selection import evidence_curve
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> uncertainty = rng.random(2000)
    >>> losses = (rng.random(2000) < 0.3 * uncertainty**2).astype(float)
    >>> curve = evidence_curve(losses, uncertainty, max_risk=0.1)
    >>> bool(curve.p_value[len(curve.p_value) // 2] < 0.05)
    True
    """
    problem = RiskProblem.of(losses, uncertainty, max_risk, delta, loss_bound, None, None, method)
    sample = Sample.of(problem.losses, problem.uncertainty)
    counts = np.flatnonzero(sample.group_ends) + 1
    risk = np.cumsum(sample.losses)[counts - 1] / counts
    n = len(sample.losses)
    tests = sample.tests(problem.method, problem.risk, problem.delta)
    p_values = tests(np.full(n + 1, problem.delta), 0, n + 1)[counts]
    threshold = sample.uncertainty[counts - 1]
    return EvidenceCurve(threshold, counts / n, problem.loss_bound * risk, p_values)


class WeightedRiskCurve(NamedTuple):
    """Coverage and selective risk at every distinct uncertainty, ascending, under weights."""

    threshold: FloatArray
    coverage: FloatArray
    risk: FloatArray


def weighted_risk_curve(losses: Any, uncertainty: Any, weights: Any = None) -> WeightedRiskCurve:
    """Estimate coverage and risk of every threshold on data with other weights.

    coverage(t) = sum_{s_i <= t} w_i / sum_i w_i    risk(t) = sum_{s_i <= t} w_i loss_i / sum_{s_i <= t} w_i

    Parameters
    ----------
    losses, uncertainty : array-like of shape (n,)
        Losses >= 0, and uncertainties (higher = less certain).
    weights : array-like of shape (n,), optional
        Density ratios of new to calibration examples, up to a factor; equal by default.

    Returns
    -------
    WeightedRiskCurve
        ``(threshold, coverage, risk)``, one entry per distinct uncertainty. The risk is NaN where all
        weights so far are 0.

    See Also
    --------
    density_ratio : Estimates the weights.
    facereject.plotting.ShiftDisplay : Draws the curve.

    Examples
    --------
    >>> from facereject.selection import weighted_risk_curve
    >>> curve = weighted_risk_curve([0, 1, 1], [0.1, 0.2, 0.3], weights=[2, 1, 1])
    >>> curve.coverage, curve.risk
    (array([0.5 , 0.75, 1.  ]), array([0.        , 0.33333333, 0.5       ]))
    """
    losses, uncertainty = check_losses_and_uncertainty(losses, uncertainty)
    w = np.ones_like(losses) if weights is None else check_vector(weights, "weights", non_negative=True)
    check_same_length(losses=losses, weights=w)
    if not w.any():
        raise ValueError("weights must have a positive entry")
    order = np.lexsort((w, losses, uncertainty))
    s = uncertainty[order]
    last = np.flatnonzero(np.append(np.diff(s) > 0, True))
    mass, loss = np.cumsum(w[order])[last], np.cumsum(w[order] * losses[order])[last]
    with np.errstate(invalid="ignore"):
        return WeightedRiskCurve(s[last], mass / mass[-1], loss / mass)
