"""How many errors lie in their 80 % intervals, by third of the uncertainty."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from facereject._validation import FloatArray
from facereject.faces.models.calibration import Calibration

# bootstrap draws over photographs
_RESAMPLES = 500


class Coverage(NamedTuple):
    """Share of the errors in their intervals, and its 95 % bootstrap interval over photographs."""

    share: float
    low: float
    high: float


def coverage_by_third(
    calibration: Calibration, losses: FloatArray, uncertainty: FloatArray, weights: FloatArray, photo: Any
) -> list[Coverage]:
    """Of each third of the weighted faces, the most certain first, and of all.

    Parameters
    ----------
    calibration : Calibration
        Made from other faces.
    losses, uncertainty, weights : ndarray of shape (n,)
    photo : array-like of shape (n,)
        What is resampled.

    Examples
    --------
    >>> u = np.linspace(0, 1, 400)
    >>> calibration = Calibration(1 + u, u)
    >>> [c.share for c in coverage_by_third(calibration, 1 + u, u, np.ones(400), np.arange(400))]
    [1.0, 1.0, 1.0, 1.0]
    """
    low, high = calibration.error_interval(uncertainty)
    inside = (losses >= low) & (losses <= high)
    rng, (names, member) = np.random.default_rng(0), np.unique(photo, return_inverse=True)
    n = len(names)
    counts = [np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(_RESAMPLES)]
    drawn = [_thirds(uncertainty, inside, weights * times[member]) for times in counts]
    ends = np.quantile(drawn, [0.025, 0.975], axis=0).T.tolist()
    shares = _thirds(uncertainty, inside, weights)
    return [Coverage(share, *pair) for share, pair in zip(shares, ends, strict=True)]


def _thirds(uncertainty: FloatArray, inside: FloatArray, weights: FloatArray) -> list[float]:
    """Weighted share inside, by third of the uncertainty and in all."""
    order = np.argsort(uncertainty, kind="stable")
    weights, inside = weights[order], inside[order]
    place = np.cumsum(weights) / weights.sum()
    parts = [place <= 1 / 3, (place > 1 / 3) & (place <= 2 / 3), place > 2 / 3, place <= 2]
    return [float(np.average(inside[part], weights=weights[part])) for part in parts]
