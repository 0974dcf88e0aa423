"""Predictions of any model in a file: which score ranks them best, and which of them to accept.

Names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from facereject._lazy import lazy_imports

if TYPE_CHECKING:
    from facereject.predictions.comparison import (
        Calibrated,
        Estimate,
        Kept,
        PairedTest,
        ScoreComparison,
        ScoreResult,
        compare_scores,
    )
    from facereject.predictions.files import PredictionFile, PredictionFileError, open_predictions

_HOME = {
    "Calibrated": "comparison",
    "Estimate": "comparison",
    "Kept": "comparison",
    "PairedTest": "comparison",
    "PredictionFile": "files",
    "PredictionFileError": "files",
    "ScoreComparison": "comparison",
    "ScoreResult": "comparison",
    "compare_scores": "comparison",
    "open_predictions": "files",
}

__all__ = [
    "Calibrated",
    "Estimate",
    "Kept",
    "PairedTest",
    "PredictionFile",
    "PredictionFileError",
    "ScoreComparison",
    "ScoreResult",
    "compare_scores",
    "open_predictions",
]

__getattr__, __dir__ = lazy_imports(__name__, _HOME)
