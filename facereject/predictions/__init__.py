"""Predictions of any model in a file: which score ranks them best, and which of them to accept.

Names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from facereject._lazy import lazy_imports

if TYPE_CHECKING:
    from facereject.predictions._columns import ColumnNames
    from facereject.predictions._comparison import compare_scores
    from facereject.predictions._learned import learn_score
    from facereject.predictions._report import report_predictions
    from facereject.predictions._rule import apply_rule, find_rule, monitor_rule

_HOME = {
    "_columns": ("ColumnNames",),
    "_comparison": ("ScoreComparison", "compare_scores"),
    "_files": ("PredictionFileError", "open_predictions"),
    "_learned": ("LearnedScore", "learn_score"),
    "_report": ("PredictionReport", "report_predictions"),
    "_rule": ("Rule", "apply_rule", "find_rule", "monitor_rule"),
}

__all__ = [
    "ColumnNames",
    "apply_rule",
    "compare_scores",
    "find_rule",
    "learn_score",
    "monitor_rule",
    "report_predictions",
]

__getattr__, __dir__ = lazy_imports(__name__, _HOME)
