"""Training a calibrated rejector from annotated photos and a landmark predictor."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject.faces.datasets import FaceSample, photo_digests
from facereject.faces.detectors.base import Detector, check_detector, judging_detector
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.features.context import FaceContext
from facereject.faces.features.hog import LandmarkHOG
from facereject.faces.features.recipe import LandmarkStability, Stability
from facereject.faces.landmarks import Landmarks, check_predictor, make_landmarks
from facereject.faces.models.calibration import Calibration, Target
from facereject.faces.models.domain import Domain
from facereject.faces.models.score_models import ScoreModel
from facereject.faces.models.scores import SCORES, score_kind
from facereject.faces.rejector import FaceRejector
from facereject.faces.training._from_files import (
    can_be_adapted,
    file_extractor,
    learn_from_table,
)
from facereject.faces.training.annotation import Photos, annotate_by_predictor, learn_points, points_of
from facereject.faces.training.details import background_features, fit_details
from facereject.faces.training.extract import Extractor, FaceTable, extract
from facereject.faces.training.fit_compact import (
    Background,
    CompactFit,
    LinearFit,
    fit_compact,
    linear_on_clean,
)
from facereject.faces.training.fit_score import (
    CrossValidation,
    calibration_rows,
    cross_fit,
    fit_score,
    photo_folds,
    ranked,
)
from facereject.faces.training.options import Training
from facereject.parallel import RunProgress
from facereject.scores._lightgbm import import_lightgbm
from facereject.selection import InfeasibleTargetError

_MAX_DIGESTS = 20_000

# accepted share of the calibration faces, half of them degraded, where errors have no unit to aim at
_RELATIVE_COVERAGE = 0.75

#: degrees of tilt above which landmarks are placed on an upright copy of the face
UPRIGHT_BEYOND = 8.0


def train_face_rejector(
    samples: Sequence[FaceSample] | None = None,
    score: str = "auto",
    *,
    unlabelled: Photos | None = None,
    base: FaceRejector | str | None = "default",
    tool: str = "",
    predictor: Landmarks | None = None,
    detector: Detector | None = None,
    threshold: float | None = None,
    target: Target | None = None,
    training: Training | None = None,
    workers: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Callable[[RunProgress], None] | None = None,
) -> FaceRejector:
    """Train a rejector for any landmark predictor.

    All photos, clean and degraded, become rows of features and losses. Regularisation is chosen by
    cross-validation over photos; the uncertainties of the faces left out in turn calibrate
    ``expected_error`` and the threshold; the score itself is fitted once more to all rows.

    Parameters
    ----------
    samples : sequence of FaceSample or None
        Annotated faces, such as a FaceDataset, with the points of the predictor in its order. If the
        predictor was trained on them, their clean versions flatter it. If they have ``predicted`` landmarks
        (`facereject.annotated_faces`), nothing is detected, predicted or degraded, and the rejector is for
        landmarks in files: see `facereject.faces.training._from_files`.
    score : str
        A name of `facereject.faces.models.scores`: "sele", linear SELE score; "reg", linear regression of the
        loss; "compact", trees on compact features, and "boosted", trees on the HOG values, both by the SELE
        risk. "auto" is "sele" or "compact", whichever ranks better by cross-validation. All but "sele" and
        "reg" need LightGBM.
    unlabelled : folder, sequence of image files, or None
        Photos to learn from in place of ``samples``: see `facereject.faces.training.annotation`. The
        expected errors of the rejector then have no unit and are not told, until
        `FaceRejector.with_unit` or `with_calibration` gives them one; its target is a coverage.
    base : FaceRejector, str or None
        The model that is adapted to predicted landmarks with its points; None learns from nothing.
    tool : str
        What placed the predicted landmarks; kept in the model.
    predictor : callable or None
        (image, box) -> (n, 2), see `facereject.faces.landmarks`. None is dlib's published model.
    detector : Detector or None
        Finds the faces to train on, see `facereject.faces.detectors`. None is dlib's with threshold -1, so
        that hard faces are among them.
    threshold : float or None
        Detector threshold of the finished rejector, whose calibration uses the faces that reach it. None
        is the detector's default: 0 for dlib's, as detections at -1 are mostly background. Detectors without
        a threshold are left unchanged.
    target : Target or None
        None is `max_error` = the mean error of clean photos: accept as long as the accepted faces,
        degraded ones among them, are on average as good as ordinary photos; half of the faces if a poor
        score cannot reach that.
    training : Training or None
        Features, degraded copies, regularisation and folds; None is ``Training()``.
    workers, cache
        As in `facereject.faces.training.extract.extract`.
    progress : callable or None
        Gets a `RunProgress` of the faces, then of the scores fitted.

    Returns
    -------
    FaceRejector

    See Also
    --------
    FaceRejector.save : Write it to a file.
    evaluate_face_rejector : Evaluate it on other photos.

    Examples
    --------
    >>> from facereject.faces import FaceDataset, train_face_rejector
    >>> train_face_rejector(FaceDataset.load("annotated")).save("mine.safetensors")  # doctest: +SKIP
    """
    if (samples is None) == (unlabelled is None):
        raise ValueError("give either samples or unlabelled photos")
    training = training or Training()
    common: dict[str, Any] = {"workers": workers, "cache": cache, "progress": progress}
    if samples is not None and len(samples) and samples[0].predicted is not None:
        base = FaceRejector.pretrained(base) if isinstance(base, str) else base
        rejector = _from_files(samples, score, base, tool, target, training, common)
    else:
        score = checked_score(score, training.runs)
        predictor = make_landmarks("dlib") if predictor is None else check_predictor(predictor)
        detector = FaceDetector.for_training() if detector is None else check_detector(detector)
        lenient, _ = judging_detector(detector, threshold)
        if unlabelled is not None:
            # annotated by the predictor, where the finished rejector would find a face
            samples = annotate_by_predictor(unlabelled, predictor, lenient, normalizer=training.normalizer)
            target = target or Target("coverage", _RELATIVE_COVERAGE)
        assert samples is not None
        photos = [sample.photo for sample in samples]
        # said before hours of work on the faces
        photo_folds(photos, training.folds, training.seed)
        points = learn_points(
            samples,
            predictor,
            detector,
            normalizer=training.normalizer,
            feature_points=training.feature_points,
        )
        extractor = Extractor(
            predictor,
            detector,
            replace(training.hog or LandmarkHOG(), points=points),
            None if training.runs is None else replace(training.runs, points=points),
            training.degradations,
            training.seed,
            FaceContext(points, detector=points.is_300w) if score in ("auto", "compact") else None,
            None if getattr(predictor, "levels", False) is True else UPRIGHT_BEYOND,
        )
        rejector = train_on_table(
            extract(samples, extractor, **common),
            photos,
            extractor,
            score,
            training,
            threshold=threshold,
            target=target,
            progress=progress,
            background=None if extractor.context is None else background_features(samples, extractor),
            clean_errors=unlabelled is None,
        )
        if unlabelled is not None:
            rejector.info["relative"] = True
    # sorted digests are in random order: the first ones are a sample, large enough to notice an overlap
    rejector.info["photo_digests"] = photo_digests(samples)[:_MAX_DIGESTS]
    rejector.info["entries_left_out"] = len(getattr(samples, "problems", ()))
    return rejector


def _from_files(
    samples: Sequence[FaceSample],
    score: str,
    base: FaceRejector | None,
    tool: str,
    target: Target | None,
    training: Training,
    common: dict[str, Any],
) -> FaceRejector:
    """A rejector for predicted landmarks: a shipped model adapted to them, or one learned from nothing."""
    photos = [sample.photo for sample in samples]
    photo_folds(photos, training.folds, training.seed)
    points = points_of(
        samples, training.normalizer, training.feature_points, lambda: [sample.box for sample in samples]
    )
    if score == "auto":
        base = base if can_be_adapted(base, points) else None
        extractor = file_extractor(
            points,
            tool,
            base,
            training.hog,
            training.seed,
            confidence=all(np.isfinite(sample.confidence) for sample in samples),
            disagreement=samples[0].others is not None,
        )
        folds = training.folds if base is None else 5
        table = extract(samples, extractor, **common)
        rejector = learn_from_table(table, photos, extractor, base, folds, target, common["progress"])
    else:
        score = checked_score(score, None)
        extractor = file_extractor(points, tool, None, training.hog, training.seed)
        if score != "compact":
            extractor = replace(extractor, context=None)
        table = extract(samples, extractor, **common)
        target = target or Target("coverage", _RELATIVE_COVERAGE)
        rejector = train_on_table(
            table, photos, extractor, score, training, target=target, progress=common["progress"]
        )
    rejector.info["tool"] = tool
    return rejector


def train_on_table(
    table: FaceTable,
    photos: Sequence[str],
    extractor: Extractor,
    score: str = "sele",
    training: Training | None = None,
    *,
    threshold: float | None = None,
    target: Target | None = None,
    progress: Callable[[RunProgress], None] | None = None,
    background: Background | None = None,
    clean_errors: bool = True,
    calibrated_on: NDArray[np.int64] | None = None,
) -> FaceRejector:
    """Train on a table that was extracted before.

    Parameters
    ----------
    table : FaceTable
    photos : sequence of str
        The photo of every sample.
    extractor : Extractor
        What made the table; its seed is that of the folds.
    score, threshold, target, progress
        As in `train_face_rejector`.
    training : Training or None
        Its clip, alphas and folds count.
    background : Background or None
        Boxes without a face, see `background_features`.
    clean_errors : bool, default=True
        Whether the errors on clean photos are those of the predictor. If it annotated them itself, they
        are not, and nothing is learned from clean photos alone.
    calibrated_on : ndarray of int or None
        Rows that calibrate the rejector, ascending; None is `calibration_rows`.
    """
    # plain, as the model file needs it
    seed = int(extractor.random_state)
    training = replace(training or Training(), seed=seed)
    names = np.asarray(photos, dtype=np.str_)[table.sample]
    fold = photo_folds(names, training.folds, seed)
    steps = _Steps(progress)
    compact = None
    if score in ("auto", "compact"):
        fits, compact = _compact_or_linear(
            table, names, fold, extractor, score, training, steps, clean_errors, background
        )
    else:
        fits = _regularised(_without_context(table, extractor), fold, score, training, steps)
    best = max(fits, key=lambda fit: fit.merit) if compact is None else fits[-1]
    detector, least = judging_detector(extractor.detector, threshold)
    rows = calibration_rows(table, seed) if calibrated_on is None else calibrated_on
    rows = rows[table.detector_scores[rows] >= least]
    if not len(rows):
        raise ValueError(f"threshold: no face reaches a detector score of {least:g}")
    calibration = Calibration(losses=table.losses[rows], uncertainty=best.uncertainty[rows])
    if target is None:
        clean = rows[table.clean[rows]]
        target = _default_target(calibration, float(table.losses[clean if len(clean) else rows].mean()))
    more: dict[str, Any] = {}
    final: ScoreModel
    if compact is None:
        final = fit_score(_without_context(table, extractor), best.score, best.alpha, training.clip)
    else:
        limit = calibration.select(target).threshold_
        details = fit_details(table, fold, extractor, compact, rows, limit, background)
        domain = Domain.sampled(compact.model.columns, compact.columns[rows], table.clean[rows], seed)
        final, more = replace(details.model, domain=domain), details.info
        calibration = Calibration(calibration.losses, calibration.uncertainty, details.regions)
    steps.done(1)
    return FaceRejector(
        final,
        calibration,
        target,
        hog=extractor.hog,
        stability=extractor.stability,
        context=None if compact is None else extractor.context,
        correction=extractor.correction,
        detector=detector,
        predictor=extractor.predictor,
        upright_beyond=extractor.upright_beyond,
        info={
            "score": best.score,
            "faces": len(photos),
            "photographs": len(set(photos)),
            "rows": len(table),
            "missed": {"clean": int(table.missed[0]), "degraded": int(table.missed[1])},
            "without_landmarks": {"clean": int(table.failed[0]), "degraded": int(table.failed[1])},
            "unreadable": len(table.problems),
            "degradations": extractor.degradations,
            "clip": training.clip,
            "folds": training.folds,
            "random_state": seed,
            "alpha": best.alpha,
            "cross_validation": [fit.record for fit in fits],
            "aurc": best.areas,
            **more,
        },
    )


def checked_score(score: str, stability: Stability | None) -> str:
    """The name of a score that can be fitted here; ValueError if it is unknown or not for this stability."""
    six_boxes = isinstance(stability, LandmarkStability)
    if score == "auto" and six_boxes:
        return "sele"
    if score != "auto" and score not in SCORES:
        raise ValueError(f"score must be one of auto, {', '.join(SCORES)}; got {score!r}")
    if score == "compact" and six_boxes:
        raise ValueError("stability must be MirroredRuns or None for the score 'compact'")
    if score == "auto" or SCORES[score].trees:
        # said before hours of work on the faces
        import_lightgbm()
    return score


class _Steps:
    """Tells how many scores have been fitted, of how many."""

    def __init__(self, progress: Callable[[RunProgress], None] | None) -> None:
        self._progress, self._done, self.total = progress, 0, 1

    def done(self, n: int) -> None:
        self._done += n
        if self._progress is not None:
            self._progress(RunProgress(self._done, self.total, "scores fitted"))


def _without_context(table: FaceTable, extractor: Extractor) -> FaceTable:
    """The table as a score on HOG and stability values takes it."""
    width = replace(extractor.features, context=None).n_features
    if table.features.shape[1] == width:
        return table
    return replace(table, features=np.ascontiguousarray(table.features[:, :width]))


def _regularised(
    table: FaceTable, fold: NDArray[np.int64], score: str, training: Training, steps: _Steps
) -> list[CrossValidation]:
    """One cross-validation for every regularisation, or one alone where there is nothing to choose."""
    candidates: list[Any] = list(training.alphas) if score_kind(score).regularised else [None]
    if not candidates:
        raise ValueError("alphas must not be empty")
    steps.total += len(candidates) * training.folds
    fits = []
    for alpha in candidates:
        fits.append(cross_fit(table, fold, score, alpha, training.clip))
        steps.done(training.folds)
    return fits


def _compact_or_linear(
    table: FaceTable,
    names: NDArray[np.str_],
    fold: NDArray[np.int64],
    extractor: Extractor,
    score: str,
    training: Training,
    steps: _Steps,
    clean_errors: bool,
    background: Background | None,
) -> tuple[list[CrossValidation], CompactFit | None]:
    """Cross-validations, and the compact score if it was asked for or is the best; then it is the last."""
    folds, clip = training.folds, training.clip
    steps.total += folds + 1
    hog_only = _without_context(table, replace(extractor, stability=None))
    fits = _regularised(hog_only, fold, "sele", training, steps)
    base = max(fits, key=lambda fit: fit.merit)
    clean = linear_on_clean(hog_only, fold, base.alpha, clip) if clean_errors else None
    plain = LinearFit(fit_score(hog_only, "sele", base.alpha, clip), base.uncertainty)
    fitted = fit_compact(table, extractor.features, fold, names, plain, clip, clean, background)
    steps.done(folds + 1)
    compact = ranked(table, fold, fitted.uncertainty, "compact", base.alpha)
    if score == "auto":
        if extractor.stability is not None:
            fits = _regularised(_without_context(table, extractor), fold, "sele", training, steps)
        if compact.merit <= max(fit.merit for fit in fits):
            return fits, None
    return [*fits, compact], fitted


def _default_target(calibration: Calibration, clean_error: float) -> Target:
    target = Target("max_error", clean_error)
    try:
        calibration.select(target)
    except InfeasibleTargetError:
        return Target("coverage", 0.5)
    return target
