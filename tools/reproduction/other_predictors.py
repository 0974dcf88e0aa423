"""How well the shipped models rank the errors of predictors they were not made for.

Landmarks of seven trackers on AFW as OpenFace published them (CE-CLM, CE-CLM on Menpo, CLM, CLNF, CLNF in the
wild; 3DDFA; CFSS), of MediaPipe's mesh, and of a dlib predictor trained here. Every model judges them as they
are; then with 50 annotated faces for its unit, and beside a score that was trained for the predictor. One
JSON file per predictor holds losses and scores of every face.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from train_default_model import set_aside

from facereject._files import write_whole
from facereject.faces import (
    FaceDataset,
    FaceRejector,
    FaceSample,
    LandmarkHOG,
    LandmarkPredictor,
    match_face,
    train_landmark_predictor,
)
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.detectors.yunet import YuNetDetector
from facereject.faces.landmarks.face_mesh import FaceMesh
from facereject.faces.training.train import photo_folds
from facereject.faces.views import Views
from facereject.losses import landmark_nme
from facereject.scores import SELEScoreCV
from reproduction.landmark_predictors import Training

FOLDER = "predictors"
TRACKERS = {
    "openface-ceclm": "OpenFace CE-CLM",
    "openface-ceclm-menpo": "OpenFace CE-CLM, Menpo",
    "openface-clnf": "OpenFace CLNF",
    "openface-clnf-wild": "OpenFace CLNF, wild",
    "openface-clm": "OpenFace CLM",
    "cfss": "CFSS",
    "3ddfa": "3DDFA",
}
MODELS = ("default", "thorough", "mesh", "mesh-free")
MESH, DLIB = "MediaPipe's mesh, fitted 68", "dlib, trained here"


@dataclass(frozen=True)
class Placed:
    """A face with the landmarks of a predictor, and the predictor's own confidence or None."""

    sample: FaceSample
    points: NDArray[np.float64]
    confidence: float | None


def run(results: Path, data: Path, work: Path, *, force: bool = False) -> None:
    """Compute what is missing: a file for every predictor."""
    samples = FaceDataset.load(data / "faces" / "300w")
    fit, test, group, copies = set_aside(samples)
    aside = {sample.image_path for i, sample in enumerate(test) if i not in copies}
    models = {name: FaceRejector.pretrained(name) for name in MODELS}
    held_out = [sample for sample in test if sample.image_path in aside]
    sources = {name: _published(data, samples, key) for key, name in TRACKERS.items()}
    sources[MESH] = _meshes(held_out)
    sources[DLIB] = _own_dlib(fit, held_out, work)
    for name, faces in sources.items():
        path = file_of(results, name)
        if force or not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            result = {"predictor": name, **_judged(list(faces), models, aside, group)}
            write_whole(path, json.dumps(_plain(result)) + "\n")
            print(f"{name}: {len(result['losses'])} faces")


def file_of(results: Path, name: str) -> Path:
    """Where the numbers of a predictor are."""
    plain = "".join(c if c.isalnum() else "-" for c in name.lower())
    return results / "raw" / FOLDER / f"{plain}.json"


def _published(data: Path, samples: FaceDataset, key: str) -> Iterator[Placed]:
    """The faces of AFW with the landmarks of a tracker."""
    known = {sample.image_path.stem: sample for sample in samples if sample.image_path.parent.name == "afw"}
    with np.load(data / "faces" / "other_predictors" / "afw.npz") as stored:
        likelihood = stored.get(f"{key}.likelihood")
        for i, name in enumerate(stored["names"]):
            points = stored[f"{key}.landmarks"][i].astype(np.float64)
            if np.isfinite(points).all():
                yield Placed(
                    known[Path(str(name)).name], points, None if likelihood is None else likelihood[i]
                )


