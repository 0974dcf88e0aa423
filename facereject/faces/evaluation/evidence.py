"""What is accepted at every threshold and how wrong it is, and whether the expected errors are true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray, check_losses_and_uncertainty
from facereject.faces.models.ranking import gap_closed
from facereject.metrics import risk_coverage_curve

#: a face fails if its error exceeds this many percent; both are in common use
FAILURE_LEVELS = (8.0, 10.0)


# resamples of a bootstrap interval
_RESAMPLES = 300


class CoverageRow(NamedTuple):
    """One threshold: what it accepts and how wrong that is; errors in percent, shares between 0 and 1.

    ``rejected_error`` is NaN where nothing is rejected. ``failures`` has one share per `FAILURE_LEVELS`,
    among the accepted. ``detector_error`` and ``oracle_error`` are the mean errors at the same coverage when
    faces are ranked by the detector's score and by the error itself.
    """

    coverage: float
    n: int
    threshold: float
    error: float
    rejected_error: float
    failures: tuple[float, ...]
    detector_error: float
    oracle_error: float


class ReliabilityGroup(NamedTuple):
    """Faces of similar expected error: the mean expected and the mean true one, with its 95 % interval."""

    n: int
    expected: float
    observed: float
    half_width: float


def coverage_rows(losses: Any, uncertainty: Any, detector_scores: Any) -> list[CoverageRow]:
    """Every threshold there is on the sample, by increasing coverage.

    Where faces share an uncertainty, only the threshold that accepts them all exists.
    """
    losses, uncertainty = check_losses_and_uncertainty(losses, uncertainty)
    curve = risk_coverage_curve(losses, uncertainty)
    detector = risk_coverage_curve(losses, -np.asarray(detector_scores, dtype=np.float64)).risk
    oracle = risk_coverage_curve(losses, losses).risk
    ranked = losses[np.argsort(uncertainty, kind="stable")]
    counts = np.arange(1, len(ranked) + 1)
    total = ranked.sum()
    failed = [np.cumsum(ranked > level) / counts for level in FAILURE_LEVELS]
    last = np.flatnonzero(np.append(curve.threshold[1:] != curve.threshold[:-1], True))
    return [
        CoverageRow(
            float(curve.coverage[k]),
            int(counts[k]),
            float(curve.threshold[k]),
            float(curve.risk[k]),
            float((total - ranked[: k + 1].sum()) / (len(ranked) - k - 1))
            if k + 1 < len(ranked)
            else float("nan"),
            tuple(float(share[k]) for share in failed),
            float(detector[k]),
            float(oracle[k]),
        )
        for k in last
    ]


def at_coverages(rows: Sequence[CoverageRow], coverages: Sequence[float]) -> list[CoverageRow]:
    """The first row that reaches each coverage, each row once."""
    shares = [row.coverage for row in rows]
    # a share such as 0.3 may have been summed to just below itself
    positions = [int(np.searchsorted(shares, coverage - 1e-9)) for coverage in coverages]
    return [rows[k] for k in sorted({min(k, len(rows) - 1) for k in positions})]


def failure_rates(losses: Any) -> tuple[float, ...]:
    """Share of the losses above each of `FAILURE_LEVELS`; NaN for none."""
    losses = np.asarray(losses, dtype=np.float64)
    return tuple(float((losses > level).mean()) if losses.size else float("nan") for level in FAILURE_LEVELS)


def reliability(expected: Any, losses: Any) -> list[ReliabilityGroup]:
    """Expected against true errors in ten groups of equal size, by increasing expected error.

    Small samples get fewer groups, so that each has at least five faces.
    """
    expected, losses = np.asarray(expected, dtype=np.float64), np.asarray(losses, dtype=np.float64)
    order = np.argsort(expected, kind="stable")
    parts = np.array_split(order, max(1, min(10, len(order) // 5)))
    return [
        ReliabilityGroup(
            len(part),
            float(expected[part].mean()),
            float(losses[part].mean()),
            1.96 * float(losses[part].std(ddof=1)) / np.sqrt(len(part)) if len(part) > 1 else float("nan"),
        )
        for part in parts
    ]


def gap_interval(
    losses: FloatArray, detector_scores: FloatArray, uncertainty: FloatArray, photos: NDArray[Any]
) -> tuple[float, float]:
    """95 % bootstrap interval, over photos, of the share of the gap that is closed."""
    _, index = np.unique(np.asarray(photos), return_inverse=True)
    members = np.split(np.argsort(index, kind="stable"), np.cumsum(np.bincount(index))[:-1])
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(_RESAMPLES):
        rows = np.concatenate([members[k] for k in rng.integers(len(members), size=len(members))])
        shares.append(gap_closed(losses[rows], detector_scores[rows], uncertainty[rows]))
    found = np.array(shares)[np.isfinite(shares)]
    if not len(found):
        return float("nan"), float("nan")
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)
