"""Writing and reading the model file of a rejector."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from facereject.faces.detectors import DETECTORS, Detector, check_detector
from facereject.faces.features.recipe import FaceFeatures, LandmarkCorrection
from facereject.faces.landmarks import LANDMARKS, Landmarks, check_predictor
from facereject.faces.landmarks.point_set import POINTS_300W, PointSet
from facereject.faces.models.calibration import Calibration, RegionSample, Target
from facereject.faces.models.score_models import PARTS, CompactScoreModel, RegionScore
from facereject.faces.models.scores import array_specs, score_model
from facereject.faces.plugins import Registry, RegistryError, fingerprint_of
from facereject.faces.regions import REGIONS
from facereject.faces.weights import WeightsError
from facereject.modelfile import ArraySpec, ModelFileContentError, read_model, write_model

if TYPE_CHECKING:
    from facereject.faces.rejector import FaceRejector

#: what a model file of a FaceRejector says it is
MODEL_KIND = "face-rejector"

_CALIBRATION: dict[str, ArraySpec] = {
    "calibration_uncertainty": ("float64", (None,)),
    "calibration_losses": ("float64", (None,)),
}
_MEAN_SHAPE: dict[str, ArraySpec] = {"mean_shape": ("float64", (None, 2))}


_REGIONS: dict[str, ArraySpec] = {
    "region_expected": ("float32", (None, len(REGIONS))),
    "region_losses": ("float32", (None, len(REGIONS))),
}
_PARTS: dict[str, Mapping[str, ArraySpec]] = {**PARTS, "regions": _REGIONS}

# those that need nothing else first
_SHIPPED = ("default", "thorough", "dlib", "mesh", "mesh-free")


def pretrained_models() -> list[str]:
    """Names of the models that come with the package."""
    folder = resources.files("facereject") / "pretrained"
    files = [Path(item.name) for item in folder.iterdir()]
    names = {file.stem for file in files if file.suffix == ".safetensors"}
    return [*(name for name in _SHIPPED if name in names), *sorted(names.difference(_SHIPPED))]


class DetectorFallbackWarning(UserWarning):
    """The detector of a model cannot be used here; another one takes its place."""


class Stored(NamedTuple):
    """What a model file holds.

    Attributes
    ----------
    parts : dict
        The arguments of `FaceRejector`, by name.
    trained_for : str or None
        Fingerprint of the landmark predictor it was trained for.
    fell_back : bool
        dlib's detector takes the place of YuNet, whose weights are missing.
    """

    parts: dict[str, Any]
    trained_for: str | None
    fell_back: bool


def read_stored(
    path: str | os.PathLike[str], detector: Detector | None, predictor: Landmarks | None
) -> Stored:
    """Read a model file; detector and predictor are restored by their names unless they are given."""
    header, arrays = read_model(path, MODEL_KIND, _specs)
    # outside the try: what these cannot find is no fault of this file; the predictor first, as the command
    # that gets its weights gets those of the detector, too
    if predictor is None:
        # files of earlier versions name none, and were mostly made for dlib's published model
        predictor = _restored(path, LANDMARKS, header.get("landmarks") or {"name": "dlib"})
    fell_back = False
    if detector is None:
        detector, fell_back = _restored_detector(path, header.get("detector"))
    parts: dict[str, Any] = {
        "detector": check_detector(detector),
        "predictor": check_predictor(predictor),
    }
    try:
        points = POINTS_300W
        if header.get("points") is not None:
            points = PointSet.from_definition(header["points"], arrays["mean_shape"])
        features = FaceFeatures.from_definition(header, points)
        correction = None
        if header.get("correction") is not None:
            correction = LandmarkCorrection.from_arrays(arrays, header["correction"], points)
        score = score_model(header["score"]).from_arrays(arrays, features)
        if header.get("region"):
            score = RegionScore(score, tuple(header["region"]))
        regions = None
        if "region_losses" in arrays:
            regions = RegionSample(expected=arrays["region_expected"], losses=arrays["region_losses"])
        info, uncertainty = header["info"], arrays["calibration_uncertainty"]
        # with a unit from other faces, these losses are no longer those of unseen ones
        ratio = None if info.get("own_faces") else info.get("unseen_ratio")
        parts |= {
            "score": score,
            "calibration": Calibration(
                losses=arrays["calibration_losses"],
                uncertainty=uncertainty,
                regions=regions,
                unit_error=float((info.get("unit") or {}).get("standard_error", 0.0)),
                unseen_ratio=ratio and np.interp(uncertainty, ratio["uncertainty"], ratio["ratio"]),
            ),
            "target": Target(str(header["target"]["kind"]), float(header["target"]["value"])),
            "hog": features.hog,
            "stability": features.stability,
            "context": features.context,
            "correction": correction,
            # files of earlier versions place landmarks on the image as it is
            "upright_beyond": header.get("upright_beyond"),
            "info": info,
        }
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileContentError(f"{path}: {type(error).__name__}: {error}") from None
    return Stored(parts, header.get("predictor"), fell_back)


def write_stored(path: str | os.PathLike[str], rejector: FaceRejector) -> None:
    """Write a model file; ValueError if detector or predictor could not be restored from it."""
    header = {
        "score": rejector.score.kind,
        "parts": _parts(rejector),
        "region": list(rejector.region),
        **rejector.features.definition,
        "upright_beyond": rejector.upright_beyond,
        "target": {"kind": rejector.target.kind, "value": rejector.target.value},
        "detector": DETECTORS.checked_definition(rejector.detector),
        "landmarks": LANDMARKS.checked_definition(rejector.predictor),
        "predictor": fingerprint_of(rejector.predictor),
        "info": rejector.info,
    }
    arrays = {
        **rejector.score.arrays(),
        # in full: a rounded threshold could decide otherwise on the calibration faces themselves
        "calibration_uncertainty": rejector.calibration.uncertainty,
        "calibration_losses": rejector.calibration.losses,
    }
    regions = rejector.calibration.regions
    if regions is not None:
        arrays |= {"region_expected": regions.expected, "region_losses": regions.losses}
    if rejector.features.correction is not None:
        arrays |= rejector.features.correction.arrays()
    if rejector.points != POINTS_300W:
        header["points"] = rejector.points.definition
        arrays["mean_shape"] = rejector.points.mean_shape
    write_model(path, MODEL_KIND, header, arrays)


def _specs(header: dict[str, Any]) -> dict[str, ArraySpec]:
    """The arrays that a model file with this header must hold."""
    specs = array_specs(header.get("score")) | _CALIBRATION
    if header.get("points") is not None:
        specs |= _MEAN_SHAPE
    if header.get("correction") is not None:
        specs |= LandmarkCorrection.specs
    given = header.get("parts")
    # files of earlier versions have none
    for name in given if isinstance(given, list) else ():
        specs |= _PARTS.get(str(name), {})
    return specs


def _parts(rejector: FaceRejector) -> list[str]:
    """What else a model file holds besides score and calibration."""
    score = rejector.score.score if isinstance(rejector.score, RegionScore) else rejector.score
    found = list(score.parts) if isinstance(score, CompactScoreModel) else []
    return [*found, "regions"] if rejector.calibration.regions is not None else found


def _restored_detector(path: str | os.PathLike[str], definition: Any) -> tuple[Detector, bool]:
    """The detector of a model file, and whether it is dlib's because the weights of YuNet are missing."""
    try:
        detector: Detector = _restored(path, DETECTORS, definition)
    except WeightsError as error:
        if definition.get("name") != "yunet":
            raise
        warnings.warn(
            f"{error} dlib's detector is used instead, which finds fewer faces.",
            DetectorFallbackWarning,
            stacklevel=5,
        )
        return DETECTORS.make("dlib"), True
    return detector, False


def _restored(path: str | os.PathLike[str], registry: Registry[Any], definition: Any) -> Any:
    """The plug-in that a definition in a model file describes."""
    try:
        if not isinstance(definition, dict):
            raise RegistryError(f"{definition!r} defines no {registry.noun}")
        # files of earlier versions know one detector only, and keep its options without a name
        return registry.restore({"name": "dlib", **definition})
    except WeightsError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelFileContentError(f"{path}: {error}") from None
