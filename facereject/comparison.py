"""Comparison of several methods over several data sets: ranks, Friedman and Nemenyi tests, improvement.

The methodology is Demšar's ("Statistical comparisons of classifiers over multiple data sets", JMLR 2006).
Values are always "lower is better", like the AuRC; negate accuracies first.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from facereject._validation import FloatArray, check_integer, check_number, check_vector

__all__ = [
    "friedman",
    "nemenyi",
]

# scipy.stats is imported where it is used: it takes longer to load than everything else in this module.


class FriedmanResult(NamedTuple):
    """Result of `friedman`."""

    statistic: float
    p_value: float
    average_ranks: FloatArray


class NemenyiResult(NamedTuple):
    """Result of `nemenyi`; groups are positions of methods, best rank first."""

    critical_difference: float
    groups: tuple[tuple[int, ...], ...]
    average_ranks: FloatArray
    alpha: float


class SplitSummary(NamedTuple):
    """Mean and sample standard deviation over the splits, which are the last axis of the input."""

    mean: FloatArray
    std: FloatArray


class RelativeImprovement(NamedTuple):
    """Improvement over a baseline in percent: per split, and its mean and standard deviation over splits."""

    mean: FloatArray
    std: FloatArray
    per_split: FloatArray


def average_ranks(values: Any) -> FloatArray:
    """Rank the methods on each data set and average the ranks over the data sets.

    The smallest value of a row gets rank 1, the next 2 and so on; equal values share the mean of the ranks
    they cover, so the average ranks of K methods always sum to K (K + 1) / 2.

    Parameters
    ----------
    values : array-like of shape (n_datasets, n_methods)
        For instance test AuRC; lower is better.

    Returns
    -------
    ndarray of shape (n_methods,)
        Average ranks, between 1 and n_methods.

    See Also
    --------
    friedman : Tests whether the ranks differ by more than chance.

    Examples
    --------
    >>> from facereject.comparison import average_ranks
    >>> average_ranks([[0.1, 0.2, 0.3], [0.1, 0.4, 0.3]])
    array([1. , 2.5, 2.5])
    """
    return np.asarray(_ranks(_check_table(values)).mean(axis=0))


def friedman(values: Any) -> FriedmanResult:
    """Test the hypothesis that all methods perform alike, from their ranks on each data set.

    With N data sets, K methods and average ranks R_k,

        chi2 = 12 N / (K (K + 1)) * (sum_k R_k^2 - K (K + 1)^2 / 4) / T,
        T = 1 - sum over groups of ties (t^3 - t) / (N K (K^2 - 1)),

    where t is the number of methods that share a value on one data set. T is 1 without ties; Demšar's
    formula leaves it out. The p-value is that of the chi-square distribution with K - 1 degrees of freedom,
    which is a good approximation for about ten data sets or more.

    Parameters
    ----------
    values : array-like of shape (n_datasets, n_methods)
        For instance test AuRC; lower is better.

    Returns
    -------
    FriedmanResult
        ``(statistic, p_value, average_ranks)``. If every data set ties all methods there is no evidence of
        any difference: statistic 0 and p-value 1.

    See Also
    --------
    nemenyi : Compares all pairs of methods afterwards.

    References
    ----------
    J. Demšar: Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning
    Research 7, 2006.

    Examples
    --------
    >>> from facereject.comparison import friedman
    >>> result = friedman([[0.1, 0.2, 0.3]] * 10)
    >>> round(result.statistic, 6), result.p_value < 0.001
    (20.0, True)
    """
    from scipy.special import chdtrc

    ranks = _ranks(_check_table(values))
    n_datasets, n_methods = ranks.shape
    mean_ranks = ranks.mean(axis=0)
    tied = sum(
        float((counts**3 - counts).sum())
        for counts in (np.unique(row, return_counts=True)[1].astype(np.float64) for row in ranks)
    )
    correction = 1.0 - tied / (n_datasets * n_methods * (n_methods**2 - 1))
    if math.isclose(correction, 0.0, abs_tol=1e-12):
        return FriedmanResult(0.0, 1.0, mean_ranks)
    # sum_k R_k^2 - K (K + 1)^2 / 4 as a sum of squares, which cannot come out slightly negative
    spread = float(((mean_ranks - (n_methods + 1) / 2) ** 2).sum())
    statistic = 12.0 * n_datasets / (n_methods * (n_methods + 1)) * spread / correction
    return FriedmanResult(statistic, float(chdtrc(n_methods - 1, statistic)), mean_ranks)


def critical_difference(n_methods: int, n_datasets: int, *, alpha: float = 0.10) -> float:
    """Compute the smallest difference of average ranks that the Nemenyi test calls significant.

        CD = q_alpha(K) * sqrt(K (K + 1) / (6 N)),

    with q_alpha(K) the upper alpha quantile of the studentised range of K groups with infinitely many
    degrees of freedom, divided by sqrt(2). (The paper prints 0.98 for K = 3, N = 11, alpha = 0.10, which
    takes the quantile of K = 4; it is 0.875.)

    Parameters
    ----------
    n_methods : int
        K, at least 2.
    n_datasets : int
        N, at least 1.
    alpha : float, default=0.10
        Probability of calling any pair different when all methods are alike.

    Returns
    -------
    float
        The critical difference, in ranks.

    See Also
    --------
    nemenyi : Uses it to compare all pairs.
    facereject.plotting.CriticalDifferenceDisplay : Draws it.

    References
    ----------
    J. Demšar: Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning
    Research 7, 2006.

    Examples
    --------
    >>> from facereject.comparison import critical_difference
    >>> round(critical_difference(3, 11), 3)
    0.875
    """
    from scipy.stats import studentized_range

    check_integer(n_methods, "n_methods", minimum=2)
    check_integer(n_datasets, "n_datasets", minimum=1)
    check_number(alpha, "alpha", above=0, below=1)
    quantile = float(studentized_range.isf(alpha, n_methods, np.inf)) / math.sqrt(2.0)
    return quantile * math.sqrt(n_methods * (n_methods + 1) / (6.0 * n_datasets))


def nemenyi(average_ranks: Any, n_datasets: int, *, alpha: float = 0.10) -> NemenyiResult:
    """Compare all pairs of methods after a Friedman test has rejected that they are alike.

    Two methods differ significantly if their average ranks differ by at least the critical difference
    (`critical_difference`).

    Parameters
    ----------
    average_ranks : array-like of shape (n_methods,)
        Result of `average_ranks` (or ``friedman(values).average_ranks``).
    n_datasets : int
        Number of data sets the ranks were averaged over.
    alpha : float, default=0.10
        Probability of calling any pair different when all methods are alike.

    Returns
    -------
    NemenyiResult
        ``groups`` are the maximal sets of two or more methods of which no pair differs significantly, as
        tuples of positions in ``average_ranks``, best rank first. A method in no group differs from all
        others. Groups may overlap: then the data do not suffice to tell where the border is.

    See Also
    --------
    friedman : The test to do first.
    facereject.plotting.CriticalDifferenceDisplay : Draws ranks and groups.

    References
    ----------
    J. Demšar: Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning
    Research 7, 2006.

    Examples
    --------
    >>> from facereject.comparison import nemenyi
    >>> nemenyi([1.1, 1.9, 3.0], n_datasets=20).groups
    ()
    >>> nemenyi([1.4, 1.7, 2.9], n_datasets=20).groups
    ((0, 1),)
    """
    ranks = check_vector(average_ranks, "average_ranks", min_length=2)
    n_methods = len(ranks)
    expected = n_methods * (n_methods + 1) / 2
    # The tolerance admits ranks rounded to two digits; values that are no ranks at all do not pass.
    if abs(ranks.sum() - expected) > 0.01 * n_methods or ranks.min() < 0.99 or ranks.max() > n_methods + 0.01:
        raise ValueError(
            f"average_ranks must lie between 1 and {n_methods} and sum to {expected:g}, "
            f"got {ranks.tolist()}; use average_ranks(values) to turn values into ranks"
        )
    distance = critical_difference(n_methods, n_datasets, alpha=alpha)
    return NemenyiResult(distance, _groups(ranks, distance), ranks, float(alpha))


def summarize_splits(values: Any) -> SplitSummary:
    """Compute mean and sample standard deviation (divisor n - 1) over the splits.

    Parameters
    ----------
    values : array-like of shape (..., n_splits)
        One value per split on the last axis.

    Returns
    -------
    SplitSummary
        ``(mean, std)``, both of shape (...). The standard deviation is NaN for a single split, which says
        nothing about the spread.

    See Also
    --------
    relative_improvement : The same for improvements over a baseline.

    Examples
    --------
    >>> from facereject.comparison import summarize_splits
    >>> mean, std = summarize_splits([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]])
    >>> mean, std
    (array([2., 5.]), array([1., 0.]))
    """
    return _summary(_check_splits(values, "values"))


def relative_improvement(baseline: Any, method: Any) -> RelativeImprovement:
    """Compute the relative improvement of a method over a baseline, in percent.

        100 * (baseline - method) / baseline

    for each split, then mean and standard deviation over the splits: both were evaluated on the same
    examples, so the variation they share cancels. Positive means that the method is better.

    Parameters
    ----------
    baseline : array-like of shape (..., n_splits)
        For instance the test AuRC of the baseline, one row per data set; greater than 0, lower is better.
    method : array-like of the same shape
        The same for the method.

    Returns
    -------
    RelativeImprovement
        ``(mean, std, per_split)``; mean and std have shape (...), see `summarize_splits`.

    See Also
    --------
    facereject.plotting.RelativeImprovementDisplay : Draws it.

    Examples
    --------
    >>> from facereject.comparison import relative_improvement
    >>> relative_improvement([[2.0, 4.0]], [[1.0, 3.0]]).per_split
    array([[50., 25.]])
    """
    base = _check_splits(baseline, "baseline")
    other = _check_splits(method, "method")
    if base.shape != other.shape:
        raise ValueError(f"shapes differ: baseline has {base.shape}, method has {other.shape}")
    if base.min() <= 0:
        raise ValueError(f"baseline must be greater than 0 for a relative improvement, got {base.min()}")
    per_split = 100.0 * (base - other) / base
    return RelativeImprovement(*_summary(per_split), per_split)


def _ranks(table: FloatArray) -> FloatArray:
    from scipy.stats import rankdata

    return np.asarray(rankdata(table, method="average", axis=1), dtype=np.float64)


def _groups(ranks: FloatArray, distance: float) -> tuple[tuple[int, ...], ...]:
    """Maximal runs, along the sorted ranks, of at least two methods that lie less than `distance` apart."""
    order = np.argsort(ranks, kind="stable")
    ordered = ranks[order]
    ends = np.searchsorted(ordered, ordered + distance, side="left")
    groups = []
    covered = 0
    for start, end in enumerate(ends):
        # a run that ends where an earlier one did lies inside it
        if end - start >= 2 and end > covered:
            groups.append(tuple(int(k) for k in order[start:end]))
            covered = int(end)
    return tuple(groups)


def _summary(values: FloatArray) -> SplitSummary:
    mean = values.mean(axis=-1)
    if values.shape[-1] == 1:
        return SplitSummary(mean, np.full_like(mean, np.nan))
    return SplitSummary(mean, values.std(axis=-1, ddof=1))


def _check_table(values: Any) -> FloatArray:
    table = _finite_array(values, "values")
    if table.ndim != 2:
        raise ValueError(
            f"values must have one row per data set and one column per method, got shape {table.shape}"
        )
    if table.shape[0] < 1 or table.shape[1] < 2:
        raise ValueError(f"values must hold at least 1 data set and 2 methods, got shape {table.shape}")
    return table


def _check_splits(values: Any, name: str) -> FloatArray:
    array = _finite_array(values, name)
    if array.ndim == 0 or array.size == 0:
        raise ValueError(f"{name} must hold one value per split on its last axis, got shape {array.shape}")
    return array


def _finite_array(values: Any, name: str) -> FloatArray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from None
    if not np.isfinite(array).all():
        position = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} must be finite, but {name}{list(position)} is {array[position]}")
    return array
