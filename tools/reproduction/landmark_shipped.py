"""What the shipped models, made for dlib's published predictor, are worth for predictors of the same kind.

Tested on the photographs that were set aside when the shipped models were trained, with the losses of the
cross-fitted predictors. Beside them a SELE score that was trained for these predictors, on the others. The
model `thorough` judges landmarks of its own, so its errors are not those of the predictor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from train_default_model import set_aside

from facereject.faces import FaceDataset, FaceRejector, FaceTable, LandmarkHOG, LandmarkStability
from facereject.faces.training.train import photo_folds
from reproduction.landmark_scores import SELE, Effort, fit, pack
from reproduction.landmark_statistics import DETECTOR, TestPart, bootstrap_areas

SHIPPED = {"shipped `linear`": "linear", "shipped `default`": "default"}
OWN = f"{SELE} trained for the predictor"


def evaluate_shipped(
    samples: FaceDataset, groups: Sequence[str], table: FaceTable, effort: Effort
) -> dict[str, Any]:
    """AuRC of the shipped models and of a score of the predictor's own, on faces none of them has seen."""
    aside, others = _rows_set_aside(samples, table)
    fold = photo_folds([groups[i] for i in table.sample[others]], 4, 0)
    predict, report = fit(SELE, table, others[fold != 0], others[fold == 0], effort)
    features = table.features[aside]
    scores = {DETECTOR: -table.detector_scores[aside]}
    for name, model in SHIPPED.items():
        score = FaceRejector.pretrained(model).score
        scores[name] = score(_seen_by(score, features))
    scores[OWN] = predict(features)
    number = np.unique(np.asarray(groups), return_inverse=True)[1]
    part = TestPart(number[table.sample[aside]], table.losses[aside], scores)
    areas = bootstrap_areas([part], effort.resamples)
    return {
        "faces": {"train": int((fold != 0).sum()), "validation": int((fold == 0).sum()), "test": len(aside)},
        "mean_loss": float(part.losses.mean()),
        "methods": {name: {"aurc": areas.value[name], "interval": areas.interval(name)} for name in scores},
        "oracle_aurc": areas.value["oracle"],
        "test": pack(part),
        "cpu_seconds": report["cpu_seconds"],
    }


def _seen_by(score: Any, features: np.ndarray) -> np.ndarray:
    """The HOG values, and for a compact score the context, without the stability values between them."""
    n_hog = LandmarkHOG().n_features
    context = features[:, n_hog + LandmarkStability().n_features :]
    parts = [features[:, :n_hog], context[:, : score.n_features - n_hog]]
    return np.concatenate(parts, axis=1)


def _rows_set_aside(samples: FaceDataset, table: FaceTable) -> tuple[np.ndarray, np.ndarray]:
    """Rows that the shipped models have not seen, copies left out, and rows they were trained on."""
    seen, test, _, copies = set_aside(samples)
    unseen = {sample.image_path for i, sample in enumerate(test) if i not in copies}
    used = {sample.image_path for sample in seen}
    paths = [samples[int(i)].image_path for i in table.sample]
    return np.flatnonzero([p in unseen for p in paths]), np.flatnonzero([p in used for p in paths])
