"""Predictions of any model in a file: which score ranks them best, and which of them to accept.

Names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from facereject._lazy import lazy_imports

if TYPE_CHECKING:
    from facereject.predictions.columns import ColumnNames
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
    from facereject.predictions.learned import LearnedScore, learn_score
    from facereject.predictions.report import Confusion, PredictionReport, report_predictions
    from facereject.predictions.rule import Decided, Monitored, Rule, apply_rule, find_rule, monitor_rule

_HOME = {
    "Calibrated": "comparison",
    "ColumnNames": "columns",
    "Confusion": "report",
    "Decided": "rule",
    "Estimate": "comparison",
    "Kept": "comparison",
    "LearnedScore": "learned",
    "Monitored": "rule",
    "PairedTest": "comparison",
    "PredictionFile": "files",
    "PredictionFileError": "files",
    "PredictionReport": "report",
    "Rule": "rule",
    "ScoreComparison": "comparison",
    "ScoreResult": "comparison",
    "apply_rule": "rule",
    "compare_scores": "comparison",
    "find_rule": "rule",
    "learn_score": "learned",
    "monitor_rule": "rule",
    "open_predictions": "files",
    "report_predictions": "report",
}

__all__ = [
    "Calibrated",
    "ColumnNames",
    "Confusion",
    "Decided",
    "Estimate",
    "Kept",
    "LearnedScore",
    "Monitored",
    "PairedTest",
    "PredictionFile",
    "PredictionFileError",
    "PredictionReport",
    "Rule",
    "ScoreComparison",
    "ScoreResult",
    "apply_rule",
    "compare_scores",
    "find_rule",
    "learn_score",
    "monitor_rule",
    "open_predictions",
    "report_predictions",
]

__getattr__, __dir__ = lazy_imports(__name__, _HOME)
