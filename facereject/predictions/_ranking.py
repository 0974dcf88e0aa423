"""Rankings of many rows in flat memory, and how they vary by chance.

**Flat memory.** A random sample of at most `SAMPLE` rows tells which uncertainties occur. Rows between two of
these values count as tied; what is kept of a score is the number of rows and the sum of losses of every such
group. Up to `SAMPLE` rows the groups are the distinct values, and every number is exact.

**Chance.** Every row belongs to one of at most `BLOCKS` blocks, at random (up to that number each row is a
block). A bootstrap replicate draws blocks with replacement. All scores are computed from the same draws, so
that differences between them are paired. Blocks keep their rows in at most `BINS` groups of neighbouring
uncertainty; the small shift this makes is taken out of the replicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject import _ranked_parts as parts
from facereject._ranked_parts import Before, Groups
from facereject._validation import FloatArray

#: rows up to which everything is exact
SAMPLE = 1 << 18
#: blocks that the bootstrap draws
BLOCKS = 1000
#: groups of neighbouring uncertainties in a block
BINS = 256

_NOTHING = Before(0, 0.0)

# any number
_STREAM = 27644437


def stream(seed: int) -> np.random.Generator:
    """Random numbers that are independent of ``np.random.default_rng(seed)``.

    Simulated scores often come from that generator; a sample drawn by the same numbers would be one of their
    values.
    """
    return np.random.default_rng([seed, _STREAM])


class RowSample:
    """A uniform sample of at most ``size`` of the rows added, each with the same probability.

    Every row gets a random number, and those below a limit are kept; when there are too many the limit is
    halved.
    """

    def __init__(self, rng: np.random.Generator, size: int = SAMPLE) -> None:
        self.n = 0
        self._rng, self._size, self._limit = rng, size, 1.0
        self._rows: list[FloatArray] = []
        self._keys: list[FloatArray] = []
        self._kept = 0

    @property
    def is_complete(self) -> bool:
        """Whether the sample is all rows, in their order."""
        return self._limit == 1.0

    def add(self, rows: FloatArray) -> None:
        """Add rows (m, columns)."""
        keys = self._rng.random(len(rows))
        mine = keys < self._limit
        self.n += len(rows)
        self._rows.append(rows[mine])
        self._keys.append(keys[mine])
        self._kept += int(mine.sum())
        while self._kept > self._size:
            self._limit /= 2
            kept = [keys < self._limit for keys in self._keys]
            self._rows = [rows[mask] for rows, mask in zip(self._rows, kept, strict=True)]
            self._keys = [keys[mask] for keys, mask in zip(self._keys, kept, strict=True)]
            self._kept = sum(map(len, self._keys))

    def rows(self) -> FloatArray:
        """The sample, shape (rows, columns)."""
        return np.concatenate(self._rows)


class ScoreRanking:
    """Rows ranked by one uncertainty.

    Parameters
    ----------
    values : ndarray
        Uncertainties of a sample of the rows, at least one.
    n_blocks : int
        Number of blocks.

    Attributes
    ----------
    block_counts, block_sums : ndarray of shape (blocks, bins)
        Rows and their losses.
    """

    def __init__(self, values: FloatArray, n_blocks: int) -> None:
        self._edges = np.unique(values)
        n = len(self._edges)
        self._counts, self._sums = np.zeros(n, np.int64), np.zeros(n)
        self._highest = float(self._edges[-1])
        self._bin = np.arange(n)
        if n > BINS:
            # about as many sampled rows in each bin
            ranks = np.searchsorted(np.sort(values), self._edges, side="right") - 1
            _, self._bin = np.unique(ranks * BINS // len(values), return_inverse=True)
        self.n_bins = int(self._bin[-1]) + 1
        self.block_counts = np.zeros((n_blocks, self.n_bins))
        self.block_sums = np.zeros((n_blocks, self.n_bins))
        self._values = np.zeros(self.n_bins)

    def add(self, losses: FloatArray, uncertainty: FloatArray, blocks: NDArray[np.intp]) -> NDArray[np.intp]:
        """Add rows; returns the bin of each."""
        # beyond the largest sampled value a row belongs to the last group
        group = np.minimum(np.searchsorted(self._edges, uncertainty), len(self._edges) - 1)
        self._counts += np.bincount(group, minlength=len(self._edges))
        self._sums += np.bincount(group, losses, minlength=len(self._edges))
        self._highest = max(self._highest, float(uncertainty.max()))
        bins: NDArray[np.intp] = self._bin[group]
        cell, shape = blocks * self.n_bins + bins, self.block_counts.shape
        self.block_counts += np.bincount(cell, minlength=self.block_counts.size).reshape(shape)
        self.block_sums += np.bincount(cell, losses, minlength=self.block_sums.size).reshape(shape)
        self._values += np.bincount(bins, uncertainty, minlength=self.n_bins)
        return bins

    @property
    def mean_values(self) -> FloatArray:
        """Mean uncertainty of every bin."""
        return np.asarray(self._values / np.maximum(self.block_counts.sum(axis=0), 1.0))

    @property
    def groups(self) -> Groups:
        """Thresholds, counts and sums of losses, by increasing uncertainty."""
        used = self._counts > 0
        values = self._edges.copy()
        values[-1] = self._highest
        return Groups(values[used], self._counts[used], self._sums[used])

    @property
    def binned(self) -> Groups:
        """The same by bins."""
        return as_groups(self.block_counts.sum(axis=0), self.block_sums.sum(axis=0))


class Areas(NamedTuple):
    """Areas of one ranking and its risk at some coverages; or replicates of them along the first axis."""

    aurc: FloatArray
    augrc: FloatArray
    edc: FloatArray
    risks: FloatArray


def as_groups(counts: FloatArray, sums: FloatArray) -> Groups:
    """Groups of the bins that have rows."""
    used = counts > 0
    return Groups(np.flatnonzero(used).astype(np.float64), counts[used].astype(np.int64), sums[used])


def areas(groups: Groups, coverages: FloatArray, max_discard: float) -> Areas:
    """Areas of a ranking, as defined in `facereject.metrics`, and its risk at some coverages."""
    ranks = np.concatenate([[0], np.cumsum(groups.counts)])
    losses = np.concatenate([[0.0], np.cumsum(groups.sums)])
    n = int(ranks[-1])
    total = parts.sum_of_risks(groups, _NOTHING)
    # tied losses count as their mean, so that the sum of losses is linear within a group
    kept = np.maximum(np.ceil(coverages * n - 1e-9), 1.0)
    risks = np.interp(kept, ranks, losses) / kept
    discarded = max_discard * n
    whole = min(int(discarded), n)
    first = n - whole
    edc = total - parts.sum_of_risks(_up_to(groups, first), _NOTHING)
    if first:
        edc += (discarded - whole) * float(np.interp(first, ranks, losses)) / first
    augrc = parts.sum_of_generalized_risks(groups, _NOTHING) / n**2
    return Areas(np.asarray(total / n), np.asarray(augrc), np.asarray(edc / discarded), risks)


def replicates(
    ranking: ScoreRanking, draws: NDArray[np.int64], coverages: FloatArray, discard: float
) -> Areas:
    """Areas of bootstrap replicates: ``draws`` (replicates, blocks) says how often each block was drawn."""
    counts, sums = draws @ ranking.block_counts, draws @ ranking.block_sums
    drawn = [areas(as_groups(*pair), coverages, discard) for pair in zip(counts, sums, strict=True)]
    exact, binned = areas(ranking.groups, coverages, discard), areas(ranking.binned, coverages, discard)
    return Areas(
        *(
            np.array([getattr(each, name) for each in drawn]) + getattr(exact, name) - getattr(binned, name)
            for name in Areas._fields
        )
    )


def draw_blocks(n_blocks: int, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """How often each block is in each of ``number`` replicates, shape (number, n_blocks)."""
    return rng.multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), size=number)


def assign_blocks(n_rows: int, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Blocks of some rows of ``n`` in all; at most `BLOCKS` rows must be asked for at once."""
    # at random also here: even and odd rows of a file may differ
    return rng.permutation(n)[:n_rows] if n <= BLOCKS else rng.integers(BLOCKS, size=n_rows)


