"""Training a rejector: annotated photographs and a predictor in, a calibrated rejector out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject.faces.datasets import FaceSample, photo_digests
from facereject.faces.detectors.base import Detector, check_detector, judging_detector
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.features.hog import LandmarkHOG
from facereject.faces.features.stability import LandmarkStability
from facereject.faces.landmarks import Landmarks, check_predictor, make_landmarks
from facereject.faces.models.calibration import Calibration, Target
from facereject.faces.models.ranking import gap_closed
from facereject.faces.models.scores import score_kind
from facereject.faces.rejector import FaceRejector
from facereject.faces.training.extract import Extractor, extract
from facereject.faces.training.fit import fit_score
from facereject.faces.training.points import learn_points
from facereject.faces.training.table import FaceTable
from facereject.metrics import aurc
from facereject.selection import InfeasibleTargetError

FloatArray = NDArray[np.float64]

_MAX_DIGESTS = 20_000

#: regularisation tried for linear scores; see `facereject.scores` for its meaning
ALPHAS = (0.1, 0.3, 1.0, 3.0, 10.0)


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Out-of-fold uncertainties of one regularisation, and how well they rank; None where nothing was left.

    ``clean`` and ``degraded`` are shares of the gap that is closed; ``areas`` has, for either, the AuRC by
    the detector's score, by the uncertainty and by the error itself, in percent. All are means over the
    folds.
    """

    alpha: float | None
    uncertainty: FloatArray
    clean: float | None
    degraded: float | None
    areas: dict[str, dict[str, float]]

    @property
    def merit(self) -> float:
        """What regularisation is chosen by: the mean over the groups there are."""
        shares = [share for share in (self.clean, self.degraded) if share is not None]
        return float(np.mean(shares)) if shares else 0.0


def train_face_rejector(
    samples: Sequence[FaceSample],
    score: str = "sele",
    *,
    predictor: Landmarks | None = None,
    detector: Detector | None = None,
    threshold: float | None = None,
    hog: LandmarkHOG | None = None,
    stability: LandmarkStability | None = None,
    normalizer: str | None = None,
    feature_points: Sequence[int] | None = None,
    degradations: int = 8,
    clip: float | None = 10.0,
    alphas: Sequence[float] = ALPHAS,
    folds: int = 4,
    target: Target | None = None,
    random_state: int = 0,
    workers: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    fitting: Callable[[int, int], None] | None = None,
) -> FaceRejector:
    """Train a rejector for any landmark predictor.

    All photographs, clean and degraded, become rows of features and losses. Regularisation is chosen by
    cross-validation over photographs; the uncertainties of the faces left out in turn calibrate
    ``expected_error`` and the threshold; the score itself is fitted once more to all rows.

    Parameters
    ----------
    samples : sequence of FaceSample
        Annotated faces, such as a FaceDataset, with the points of the predictor in its order. If the
        predictor was trained on them, their clean versions flatter it.
    score : str
        A name of `facereject.faces.models.scores`: "sele", linear SELE score; "reg", linear regression of the
        loss; "boosted", boosted trees on the SELE risk (needs lightgbm).
    predictor : callable or None
        (image, box) -> (n, 2), see `facereject.faces.landmarks`. None is dlib's published model.
    detector : Detector or None
        Finds the faces to train on, see `facereject.faces.detectors`. None is dlib's with threshold -1, so
        that hard faces are among them.
    threshold : float or None
        Detector threshold of the finished rejector, whose calibration uses the faces that reach it. None
        leaves it to the detector: for dlib's it is 0, as at -1 it would also look at what is mostly
        background; one without such an option stays as it is.
    hog : LandmarkHOG or None
        Sizes of the features; its points are replaced by those of the predictor.
    stability : LandmarkStability or None
        Adds one feature per point, for six more predictions per face.
    normalizer : str or None
        Rule by which errors are normalised, see `facereject.losses.landmark_scale`. None is what the
        predictor declares, else "outer_eyes" for 68 points and "box" for others.
    feature_points : sequence of int or None
        Points that features are computed at, for dense meshes. None is what the predictor declares, else
        all of them.
    degradations : int
        Degraded versions of every photograph.
    clip : float or None
        Losses above, in percent, count as this much in training: how wrong a lost face is does not matter,
        and it would drown the rest. Calibration and evaluation use the losses as they are.
    alphas : sequence of float
        Regularisation tried (not for "boosted").
    folds : int
        Number of groups of photographs for cross-validation.
    target : Target or None
        None is `max_error` = the mean error of clean photographs: accept as long as the accepted faces,
        degraded ones among them, are on average as good as ordinary photographs; half of the faces if a poor
        score cannot reach that.
    random_state : int
        Seed of degradations and folds.
    workers, cache, progress
        As in `facereject.faces.training.extract.extract`.
    fitting : callable or None
        Called with (scores fitted, of how many), after the faces are done.
    """
    score_kind(score)
    photos = [sample.photo for sample in samples]
    # said before hours of work on the faces
    photo_folds(photos, folds, random_state)
    predictor = make_landmarks("dlib") if predictor is None else check_predictor(predictor)
    detector = FaceDetector.for_training() if detector is None else check_detector(detector)
    judging_detector(detector, threshold)
    points = learn_points(samples, predictor, detector, normalizer=normalizer, feature_points=feature_points)
    extractor = Extractor(
        predictor,
        detector,
        replace(hog or LandmarkHOG(), points=points),
        None if stability is None else replace(stability, points=points),
        degradations,
        random_state,
    )
    table = extract(samples, extractor, workers=workers, cache=cache, progress=progress)
    rejector = train_on_table(
        table,
        photos,
        extractor,
        score,
        threshold=threshold,
        clip=clip,
        alphas=alphas,
        folds=folds,
        target=target,
        fitting=fitting,
    )
    # sorted digests are in random order; so many always find an overlap, and the model file stays small
    rejector.info["photo_digests"] = photo_digests(samples)[:_MAX_DIGESTS]
    rejector.info["entries_left_out"] = len(getattr(samples, "problems", ()))
    return rejector


