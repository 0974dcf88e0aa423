"""Metrics of an uncertainty score: the risk-coverage curve and the numbers read off it.

The convention, once for all functions
--------------------------------------
Each takes ``losses`` (one number >= 0 per example) and ``uncertainty`` (one number per example, higher =
less certain). Sort the n examples by increasing uncertainty and let L(k) be the sum of the first k losses.
Accepting those k gives one point of the risk-coverage curve, k = 1..n:

    coverage = k/n            risk = L(k)/k            threshold = the k-th smallest uncertainty

Areas are plain means over these n points, without a trapezoid rule and without a point at coverage 0:

    AuRC   = 1/n sum_k L(k)/k           the mean of the selective risk
    E-AuRC = AuRC minus the AuRC of the same losses sorted increasingly, the best any score can reach
    AUGRC  = 1/n sum_k L(k)/n           the mean of the generalized risk: rejected examples count as loss 0
    SELE   = 1/n^2 sum_i sum_j losses[i] [uncertainty[i] <= uncertainty[j]]
    EDC    = mean of the risk while the share discarded grows from 0 to ``max_discard``; AuRC at 1

The generalized risk is coverage x risk (Traub et al. 2024, "Overcoming Common Flaws in the Evaluation of
Selective Classification Systems"). Their area uses the trapezoid rule from the point (0, 0), which is AUGRC
minus mean(losses) / (2n).

With distinct uncertainties SELE = AUGRC and SELE <= AuRC <= H_n SELE, H_n = 1 + 1/2 + ... + 1/n; if the
losses also never decrease along the ranking, AuRC <= 2n/(n+1) SELE. The bound AuRC <= 2 SELE that the SELE
paper states for every score does not hold: losses (1, 0, 0, 0) in ranked order give AuRC = 0.5208 and
2 SELE = 0.5. With ties SELE >= AUGRC: within its group a loss counts for itself and all others in SELE, for
itself and on average half of the others in AUGRC.

Ties
----
Examples of equal uncertainty have no order, and that of the input can flatter or
harm a score. ``ties="expected"`` (default) gives the expectation of L(k) over all orders of the tied
examples: each of them contributes the mean loss of its group. ``ties="index"`` keeps the order of the input,
as the SELE paper does.

Values have the unit of the losses, except coverages and thresholds. Time is O(n log n), memory O(n).

Beyond memory
-------------
``aurc``, ``eaurc``, ``augrc``, ``sele_loss``, ``risk_coverage_curve``, ``risk_at_coverage`` and
``coverage_at_risk`` take Dask arrays and series too, with the same partitions in both arguments. The results
are exact, ties included: every partition is sorted, and its pieces meet in buckets of about a million
examples. The workers hold 20 bytes per example, twice that while the pieces meet. The curve is then made of
Dask arrays, one chunk per bucket.
"""

from __future__ import annotations

import importlib
import math
from types import ModuleType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject._dask import is_dask
from facereject._validation import FloatArray, check_losses_and_uncertainty, check_number, safe_exponent

__all__ = [
    "augrc",
    "aurc",
    "coverage_at_risk",
    "eaurc",
    "edc_area",
    "risk_at_coverage",
    "risk_coverage_curve",
    "sele_loss",
]

Ties = Literal["expected", "index"]


class RiskCoverageCurve(NamedTuple):
    """The n points of a risk-coverage curve, in order of increasing coverage.

    Attributes
    ----------
    coverage : ndarray of shape (n,)
        k/n: the accepted fraction of the examples.
    risk : ndarray of shape (n,)
        L(k)/k: mean loss of the k accepted examples, in the unit of the losses.
    threshold : ndarray of shape (n,)
        Accept where uncertainty <= threshold. Tied examples share a threshold, which accepts all of them:
        only the last of their points is reached by a threshold alone, the others need a random choice.

    See Also
    --------
    risk_coverage_curve : Computes it.

    Examples
    --------
    >>> from facereject.metrics import risk_coverage_curve
    >>> curve = risk_coverage_curve([0, 1], [0.1, 0.7])
    >>> curve.coverage, curve.risk
    (array([0.5, 1. ]), array([0. , 0.5]))
    """

    coverage: FloatArray
    risk: FloatArray
    threshold: FloatArray


