"""How well an uncertainty ranks faces, between the detector's score and knowing the errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from facereject.metrics import aurc


def gap_closed(losses: ArrayLike, detector_scores: ArrayLike, uncertainty: ArrayLike) -> float:
    """Share of the AuRC gap between the detector's score and the oracle that an uncertainty closes."""
    worst = aurc(losses=losses, uncertainty=-np.asarray(detector_scores))
    best = aurc(losses=losses, uncertainty=losses)
    reached = aurc(losses=losses, uncertainty=uncertainty)
    return (worst - reached) / (worst - best) if worst > best else float("nan")


def usable_share(losses: ArrayLike, uncertainty: ArrayLike, max_error: float, n_missed: int = 0) -> float:
    """Share of all annotated faces that can be accepted, most certain first, at a mean error of at most this.

    It counts finding, placing and ranking together: faces that the detector missed, or that got no landmarks,
    are among all faces.

    Parameters
    ----------
    losses, uncertainty : array-like of shape (n,)
        Of the faces that have landmarks.
    max_error : float
        In the unit of the losses.
    n_missed : int, default=0
        How many other faces there are.

    Examples
    --------
    >>> usable_share([1.0, 2.0, 6.0], [0.1, 0.2, 0.3], max_error=1.5, n_missed=1)
    0.5
    """
    values = np.asarray(losses, dtype=np.float64)
    ranked = values[np.argsort(np.asarray(uncertainty), kind="stable")]
    reached = np.flatnonzero(np.cumsum(ranked) <= max_error * np.arange(1, len(ranked) + 1))
    return float((reached[-1] + 1 if len(reached) else 0) / max(len(ranked) + n_missed, 1))