def _meshes(samples: list[FaceSample]) -> Iterator[Placed]:
    detector, mesh = YuNetDetector(), FaceMesh("fitted")
    for sample in samples:
        image = sample.load()
        found = match_face(detector.detect(image), sample.landmarks)
        if found is not None:
            face = mesh.mesh(image, found.box)
            yield Placed(sample, mesh.mapped(face.points), face.confidence)


def _own_dlib(fit: FaceDataset, samples: list[FaceSample], work: Path) -> Iterator[Placed]:
    path = work / "predictor-without-set-aside.dat"
    if not path.exists():
        work.mkdir(parents=True, exist_ok=True)
        # smaller than the predictors of the landmark experiment: it is one row of a table here
        options = {**Training().options(), "oversampling": 3, "trees": 250}
        train_landmark_predictor(fit, path, **options)
    predictor, detector = LandmarkPredictor(path), FaceDetector(threshold=-1.0)
    for sample in samples:
        gray = Views(sample.load()).gray
        found = match_face(detector.detect(gray), sample.landmarks)
        if found is not None:
            yield Placed(sample, predictor(gray, found.box), found.score)


def _judged(
    faces: list[Placed], models: dict[str, FaceRejector], aside: set[Path], group: Any
) -> dict[str, Any]:
    hog = LandmarkHOG()
    losses = np.array([landmark_nme(face.sample.landmarks, face.points) for face in faces])
    uncertainty: dict[str, list[float]] = {name: [] for name in models}
    expected: dict[str, list[float]] = {name: [] for name in models}
    per_point: dict[str, list[float]] = {name: [] for name in models}
    features = []
    for face in faces:
        view = Views(face.sample.load())
        features.append(hog(view.gray, face.points))
        true = np.linalg.norm(face.points - face.sample.landmarks, axis=1)
        for name, model in models.items():
            if model.stability is not None and face.sample.image_path not in aside:
                # runs a predictor several times; faces that are not new to it would only fill a table
                uncertainty[name].append(float("nan"))
                expected[name].append(float("nan"))
                continue
            judged = model.assess(view, face.points)
            uncertainty[name].append(judged.uncertainty)
            expected[name].append(judged.expected_error)
            if judged.landmark_errors is not None and face.sample.image_path in aside:
                per_point[name].append(_spearman(judged.landmark_errors, true))
    photos = [group[face.sample.photo] for face in faces]
    return {
        "losses": losses,
        "aside": [face.sample.image_path in aside for face in faces],
        "photo": np.unique(photos, return_inverse=True)[1],
        "own": None if faces[0].confidence is None else [face.confidence for face in faces],
        "uncertainty": uncertainty,
        "expected": expected,
        "per_point": {name: values for name, values in per_point.items() if values},
        "retrained": _retrained(np.array(features), losses, photos),
    }


def _retrained(features: NDArray[np.float32], losses: NDArray[np.float64], photos: list[str]) -> Any:
    """Uncertainty of every face by a linear SELE score trained on the other photographs."""
    fold = photo_folds(photos, 5, 0)
    uncertainty = np.full(len(losses), np.nan)
    clipped = np.minimum(losses, 10.0)
    for k in range(5):
        score = SELEScoreCV(alphas=(1.0, 3.0, 10.0, 30.0), cv=4, random_state=0)
        score.fit(features[fold != k], clipped[fold != k])
        # scores of different fits have no common scale: their ranks among all others have
        others = np.sort(score.predict(features[fold != k]))
        uncertainty[fold == k] = np.searchsorted(others, score.predict(features[fold == k])) / len(others)
    return uncertainty


def _spearman(a: Any, b: Any) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(a, b).statistic)


def _plain(value: Any) -> Any:
    """Numbers with six digits, which is more than any table shows; None where there is none."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if value is None or isinstance(value, str):
        return value
    values = np.asarray(value)
    if values.dtype.kind != "f":
        return values.tolist()
    return [float(f"{v:.6g}") if np.isfinite(v) else None for v in values.tolist()]
