"""facereject tells you which predictions to trust: learned uncertainty scores and reject options.

The names below are what most users need; everything else is in the modules they come from. They are imported
on first use, so that ``import facereject`` loads neither dlib nor scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

__all__ = [
    "BoostedSELEScore",
    "BoundedCoverage",
    "BoundedImprovement",
    "CostBased",
    "FaceRejector",
    "SELEScoreCV",
    "SelectivePredictor",
    "__version__",
    "assess_files",
    "aurc",
    "guaranteed_risk",
    "judged_video",
    "risk_coverage_curve",
    "score_files",
    "score_table",
]
_HOME = {
    "BoostedSELEScore": "scores",
    "BoundedCoverage": "selection",
    "BoundedImprovement": "selection",
    "CostBased": "selection",
    "FaceRejector": "faces",
    "SELEScoreCV": "scores",
    "SelectivePredictor": "selective",
    "assess_files": "pipeline",
    "aurc": "metrics",
    "guaranteed_risk": "selection",
    "judged_video": "tracking",
    "risk_coverage_curve": "metrics",
    "score_files": "pipeline",
    "score_table": "pipeline",
}

if TYPE_CHECKING:
    from facereject.faces import FaceRejector
    from facereject.metrics import aurc, risk_coverage_curve
    from facereject.pipeline import assess_files, score_files, score_table
    from facereject.scores import BoostedSELEScore, SELEScoreCV
    from facereject.selection import BoundedCoverage, BoundedImprovement, CostBased, guaranteed_risk
    from facereject.selective import SelectivePredictor
    from facereject.tracking import judged_video


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"facereject.{_HOME[name]}"), name)
    raise AttributeError(f"module 'facereject' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
