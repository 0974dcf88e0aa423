"""facereject tells you which predictions to trust: learned uncertainty scores and reject options.

The names below are what most users need; everything else is in the modules they come from. They are imported
on first use, so that ``import facereject`` loads neither dlib nor scikit-learn.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from facereject._lazy import lazy_imports

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
    "annotated_faces",
    "assess_files",
    "aurc",
    "compare_scores",
    "guaranteed_risk",
    "risk_coverage_curve",
    "score_files",
    "score_table",
    "scored_video",
]
_HOME = {
    "BoostedSELEScore": "scores",
    "BoundedCoverage": "selection",
    "BoundedImprovement": "selection",
    "CostBased": "selection",
    "FaceRejector": "faces",
    "SELEScoreCV": "scores",
    "SelectivePredictor": "selective",
    "annotated_faces": "sources",
    "assess_files": "pipeline",
    "aurc": "metrics",
    "compare_scores": "predictions",
    "guaranteed_risk": "selection",
    "risk_coverage_curve": "metrics",
    "score_files": "pipeline",
    "score_table": "pipeline",
    "scored_video": "pipeline",
}

if TYPE_CHECKING:
    from facereject.faces import FaceRejector
    from facereject.metrics import aurc, risk_coverage_curve
    from facereject.pipeline import assess_files, score_files, score_table, scored_video
    from facereject.predictions import compare_scores
    from facereject.scores import BoostedSELEScore, SELEScoreCV
    from facereject.selection import BoundedCoverage, BoundedImprovement, CostBased, guaranteed_risk
    from facereject.selective import SelectivePredictor
    from facereject.sources import annotated_faces

__getattr__, __dir__ = lazy_imports(__name__, _HOME)

# silent unless the program that uses the package asks for its messages
logging.getLogger(__name__).addHandler(logging.NullHandler())
