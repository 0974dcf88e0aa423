"""Fit a score to a table of faces, by its name, and keep it as plain arrays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject.faces.models.score_models import LinearScoreModel, ScoreModel
from facereject.faces.models.scores import score_kind
from facereject.faces.models.trees import TreeScore
from facereject.faces.training.table import FaceTable

# relative distance from the optimum; far below what changes a ranking, so that models are reproducible
_TOLERANCE = 1e-4

# values in a table; threads only pay on larger ones
_LARGE_TABLE = 1_000_000


def fit_score(
    table: FaceTable,
    score: str,
    alpha: float | None,
    clip: float | None,
    rows: NDArray[np.bool_] | None = None,
) -> ScoreModel:
    """Fit a score to some rows of a table (all by default) and return it as plain arrays.

    The score "compact" takes more than this: see `facereject.faces.training.fit_compact`.
    """
    chosen = slice(None) if rows is None else rows
    losses = table.losses[chosen] if clip is None else np.minimum(table.losses[chosen], clip)
    fit = {"sele": _fit_sele, "reg": _fit_regression, "boosted": _fit_boosted}.get(score_kind(score).name)
    if fit is None:
        raise ValueError(f"score {score!r} is fitted by facereject.faces.training.fit_compact.fit_compact")
    return fit(table.features[chosen], losses, alpha)


def _fit_sele(features: NDArray[np.float32], losses: NDArray[np.float64], alpha: Any) -> ScoreModel:
    from facereject.scores import SELEScore

    return _linear(SELEScore(alpha=alpha, tol=_TOLERANCE).fit(features, losses))


def _fit_regression(features: NDArray[np.float32], losses: NDArray[np.float64], alpha: Any) -> ScoreModel:
    from facereject.scores import RegressionScore

    return _linear(RegressionScore(alpha=alpha).fit(features, losses))


def _fit_boosted(features: NDArray[np.float32], losses: NDArray[np.float64], alpha: Any) -> ScoreModel:
    from facereject.scores import BoostedSELEScore

    threads = os.cpu_count() or 1 if features.size > _LARGE_TABLE else 1
    fitted = BoostedSELEScore(n_jobs=threads).fit(features, losses)
    return TreeScore.from_lightgbm(fitted.booster_)


def _linear(fitted: Any) -> LinearScoreModel:
    """Weights of a fitted score on features as they are: its standardisation folded in."""
    coef = fitted.coef_[0] / fitted.scale_
    return LinearScoreModel(coef.astype(np.float32), float(fitted.intercept_[0] - coef @ fitted.mean_))
