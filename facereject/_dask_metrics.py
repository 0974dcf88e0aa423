"""Metrics of Dask collections: exact, and in pieces that fit into the memory of a worker."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from facereject import _ranked_parts as ranked
from facereject._dask import align, check_part
from facereject._ranked_parts import Before, Groups
from facereject._validation import FloatArray, check_same_length

dask = importlib.import_module("dask")
arrays = importlib.import_module("dask.array")

# approximate number of examples per bucket, which one task holds in memory
_BUCKET = 2**20
# number of values of each part from which the bounds of the buckets are chosen
_SAMPLE = 512


class PartitionRanking(NamedTuple):
    """All examples by increasing uncertainty, in buckets."""

    buckets: list[Any]  # Delayed Groups
    before: list[Before]
    counts: list[int]  # examples of each bucket
    total: int
    loss: float

    def sum(self, share: Callable[[Groups, Before], float]) -> float:
        """Sum up the shares of all buckets."""
        shares = [dask.delayed(share)(*pair) for pair in zip(self.buckets, self.before, strict=True)]
        return float(sum(dask.compute(*shares)))


def rank(losses: Any, uncertainty: Any, ties: str) -> PartitionRanking:
    """Rank the examples of two collections with the same partitions."""
    parts = align(uncertainty=uncertainty, losses=losses)
    return rank_parts(list(zip(parts["losses"], parts["uncertainty"], strict=True)), ties)


def rank_parts(parts: list[tuple[Any, Any]], ties: str, bucket: int = _BUCKET) -> PartitionRanking:
    """Rank the examples of pairs (losses, uncertainty) of Delayed vectors."""
    join = ties == "expected"
    sort = dask.delayed(_sort)
    (groups,) = dask.persist([sort(*part, i, join) for i, part in enumerate(parts)])
    sizes = dask.compute([dask.delayed(_describe)(part) for part in groups])[0]
    total = sum(count for count, _ in sizes)
    if total == 0:
        raise ValueError("losses must hold at least 1 value(s), got 0")
    bounds = _bounds(sizes, -(-total // bucket))
    cut = [dask.delayed(ranked.cut, nout=bounds.size + 1)(part, bounds) for part in groups]
    gather = dask.delayed(ranked.gather)
    (buckets,) = dask.persist([gather(list(pieces), join=join) for pieces in zip(*cut, strict=True)])
    del groups, cut  # frees the sorted parts in the memory of the workers
    totals = dask.compute([dask.delayed(_totals)(bucket) for bucket in buckets])[0]
    counts = [count for count, _ in totals]
    loss = np.concatenate([[0.0], np.cumsum([loss for _, loss in totals])])
    count = np.concatenate([[0], np.cumsum(counts)])
    before = [Before(int(k), float(L)) for k, L in zip(count[:-1], loss[:-1], strict=True)]
    return PartitionRanking(buckets, before, counts, total, float(loss[-1]))


def aurc(losses: Any, uncertainty: Any, ties: str) -> float:
    """See ``metrics.aurc``."""
    ranking = rank(losses, uncertainty, ties)
    return ranking.sum(ranked.sum_of_risks) / ranking.total


def eaurc(losses: Any, uncertainty: Any, ties: str) -> float:
    """See ``metrics.eaurc``; the best ranking is by the losses themselves."""
    return max(aurc(losses, uncertainty, ties) - aurc(losses, losses, ties), 0.0)


def augrc(losses: Any, uncertainty: Any, ties: str) -> float:
    """See ``metrics.augrc``."""
    ranking = rank(losses, uncertainty, ties)
    return ranking.sum(ranked.sum_of_generalized_risks) / ranking.total**2


def sele_loss(losses: Any, uncertainty: Any) -> float:
    """See ``metrics.sele_loss``."""
    ranking = rank(losses, uncertainty, "expected")
    missing = ranking.sum(ranked.sum_of_losses_times_rest)
    return (ranking.loss - missing / ranking.total) / ranking.total


def risk_at_coverage(losses: Any, uncertainty: Any, coverage: float, ties: str) -> float:
    """See ``metrics.risk_at_coverage``; one bucket has the rank."""
    ranking = rank(losses, uncertainty, ties)
    position = min(max(1, math.ceil(coverage * ranking.total)), ranking.total)
    # the product may have been rounded up
    while position > 1 and (position - 1) / ranking.total >= coverage:
        position -= 1
    bucket = next(i for i, before in reversed(list(enumerate(ranking.before))) if before.examples < position)
    risk = dask.delayed(ranked.risk_at)(ranking.buckets[bucket], ranking.before[bucket], position)
    return float(risk.compute())


def coverage_at_risk(losses: Any, uncertainty: Any, risk: float, ties: str) -> float:
    """See ``metrics.coverage_at_risk``."""
    ranking = rank(losses, uncertainty, ties)
    last = dask.delayed(ranked.last_rank_within)
    pairs = zip(ranking.buckets, ranking.before, strict=True)
    return float(max(dask.compute(*(last(*pair, risk) for pair in pairs)))) / ranking.total


def curve(losses: Any, uncertainty: Any, ties: str) -> list[Any]:
    """Compute coverage, risk and threshold as Dask arrays with one chunk per bucket."""
    ranking = rank(losses, uncertainty, ties)
    blocks = [
        arrays.from_delayed(
            dask.delayed(ranked.points)(bucket, before, ranking.total), (3, count), np.float64
        )
        for bucket, before, count in zip(ranking.buckets, ranking.before, ranking.counts, strict=True)
    ]
    whole = arrays.concatenate(blocks, axis=1)
    return [whole[0], whole[1], whole[2]]


def _sort(losses: Any, uncertainty: Any, number: int, join: bool) -> Groups:
    losses = check_part(losses, "losses", number, non_negative=True)
    uncertainty = check_part(uncertainty, "uncertainty", number)
    check_same_length(
        **{f"losses (partition {number})": losses, f"uncertainty (partition {number})": uncertainty}
    )
    return ranked.sort_part(losses, uncertainty, join=join)


def _describe(groups: Groups) -> tuple[int, FloatArray]:
    return int(groups.counts.sum()), ranked.quantiles(groups, _SAMPLE)


def _totals(groups: Groups) -> tuple[int, float]:
    return int(groups.counts.sum()), float(groups.sums.sum())


def _bounds(sizes: list[tuple[int, FloatArray]], n_buckets: int) -> FloatArray:
    """Choose values that cut all examples into buckets of about equal size."""
    values = np.concatenate([sample for _, sample in sizes])
    share = np.concatenate([np.full(sample.size, count / max(sample.size, 1)) for count, sample in sizes])
    order = np.argsort(values)
    reached = np.cumsum(share[order])
    wanted = np.arange(1, n_buckets) / n_buckets * reached[-1]
    return np.unique(values[order][np.searchsorted(reached, wanted)])
