"""Numbers behind the pictures of guarantees: evidence at every threshold, risk under other weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from facereject._validation import FloatArray, check_losses_and_uncertainty, check_same_length, check_vector
from facereject.selection._problem import RiskProblem
from facereject.selection._walk import Sample


class EvidenceCurve(NamedTuple):
    """At every distinct uncertainty, ascending: how safe it looks as a threshold, and how sure that is.

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
    """Evidence for a risk of at most ``max_risk`` at every threshold; parameters as in `guaranteed_risk`."""
    problem = RiskProblem.of(losses, uncertainty, max_risk, delta, loss_bound, None, None, method)
    sample = Sample.of(problem.losses, problem.uncertainty)
    counts = np.flatnonzero(sample.group_ends) + 1
    risk = np.cumsum(sample.losses)[counts - 1] / counts
    p_values = sample.p_values(problem.method, problem.risk, problem.delta)[counts]
    threshold = sample.uncertainty[counts - 1]
    return EvidenceCurve(threshold, counts / len(sample.losses), problem.loss_bound * risk, p_values)


class WeightedRiskCurve(NamedTuple):
    """Coverage and selective risk at every distinct uncertainty, ascending, under weights."""

    threshold: FloatArray
    coverage: FloatArray
    risk: FloatArray


def weighted_risk_curve(losses: Any, uncertainty: Any, weights: Any = None) -> WeightedRiskCurve:
    """Estimated coverage and risk of every threshold on data that differ by density ratios ``weights``.

    coverage(t) = sum_{s_i <= t} w_i / sum_i w_i    risk(t) = sum_{s_i <= t} w_i loss_i / sum_{s_i <= t} w_i

    Where all weights so far are 0 the risk is NaN.
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
