"""What the shipped model `dlib`, made for the published predictor, is worth for others of the same kind.

Tested on the photographs that were set aside when it was trained, with the losses of the cross-fitted
predictors. Beside it a SELE score that was trained for these predictors, on the others. The other shipped
models place landmarks by several runs on boxes of another detector; their cards judge them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from facereject.faces import FaceDataset, FaceRejector
from facereject.faces.training.extract import FaceTable
from facereject.faces.training.train import photo_folds
from tools.reproduce.landmark_scores import SELE, Effort, fit, tested
from tools.reproduce.landmark_statistics import DETECTOR, TestPart
from tools.train.default_model import PRETRAINED, set_aside

SHIPPED_SCORE = "shipped `dlib`"
OWN = f"{SELE} trained for the predictor"


def models_used() -> dict[str, str]:
    """Digest of the shipped model: results are repeated when it changes."""
    file = PRETRAINED / "dlib.safetensors"
    return {file.stem: hashlib.sha256(file.read_bytes()).hexdigest()[:16]}


def evaluate_shipped(
    samples: FaceDataset, groups: Sequence[str], table: FaceTable, effort: Effort
) -> dict[str, Any]:
    """AuRC of the shipped model and of a score of the predictor's own, on faces neither has seen."""
    aside, others = _rows_set_aside(samples, table)
    fold = photo_folds([groups[i] for i in table.sample[others]], 4, 0)
    predict, report = fit(SELE, table, others[fold != 0], others[fold == 0], effort)
    shipped = FaceRejector.pretrained("dlib").score
    features = table.features[aside]
    scores = {
        DETECTOR: -table.detector_scores[aside],
        SHIPPED_SCORE: shipped(np.ascontiguousarray(features[:, : shipped.n_features])),
        OWN: predict(features),
    }
    number = np.unique(np.asarray(groups), return_inverse=True)[1]
    part = TestPart(number[table.sample[aside]], table.losses[aside], scores)
    return {
        "faces": {"train": int((fold != 0).sum()), "validation": int((fold == 0).sum()), "test": len(aside)},
        "models": models_used(),
        **tested(part, {name: {} for name in scores}, effort),
        "cpu_seconds": report["cpu_seconds"],
    }


def _rows_set_aside(samples: FaceDataset, table: FaceTable) -> tuple[np.ndarray, np.ndarray]:
    """Rows that the shipped models have not seen, copies left out, and rows they were trained on."""
    seen, test, _, copies = set_aside(samples)
    unseen = {sample.image_path for i, sample in enumerate(test) if i not in copies}
    used = {sample.image_path for sample in seen}
    paths = [samples[int(i)].image_path for i in table.sample]
    return np.flatnonzero([p in unseen for p in paths]), np.flatnonzero([p in used for p in paths])
