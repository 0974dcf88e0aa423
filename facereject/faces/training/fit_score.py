"""Fit a score to a table of faces, by its name, as plain arrays; cross-validate it over photos."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from facereject._trees import TreeScore
from facereject.faces.models.ranking import gap_closed
from facereject.faces.models.score_models import LinearScoreModel, ScoreModel
from facereject.faces.models.scores import score_kind
from facereject.faces.training.extract import FaceTable
from facereject.metrics import aurc

FloatArray = NDArray[np.float64]

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
    # imported when one is fitted: it takes longer than this module
    from facereject.scores import BoostedSELEScore, RegressionScore, SELEScore

    chosen = slice(None) if rows is None else rows
    losses = table.losses[chosen] if clip is None else np.minimum(table.losses[chosen], clip)
    features, name = table.features[chosen], score_kind(score).name
    if name == "boosted":
        threads = os.cpu_count() or 1 if features.size > _LARGE_TABLE else 1
        return TreeScore.from_lightgbm(BoostedSELEScore(n_jobs=threads).fit(features, losses).booster_)
    if name not in ("sele", "reg"):
        raise ValueError(f"score {score!r} is fitted by facereject.faces.training.fit_compact.fit_compact")
    assert alpha is not None
    linear: Any = SELEScore(alpha=alpha, tol=_TOLERANCE) if name == "sele" else RegressionScore(alpha=alpha)
    fitted = linear.fit(features, losses)
    # on features as they are: the standardisation folded in
    coef = fitted.coef_[0] / fitted.scale_
    return LinearScoreModel(coef.astype(np.float32), float(fitted.intercept_[0] - coef @ fitted.mean_))


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Out-of-fold uncertainties of one score and regularisation, and how well they rank.

    ``clean`` and ``degraded`` are shares of the gap that is closed; ``areas`` has, for either, the AuRC by
    the detector's score, by the uncertainty and by the error itself, in percent. All are means over the
    folds; None where nothing was left.
    """

    score: str
    alpha: float | None
    uncertainty: FloatArray
    clean: float | None
    degraded: float | None
    areas: dict[str, dict[str, float]]

    @property
    def record(self) -> dict[str, Any]:
        """What a model file keeps of it."""
        return {
            "score": self.score,
            "alpha": self.alpha,
            "gap_closed_clean": self.clean,
            "gap_closed_degraded": self.degraded,
        }

    @property
    def merit(self) -> float:
        """What regularisation is chosen by: the mean over the groups there are."""
        shares = [share for share in (self.clean, self.degraded) if share is not None]
        return float(np.mean(shares)) if shares else 0.0


def cross_fit(
    table: FaceTable, fold: NDArray[np.int64], score: str, alpha: float | None, clip: float | None
) -> CrossValidation:
    """Uncertainty of every row by a score that has not seen its fold.

    The share of the gap is computed fold by fold, as scores of different fits need not have one scale, and
    averaged.
    """
    uncertainty = np.full(len(table), np.nan)
    for k in np.unique(fold):
        held_out = fold == k
        model = fit_score(table, score, alpha, clip, rows=~held_out)
        uncertainty[held_out] = model(table.features[held_out])
    return ranked(table, fold, uncertainty, score, alpha)


def ranked(
    table: FaceTable, fold: NDArray[np.int64], uncertainty: FloatArray, score: str, alpha: float | None
) -> CrossValidation:
    """How well out-of-fold uncertainties rank, fold by fold."""
    gaps: dict[bool, list[float]] = {True: [], False: []}
    areas: dict[bool, list[tuple[float, float, float]]] = {True: [], False: []}
    for k in np.unique(fold):
        for clean, values in gaps.items():
            rows = (fold == k) & (table.clean == clean)
            if rows.any():
                rankings = (-table.detector_scores[rows], uncertainty[rows], table.losses[rows])
                detector, learned, oracle = (aurc(table.losses[rows], ranking) for ranking in rankings)
                areas[clean].append((detector, learned, oracle))
                share = gap_closed(table.losses[rows], table.detector_scores[rows], uncertainty[rows])
                # NaN: among very few faces the detector may have left no gap to close
                values.extend([share] if np.isfinite(share) else [])
    clean_gap, degraded_gap = (float(np.mean(gaps[c])) if gaps[c] else None for c in (True, False))
    means = {
        name: dict(zip(("detector", "score", "oracle"), np.mean(areas[c], axis=0).tolist(), strict=True))
        for name, c in (("clean", True), ("degraded", False))
        if areas[c]
    }
    return CrossValidation(score, alpha, uncertainty, clean_gap, degraded_gap, means)


def photo_folds(photos: ArrayLike, folds: int, random_state: int) -> NDArray[np.int64]:
    """A fold number for every row, equal for rows of one photo; folds have equally many photos."""
    names, index = np.unique(np.asarray(photos, dtype=np.str_), return_inverse=True)
    if folds < 2:
        raise ValueError(f"folds must be at least 2, got {folds}")
    if len(names) < folds:
        raise ValueError(
            f"usable faces in at least {folds} photos are needed, one for each fold; got {len(names)}. "
            "A few hundred give a useful model"
        )
    return np.random.default_rng(random_state).permutation(np.arange(len(names)) % folds)[index]


def calibration_rows(table: FaceTable, random_state: int) -> NDArray[np.int64]:
    """Every clean row and one random degraded row per face: the mix used for calibration."""
    rng = np.random.default_rng(random_state)
    chosen = [np.flatnonzero(table.clean)]
    degraded = rng.permutation(np.flatnonzero(~table.clean))
    if len(degraded):
        chosen.append(degraded[np.unique(table.sample[degraded], return_index=True)[1]])
    return np.sort(np.concatenate(chosen))
