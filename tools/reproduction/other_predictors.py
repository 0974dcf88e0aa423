"""How well the shipped models rank the errors of predictors they were not made for.

Landmarks of seven trackers on AFW as OpenFace published them (CE-CLM, CE-CLM on Menpo, CLM, CLNF, CLNF in the
wild; 3DDFA; CFSS), of MediaPipe's mesh, and of a dlib predictor trained here. Every model judges them as they
are; then with 50 annotated faces for its unit, and beside scores that were trained for the predictor. One
JSON file per predictor holds losses and scores of every face; it is made again when a shipped model changes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from train_default_model import PRETRAINED, set_aside

from facereject._files import write_whole
from facereject.faces import (
    FaceDataset,
    FaceRejector,
    FaceSample,
    LandmarkPredictor,
    match_face,
)
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.detectors.yunet import YuNetDetector
from facereject.faces.landmarks.face_mesh import FaceMesh
from facereject.faces.training.train import photo_folds
from facereject.faces.views import Views
from facereject.losses import landmark_nme, landmark_scale
from facereject.scores import SELEScoreCV
from reproduction.landmark_predictors import Training, predictor_file, train

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
RETRAINED, FROM_NOTHING = "`default`, retrained for it", "trained for it from nothing"

# smaller than the predictors of the landmark experiment: it is one row of a table here
_TRAINING = replace(Training(), oversampling=3, trees=250)

# scale of the shipped model's uncertainty among standardised columns: regularisation shrinks towards it
_TRUST = 5.0
_FOLDS = 5


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
    digests = {name: _digest(PRETRAINED / f"{name}.safetensors") for name in MODELS}
    held_out = [sample for sample in test if sample.image_path in aside]
    sources = {name: _published(data, samples, key) for key, name in TRACKERS.items()}
    sources[MESH] = _meshes(held_out)
    sources[DLIB] = _own_dlib(fit, held_out, work)
    for name, faces in sources.items():
        path = file_of(results, name)
        if force or not _is_current(path, digests):
            path.parent.mkdir(parents=True, exist_ok=True)
            result = {"predictor": name, "models": digests, **_judged(list(faces), models, aside, group)}
            write_whole(path, json.dumps(_plain(result)) + "\n")
            print(f"{name}: {len(result['losses'])} faces")


def file_of(results: Path, name: str) -> Path:
    """Where the numbers of a predictor are."""
    plain = "".join(c if c.isalnum() else "-" for c in name.lower())
    return results / "raw" / FOLDER / f"{plain}.json"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _is_current(path: Path, digests: dict[str, str]) -> bool:
    """Whether a file was made with these models."""
    return path.exists() and json.loads(path.read_text()).get("models") == digests


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
    path = predictor_file(fit, _TRAINING, work)
    if not path.exists():
        work.mkdir(parents=True, exist_ok=True)
        train(fit, _TRAINING, path)
    predictor, detector = LandmarkPredictor(path), FaceDetector(threshold=-1.0)
    for sample in samples:
        gray = Views(sample.load()).gray
        found = match_face(detector.detect(gray), sample.landmarks)
        if found is not None:
            yield Placed(sample, predictor(gray, found.box), found.score)


def _judged(
    faces: list[Placed], models: dict[str, FaceRejector], aside: set[Path], group: Any
) -> dict[str, Any]:
    losses = np.array([landmark_nme(face.sample.landmarks, face.points) for face in faces])
    uncertainty: dict[str, list[float]] = {name: [] for name in models}
    expected: dict[str, list[float]] = {name: [] for name in models}
    per_point: dict[str, list[list[float]]] = {name: [] for name in models}
    default = models["default"]
    features = []
    for face in faces:
        view = Views(face.sample.load())
        box = default.points.box_of(face.points)
        features.append(default.features(view, box, face.points, default.predictor, keep=True).values)
        true = 100 * np.linalg.norm(face.points - face.sample.landmarks, axis=1)
        true /= landmark_scale(face.sample.landmarks, "outer_eyes")
        for name, model in models.items():
            judged = model.assess(view, face.points)
            uncertainty[name].append(judged.uncertainty)
            expected[name].append(judged.expected_error)
            if judged.landmark_errors is not None and face.sample.image_path in aside:
                per_point[name].append(_point_facts(judged.landmark_errors, true))
    photos = [group[face.sample.photo] for face in faces]
    return {
        "losses": losses,
        "aside": [face.sample.image_path in aside for face in faces],
        "photo": np.unique(photos, return_inverse=True)[1],
        "own": None if faces[0].confidence is None else [face.confidence for face in faces],
        "uncertainty": uncertainty,
        "expected": expected,
        "per_point": {name: values for name, values in per_point.items() if values},
        "trained": _trained(np.array(features), losses, photos, default),
    }


def _point_facts(expected: NDArray[np.float64], true: NDArray[np.float64]) -> list[float]:
    """Of one face: Spearman over its points, and the means that the correlation over all points needs."""
    from scipy.stats import spearmanr

    values = expected, true, expected**2, true**2, expected * true
    return [float(spearmanr(expected, true).statistic), *(float(each.mean()) for each in values)]


def _trained(
    features: NDArray[np.float32], losses: NDArray[np.float64], photos: list[str], default: FaceRejector
) -> dict[str, NDArray[np.float64]]:
    """Uncertainty of every face by linear SELE scores trained on the other photographs.

    From nothing: on the HOG values, of which there are many times more than faces. Retrained: on the columns
    that the shipped trees see, and on their answer.
    """
    own = np.column_stack([default.score.columns(features), default.score(features)])
    own = (own - own.mean(axis=0)) / (own.std(axis=0) + 1e-6)
    own[:, -1] *= _TRUST
    wide = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
    return {
        RETRAINED: _out_of_fold(own, losses, photos, wide),
        FROM_NOTHING: _out_of_fold(
            features[:, : default.hog.n_features], losses, photos, (1.0, 3.0, 10.0, 30.0)
        ),
    }


def _out_of_fold(
    X: NDArray[Any], losses: NDArray[np.float64], photos: list[str], alphas: tuple[float, ...]
) -> NDArray[np.float64]:
    fold = photo_folds(photos, _FOLDS, 0)
    uncertainty = np.full(len(losses), np.nan)
    clipped = np.minimum(losses, 10.0)
    for k in range(_FOLDS):
        score = SELEScoreCV(alphas=alphas, cv=4, random_state=0)
        score.fit(X[fold != k], clipped[fold != k])
        # scores of different fits have no common scale: their ranks among all others have
        others = np.sort(score.predict(X[fold != k]))
        uncertainty[fold == k] = np.searchsorted(others, score.predict(X[fold == k])) / len(others)
    return uncertainty


def _plain(value: Any) -> Any:
    """Numbers with six digits, which is more than any table shows; None where there is none."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    values = np.asarray(value).tolist()
    return [_plain(each) for each in values] if isinstance(values, list) else values