class ErrorDiscardCurve(NamedTuple):
    """The n points of an error-versus-discard curve, in order of increasing discard.

    Attributes
    ----------
    discard : ndarray of shape (n,)
        m/n, m = 0..n-1: the rejected fraction of the examples.
    error : ndarray of shape (n,)
        Mean loss of the n - m examples that are kept, in the unit of the losses.
    threshold : ndarray of shape (n,)
        Keep where uncertainty <= threshold.

    See Also
    --------
    error_discard_curve : Computes it.

    Examples
    --------
    >>> from facereject.metrics import error_discard_curve
    >>> curve = error_discard_curve([0, 1], [0.1, 0.7])
    >>> curve.discard, curve.error
    (array([0. , 0.5]), array([0.5, 0. ]))
    """

    discard: FloatArray
    error: FloatArray
    threshold: FloatArray


def risk_coverage_curve(losses: Any, uncertainty: Any, *, ties: Ties = "expected") -> RiskCoverageCurve:
    """Selective risk at every coverage k/n, k = 1..n.

    Parameters
    ----------
    losses : array-like or Dask array or series of shape (n,)
        Loss of each example, >= 0.
    uncertainty : array-like or Dask array or series of shape (n,)
        Uncertainty of each example; higher = less certain.
    ties : {"expected", "index"}
        Expectation over random order of tied examples, or the order of the input.

    Returns
    -------
    RiskCoverageCurve
        Named tuple (coverage, risk, threshold) of arrays of shape (n,); Dask arrays for Dask collections.

    See Also
    --------
    aurc : The area under this curve.
    error_discard_curve : The same points by the share discarded.
    facereject.plotting.RiskCoverageDisplay : Draws it.

    References
    ----------
    .. [1] El-Yaniv and Wiener, "On the Foundations of Noise-free Selective Classification", JMLR 2010.

    Examples
    --------
    >>> from facereject.metrics import risk_coverage_curve
    >>> risk_coverage_curve(losses=[0, 0, 1, 0], uncertainty=[0.1, 0.2, 0.9, 0.4]).risk
    array([0.  , 0.  , 0.  , 0.25])
    """
    _check_ties(ties)
    if is_dask(losses, uncertainty):
        return RiskCoverageCurve(*_on_partitions().curve(losses, uncertainty, ties))
    ranked, threshold, exponent = _rank(losses, uncertainty, ties)
    counts = np.arange(1, len(ranked) + 1)
    return RiskCoverageCurve(counts / len(ranked), _in_unit(np.cumsum(ranked) / counts, exponent), threshold)


def aurc(losses: Any, uncertainty: Any, *, ties: Ties = "expected") -> float:
    """Area under the risk-coverage curve: AuRC = 1/n sum_k L(k)/k, in the unit of the losses.

    Lower is better; a random score gives mean(losses) on average.

    Parameters
    ----------
    losses, uncertainty, ties
        As in `risk_coverage_curve`.

    Returns
    -------
    float
        The AuRC.

    See Also
    --------
    eaurc : How much of it the score is to blame for.
    augrc : Counts rejected examples as loss 0.
    facereject.compare_scores : Several scores, with intervals and paired tests.

    References
    ----------
    .. [1] Geifman, Uziel and El-Yaniv, "Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers",
       ICLR 2019.

    Examples
    --------
    >>> from facereject.metrics import aurc
    >>> aurc(losses=[0, 0, 1, 0], uncertainty=[0.1, 0.2, 0.9, 0.4])
    0.0625
    """
    _check_ties(ties)
    if is_dask(losses, uncertainty):
        return float(_on_partitions().aurc(losses, uncertainty, ties))
    ranked, _, exponent = _rank(losses, uncertainty, ties)
    return float(_in_unit(_mean_risk(ranked), exponent))


def eaurc(losses: Any, uncertainty: Any, *, ties: Ties = "expected") -> float:
    """Excess AuRC: AuRC minus the smallest AuRC any score can reach on these losses.

    Exactly 0.0 for a perfect ranking, that is, when the losses never decrease along the ranking. Under
    ``ties="expected"`` tied examples of different loss are a defect of the score and add to the excess.

    Parameters
    ----------
    losses, uncertainty, ties
        As in `risk_coverage_curve`.

    Returns
    -------
    float
        The excess, at least 0.

    See Also
    --------
    aurc : The area itself.

    References
    ----------
    .. [1] Geifman, Uziel and El-Yaniv, "Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers",
       ICLR 2019.

    Examples
    --------
    >>> from facereject.metrics import eaurc
    >>> eaurc(losses=[0, 0, 1, 0], uncertainty=[0.1, 0.2, 0.9, 0.4])
    0.0
    """
    _check_ties(ties)
    if is_dask(losses, uncertainty):
        return float(_on_partitions().eaurc(losses, uncertainty, ties))
    ranked, _, exponent = _rank(losses, uncertainty, ties)
    # One area of differences instead of a difference of areas: a perfect ranking gives zeros throughout, and
    # a small excess is not lost in the rounding of two large numbers.
    ranked -= np.ldexp(np.sort(np.asarray(losses, dtype=np.float64)), exponent)
    # No ranking beats the sorted one, so a negative value can only be rounding.
    return float(_in_unit(max(_mean_risk(ranked), 0.0), exponent))


