"""A rejector for keypoints of a mouse, from files alone, beside the spread of several predictors.

    python tools/bench/not_only_faces.py --data FOLDER [--work FOLDER]

FOLDER holds CollectedData.csv (DeepLabCut) and labeled-data/. Three dlib predictors with other seeds are
trained without the frames they are to predict (five folds); their predictions are written to three files.
From these, the annotation and the images a rejector is trained, without the frames it scores: once with the
file of the first predictor alone, and once with all three, as `facereject train --predictions a.csv
--predictions b.csv --predictions c.csv` does.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from pathlib import Path

import numpy as np

from facereject import annotated_faces
from facereject.faces import (
    Box,
    Detection,
    FaceDataset,
    LandmarkPredictor,
    evaluate_face_rejector,
    train_face_rejector,
)
from facereject.faces.images import Views
from facereject.faces.landmarks.dlib_training import train_landmark_predictor
from facereject.faces.training.fit_score import photo_folds
from facereject.losses import landmark_nme
from facereject.metrics import aurc

# annotated in nearly all frames; the other five are often out of sight
POINTS = (0, 1, 2, 3, 6, 8, 9, 10, 11, 12, 13, 14)
_FOLDS, _SEEDS, _RESAMPLES = 5, 3, 1000


class WholeImage:
    """The box is the frame."""

    color = "gray"

    def detect(self, image: np.ndarray) -> list[Detection]:
        """One detection."""
        return [Detection(Box(0, 0, image.shape[1], image.shape[0]), 1.0)]


def predict(faces: FaceDataset, fold: np.ndarray, work: Path) -> np.ndarray:
    """Landmarks of every frame by predictors that have not seen it, (seeds, n, points, 2)."""
    found = np.empty((_SEEDS, len(faces), len(POINTS), 2))
    for k in range(_FOLDS):
        train = FaceDataset([face for face, f in zip(faces, fold, strict=True) if f != k])
        for seed in range(_SEEDS):
            path = work / f"{k}-{seed}.dat"
            if not path.exists():
                train_landmark_predictor(
                    train,
                    path,
                    detector=WholeImage(),
                    oversampling=20,
                    trees=100,
                    random_state=seed,
                    workers=1,
                )
            predictor = LandmarkPredictor(path)
            for i in np.flatnonzero(fold == k).tolist():
                view = Views(faces[i].load())
                found[seed, i] = predictor(view.gray, WholeImage().detect(view.gray)[0].box)
    return found


def write_table(path: Path, faces: FaceDataset, points: np.ndarray) -> None:
    """Predictions as people write them: image, x0, y0, x1, …"""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image", *(f"{axis}{i}" for i in range(len(POINTS)) for axis in "xy")])
        for face, row in zip(faces, points, strict=True):
            writer.writerow([face.image_path.name, *row.ravel().round(3).tolist()])


def share(losses: np.ndarray, uncertainty: np.ndarray) -> float:
    """Where the AuRC lies between a random order (0) and that of the losses themselves (1)."""
    best = aurc(losses, losses)
    return float((losses.mean() - aurc(losses, uncertainty)) / (losses.mean() - best))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path)
    options = parser.parse_args()
    annotation, images = options.data / "CollectedData.csv", options.data / "labeled-data"
    faces = annotated_faces(annotation, images, points=POINTS)
    fold = photo_folds([face.photo for face in faces], _FOLDS, 0)
    truth = np.array([face.landmarks for face in faces])
    side = np.sqrt(np.ptp(truth, axis=1).prod(axis=1))
    with tempfile.TemporaryDirectory() as made:
        work = options.work or Path(made)
        work.mkdir(parents=True, exist_ok=True)
        placed = predict(faces, fold, work)
        spread = 100 * np.linalg.norm(placed.std(axis=0), axis=2).mean(axis=1) / side
        files = [work / f"{seed}.csv" for seed in range(_SEEDS)]
        for file, points in zip(files, placed, strict=True):
            write_table(file, faces, points)
        read = {
            "rejector, one predictor": annotated_faces(annotation, images, files[0], points=POINTS),
            "rejector, three predictors": annotated_faces(annotation, images, files, points=POINTS),
        }
    losses = np.array([landmark_nme(t, p, "box") for t, p in zip(truth, placed[0], strict=True)])
    results = {"spread of three predictors": spread}
    for name, given in read.items():
        # in another division than that of the predictors
        other = photo_folds([face.photo for face in given], _FOLDS, 1)
        uncertainty, expected = np.empty(len(given)), np.empty(len(given))
        for k in range(_FOLDS):
            part = FaceDataset([face for face, f in zip(given, other, strict=True) if f != k])
            rest = FaceDataset([face for face, f in zip(given, other, strict=True) if f == k])
            model = train_face_rejector(part, workers=1)
            judged = evaluate_face_rejector(model, rest, degradations=0, workers=1)
            uncertainty[other == k] = judged.uncertainty
            expected[other == k] = model.calibration.expected_error(judged.uncertainty)
        results[name] = uncertainty
        print(f"{name}: expected over true {expected.mean() / losses.mean():.2f}")
    rng = np.random.default_rng(0)
    print(f"{len(faces)} frames, mean error {losses.mean():.2f} % of the box, worst {losses.max():.1f} %")
    for name, ranking in results.items():
        drawn = (rng.integers(len(losses), size=len(losses)) for _ in range(_RESAMPLES))
        low, high = np.percentile([share(losses[i], ranking[i]) for i in drawn], [2.5, 97.5])
        print(f"{name}: share of random to oracle {share(losses, ranking):.0%} ({low:.0%} to {high:.0%})")


if __name__ == "__main__":
    main()
