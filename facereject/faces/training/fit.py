"""Fitting a score to a table of faces, by its name, and keeping it as plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from facereject.faces.models.score_models import LinearScore, ScoreModel, TreeScore
from facereject.faces.training.extract import FaceTable
from facereject.scores import BoostedSELEScore, RegressionScore, SELEScore

FloatArray = NDArray[np.float64]

# relative distance from the optimum; far below what changes a ranking, so that models are reproducible
_TOLERANCE = 1e-4


def check_score(score: str) -> None:
    """Refuse a name that is no score."""
    if score not in _FITS:
        raise ValueError(f"score must be one of {', '.join(_FITS)}; got {score!r}")


def fit_score(
    table: FaceTable,
    score: str,
    alpha: float | None,
    clip: float | None,
    rows: NDArray[np.bool_] | None = None,
) -> ScoreModel:
    """Fit a score to some rows of a table (all by default) and return it as plain arrays."""
    chosen = slice(None) if rows is None else rows
    losses = table.losses[chosen] if clip is None else np.minimum(table.losses[chosen], clip)
    return _FITS[score](table.features[chosen], losses, alpha)


def _linear(fitted: Any) -> LinearScore:
    """Weights of a fitted score on features as they are: its standardisation folded in."""
    coef = fitted.coef_[0] / fitted.scale_
    return LinearScore(coef.astype(np.float32), float(fitted.intercept_[0] - coef @ fitted.mean_))


def _fit_sele(features: NDArray[np.float32], losses: FloatArray, alpha: Any) -> ScoreModel:
    return _linear(SELEScore(alpha=alpha, tol=_TOLERANCE).fit(features, losses))


def _fit_regression(features: NDArray[np.float32], losses: FloatArray, alpha: Any) -> ScoreModel:
    return _linear(RegressionScore(alpha=alpha).fit(features, losses))


def _fit_boosted(features: NDArray[np.float32], losses: FloatArray, alpha: Any) -> ScoreModel:
    # threads only pay on large tables
    threads = joblib.cpu_count() if features.size > 1_000_000 else 1
    fitted = BoostedSELEScore(n_threads=threads).fit(features, losses)
    return TreeScore.from_lightgbm(fitted.booster_)


_FITS: dict[str, Callable[[NDArray[np.float32], FloatArray, Any], ScoreModel]] = {
    "sele": _fit_sele,
    "reg": _fit_regression,
    "boosted": _fit_boosted,
}
