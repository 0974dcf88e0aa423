"""Thresholds that carry a promise: true risk or true coverage, with probability >= 1 - delta.

The calibration examples are n independent draws (s_i, loss_i), not used to train the predictor or the score.
F(t) = P(s <= t) is the true coverage and R(t) = E[loss | s <= t] the true selective risk of the threshold t.

**One threshold.** For a fixed t, given how many examples N(t) fall at or below t, their losses are N(t)
independent draws with mean R(t). So p(t), one of the p-values of :mod:`.pvalues` on those losses, is valid
for the hypothesis R(t) >= max_risk. As a function of t it changes only at observed uncertainties.

**All thresholds.** Fix starts u_1 < ... < u_m with budgets d_1, ..., d_m, and walk up from each of them, over
all real t and without skipping any. The walk from u_i continues while p(t) <= level_i(t), the sum of the
budgets of the starts among u_i, ..., u_m that are <= t; every t it visits before it stops is certified.
*Claim:* with probability >= 1 - sum_j d_j no certified t has R(t) > max_risk. *Proof:* let a_i be the infimum
of the t >= u_i with R(t) > max_risk; as R is continuous from the right, R(a_i) >= max_risk. If the walk from
u_i certifies a bad t, it has passed a_i, so p(a_i) <= level_i(a_i). The starts u_j in this level satisfy
u_i <= u_j <= a_i, hence a_j = a_i. Thus for one of the at most m distinct values a among a_1, ..., a_m, p(a)
is at most the sum of the d_j with a_j = a. As a is no function of the data, this has at most that
probability, and the sum over the distinct a is at most sum_j d_j. Nothing is assumed about the shape of R.

**Where the starts are.** u_j is the quantile of s at a level f_j, which is unknown but lies between two order
statistics: s_(k_j) <= u_j, and every t with N(t) >= k'_j is >= u_j, each except with probability eta, if
P(Binomial(n, f_j) < k_j) <= eta and P(Binomial(n, f_j) >= k'_j) <= eta. So the walk begins already at
s_(k_j), certifies only from N(t) >= k'_j, and counts the budgets of later starts only from their k'_j: all
of this can only shorten it. One more start is t = infinity, which needs no bracket; its budget serves it
alone, as N(t) = n does not mean that t is infinite. With k_j = n/2, n/4, ... a score that is good everywhere
is certified by one walk with most of the budget; if a walk breaks off because the most certain examples are
not the best, a later one takes over.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import betaincinv
from scipy.stats import binom

from facereject._settings import check_number
from facereject._validation import FloatArray, check_losses_and_uncertainty, check_vector
from facereject.selection._ranking import Ranking
from facereject.selection.errors import NoValidThresholdError
from facereject.selection.pvalues import betting_p_values, binomial_p_value, hoeffding_bentkus_p_value
from facereject.selection.selector import Guarantee, Selector

METHODS = ("auto", "binomial", "betting", "hoeffding-bentkus")
# Share of delta spent on locating the starts rather than on testing.
_BRACKET_SHARE = 0.1


def guaranteed_risk(
    losses: Any,
    uncertainty: Any,
    max_risk: float,
    delta: float = 0.05,
    loss_bound: float = 1.0,
    *,
    method: str = "auto",
) -> Selector:
    """The threshold of largest coverage that is certified to keep the true selective risk <= max_risk.

    With probability >= 1 - delta over the calibration sample, E[min(loss, loss_bound) | s <= threshold_] is
    at most max_risk. The proof is in the module docstring.

    Promised: an average over new examples drawn like the calibration examples, and over their predictions.
    Not promised: anything for one image, person or subgroup; for data of another kind than the calibration
    data; for examples the predictor or the score was trained on; for the part of a loss above ``loss_bound``;
    or if the calibration examples depend on each other (frames of one video, faces of one person) or if
    several settings are tried on the same sample and the best is kept. Nor, with the default
    ``method="auto"``, for real-valued losses a whole sample of which happens to be 0 or >= ``loss_bound``:
    "auto" then takes the test for two-valued losses. Name the method where that could happen.

    Parameters
    ----------
    losses : array-like of shape (n,)
        Loss of every calibration example, >= 0.
    uncertainty : array-like of shape (n,)
        Higher = less certain.
    max_risk : float
        The bound on the selective risk, 0 < max_risk < loss_bound.
    delta : float
        Probability that the promise fails, 0 < delta < 1.
    loss_bound : float
        Losses above it are clipped to it; the promise is about the clipped loss. Choose it before looking at
        the losses: no mean of an unbounded loss can be bounded from a finite sample.
    method : {"auto", "binomial", "betting", "hoeffding-bentkus"}
        The test. "binomial" is exact and only for losses that are 0 or >= loss_bound, the other two take any
        losses. "auto" uses "binomial" for a sample of such losses, else "betting", which adapts to the
        variance of the losses.

    Returns
    -------
    Selector
        Deterministic (``acceptance_`` is 1). ``coverage_`` and ``selective_risk_`` (of the clipped losses)
        describe the calibration sample, ``guarantee_`` the promise. ``threshold_`` is inf if accepting
        everything is certified.

    Raises
    ------
    NoValidThresholdError
        If no threshold can be certified.
    """
    losses, uncertainty = check_losses_and_uncertainty(losses, uncertainty)
    loss_bound = check_number(loss_bound, "loss_bound", above=0)
    max_risk = check_number(max_risk, "max_risk", above=0)
    if max_risk >= loss_bound:
        raise ValueError(
            f"max_risk must be below loss_bound, got {max_risk:g} and {loss_bound:g}: losses count at most "
            "loss_bound, which must suit their unit"
        )
    delta = check_number(delta, "delta", above=0, below=1)
    clipped, n_clipped = np.minimum(losses, loss_bound), int(np.count_nonzero(losses > loss_bound))
    method = _resolve_method(method, clipped, loss_bound)
    ranking = Ranking.of(losses=clipped, uncertainty=uncertainty)
    counts = ranking.weight[1:].astype(int)
    p_values = _p_values(method, clipped / loss_bound, uncertainty, counts, max_risk / loss_bound, delta)
    certified = _largest_certified(p_values, counts, _starts(len(losses), max_risk / loss_bound, delta))
    if certified is None:
        fewest = _fewest(max_risk / loss_bound, delta)
        raise NoValidThresholdError(
            f"{len(losses)} calibration examples certify no threshold with a selective risk of at most "
            f"{max_risk:g} at delta = {delta:g} (even without any loss it takes {fewest} accepted examples); "
            "use more examples, or a larger max_risk or delta"
            + (f"; {n_clipped} losses were clipped to loss_bound = {loss_bound:g}" if n_clipped else "")
            + (", which seems too small for their unit" if 2 * n_clipped > len(losses) else "")
        )
    selector = ranking.selector(certified + 1)
    return replace(
        selector,
        guarantee_=Guarantee(
            quantity="risk",
            bound=max_risk,
            delta=delta,
            n=len(losses),
            method=method,
            loss_bound=loss_bound,
            n_clipped=n_clipped,
        ),
    )


def guaranteed_coverage(uncertainty: Any, min_coverage: float, delta: float = 0.05) -> Selector:
    """The smallest observed threshold that is certified to accept at least ``min_coverage`` of all examples.

    It is the order statistic s_(k) with the smallest k such that P(Binomial(n, min_coverage) >= k) <= delta:
    F(s_(k)) < min_coverage means that k examples fell below the min_coverage-quantile of s. For continuous
    uncertainties this is exact, ties only make the coverage larger.

    Promised: with probability >= 1 - delta over the calibration sample, an average over new examples drawn
    like it. Not promised: the coverage in a subgroup or one video, or for data of another kind; nor any risk.

    Parameters
    ----------
    uncertainty : array-like of shape (n,)
        Higher = less certain. Losses are not needed.
    min_coverage : float
        Share to accept, 0 < min_coverage < 1.
    delta : float
        Probability that the promise fails, 0 < delta < 1.

    Returns
    -------
    Selector
        Deterministic (``acceptance_`` is 1); ``selective_risk_`` is NaN.

    Raises
    ------
    NoValidThresholdError
        If even the largest observed uncertainty is not certified, i.e. min_coverage**n > delta.
    """
    s = np.sort(check_vector(uncertainty, "uncertainty"))
    if np.ndim(min_coverage) > 0:
        raise ValueError(
            "min_coverage must be a number, got a sequence: guaranteed_coverage takes no losses, "
            "its arguments are (uncertainty, min_coverage, delta)"
        )
    min_coverage = check_number(min_coverage, "min_coverage", above=0, below=1)
    delta = check_number(delta, "delta", above=0, below=1)
    n = len(s)
    k = _first_rare_count(n, min_coverage, delta)
    if k > n:
        needed = math.ceil(math.log(delta) / math.log(min_coverage))
        raise NoValidThresholdError(
            f"{n} calibration examples certify no threshold with a coverage of at least {min_coverage:g} at "
            f"delta = {delta:g}; it takes {needed}"
        )
    threshold = s[k - 1]
    return Selector(
        threshold_=float(threshold),
        acceptance_=1.0,
        coverage_=float(np.searchsorted(s, threshold, side="right") / n),
        selective_risk_=math.nan,
        guarantee_=Guarantee(
            quantity="coverage", bound=min_coverage, delta=delta, n=n, method="order statistic"
        ),
    )


def _resolve_method(method: str, clipped: FloatArray, loss_bound: float) -> str:
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    two_valued = bool(np.all((clipped == 0) | (clipped == loss_bound)))
    if method == "binomial" and not two_valued:
        raise ValueError(
            f"losses must be 0 or at least loss_bound = {loss_bound:g} for the binomial method; use 'betting'"
        )
    if method == "auto":
        return "binomial" if two_valued else "betting"
    return method


def _p_values(
    method: str, losses: FloatArray, uncertainty: FloatArray, counts: Any, risk: float, delta: float
) -> FloatArray:
    """p(t) at every distinct uncertainty; ``counts`` are N(t) there, ``losses`` are in [0, 1]."""
    ranked = losses[np.lexsort((losses, uncertainty))]
    if method == "betting":
        return betting_p_values(ranked, risk, delta)[counts - 1]
    sums = np.cumsum(ranked)[counts - 1]
    if method == "binomial":
        return binomial_p_value(np.rint(sums).astype(int), counts, risk)
    return hoeffding_bentkus_p_value(np.minimum(sums / counts, 1.0), counts, risk)


@dataclass(frozen=True)
class _Start:
    """A start of the walk, by the number N(t) of examples at or below a threshold."""

    walk_from: int  # k_j
    certify_from: int  # k'_j
    budget: float  # d_j


def _starts(n: int, risk: float, delta: float) -> list[_Start]:
    """Starts at N = ..., n/4, n/2 as far down as a walk has a chance to begin, and t = infinity."""
    # Twice the fewest: at the fewest a single error would end the walk.
    smallest = 2 * _fewest(risk, delta)
    ranks = [n]
    while ranks[-1] // 2 >= smallest:
        ranks.append(ranks[-1] // 2)
    budget = (1 - _BRACKET_SHARE) * delta / len(ranks) if len(ranks) > 1 else delta
    starts = [_Start(n, n, budget)]
    for k in ranks[1:]:
        eta = _BRACKET_SHARE * delta / (2 * (len(ranks) - 1))
        # P(Binomial(n, f) < k) = P(Beta(k, n - k + 1) > f) = eta
        f = float(betaincinv(k, n - k + 1, 1 - eta))
        starts.append(_Start(k, _first_rare_count(n, f, eta), budget))
    return starts[::-1]


def _largest_certified(p_values: FloatArray, counts: Any, starts: list[_Start]) -> int | None:
    """Index of the largest distinct uncertainty that the walk from some start certifies."""
    best = None
    for i, start in enumerate(starts):
        level = np.full(len(counts), start.budget)
        # The last start is t = infinity.
        for later in starts[i + 1 : -1]:
            level[counts >= later.certify_from] += later.budget
        begin = int(np.searchsorted(counts, start.walk_from))
        failed = np.flatnonzero(p_values[begin:] > level[begin:])
        last = begin + int(failed[0]) - 1 if len(failed) else len(counts) - 1
        if last >= begin and counts[last] >= start.certify_from:
            best = last if best is None else max(best, last)
    return best


def _fewest(risk: float, delta: float) -> int:
    """Examples without any loss that are needed for (1 - risk)^N <= delta."""
    return math.ceil(math.log(delta) / math.log1p(-risk))


def _first_rare_count(n: int, probability: float, eta: float) -> int:
    """Smallest k with P(Binomial(n, probability) >= k) <= eta; n + 1 if there is none up to n."""
    return int(binom.isf(eta, n, probability)) + 1