def augrc(losses: Any, uncertainty: Any, *, ties: Ties = "expected") -> float:
    """Area under the generalized risk-coverage curve: AUGRC = 1/n sum_k L(k)/n, in the unit of the losses.

    The generalized risk L(k)/n is the mean loss over all n examples when rejected ones cost nothing. Unlike
    in AuRC, the few most certain examples do not dominate.

    Parameters
    ----------
    losses, uncertainty, ties
        As in `risk_coverage_curve`.

    Returns
    -------
    float
        The AUGRC.

    See Also
    --------
    aurc : Divides by the number of accepted examples instead.
    sele_loss : The same number where no two uncertainties are equal.

    References
    ----------
    .. [1] Traub et al., "Overcoming Common Flaws in the Evaluation of Selective Classification Systems",
       NeurIPS 2024.

    Examples
    --------
    >>> from facereject.metrics import augrc
    >>> augrc(losses=[0, 0, 1, 0], uncertainty=[0.1, 0.2, 0.9, 0.4])
    0.0625
    """
    _check_ties(ties)
    if is_dask(losses, uncertainty):
        return float(_on_partitions().augrc(losses, uncertainty, ties))
    ranked, _, exponent = _rank(losses, uncertainty, ties)
    n = len(ranked)
    # The k-th loss is part of L(k), ..., L(n).
    return float(_in_unit(ranked @ np.arange(n, 0, -1, dtype=np.float64) / n**2, exponent))


def sele_loss(losses: Any, uncertainty: Any) -> float:
    """SELE loss: 1/n^2 sum_i sum_j losses[i] [uncertainty[i] <= uncertainty[j]], in the unit of the losses.

    The pairs include i = j, and both orders of two tied examples. The definition needs no order among ties,
    so there is no ``ties`` argument.

    Parameters
    ----------
    losses, uncertainty
        As in `risk_coverage_curve`.

    Returns
    -------
    float
        The SELE loss.

    See Also
    --------
    augrc : The same number where no two uncertainties are equal.
    facereject.scores.SELEScore : Learns a score by minimising a convex upper bound.

    References
    ----------
    .. [1] Franc, Průša and Voráček, "Optimal Strategies for Reject Option Classifiers", JMLR 2023.

    Examples
    --------
    >>> from facereject.metrics import sele_loss
    >>> sele_loss(losses=[0, 0, 1, 0], uncertainty=[0.1, 0.2, 0.9, 0.4])
    0.0625
    """
    if is_dask(losses, uncertainty):
        return float(_on_partitions().sele_loss(losses, uncertainty))
    losses, uncertainty = check_losses_and_uncertainty(losses, uncertainty)
    n = len(losses)
    exponent = safe_exponent(losses, n)
    order = np.argsort(uncertainty)
    starts = _group_starts(uncertainty[order])
    sums = np.add.reduceat(np.ldexp(losses[order], exponent), starts)
    # Everything from the start of a group to the end of the ranking is at least as uncertain as its members.
    return float(_in_unit(sums @ (n - starts).astype(np.float64) / n**2, exponent))


