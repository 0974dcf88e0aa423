"""What the shipped models, made for dlib's published predictor, are worth for predictors of the same kind.

Tested on the photographs that were set aside when the shipped models were trained, with the losses of the
cross-fitted predictors. Beside them a SELE score that was trained for these predictors, on the others. The
model `thorough` judges landmarks of its own, the mean of three runs: its errors, and so the detector's area
and the oracle beside it, are other ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from facereject.faces import FaceDataset, FaceRejector, FaceTable
from facereject.faces.features.context import UNKNOWN_DETECTOR
from facereject.faces.training.train import photo_folds
from tools.reproduce.landmark_scores import SELE, Effort, fit, tested
from tools.reproduce.landmark_statistics import DETECTOR, TestPart
from tools.reproduce.landmark_tables import without_stability
from tools.train.default_model import PRETRAINED, set_aside

LINEAR, DEFAULT, THOROUGH = "shipped `dlib`", "shipped `default`", "shipped `thorough`"
OWN = f"{SELE} trained for the predictor"


def models_used() -> dict[str, str]:
    """Digests of the shipped models: results are repeated when one changes."""
    files = (PRETRAINED / f"{name}.safetensors" for name in ("dlib", "default", "thorough"))
    return {file.stem: hashlib.sha256(file.read_bytes()).hexdigest()[:16] for file in files}


def evaluate_shipped(
    samples: FaceDataset, groups: Sequence[str], table: FaceTable, runs: FaceTable, effort: Effort
) -> dict[str, Any]:
    """AuRC of the shipped models and of a score of the predictor's own, on faces none of them has seen."""
    aside, others = _rows_set_aside(samples, table)
    fold = photo_folds([groups[i] for i in table.sample[others]], 4, 0)
    predict, report = fit(SELE, table, others[fold != 0], others[fold == 0], effort)
    linear, default, thorough = (FaceRejector.pretrained(name).score for name in models_used())
    compact = without_stability(table.features[aside])
    hog = np.ascontiguousarray(compact[:, : linear.n_features])
    scores = {
        LINEAR: linear(hog),
        DEFAULT: default(_without_five_points(compact)),
        OWN: predict(table.features[aside]),
    }
    mean, _ = _rows_set_aside(samples, runs)
    number = np.unique(np.asarray(groups), return_inverse=True)[1]

    def judged(seen: FaceTable, rows: np.ndarray, scores: dict[str, Any]) -> dict[str, Any]:
        scores = {DETECTOR: -seen.detector_scores[rows], **scores}
        part = TestPart(number[seen.sample[rows]], seen.losses[rows], scores)
        return tested(part, {name: {} for name in scores}, effort)

    return {
        "faces": {"train": int((fold != 0).sum()), "validation": int((fold == 0).sum()), "test": len(aside)},
        "models": models_used(),
        **judged(table, aside, scores),
        "runs": judged(runs, mean, {THOROUGH: thorough(_without_five_points(runs.features[mean]))}),
        "cpu_seconds": report["cpu_seconds"],
    }


def _without_five_points(features: np.ndarray) -> np.ndarray:
    """Features as a model for YuNet sees them where another detector found the face."""
    unknown = np.tile(np.array(UNKNOWN_DETECTOR, dtype=np.float32), (len(features), 1))
    return np.hstack([features, unknown])


def _rows_set_aside(samples: FaceDataset, table: FaceTable) -> tuple[np.ndarray, np.ndarray]:
    """Rows that the shipped models have not seen, copies left out, and rows they were trained on."""
    seen, test, _, copies = set_aside(samples)
    unseen = {sample.image_path for i, sample in enumerate(test) if i not in copies}
    used = {sample.image_path for sample in seen}
    paths = [samples[int(i)].image_path for i in table.sample]
    return np.flatnonzero([p in unseen for p in paths]), np.flatnonzero([p in used for p in paths])
