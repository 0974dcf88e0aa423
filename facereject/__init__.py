"""facereject tells you which predictions to trust: learned uncertainty scores and reject options.

The names below are what most users need; everything else is in the modules they come from. They are imported
on first use, so that ``import facereject`` loads neither dlib nor scikit-learn.
"""

# C part of `signal`, which takes milliseconds to import
import _signal  # type: ignore[import-not-found]
import os
import sys


def _exit_on_signals() -> None:
    """From now on, Ctrl-C and SIGTERM end the process with a word and their exit code."""
    for number in (_signal.SIGINT, _signal.SIGTERM):
        # a command in the background ignores Ctrl-C
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, _exit)


def _exit(number: int, frame: object) -> None:
    try:
        os.write(2, b"Interrupted.\n")
    finally:
        os._exit(128 + number)


# the process is the command: an interrupt of the imports that follow would end in a traceback
if sys.orig_argv[1:3] == ["-m", "facereject"] or "facereject" in map(os.path.basename, sys.orig_argv[1:2]):
    _exit_on_signals()

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
]
_HOME = {
    "faces": ("FaceRejector",),
    "metrics": ("aurc", "risk_coverage_curve"),
    "pipeline": ("assess_files", "score_files", "score_table", "scored_video"),
    "predictions": ("compare_scores",),
    "scores": ("BoostedSELEScore", "SELEScoreCV"),
    "selection": ("BoundedCoverage", "BoundedImprovement", "CostBased", "guaranteed_risk"),
    "selective": ("SelectivePredictor",),
    "sources": ("annotated_faces",),
}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from facereject.faces import FaceRejector
    from facereject.metrics import aurc, risk_coverage_curve
    from facereject.pipeline import assess_files, score_files
    from facereject.pipeline import score_table as score_table
    from facereject.pipeline import scored_video as scored_video
    from facereject.predictions import compare_scores
    from facereject.scores import BoostedSELEScore, SELEScoreCV
    from facereject.selection import BoundedCoverage, BoundedImprovement, CostBased, guaranteed_risk
    from facereject.selective import SelectivePredictor
    from facereject.sources import annotated_faces


def __getattr__(name: str) -> object:
    from facereject._lazy import lazy_imports

    get, _ = lazy_imports(__name__, _HOME)
    return get(name)


def __dir__() -> list[str]:
    return sorted(__all__)
