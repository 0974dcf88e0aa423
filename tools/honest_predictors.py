"""How scores do for predictors that have not seen the photographs: cross-fitted dlib predictors, clean faces.

    python tools/honest_predictors.py ../shared/data/faces/300w --work cache

dlib's published model was trained on 300-W, so its errors there are training errors. Here the photographs are
cut into folds; a predictor is trained without each fold and used on it. Scores are then cross-fitted over
photographs on those losses.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import inspect
import os
from pathlib import Path

import dlib
import numpy as np

from facereject.faces import (
    Extractor,
    FaceDataset,
    FaceDetector,
    FaceSample,
    FaceTable,
    LandmarkHOG,
    LandmarkPredictor,
    LandmarkStability,
    extract,
    train_landmark_predictor,
)
from facereject.faces.training import ALPHAS, cross_fit, photo_folds
from facereject.metrics import aurc


def digest(samples: list[FaceSample], seed: int) -> str:
    """Names a predictor by all it is trained from: photographs, annotation, options, version of dlib."""
    parameters = inspect.signature(train_landmark_predictor).parameters.values()
    options = {p.name: p.default for p in parameters if p.default is not p.empty and p.name != "n_threads"}
    text = repr((dlib.__version__, sorted(options.items(), key=str), seed))
    content = hashlib.sha256(text.encode())
    for sample in samples:
        content.update(hashlib.sha256(sample.image_path.read_bytes()).digest())
        content.update(np.ascontiguousarray(sample.landmarks).tobytes())
    return content.hexdigest()[:32]


def out_of_fold_table(samples: FaceDataset, work: Path, folds: int, seed: int, jobs: int | None) -> FaceTable:
    """Clean rows of all photographs, each by a predictor trained without it."""
    fold = photo_folds([sample.photo for sample in samples], folds, seed)
    tables = []
    for k in range(folds):
        others = [sample for sample, f in zip(samples, fold, strict=True) if f != k]
        path = work / f"predictor-{digest(others, seed)}.dat"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            train_landmark_predictor(others, path, n_threads=jobs or os.cpu_count(), random_state=seed)
        held_out = np.flatnonzero(fold == k)
        detector = FaceDetector(threshold=-1.0)
        extractor = Extractor(
            LandmarkPredictor(path), detector, LandmarkHOG(), LandmarkStability(), degradations=0
        )
        part = extract([samples[int(i)] for i in held_out], extractor, n_jobs=jobs, cache=work)
        tables.append(dataclasses.replace(part, sample=held_out[part.sample]))
    first = tables[0]
    names = ("features", "losses", "detector_scores", "sample", "variant")
    joined = {name: np.concatenate([getattr(table, name) for table in tables]) for name in names}
    kinds = tuple(kind for table in tables for kind in table.kinds)
    lost = {name: np.sum([getattr(table, name) for table in tables], axis=0) for name in ("missed", "failed")}
    return dataclasses.replace(first, **joined, kinds=kinds, **lost)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder with annotated photographs (300-W layout)")
    parser.add_argument("--work", type=Path, required=True, help="folder for predictors and features")
    parser.add_argument("--predictor-folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, help="processes; all cores if not given")
    options = parser.parse_args()
    samples = FaceDataset.load(options.data)
    table = out_of_fold_table(samples, options.work, options.predictor_folds, options.seed, options.jobs)
    photos = [sample.photo for sample in samples]
    losses = table.losses
    median, high = np.percentile(losses, [50, 95])
    print(f"{len(table)} faces, {table.missed[0]} missed by the detector")
    print(f"error: mean {losses.mean():.2f} %, median {median:.2f} %, 95th percentile {high:.2f} %")
    print(
        f"AuRC detector score {aurc(losses, -table.detector_scores):.3f}, oracle {aurc(losses, losses):.3f}"
    )
    for name, score, width in (
        ("REG", "reg", 2448),
        ("SELE", "sele", 2448),
        ("SELE + stability", "sele", 2516),
    ):
        part = dataclasses.replace(table, features=np.ascontiguousarray(table.features[:, :width]))
        for alpha in ALPHAS:
            # another seed than the predictors' folds: every fold then holds faces of all predictors
            fit = cross_fit(part, photos, score, alpha, clip=10.0, folds=5, random_state=options.seed + 1)
            area = aurc(losses, fit.uncertainty)
            print(f"{name:18s} alpha {alpha:5g}: AuRC {area:.3f}, gap closed {fit.merit:.1%}")


if __name__ == "__main__":
    main()
