"""Fitting a score to a table of faces, by its name, and keeping it as plain arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from facereject.faces.models.score_models import ScoreModel
from facereject.faces.models.scores import score_kind
from facereject.faces.training.table import FaceTable


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
    fit = score_kind(score).fit
    if fit is None:
        raise ValueError(f"score {score!r} is fitted by facereject.faces.training.compact.fit_compact")
    return fit(table.features[chosen], losses, alpha)