def risk_at_coverage(losses: Any, uncertainty: Any, coverage: float, *, ties: Ties = "expected") -> float:
    """Selective risk at the smallest coverage k/n that is at least ``coverage``.

    Parameters
    ----------
    losses, uncertainty
        As in `risk_coverage_curve`.
    coverage : float
        Fraction of the examples to accept, 0 < coverage <= 1. At 0 nothing is accepted and there is no risk.
    ties : {"expected", "index"}
        As in `risk_coverage_curve`.

    Returns
    -------
    float
        L(k)/k, in the unit of the losses.

    See Also
    --------
    coverage_at_risk : The other way round.

    Examples
    --------
    >>> from facereject.metrics import risk_at_coverage
    >>> risk_at_coverage(losses=[0, 0, 1, 0], uncertainty=[0.1, 0.2, 0.9, 0.4], coverage=0.75)
    0.0
    """
    if not 0 < coverage <= 1:
        raise ValueError(f"coverage must be above 0 and at most 1, got {coverage}")
    _check_ties(ties)
    if is_dask(losses, uncertainty):
        return float(_on_partitions().risk_at_coverage(losses, uncertainty, coverage, ties))
    curve = risk_coverage_curve(losses, uncertainty, ties=ties)
    # A search among the curve's own coverages: ceil(coverage * n) is one too many when the product rounds up.
    return float(curve.risk[np.searchsorted(curve.coverage, coverage)])


def coverage_at_risk(losses: Any, uncertainty: Any, risk: float, *, ties: Ties = "expected") -> float:
    """Largest coverage k/n whose selective risk is at most ``risk``; 0.0 if there is none.

    The risk may exceed the target at a smaller coverage: the curve need not rise. Equality holds up to the
    rounding of the running sum, so that n equal losses x have coverage 1 at risk x. Under
    ``ties="expected"`` the coverage is read off the expected curve; it is not itself an expectation.

    Parameters
    ----------
    losses, uncertainty
        As in `risk_coverage_curve`.
    risk : float
        Target, >= 0, in the unit of the losses.
    ties : {"expected", "index"}
        As in `risk_coverage_curve`.

    Returns
    -------
    float
        Coverage in [0, 1].

    See Also
    --------
    risk_at_coverage : The other way round.
    facereject.selection.guaranteed_risk : A threshold that keeps the risk on new examples, too.

    Examples
    --------
    >>> from facereject.metrics import coverage_at_risk
    >>> coverage_at_risk(losses=[0, 0, 1, 0], uncertainty=[0.1, 0.2, 0.9, 0.4], risk=0.1)
    0.75
    """
    if not 0 <= risk < np.inf:
        raise ValueError(f"risk must be a finite number >= 0, got {risk}")
    _check_ties(ties)
    if is_dask(losses, uncertainty):
        return float(_on_partitions().coverage_at_risk(losses, uncertainty, risk, ties))
    ranked, _, exponent = _rank(losses, uncertainty, ties)
    counts = np.arange(1, len(ranked) + 1)
    # No mean is above the largest of all losses, and a larger target could leave the range of numbers.
    target = np.ldexp(min(float(risk), float(np.max(losses))), exponent)
    # A sum of k numbers >= 0 is off by at most k eps of itself; means of tied groups add as much again.
    slack = 2 * counts * np.finfo(np.float64).eps
    reached = np.flatnonzero(np.cumsum(ranked) * (1 - slack) <= target * counts)
    return float((reached[-1] + 1) / len(ranked)) if reached.size else 0.0


def error_discard_curve(losses: Any, uncertainty: Any, *, ties: Ties = "expected") -> ErrorDiscardCurve:
    """Error-versus-discard curve (EDC): the mean loss of the kept examples by the share discarded.

    Biometrics compares quality measures by it. With m of n examples discarded, the most uncertain first, the
    error is L(n - m)/(n - m).

    Parameters
    ----------
    losses, uncertainty, ties
        As in `risk_coverage_curve`; arrays in memory.

    Returns
    -------
    ErrorDiscardCurve
        Named tuple (discard, error, threshold) of arrays of shape (n,).

    See Also
    --------
    edc_area : Its partial area.
    facereject.plotting.ErrorDiscardDisplay : Draws it.

    References
    ----------
    .. [1] Schlett, Rathgeb, Tapia and Busch, "Considerations on the Evaluation of Biometric Quality
       Assessment Algorithms", IEEE T-BIOM 2024.

    Examples
    --------
    >>> from facereject.metrics import error_discard_curve
    >>> error_discard_curve(losses=[0, 0, 1, 0], uncertainty=[0.1, 0.2, 0.9, 0.4]).error
    array([0.25, 0.  , 0.  , 0.  ])
    """
    _, risk, threshold = risk_coverage_curve(losses, uncertainty, ties=ties)
    n = len(risk)
    return ErrorDiscardCurve(np.arange(n) / n, risk[::-1], threshold[::-1])


