"""Landmarks, honestly: how well scores rank dlib's errors on faces that its predictor has not seen.

Predictors are cross-fitted on 300-W, then scores are trained and tested on several splits of the photographs.
Beside it, as the paper's setting, the same with dlib's published model, which was trained on these
photographs. Run by ``python -m tools.reproduce landmarks``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import facereject
from facereject.faces import FaceDataset
from facereject.faces.training.extract import FaceTable
from tools.reproduce import landmark_report
from tools.reproduce.landmark_faces import draw_faces
from tools.reproduce.landmark_predictors import Training
from tools.reproduce.landmark_scores import Effort, evaluate_split
from tools.reproduce.landmark_shipped import evaluate_shipped, models_used
from tools.reproduce.landmark_tables import CROSS_FITTED, Faces, prepare
from tools.reproduce.landmark_trees import RUNS, TREES, evaluate_trees
from tools.reproduce.scheduler import Job, run_jobs
from tools.reproduce.store import Store

TASK, DATA, SHIPPED = "landmarks", "data", "shipped"
#: raised when a change of the code changes the numbers
PROTOCOL = 1

_QUICK_FACES = 60
_QUICK_TRAINING = Training(folds=2, oversampling=1, depth=2, cascades=2, trees=20)
_QUICK_EFFORT = Effort(trees=5, resamples=50, shares=(1 / 2, 1))

# processor seconds of a split, measured, for the order of the jobs and the time left
_SPLIT_COST, _TREES_COST = 150, 40


def run(
    results: Path, data: Path | None, work: Path, *, quick: bool = False, jobs: int = 2, splits: int = 5
) -> None:
    """Run what is missing, and write the page and the figures.

    Parameters
    ----------
    results : folder
        Gets ``raw/landmarks/*.json``, ``landmarks.md`` and figures.
    data : folder or None
        Holds ``faces/300w``. None is FACEREJECT_DATA, then ``../shared/data``.
    work : folder
        Keeps predictors and features, and gets the picture with photographs.
    quick : bool
        A few faces and tiny predictors: shows that everything runs, the numbers mean nothing.
    jobs : int
        Processes.
    splits : int
        Random splits of the photographs.

    Raises
    ------
    RuntimeError
        If a part failed; what was finished stays.
    """
    samples = load_samples(data, quick)
    training = _QUICK_TRAINING if quick else Training()
    effort = _QUICK_EFFORT if quick else Effort()
    work.mkdir(parents=True, exist_ok=True)
    faces = prepare(samples, training, work, jobs)
    store = Store(results, settings(faces, training, effort))
    todo = missing_jobs(faces, store, effort, splits)
    if todo and (failed := run_jobs(todo, jobs)):
        raise RuntimeError(f"failed: {', '.join(failed)}")
    store.save(_labelled(describe(faces, training), DATA, 0, store))
    landmark_report.write(results)
    picture = draw_faces(faces, store.load(TASK)[CROSS_FITTED][0], work)
    print(f"written: {results / landmark_report.PAGE}; with photographs, not to be published: {picture}")


def data_folder(data: Path | None) -> Path:
    """The folder of ``--data``, else FACEREJECT_DATA, else ``../shared/data`` beside the checkout."""
    return Path(data or os.environ.get("FACEREJECT_DATA") or Path(__file__).parents[3] / "shared" / "data")


def load_samples(data: Path | None, quick: bool) -> FaceDataset:
    """The annotated faces; with ``quick`` a few of them, spread over the sources."""
    samples = FaceDataset.load(data_folder(data) / "faces" / "300w")
    if not quick:
        return samples
    chosen = np.unique(np.linspace(0, len(samples) - 1, _QUICK_FACES).astype(int))
    return FaceDataset([samples[int(i)] for i in chosen])


def settings(faces: Faces, training: Training, effort: Effort) -> dict[str, Any]:
    """What the numbers depend on, the losses of both predictors included."""
    content = hashlib.sha256("\n".join(faces.groups).encode())
    for table in faces.tables.values():
        content.update(table.losses.round(6).tobytes())
    return {
        "protocol": PROTOCOL,
        "training": asdict(training),
        "effort": {**effort._asdict(), "shares": list(effort.shares)},
        "losses": content.hexdigest()[:16],
    }


def missing_jobs(faces: Faces, store: Store, effort: Effort, splits: int) -> list[Job]:
    """A job for every result that is not there or was made in another way."""
    jobs = []
    for name, table in faces.tables.items():
        runs = faces.runs[name]
        of_rows, of_runs = ([faces.groups[i] for i in rows.sample] for rows in (table, runs))
        for split in range(splits):
            for dataset, cost, function, inputs in (
                (name, _SPLIT_COST, evaluate_split, (table, of_rows, split, effort)),
                (
                    landmark_report.TREES_OF[name],
                    _TREES_COST,
                    evaluate_trees,
                    (table, runs, {TREES: of_rows, RUNS: of_runs}, split, effort),
                ),
            ):
                if store.state(TASK, dataset, split) != "done":
                    arguments: tuple[Any, ...] = (store, dataset, split, function, inputs)
                    jobs.append(Job(f"landmarks, {dataset}, split {split}", cost, _compute, arguments))
    if store.state(TASK, SHIPPED, 0) != "done" or store.read(TASK, SHIPPED, 0).get("models") != models_used():
        inputs = (faces.samples, faces.groups, faces.tables[CROSS_FITTED], effort)
        jobs.append(
            Job("landmarks, shipped model", 10, _compute, (store, SHIPPED, 0, evaluate_shipped, inputs))
        )
    return jobs


def _compute(
    store: Store, dataset: str, split: int, function: Callable[..., dict[str, Any]], inputs: tuple[Any, ...]
) -> None:
    store.save(_labelled(function(*inputs), dataset, split, store))


def _labelled(result: dict[str, Any], dataset: str, split: int, store: Store) -> dict[str, Any]:
    return {"task": TASK, "dataset": dataset, "split": split, "settings": store.settings, **result}


def describe(faces: Faces, training: Training) -> dict[str, Any]:
    """Counts, errors of both predictors without rejection, and what predictors and features cost."""
    honest = faces.tables[CROSS_FITTED]
    fold = faces.fold[honest.sample]
    errors = {
        kind: {name: _errors(table) for name, table in tables.items()}
        for kind, tables in (("errors", faces.tables), ("errors_of_runs", faces.runs))
    }
    return {
        "version": facereject.__version__,
        "faces": len(faces.samples),
        "photographs": len(faces.samples.photos),
        "groups": len(set(faces.groups)),
        "folds": np.bincount(faces.fold, minlength=training.folds).tolist(),
        "mean_of_fold": [float(honest.losses[fold == k].mean()) for k in range(training.folds)],
        **errors,
        "seconds_of": faces.seconds,
        "cpu_seconds": round(sum(map(sum, faces.seconds.values())), 1),
    }


def _errors(table: FaceTable) -> dict[str, float]:
    median, high = np.percentile(table.losses, [50, 95])
    return {
        "faces": len(table),
        "missed": int(table.missed[0]),
        "failed": int(table.failed[0]),
        "mean": float(table.losses.mean()),
        "median": float(median),
        "percentile_95": float(high),
        "above_10": float((table.losses > 10).mean()),
    }
