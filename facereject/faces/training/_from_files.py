"""Training for a tool that is never run: its landmarks and the annotation come from files.

For the 68 points of 300-W a shipped model is adapted: a ridge regression of the log error on the columns that
its trees see, on its score, on the tool's own confidence, and on its disagreement with other tools, if their
landmarks are given. A few hundred faces are enough for that, where a new score needs thousands. For
other points the same regression uses all features: HOG, shape, place, image quality, the tool's confidence if
every face has one, and the disagreement.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from facereject.faces.detectors.from_files import FileDetector
from facereject.faces.features.context import FaceContext
from facereject.faces.features.hog import LandmarkHOG
from facereject.faces.landmarks.from_files import FilePredictor
from facereject.faces.landmarks.point_set import PointSet
from facereject.faces.models.calibration import Calibration, RegionSample, Target
from facereject.faces.models.score_models import (
    AdaptedScoreModel,
    CompactScoreModel,
    LinearScoreModel,
    ScoreModel,
)
from facereject.faces.plugins import definition_of
from facereject.faces.rejector import FaceRejector
from facereject.faces.training.extract import Extractor, FaceTable
from facereject.faces.training.fit_compact import point_errors
from facereject.faces.training.fit_score import photo_folds, ranked
from facereject.parallel import RunProgress

FloatArray = NDArray[np.float64]

# errors above, in percent, count as this much: how wrong a lost face is does not matter
_CLIP = 20.0

# scale of base score, confidence and disagreement among the standardised columns: larger is shrunk less
_TRUST = 5.0

# the same without a base: of shape, place and image quality, and of what tools say, beside many HOG values
_TRUST_CONTEXT, _TRUST_TOLD = 3.0, 20.0

# ridge parameters tried
_ALPHAS = tuple(10.0 ** np.arange(-1, 5, 0.5))


def file_extractor(
    points: PointSet,
    tool: str,
    base: FaceRejector | None,
    hog: LandmarkHOG | None,
    random_state: int,
    *,
    confidence: bool = False,
    disagreement: bool = False,
) -> Extractor:
    """How a face with given landmarks becomes a row of features; with a base always with its confidence."""
    runs = base is not None and base.stability is not None
    predictor = FilePredictor(
        points.n, tool, definition_of(base.predictor) if base is not None and runs else None
    )
    if base is not None and base.context is not None:
        context = dataclasses.replace(base.context, confidence=True, disagreement=disagreement)
        return Extractor(predictor, FileDetector(), base.hog, base.stability, 0, random_state, context)
    hog = dataclasses.replace(hog or LandmarkHOG(), points=points)
    context = FaceContext(points, confidence=confidence, disagreement=disagreement)
    return Extractor(predictor, FileDetector(), hog, None, 0, random_state, context)


def can_be_adapted(base: FaceRejector | None, points: PointSet) -> bool:
    """Whether a model can be adapted to a tool with these points."""
    return (
        base is not None
        and isinstance(base.score, CompactScoreModel)
        and base.points == points
        and base.context is not None
    )


def learn_from_table(
    table: FaceTable,
    photos: Sequence[str],
    extractor: Extractor,
    base: FaceRejector | None = None,
    folds: int = 5,
    target: Target | None = None,
    progress: Callable[[RunProgress], None] | None = None,
) -> FaceRejector:
    """A model for the landmarks of a tool, from a table of them.

    Parameters
    ----------
    table : FaceTable
    photos : sequence of str
        The photo of every sample. Expected errors are calibrated by scores that have not seen it.
    extractor : Extractor
        What made the table, see `file_extractor`.
    base : FaceRejector or None
        The model that is adapted; None uses all features as they are.
    folds, target, progress
        As in `train_face_rejector`.
    """
    fold = photo_folds([photos[i] for i in table.sample], folds, extractor.random_state)
    regions = None
    if base is None:
        name, seen = "ridge", table.features.astype(np.float64)
        trust = np.full(seen.shape[1], _TRUST_CONTEXT)
        trust[: extractor.hog.n_features] = 1
        assert extractor.context is not None
        n_told = extractor.context.confidence + extractor.context.disagreement
        trust[len(trust) - n_told :] = _TRUST_TOLD
        uncertainty, coef, intercept = _out_of_fold(seen, table, fold, trust, progress)
        final: ScoreModel = LinearScoreModel(coef.astype(np.float32), intercept)
    else:
        assert isinstance(base.score, CompactScoreModel)
        confidence = table.features[:, base.score.n_features].astype(np.float64)
        known = confidence[np.isfinite(confidence)]
        parts = {each.name: getattr(base.score, each.name) for each in dataclasses.fields(base.score)}
        adapted = AdaptedScoreModel(**parts, unknown=float(np.median(known)) if len(known) else 0.0)
        name, seen = "adapted", adapted.seen(table.features)
        trust = np.ones(seen.shape[1])
        trust[base.score.columns.n_columns :] = _TRUST
        uncertainty, coef, intercept = _out_of_fold(seen, table, fold, trust, progress)
        adapted = dataclasses.replace(adapted, coef=coef, intercept=intercept)
        if (errors := adapted.point_errors) is not None:
            expected = errors(table.features, adapted.columns(table.features)).errors
            true = point_errors(table, base.points)
            factor = float(true.mean() / max(float(expected.mean()), 1e-9))
            scaled = dataclasses.replace(errors, errors=(errors.errors * factor).astype(np.float32))
            adapted = dataclasses.replace(adapted, point_errors=scaled)
            if base.calibration.regions is not None:
                regions = RegionSample.of_points(factor * expected, true)
        final = adapted
    result = ranked(table, fold, uncertainty, name, None)
    return FaceRejector(
        final,
        Calibration(table.losses, uncertainty, regions),
        target or Target("coverage", 0.75),
        hog=extractor.hog,
        stability=extractor.stability,
        context=extractor.context,
        detector=extractor.detector,
        predictor=extractor.predictor,
        info={
            "score": name,
            # not those the base was calibrated on, with which others are compared
            "own_faces": len(table),
            "faces": len(photos),
            "photographs": len(set(photos)),
            "rows": len(table),
            "unreadable": len(table.problems),
            "degradations": 0,
            "folds": int(fold.max()) + 1,
            "random_state": int(extractor.random_state),
            "cross_validation": [result.record],
            "aurc": result.areas,
        },
    )


def _out_of_fold(
    seen: FloatArray,
    table: FaceTable,
    fold: NDArray[np.int64],
    trust: FloatArray,
    progress: Callable[[RunProgress], None] | None,
) -> tuple[FloatArray, FloatArray, float]:
    """Uncertainties by fits that have not seen the photo; weights and intercept of the fit to all rows."""
    uncertainty, folds = np.empty(len(table)), int(fold.max()) + 1
    for k in range(folds):
        coef, intercept = _ridge(seen[fold != k], table.losses[fold != k], trust)
        uncertainty[fold == k] = seen[fold == k] @ coef + intercept
        if progress is not None:
            progress(RunProgress(k + 1, folds + 1, "scores fitted"))
    coef, intercept = _ridge(seen, table.losses, trust)
    if progress is not None:
        progress(RunProgress(folds + 1, folds + 1, "scores fitted"))
    return uncertainty, coef, intercept


def _ridge(seen: FloatArray, losses: FloatArray, trust: FloatArray) -> tuple[FloatArray, float]:
    """Weights and intercept for the log error; `_ALPHAS` are compared by leaving one face out."""
    from sklearn.linear_model import RidgeCV

    mean, spread = seen.mean(axis=0), seen.std(axis=0)
    scale = np.where(spread > 1e-9, spread, np.inf) / trust
    model = RidgeCV(_ALPHAS).fit((seen - mean) / scale, np.log(np.clip(losses, 1e-3, _CLIP)))
    coef = np.asarray(model.coef_, dtype=np.float64) / scale
    return coef, float(model.intercept_ - coef @ mean)
