"""Areas under RC curves of several scores with bootstrap intervals, photograph by photograph, over splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject.metrics import aurc

FloatArray = NDArray[np.float64]

DETECTOR, ORACLE = "detector score", "oracle"


class TestPart(NamedTuple):
    """What one split was tested on.

    Attributes
    ----------
    photograph : ndarray of int
        Number of the photograph of every face, the same in all splits.
    losses : ndarray of float
        Percent of the outer-eye distance.
    scores : dict of str to ndarray
        Per method the uncertainty of every face, or its rank: only the order counts.
    """

    photograph: NDArray[np.int64]
    losses: FloatArray
    scores: dict[str, Any]

    def areas(self, rows: Any = slice(None)) -> dict[str, float]:
        """AuRC of every method and of the oracle."""
        losses = self.losses[rows]
        areas = {method: aurc(losses, score[rows]) for method, score in self.scores.items()}
        return {**areas, ORACLE: aurc(losses, losses)}


class Areas(NamedTuple):
    """AuRC per method, averaged over splits: the value, and the same for every resample."""

    value: dict[str, float]
    resampled: dict[str, FloatArray]

    def interval(self, method: str) -> tuple[float, float]:
        """95 % interval of the AuRC."""
        return _interval(self.resampled[method])

    def difference(self, method: str, other: str) -> tuple[float, float, float]:
        """AuRC of ``method`` minus that of ``other``, with its interval; resamples are paired."""
        drawn = self.resampled[method] - self.resampled[other]
        return (self.value[method] - self.value[other], *_interval(drawn))

    def gap_closed(self, method: str) -> tuple[float, float, float]:
        """Share of the gap between detector score and oracle that is closed, with its interval."""
        return (_share(self.value, method), *_interval(_share(self.resampled, method)))


def bootstrap_areas(parts: Sequence[TestPart], resamples: int, random_state: int = 0) -> Areas:
    """AuRC averaged over splits, with bootstrap over photographs.

    Faces of one photograph are drawn together, and a photograph that is drawn k times counts k times in every
    split that tests it: the averages of different splits, whose test parts overlap, are then as dependent in
    the resamples as they are in truth. Scores are not trained again, so intervals tell what other photographs
    would change, not other training sets; the spread over splits shows some of that.
    """
    rng = np.random.default_rng(random_state)
    size = 1 + max(int(part.photograph.max()) for part in parts)
    present = np.unique(np.concatenate([part.photograph for part in parts]))
    value = _average([part.areas() for part in parts])
    drawn = []
    for _ in range(resamples):
        counts = np.bincount(rng.choice(present, len(present)), minlength=size)
        rows = [np.repeat(np.arange(len(part.losses)), counts[part.photograph]) for part in parts]
        # a tiny test part may have nothing drawn from it
        drawn.append(_average([p.areas(r) for p, r in zip(parts, rows, strict=True) if len(r)]))
    return Areas(value, {method: np.array([areas[method] for areas in drawn]) for method in value})


def _average(areas: Sequence[dict[str, float]]) -> dict[str, float]:
    return {method: float(np.mean([each[method] for each in areas])) for method in areas[0]}


def _share(areas: dict[str, Any], method: str) -> Any:
    gap = np.subtract(areas[DETECTOR], areas[ORACLE])
    # among very few faces the detector may have left no gap to close
    return np.subtract(areas[DETECTOR], areas[method]) / np.where(gap > 0, gap, np.nan)


def _interval(values: FloatArray) -> tuple[float, float]:
    low, high = np.nanquantile(values, [0.025, 0.975])
    return float(low), float(high)
