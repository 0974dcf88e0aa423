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