def threshold_at(groups: Groups, coverage: float) -> tuple[float, int, float]:
    """Threshold that accepts at least this share of the rows, how many that is, and their mean loss."""
    ranks = np.cumsum(groups.counts)
    place = int(np.searchsorted(ranks, coverage * ranks[-1] - 1e-9))
    kept = int(ranks[place])
    return float(groups.values[place]), kept, float(groups.sums[: place + 1].sum() / kept)


def _up_to(groups: Groups, rank: int) -> Groups:
    """The first ``rank`` rows of a ranking; a group that is cut keeps its mean."""
    ends = np.cumsum(groups.counts)
    place = int(np.searchsorted(ends, rank))
    counts = np.append(groups.counts[:place], rank - (ends[place - 1] if place else 0))
    sums = np.append(groups.sums[:place], groups.sums[place] / groups.counts[place] * counts[-1])
    return Groups(groups.values[: place + 1], counts, sums)


def rank_all(
    losses: FloatArray, uncertainty: Sequence[FloatArray], rng: np.random.Generator
) -> list[ScoreRanking]:
    """Rankings of rows in memory by several uncertainties."""
    n = len(losses)
    blocks = assign_blocks(n, n, rng)
    rankings = []
    for values in uncertainty:
        sample = values if n <= SAMPLE else rng.choice(values, SAMPLE, replace=False)
        rankings.append(ScoreRanking(sample, min(n, BLOCKS)))
        rankings[-1].add(losses, values, blocks)
    return rankings