def edc_area(losses: Any, uncertainty: Any, *, max_discard: float = 0.2, ties: Ties = "expected") -> float:
    """Partial area under the error-versus-discard curve, divided by ``max_discard``: the mean error there.

        1/max_discard * integral of error(d), d from 0 to max_discard;  error(d) = L(k)/k, k = n - floor(d n)

    Lower is better. The area up to 1 is the AuRC.

    Parameters
    ----------
    losses, uncertainty
        As in `risk_coverage_curve`; arrays in memory.
    max_discard : float, default=0.2
        Share of the examples that may be discarded at most, 0 < max_discard <= 1.
    ties : {"expected", "index"}
        As in `risk_coverage_curve`.

    Returns
    -------
    float
        The area, in the unit of the losses.

    See Also
    --------
    error_discard_curve : The curve.
    aurc : The area under all of it.

    References
    ----------
    .. [1] Schlett, Rathgeb, Tapia and Busch, "Considerations on the Evaluation of Biometric Quality
       Assessment Algorithms", IEEE T-BIOM 2024.

    Examples
    --------
    >>> from facereject.metrics import edc_area
    >>> edc_area(losses=[0, 0, 1, 0], uncertainty=[0.1, 0.2, 0.9, 0.4], max_discard=0.5)
    0.125
    """
    max_discard = check_number(max_discard, "max_discard", above=0, maximum=1)
    error = error_discard_curve(losses, uncertainty, ties=ties).error
    n = len(error)
    whole = min(math.floor(max_discard * n), n)
    # scaled by the largest value, so that no sum leaves the range of numbers
    largest = float(error.max()) or 1.0
    area = float((error[:whole] / largest).sum())
    if whole < n:
        area += (max_discard * n - whole) * float(error[whole] / largest)
    return area / (max_discard * n) * largest


def _on_partitions() -> ModuleType:
    """The same functions for Dask collections; importing them imports Dask."""
    return importlib.import_module("facereject._dask_metrics")


def _check_ties(ties: str) -> None:
    if ties not in ("expected", "index"):
        raise ValueError(f"ties must be 'expected' or 'index', got {ties!r}")


def _rank(losses: Any, uncertainty: Any, ties: Ties) -> tuple[FloatArray, FloatArray, int]:
    """Losses (a new array) and uncertainties by increasing uncertainty; tied losses in expectation.

    The losses are multiplied by a power of two, whose exponent comes last, so that their sums are safe.
    """
    _check_ties(ties)
    losses, uncertainty = check_losses_and_uncertainty(losses, uncertainty)
    # The stable sort takes twice as long; only the order of the input needs it.
    order = np.argsort(uncertainty, kind="stable" if ties == "index" else "quicksort")
    exponent = safe_exponent(losses, len(losses))
    ranked, threshold = np.ldexp(losses[order], exponent), uncertainty[order]
    if ties == "expected":
        starts = _group_starts(threshold)
        if len(starts) < len(ranked):
            ranked = _group_means(ranked, starts)
    return ranked, threshold, exponent


def _in_unit(values: Any, exponent: int) -> Any:
    """Means of losses multiplied by 2^exponent, in the unit of the losses."""
    # A mean that is rounded up past the largest number is that number.
    return np.minimum(np.ldexp(values, -exponent), np.finfo(np.float64).max)


def _group_starts(ranked_uncertainty: FloatArray) -> NDArray[np.intp]:
    """First position of each run of equal values."""
    first = np.empty(len(ranked_uncertainty), dtype=bool)
    first[0] = True
    np.not_equal(ranked_uncertainty[1:], ranked_uncertainty[:-1], out=first[1:])
    return np.flatnonzero(first)


def _group_means(ranked: FloatArray, starts: NDArray[np.intp]) -> FloatArray:
    """Each value replaced by the mean of its group; groups begin at ``starts``."""
    sizes = np.diff(starts, append=len(ranked))
    lowest = np.minimum.reduceat(ranked, starts)
    # Summing what exceeds the minimum keeps the mean of equal numbers exact ((0.1 + 0.1 + 0.1)/3 is not 0.1);
    # E-AuRC of a perfect ranking is exactly 0 because of it.
    excess = np.add.reduceat(ranked - np.repeat(lowest, sizes), starts)
    return np.repeat(lowest + excess / sizes, sizes)


def _mean_risk(ranked: FloatArray) -> float:
    """1/n sum_k L(k)/k for values in ranked order."""
    risk = np.cumsum(ranked)
    risk /= np.arange(1, len(ranked) + 1)
    return float(risk.mean())
