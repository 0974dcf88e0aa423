"""The ranking by uncertainty in parts, for metrics of examples that do not fit into one memory.

Each part is sorted separately. The range of uncertainties is cut into *buckets*; tied examples share one. Of
the preceding buckets a bucket needs only the number of examples and the sum of losses. Each bucket then adds
its share to an area, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray

IntArray = NDArray[np.int64]

# harmonic numbers; beyond the table their expansion is exact in double precision
_TABLE = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1.0, 1001.0))])


class Groups(NamedTuple):
    """Examples by increasing uncertainty; a group of ties counts with its mean loss."""

    values: FloatArray  # (g,) uncertainty
    counts: NDArray[np.integer]  # (g,)
    sums: FloatArray  # (g,) sum of losses


class Before(NamedTuple):
    """Totals of the preceding buckets."""

    examples: int
    loss: float


def sort_part(losses: FloatArray, uncertainty: FloatArray, *, join: bool) -> Groups:
    """Sort the examples of a part; with ``join`` ties become one group, else they keep their order."""
    order = np.argsort(uncertainty, kind="quicksort" if join else "stable")
    # int32 halves the memory; a part has fewer than 2³¹ examples
    groups = Groups(uncertainty[order], np.ones(order.size, np.int32), losses[order])
    return join_ties(groups) if join else groups


def join_ties(groups: Groups) -> Groups:
    """Merge groups of equal values; the groups are sorted."""
    new = np.ones(groups.values.size, dtype=bool)
    np.not_equal(groups.values[1:], groups.values[:-1], out=new[1:])
    first = np.flatnonzero(new)
    if first.size == groups.values.size:
        return groups
    counts = np.add.reduceat(groups.counts, first, dtype=np.int64)
    return Groups(groups.values[first], counts, np.add.reduceat(groups.sums, first))


def quantiles(groups: Groups, number: int) -> FloatArray:
    """Compute the values at evenly spaced ranks of a part."""
    if groups.values.size == 0:
        return np.empty(0)
    ranks = np.cumsum(groups.counts)
    wanted = (np.arange(number) + 0.5) / number * ranks[-1]
    return np.asarray(groups.values[np.searchsorted(ranks, wanted)])


def cut(groups: Groups, bounds: FloatArray) -> list[Groups]:
    """Cut a part into buckets: up to the first bound, up to the second, …"""
    at = np.searchsorted(groups.values, bounds, side="right")
    return [Groups(*piece) for piece in zip(*(np.split(column, at) for column in groups), strict=True)]


def gather(pieces: Sequence[Groups], *, join: bool) -> Groups:
    """Merge the pieces of a bucket from all parts; equal values keep the order of the parts."""
    columns = [np.concatenate(column) for column in zip(*pieces, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    groups = Groups(*(column[order] for column in columns))
    return join_ties(groups) if join else groups


def sum_of_risks(groups: Groups, before: Before) -> float:
    """Compute Σ L(k)/k over the ranks k of the bucket.

    A group of c examples with mean loss μ after k examples with sum L adds

        Σ_{m=1..c} (L + m μ)/(k + m) = c μ + (L − k μ) (H_{k+c} − H_k),      H_k = 1 + 1/2 + … + 1/k
    """
    count, loss = _running(groups, before)
    risk = (loss + groups.sums) / (count + 1.0)
    tied = groups.counts > 1
    k, c, L, s = count[tied], groups.counts[tied].astype(np.int64), loss[tied], groups.sums[tied]
    risk[tied] = s + (L - k * (s / c)) * _harmonic(k, c)
    return float(risk.sum())


def sum_of_generalized_risks(groups: Groups, before: Before) -> float:
    """Compute Σ L(k) over the ranks k of the bucket."""
    _, loss = _running(groups, before)
    return float((groups.counts * loss + 0.5 * (groups.counts + 1) * groups.sums).sum())


def sum_of_losses_times_rest(groups: Groups, before: Before) -> float:
    """Compute Σ losses × number of examples before their group: n Σ losses minus the pairs of SELE."""
    count, _ = _running(groups, before)
    return float(groups.sums @ count.astype(np.float64))


def points(groups: Groups, before: Before, total: int) -> FloatArray:
    """Compute coverage, risk and threshold at every rank of the bucket: shape (3, number of examples)."""
    count, loss = _running(groups, before)
    within = np.arange(1, int(groups.counts.sum()) + 1) - np.repeat(count - before.examples, groups.counts)
    rank = np.repeat(count, groups.counts) + within
    means = np.repeat(groups.sums / groups.counts, groups.counts)
    risk = (np.repeat(loss, groups.counts) + within * means) / rank
    return np.stack([rank / total, risk, np.repeat(groups.values, groups.counts)])


def risk_at(groups: Groups, before: Before, rank: int) -> float:
    """Compute L(k)/k at one rank of the bucket."""
    count, loss = _running(groups, before)
    group = int(np.searchsorted(count, rank, side="left")) - 1
    mean = groups.sums[group] / groups.counts[group]
    return float((loss[group] + (rank - count[group]) * mean) / rank)


def last_rank_within(groups: Groups, before: Before, risk: float) -> int:
    """Find the last rank k of the bucket with L(k)/k <= risk, up to rounding; 0 if there is none.

    In a group of c examples with mean loss μ after k examples with sum L, the risk moves from L/k towards μ:

        L + m μ <= risk (k + m)     for all m if it holds at m = c, else up to m = (risk k − L)/(μ − risk)
    """
    count, loss = _running(groups, before)
    end = count + groups.counts
    # a sum of k numbers >= 0 is off by at most k eps of itself; means of tied groups add as much again
    target = risk / (1.0 - 2 * end * np.finfo(np.float64).eps)
    mean = groups.sums / groups.counts
    inside = mean > target
    steps = np.divide(target * count - loss, mean - target, out=np.zeros(mean.size), where=inside)
    last = np.where(loss + groups.sums <= target * end, groups.counts, np.floor(steps))
    reached = np.flatnonzero(last >= 1)
    return int(count[reached[-1]] + last[reached[-1]]) if reached.size else 0


def _running(groups: Groups, before: Before) -> tuple[IntArray, FloatArray]:
    """Compute the number of examples and the sum of losses before each group."""
    count = before.examples + np.cumsum(groups.counts, dtype=np.int64) - groups.counts
    loss = np.empty(groups.sums.size)
    loss[:1] = before.loss
    np.cumsum(groups.sums[:-1], out=loss[1:])
    loss[1:] += before.loss
    return count, loss


def _harmonic(k: IntArray, c: IntArray) -> FloatArray:
    """Compute H_{k+c} − H_k.

    From a table, and beyond its end by H_k ≈ γ + log x + 1/(24 x²) − 7/(960 x⁴), x = k + 1/2.
    """
    end = _TABLE.size - 1
    near = _TABLE[np.minimum(k + c, end)] - _TABLE[np.minimum(k, end)]
    x, y = np.maximum(k, end) + 0.5, np.maximum(k + c, end) + 0.5
    far = np.log1p((y - x) / x) + (y**-2 - x**-2) / 24 - 7 * (y**-4 - x**-4) / 960
    return np.asarray(near + far)
