"""Features and losses of every face: by predictors that have not seen it, and by dlib's published model."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject.faces import FaceDataset, FaceDetector, FaceSample, LandmarkHOG, LandmarkPredictor
from facereject.faces.features.context import FaceContext
from facereject.faces.features.recipe import LandmarkStability, MirroredRuns, Stability
from facereject.faces.training.extract import Extractor, FaceTable, extract
from tools.reproduce.landmark_predictors import Training, digest, outside, predictor_files, train
from tools.reproduce.scheduler import Job, run_jobs
from tools.train.photo_copies import group_copies

#: the two predictors whose errors are to be predicted, as results and tables call them
CROSS_FITTED, PUBLISHED = "cross-fitted", "published"

#: what is computed beside HOG and context: six moved boxes, and two mirrored and turned pictures
STABILITIES: tuple[Stability, ...] = (LandmarkStability(), MirroredRuns())

# processor seconds per face, roughly, for the order of the jobs and the time left
_TRAIN_COST, _EXTRACT_COST = 0.08, 0.08


class Faces(NamedTuple):
    """The photographs and what the two predictors make of them.

    Attributes
    ----------
    samples : FaceDataset
    groups : list of str
        Per sample, the name of its photograph; near-identical photographs have one name.
    fold : ndarray of int
        Per sample, the fold it was held out in.
    predictors : list of Path
        Per fold, the predictor trained without it.
    tables : dict of str to FaceTable
        Rows by the cross-fitted predictors and by the published one.
    runs : dict of str to FaceTable
        The same with `MirroredRuns`: landmarks, and so losses, are those of the mean of three runs.
    seconds : dict of str to list of float
        Processor time of "training", per predictor, and of "features", per table or part of one.
    """

    samples: FaceDataset
    groups: list[str]
    fold: NDArray[np.int64]
    predictors: list[Path]
    tables: dict[str, FaceTable]
    runs: dict[str, FaceTable]
    seconds: dict[str, list[float]]


def prepare(samples: FaceDataset, training: Training, work: Path, jobs: int) -> Faces:
    """Train predictors and compute features; what ``work`` holds already is not computed again.

    Raises
    ------
    RuntimeError
        If a predictor could not be trained or used.
    """
    copies = group_copies(samples)
    groups = [copies[sample.photo] for sample in samples]
    fold, paths = predictor_files(samples, groups, training, work)
    parts = [outside(samples, fold, k) for k in range(training.folds)]
    held_out = [np.flatnonzero(fold == k) for k in range(training.folds)]

    todo = [
        Job(f"predictor {k + 1} of {training.folds}", _TRAIN_COST * len(part), _train, (part, training, path))
        for k, (part, path) in enumerate(zip(parts, paths, strict=True))
        if not path.is_file()
    ]
    _run(todo, jobs)
    pieces: dict[str, tuple[Sequence[FaceSample], LandmarkPredictor]] = {
        path.stem: ([samples[int(i)] for i in rows], LandmarkPredictor(path))
        for path, rows in zip(paths, held_out, strict=True)
    }
    pieces["published"] = (samples, LandmarkPredictor())
    # by content: other faces, such as those of a quick run, may share the folder
    clocks = {name: work / f"features-{digest(piece[0], name)}.seconds" for name, piece in pieces.items()}
    todo = [
        Job(f"features of {name}", _EXTRACT_COST * len(piece[0]), _features, (*piece, work, clocks[name]))
        for name, piece in pieces.items()
        if not clocks[name].is_file()
    ]
    _run(todo, jobs)
    tables, runs = [_tables(pieces, held_out, work, stability) for stability in STABILITIES]
    seconds = {
        "training": [_read_clock(path.with_suffix(".seconds")) for path in paths],
        "features": [_read_clock(clock) for clock in clocks.values()],
    }
    return Faces(samples, groups, fold, paths, tables, runs, seconds)


def _tables(
    pieces: dict[str, tuple[Sequence[FaceSample], LandmarkPredictor]],
    held_out: list[NDArray[np.intp]],
    work: Path,
    stability: Stability,
) -> dict[str, FaceTable]:
    """The rows of the cross-fitted predictors as one table, and those of the published one."""
    *own, whole = [_extract(*piece, work, stability) for piece in pieces.values()]
    return {CROSS_FITTED: join(own, held_out), PUBLISHED: whole}


def _run(todo: list[Job], jobs: int) -> None:
    if todo and (failed := run_jobs(todo, jobs)):
        raise RuntimeError(f"failed: {', '.join(failed)}")


def _train(part: Sequence[FaceSample], training: Training, path: Path) -> None:
    _timed(lambda: train(part, training, path), path.with_suffix(".seconds"))


def _features(samples: Sequence[FaceSample], predictor: LandmarkPredictor, work: Path, clock: Path) -> None:
    _timed(lambda: [_extract(samples, predictor, work, stability) for stability in STABILITIES], clock)


def _timed(action: Callable[[], object], clock: Path) -> None:
    """Write what the action cost to a file, so that a run that finds it done can still state the price."""
    start = time.process_time()
    action()
    clock.write_text(f"{time.process_time() - start:.1f}\n", encoding="utf-8")


def _read_clock(clock: Path) -> float:
    return float(clock.read_text(encoding="utf-8"))


def extractor_of(predictor: LandmarkPredictor, stability: Stability | None) -> Extractor:
    """How the photographs, as they are, become rows."""
    detector = FaceDetector(threshold=-1.0)
    return Extractor(predictor, detector, LandmarkHOG(), stability, degradations=0, context=FaceContext())


def _extract(
    samples: Sequence[FaceSample], predictor: LandmarkPredictor, work: Path, stability: Stability
) -> FaceTable:
    return extract(samples, extractor_of(predictor, stability), workers=1, cache=work)


def without_stability(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """Features of ``Faces.tables`` as a compact score takes them: HOG and context."""
    n_hog = LandmarkHOG().n_features
    return np.concatenate(
        [features[:, :n_hog], features[:, n_hog + LandmarkStability().n_features :]], axis=1
    )


def join(tables: Sequence[FaceTable], numbers: Sequence[NDArray[np.intp]]) -> FaceTable:
    """One table, in the order of all samples, given the numbers among them of the samples of each table."""
    tables = [
        dataclasses.replace(table, sample=number[table.sample])
        for table, number in zip(tables, numbers, strict=True)
    ]
    order = np.argsort(np.concatenate([table.sample for table in tables]), kind="stable")
    rows = {
        name: np.concatenate([getattr(table, name) for table in tables])[order]
        for name in (
            "features",
            "losses",
            "detector_scores",
            "sample",
            "variant",
            "landmarks",
            "truth",
            "hidden",
        )
    }
    lost = {name: np.sum([getattr(table, name) for table in tables], axis=0) for name in ("missed", "failed")}
    reasons = {
        name: tuple(item for table in tables for item in getattr(table, name))
        for name in ("problems", "failures")
    }
    kinds = [kind for table in tables for kind in table.kinds]
    return FaceTable(**rows, kinds=tuple(kinds[i] for i in order), **lost, **reasons)
