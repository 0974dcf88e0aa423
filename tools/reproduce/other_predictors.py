"""How well the shipped models rank the errors of predictors they were not made for.

Landmarks of seven trackers on AFW as OpenFace published them (CE-CLM, CE-CLM on Menpo, CLM, CLNF, CLNF in the
wild; 3DDFA; CFSS), of MediaPipe's mesh, and of a dlib predictor trained here. Every model judges them as they
are; then with 50 annotated faces for its unit, and beside scores that were trained for the predictor. One
JSON file per predictor holds losses and scores of every face; when a shipped model changes, what rests on it
is made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject._files import write_whole
from facereject.faces import Detection, FaceDataset, FaceRejector, FaceSample, LandmarkPredictor
from facereject.faces.datasets import match_face
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.detectors.yunet import YuNetDetector
from facereject.faces.images import Views
from facereject.faces.landmarks.face_mesh import FaceMesh
from facereject.faces.training.train import photo_folds
from facereject.losses import landmark_nme, landmark_scale
from facereject.scores import SELEScoreCV
from tools.reproduce.landmark_predictors import Training, predictor_file, train
from tools.train.default_model import PRETRAINED, set_aside

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
        before = json.loads(path.read_text()) if path.exists() and not force else {}
        if before.get("models") != digests:
            path.parent.mkdir(parents=True, exist_ok=True)
            known = Known(before, digests)
            result = {
                "predictor": name,
                "models": digests,
                **_judged(list(faces), models, aside, group, known),
            }
            write_whole(path, json.dumps(_plain(result)) + "\n")
            print(f"{name}: {len(result['losses'])} faces", flush=True)


def file_of(results: Path, name: str) -> Path:
    """Where the numbers of a predictor are."""
    plain = "".join(c if c.isalnum() else "-" for c in name.lower())
    return results / "raw" / FOLDER / f"{plain}.json"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


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


class Known:
    """What a file from before holds that need not be computed again.

    Parameters
    ----------
    before : dict
        The content of the file; empty if there was none.
    digests : dict
        Digest of every shipped model as it is now.
    """

    def __init__(self, before: dict[str, Any], digests: dict[str, str]) -> None:
        self._before = before
        was = before.get("models", {})
        self._models = {name for name, digest in digests.items() if was.get(name) == digest}

    def of(self, losses: NDArray[np.float64], hog: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """By part of the file and model, if the landmarks are those of before.

        Parameters
        ----------
        losses : ndarray of shape (n,)
            Of every face.
        hog : dict
            What the HOG values mean: the score trained from nothing rests on them alone.
        """
        found: dict[str, dict[str, Any]] = {"uncertainty": {}, "expected": {}, "per_point": {}, "trained": {}}
        same = self._before.get("losses")
        if same is None or len(same) != len(losses) or not np.allclose(same, losses, rtol=1e-4):
            return found
        for part in ("uncertainty", "expected", "per_point"):
            stored = self._before.get(part, {})
            found[part] = {name: stored[name] for name in self._models if name in stored}
        usable = {RETRAINED: "default" in self._models, FROM_NOTHING: self._before.get("hog") == hog}
        stored = self._before.get("trained", {})
        found["trained"] = {name: stored[name] for name, can in usable.items() if can and name in stored}
        return found


def _judged(
    faces: list[Placed], models: dict[str, FaceRejector], aside: set[Path], group: Any, known: Known
) -> dict[str, Any]:
    losses = np.array([landmark_nme(face.sample.landmarks, face.points) for face in faces])
    default = models["default"]
    hog = default.hog.definition
    found = known.of(losses, hog)
    new = [name for name in models if name not in found["uncertainty"]]
    learned = [name for name in (RETRAINED, FROM_NOTHING) if name not in found["trained"]]
    for part in ("uncertainty", "expected", "per_point"):
        found[part] |= {name: [] for name in new}
    features = []
    for face in faces:
        view = Views(face.sample.load())
        if learned:
            found_at = Detection(default.points.box_of(face.points), np.nan)
            seen = default.features(view, found_at, face.points, default.predictor, keep=True)
            features.append(seen.values)
        true = 100 * np.linalg.norm(face.points - face.sample.landmarks, axis=1)
        true /= landmark_scale(face.sample.landmarks, "outer_eyes")
        for name in new:
            judged = models[name].assess(view, face.points)
            found["uncertainty"][name].append(judged.uncertainty)
            found["expected"][name].append(judged.expected_error)
            if judged.landmark_errors is not None and face.sample.image_path in aside:
                found["per_point"][name].append(_point_facts(judged.landmark_errors, true))
    photos = [group[face.sample.photo] for face in faces]
    trained = found["trained"]
    if learned:
        trained |= _trained(np.array(features), losses, photos, default, learned)
    by_model = {part: _in_order(found[part], models) for part in ("uncertainty", "expected", "per_point")}
    return {
        "hog": hog,
        "losses": losses,
        "aside": [face.sample.image_path in aside for face in faces],
        "photo": np.unique(photos, return_inverse=True)[1],
        "own": None if faces[0].confidence is None else [face.confidence for face in faces],
        **by_model,
        "trained": _in_order(trained, (RETRAINED, FROM_NOTHING)),
    }


def _in_order(values: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """What there is, in the order of the names: it is that of the page."""
    return {name: values[name] for name in names if len(values.get(name, ()))}


def _point_facts(expected: NDArray[np.float64], true: NDArray[np.float64]) -> list[float]:
    """Of one face: Spearman over its points, and the means that the correlation over all points needs."""
    from scipy.stats import spearmanr

    values = expected, true, expected**2, true**2, expected * true
    return [float(spearmanr(expected, true).statistic), *(float(each.mean()) for each in values)]


def _trained(
    features: NDArray[np.float32],
    losses: NDArray[np.float64],
    photos: list[str],
    default: FaceRejector,
    names: list[str],
) -> dict[str, NDArray[np.float64]]:
    """Uncertainty of every face by linear SELE scores trained on the other photographs.

    From nothing: on the HOG values, of which there are many times more than faces. Retrained: on the columns
    that the shipped trees see, and on their answer.
    """
    result = {}
    if RETRAINED in names:
        own = np.column_stack([default.score.columns(features), default.score(features)])
        own = (own - own.mean(axis=0)) / (own.std(axis=0) + 1e-6)
        own[:, -1] *= _TRUST
        wide = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
        result[RETRAINED] = _out_of_fold(own, losses, photos, wide)
    if FROM_NOTHING in names:
        values = features[:, : default.hog.n_features]
        result[FROM_NOTHING] = _out_of_fold(values, losses, photos, (1.0, 3.0, 10.0, 30.0))
    return result


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
