"""What a compact score says besides the uncertainty: errors of points, covered points, causes, regions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject.faces.models.calibration import RegionSample
from facereject.faces.models.score_models import CompactScoreModel
from facereject.faces.training.extract import Extractor
from facereject.faces.training.fit_causes import fit_causes, known_causes
from facereject.faces.training.fit_compact import CompactFit, point_errors
from facereject.faces.training.fit_points import PointFit, fit_point_errors
from facereject.faces.training.fit_score import photo_folds
from facereject.faces.training.table import FaceTable

_N_REGION_POINTS = 68


class DetailsFit(NamedTuple):
    """The score with all its parts, the calibration of regions, and figures out of fold for the card."""

    model: CompactScoreModel
    regions: RegionSample | None
    info: dict[str, Any]


def fit_details(
    table: FaceTable,
    photos: Sequence[str],
    extractor: Extractor,
    compact: CompactFit,
    calibration: NDArray[np.int64],
    limit: float,
    folds: int,
    background: tuple[NDArray[np.float32], NDArray[np.int64]] | None,
) -> DetailsFit:
    """Fit what a compact score says besides the uncertainty.

    Parameters
    ----------
    table : FaceTable
    photos : sequence of str
        The photo of every sample.
    extractor : Extractor
    compact : CompactFit
        The score, with its uncertainties and columns out of fold.
    calibration : ndarray of int
        The rows of the table that calibrate the rejector.
    limit : float
        Uncertainty above which faces are rejected: causes are learned from those.
    folds : int
    background : (features, samples) or None
        Boxes without a face.
    """
    seed, points = int(extractor.random_state), extractor.points
    by_sample = photo_folds([photos[i] for i in table.sample], folds, seed)
    errors = point_errors(table, points)
    fitted = fit_point_errors(
        table, errors, compact.model.columns, compact.columns, by_sample, seed, needed=calibration
    )
    regions = None
    if points.n == _N_REGION_POINTS and points.used is None:
        chosen = np.searchsorted(fitted.rows, calibration)
        regions = RegionSample.of_points(fitted.errors[chosen], errors[calibration])
    causes = known_causes(table, points)
    bound = float(np.median(compact.uncertainty)) if math.isinf(limit) else limit
    rows = (causes != "") & (compact.uncertainty > bound)
    columns, names, fold = compact.columns[rows], causes[rows], by_sample[rows]
    if background is not None and len(background[0]):
        fold_of = dict(zip(table.sample.tolist(), by_sample.tolist(), strict=True))
        kept = np.array([int(i) in fold_of for i in background[1]])
        columns = np.concatenate([columns, compact.model.columns(background[0][kept])])
        names = np.concatenate([names, np.full(int(kept.sum()), "no_face_in_box")])
        fold = np.concatenate([fold, [fold_of[int(i)] for i in background[1][kept]]])
    why = fit_causes(columns, names, fold)
    info: dict[str, Any] = {"points": _point_figures(table, errors, fitted, extractor)}
    if why is not None:
        info["causes_right"] = float((why.known == why.found).mean())
    model = replace(compact.model, point_errors=fitted.model, causes=None if why is None else why.model)
    return DetailsFit(model, regions, info)


def _point_figures(
    table: FaceTable, errors: NDArray[np.float64], fitted: PointFit, extractor: Extractor
) -> dict[str, Any]:
    """Out of fold: rank correlation of expected and true errors, their means, and covered points found."""
    from scipy.stats import spearmanr

    used = slice(None) if extractor.points.used is None else list(extractor.points.used)
    truth, covered = errors[fitted.rows][:, used], table.hidden[fitted.rows][:, used]
    clean = table.clean[fitted.rows]
    flagged = fitted.hidden > fitted.model.limit
    figures: dict[str, Any] = {}
    for name, rows in (("clean", clean), ("degraded", ~clean)):
        if rows.any():
            expected, true = fitted.errors[rows].ravel(), truth[rows].ravel()
            varied = np.ptp(expected) > 0 and np.ptp(true) > 0
            figures[name] = {
                "spearman": float(spearmanr(expected, true)[0]) if varied else None,
                "expected": float(fitted.errors[rows].mean()),
                "true": float(truth[rows].mean()),
                "flagged_visible": _share(flagged[rows], ~covered[rows]),
                "flagged_covered": _share(flagged[rows], covered[rows]),
            }
    return figures


def _share(flagged: NDArray[np.bool_], among: NDArray[np.bool_]) -> float | None:
    return float(flagged[among].mean()) if among.any() else None
