"""Thresholds that carry a guarantee: true risk or true coverage, with probability >= 1 - delta."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import binom

from facereject._validation import check_number, check_vector
from facereject.selection._problem import RiskProblem, check_start
from facereject.selection.errors import NoValidThresholdError
from facereject.selection.groups import check_groups
from facereject.selection.selector import Guarantee, Selector


def guaranteed_risk(
    losses: Any,
    uncertainty: Any,
    max_risk: float,
    delta: float = 0.05,
    loss_bound: float = 1.0,
    *,
    start: float | None = None,
    start_share: float = 1.0,
    groups: Any = None,
    weights: Any = None,
    weight_bound: float | None = None,
    method: str = "auto",
    random_state: int | None = None,
) -> Selector:
    """Find the threshold of largest coverage with a guaranteed selective risk.

    With probability >= 1 - delta over the calibration sample, E[min(loss, loss_bound) | s <= threshold_] is
    at most max_risk. This holds for any distribution, also where new examples share values of the
    uncertainty with each other or with calibration examples. The proof is in
    ``facereject.selection._walk``.

    Promised: an average over new examples drawn like the calibration examples, and over their predictions.
    Not promised: anything for one image or person, or for a subgroup not named in ``groups``; for data of
    another kind than the calibration data, unless ``weights`` tell how they differ; for examples the
    predictor or the score was trained on; for the part of a loss above ``loss_bound``; or if the calibration
    examples depend on each other (frames of one video, faces of one person) or if several settings are tried
    on the same sample and the best is kept. Nor, with the default ``method="auto"``, for real-valued losses a
    whole sample of which happens to be 0 or >= ``loss_bound``: "auto" then takes the test for two-valued
    losses. Name the method where that could happen.

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
    start : float, optional
        A threshold from which to search upwards, chosen before the calibration sample is seen, for instance
        a quantile of training uncertainties (`suggest_start` finds a good one). The search then spends
        the whole delta there and finds nothing if this threshold itself cannot be certified. By default the
        search begins at several ranks of the sample, which share delta.
    start_share : float
        Share of delta for ``start``, 0 < start_share <= 1. The rest goes to the ranks, which help out where
        ``start`` was a bad choice.
    groups : array-like of shape (n,), optional
        Group of every calibration example (camera, site, sex ...). The promise is then made for every group
        at once, by one threshold: new examples need not say their group. Correction: none for the number of
        groups. The threshold has to pass the test of every group at the full level, and where it is bad, it
        is bad for a certain group whose own test has to fail (an intersection-union test). For separate
        thresholds of the groups, at delta / G each, see `guaranteed_risk_per_group`.
    weights : array-like of shape (n,), optional
        Density ratio of new to calibration examples, up to a factor, for a promise about new examples that
        are drawn differently. Assumed: given its input, an example has the same distribution of the loss
        there and here (covariate shift); the weights are right, be they known or estimated
        (`density_ratio`) on data other than these losses; no weight of a new example exceeds
        ``weight_bound``. Each example is kept for the test with probability weight / weight_bound, so that
        the kept ones are drawn like new examples; few large weights leave few of them.
    weight_bound : float, optional
        Weights above it are clipped to it; the promise is then about the distribution of the clipped
        weights. The proof needs a bound that was chosen without looking at the sample. By default it is the
        largest weight of the sample.
    method : {"auto", "binomial", "betting", "hoeffding-bentkus"}
        The test. "binomial" is exact and only for losses that are 0 or >= loss_bound, the other two take any
        losses. "auto" uses "binomial" for a sample of such losses, else "betting", which adapts to the
        variance of the losses.
    random_state : int, optional
        Use the randomised form of the test, which uses up delta: it certifies more, above all for losses
        that are not 0 or 1, but another number gives another threshold. Fix it before the sample is
        seen; trying several and keeping the best voids the guarantee. Not for "hoeffding-bentkus".

    Returns
    -------
    Selector
        Deterministic (``acceptance_`` is 1). ``coverage_`` and ``selective_risk_`` (of the clipped losses,
        weighted if there are weights) describe the calibration sample, ``guarantee_`` the promise, with the
        numbers of each group in ``guarantee_.groups``. ``threshold_`` is inf if accepting everything is
        certified.

    Raises
    ------
    NoValidThresholdError
        If no threshold can be certified.

    See Also
    --------
    guaranteed_risk_per_group : A threshold for every group.
    guaranteed_coverage : The same for the coverage.
    suggest_start : Finds a good ``start``.
    RiskMonitor : Watches the risk while the rule is in use.

    References
    ----------
    A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan, L. Lei: Learn then test: calibrating predictive
    algorithms to achieve risk control. Annals of Applied Statistics 19, 2025.

    I. Waudby-Smith, A. Ramdas: Estimating means of bounded random variables by betting. Journal of the Royal
    Statistical Society B 86, 2024.

    Examples
    --------
    >>> from facereject.selection import guaranteed_risk
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> uncertainty = rng.random(2000)
    >>> losses = (rng.random(2000) < 0.3 * uncertainty**2).astype(float)
    >>> selector = guaranteed_risk(losses, uncertainty, max_risk=0.1)
    >>> print(selector.guarantee_.statement)
    With probability at least 0.95 over the 2000 calibration examples, the error rate of accepted predictions
    is at most 0.1.
    """
    problem = RiskProblem.of(
        losses, uncertainty, max_risk, delta, loss_bound, weights, weight_bound, method, random_state
    )
    start, start_share = check_start(start, start_share)
    rows = {} if groups is None else check_groups(groups, problem.uncertainty)
    threshold, unsafe = problem.certified(start, start_share, rows)
    if threshold is None:
        raise NoValidThresholdError(problem.why_none(problem.delta, rows, unsafe))
    coverage, risk = problem.measure(problem.uncertainty <= threshold)
    results = tuple(problem.part(mine).group_result(name, threshold) for name, mine in rows.items())
    return Selector(
        threshold_=threshold,
        acceptance_=1.0,
        coverage_=coverage,
        selective_risk_=risk,
        guarantee_=problem.guarantee(results, problem.delta if rows else None, start),
    )


def guaranteed_coverage(uncertainty: Any, min_coverage: float, delta: float = 0.05) -> Selector:
    """Find the smallest threshold with a guaranteed coverage.

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

    See Also
    --------
    guaranteed_risk : The same for the risk.
    CoverageMonitor : Watches the coverage while the rule is in use.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.selection import guaranteed_coverage
    >>> selector = guaranteed_coverage(np.random.default_rng(0).random(1000), min_coverage=0.8)
    >>> bool(0.8 < selector.coverage_ < 0.85)
    True
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
    # Smallest k with P(Binomial(n, min_coverage) >= k) <= delta.
    k = int(binom.isf(delta, n, min_coverage)) + 1
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