def train_on_table(
    table: FaceTable,
    photos: Sequence[str],
    extractor: Extractor,
    score: str = "sele",
    *,
    threshold: float | None = None,
    clip: float | None = 10.0,
    alphas: Sequence[float] = ALPHAS,
    folds: int = 4,
    target: Target | None = None,
    fitting: Callable[[int, int], None] | None = None,
) -> FaceRejector:
    """Train on a table that was extracted before; ``photos`` names the photograph of every sample."""
    # plain, as the model file needs it
    seed = int(extractor.random_state)
    candidates: list[Any] = list(alphas) if score_kind(score).regularised else [None]
    if not candidates:
        raise ValueError("alphas must not be empty")
    fits = []
    for alpha in candidates:
        fits.append(cross_fit(table, photos, score, alpha, clip=clip, folds=folds, random_state=seed))
        if fitting is not None:
            fitting(len(fits) * folds, len(candidates) * folds + 1)
    best = max(fits, key=lambda fit: fit.merit)
    detector, least = judging_detector(extractor.detector, threshold)
    rows = calibration_rows(table, seed)
    rows = rows[table.detector_scores[rows] >= least]
    if not len(rows):
        raise ValueError(f"threshold: no face reaches a detector score of {least:g}")
    calibration = Calibration(losses=table.losses[rows], uncertainty=best.uncertainty[rows])
    if target is None:
        clean = rows[table.clean[rows]]
        target = _default_target(calibration, float(table.losses[clean if len(clean) else rows].mean()))
    final = fit_score(table, score, best.alpha, clip)
    if fitting is not None:
        fitting(len(candidates) * folds + 1, len(candidates) * folds + 1)
    return FaceRejector(
        final,
        calibration,
        target,
        hog=extractor.hog,
        stability=extractor.stability,
        detector=detector,
        predictor=extractor.predictor,
        info={
            "score": score,
            "faces": len(photos),
            "photographs": len(set(photos)),
            "rows": len(table),
            "missed": {"clean": int(table.missed[0]), "degraded": int(table.missed[1])},
            "without_landmarks": {"clean": int(table.failed[0]), "degraded": int(table.failed[1])},
            "unreadable": len(table.problems),
            "degradations": extractor.degradations,
            "clip": clip,
            "folds": folds,
            "random_state": seed,
            "alpha": best.alpha,
            "cross_validation": [
                {"alpha": fit.alpha, "gap_closed_clean": fit.clean, "gap_closed_degraded": fit.degraded}
                for fit in fits
            ],
            "aurc": best.areas,
        },
    )


def cross_fit(
    table: FaceTable,
    photos: Sequence[str],
    score: str,
    alpha: float | None,
    *,
    clip: float | None,
    folds: int,
    random_state: int,
) -> CrossValidation:
    """Uncertainty of every row by a score that has not seen its photograph.

    The share of the gap is computed fold by fold, as scores of different fits need not have one scale, and
    averaged.
    """
    fold = photo_folds([photos[i] for i in table.sample], folds, random_state)
    uncertainty = np.full(len(table), np.nan)
    gaps: dict[bool, list[float]] = {True: [], False: []}
    areas: dict[bool, list[tuple[float, float, float]]] = {True: [], False: []}
    for k in range(folds):
        held_out = fold == k
        model = fit_score(table, score, alpha, clip, rows=~held_out)
        uncertainty[held_out] = model(table.features[held_out])
        for clean, values in gaps.items():
            rows = held_out & (table.clean == clean)
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
    return CrossValidation(alpha, uncertainty, clean_gap, degraded_gap, means)


def photo_folds(photos: Sequence[str], folds: int, random_state: int) -> NDArray[np.int64]:
    """A fold number for every row, equal for rows of one photograph; folds have equally many photographs."""
    names, index = np.unique(np.asarray(photos, dtype=np.str_), return_inverse=True)
    if not 2 <= folds <= len(names):
        raise ValueError(
            f"folds must be 2 to the number of photographs ({len(names)}), got {folds}; "
            "faces with the same FaceSample.photo count as one photograph"
        )
    return np.random.default_rng(random_state).permutation(np.arange(len(names)) % folds)[index]


def calibration_rows(table: FaceTable, random_state: int) -> NDArray[np.int64]:
    """Every clean row and one random degraded row per face: the mix that calibration stands for."""
    rng = np.random.default_rng(random_state)
    chosen = [np.flatnonzero(table.clean)]
    degraded = rng.permutation(np.flatnonzero(~table.clean))
    if len(degraded):
        chosen.append(degraded[np.unique(table.sample[degraded], return_index=True)[1]])
    return np.sort(np.concatenate(chosen))


def _default_target(calibration: Calibration, clean_error: float) -> Target:
    target = Target("max_error", clean_error)
    try:
        calibration.select(target)
    except InfeasibleTargetError:
        return Target("coverage", 0.5)
    return target
