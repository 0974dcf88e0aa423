"""What a model is, in words: data, results, target, threshold, guarantee, predictor, licence."""

from __future__ import annotations

import math
from importlib import resources
from typing import Any, NamedTuple

from facereject._words import counted
from facereject.faces.detectors.base import describe_detector
from facereject.faces.features.recipe import MirroredRuns
from facereject.faces.landmarks.base import LandmarkModelError
from facereject.faces.landmarks.dlib_trees import PUBLISHED_PREDICTOR, LandmarkPredictor
from facereject.faces.models.calibration import Target
from facereject.faces.models.guarantee import guarantee_of, statement
from facereject.faces.models.scores import SCORES
from facereject.faces.models.storage import MODEL_KIND, pretrained_models
from facereject.faces.rejector import FaceRejector
from facereject.modelfile import read_model

LICENCE = (
    "iBUG 300-W excludes commercial use, and so do dlib's published 68-point model and the models default, "
    "thorough, dlib and mesh, which were trained on it. mesh-free was not. The code is BSD-3-Clause: with "
    "your own predictor and photos, `facereject train` makes a model without these restrictions."
)

#: what the models of the package are for, by name
MODEL_NOTES = {
    "default": "dlib's 68 landmarks, the error of each and the likely cause. Research only (300-W).",
    "thorough": "As default, on the mean of six predictions: better and slower. Research only (300-W).",
    "dlib": "The stack of the paper: dlib's detector and landmarks, a linear score. Research only (300-W).",
    "mesh": "MediaPipe's face mesh, mapped to 68 landmarks. Research only (300-W).",
    "mesh-free": "MediaPipe's face mesh, mapped to 68 landmarks. Commercial use: with attribution (CC BY).",
}


def error_unit(rejector: FaceRejector) -> str:
    """The unit of every error of a model."""
    return f"percent of {rejector.points.unit} (true landmarks)"


def target_words(target: Target) -> str:
    """What acceptance is tuned for, in words."""
    value = f"{target.value:.3g}"
    return {
        "max_error": f"mean error of the accepted faces at most {value} %",
        "max_expected_error": f"expected error of each accepted face at most {value} %",
        "max_error_bound": f"error of each accepted face at most {value} % with probability 0.9",
        "coverage": f"at least {target.value:.3g} of the faces accepted",
        "cost": f"a rejection is as bad as an error of {value} %",
        "threshold": f"uncertainty at most {value}",
    }[target.kind]


def model_facts(rejector: FaceRejector) -> list[tuple[str, str]]:
    """Names and sentences about a model, from its own file; what it does not know is left out."""
    info, selector = rejector.info, rejector.selector
    points = rejector.points
    features = f"{rejector.hog.n_features:,} HOG values"
    if not points.is_300w or points.used is not None:
        features += f" at {points.n_used} of {points.n} landmarks"
    if rejector.context is not None:
        features += " with shape, place and image quality"
    if isinstance(rejector.stability, MirroredRuns):
        runs = counted(len(rejector.stability.angles), "further prediction")
        features += (
            f" and {rejector.stability.n_features} stability values ({runs} per face on mirrored and turned "
            + ("copies)" if rejector.from_files else "copies; the landmarks are the mean of all)")
        )
    elif rejector.stability is not None:
        features += f" and {rejector.stability.n_features} stability values (six more predictions per face)"
    trained = SCORES.get(str(info.get("score")))
    found = [("score", f"{trained.card if trained else rejector.score.kind}, on {features}")]
    if rejector.relative:
        found.append(
            (
                "unit",
                "none: trained without annotation, errors are relative to the predictor's own landmarks; "
                "`facereject calibrate --unit` gives them one from about 30 annotated faces",
            )
        )
    if rejector.from_files:
        beside = ", beside those of the other tools it was trained with" if rejector.needs_others else ""
        found.append(("scores", f"landmarks in files, as {info.get('tool') or 'a tool'} wrote them{beside}"))
    if rejector.region:
        found.append(("decides by", " and ".join(rejector.region)))
    found += _data(info) + _results(info)
    losses = rejector.calibration.losses
    found.append(("calibrated on", f"{len(losses):,} faces, mean error {losses.mean():.2f} %"))
    found.append(("target", target_words(rejector.target)))
    everything = math.isinf(selector.threshold_)
    threshold = "none: EVERY FACE IS ACCEPTED, nothing is ever rejected"
    if not everything:
        threshold = f"uncertainty {selector.threshold_:.5g}"
    sample = f"of the calibration faces it accepts {selector.coverage_:.1%}"
    if math.isfinite(selector.selective_risk_):
        sample += f", mean error {selector.selective_risk_:.2f} %"
    found.append(("threshold", f"{threshold}; {sample}"))
    found.append(("guarantee", promise_of(rejector) or "none; run `facereject calibrate` to get one"))
    found.append(("detector", describe_detector(rejector.detector)))
    if rejector.upright_beyond is not None:
        found.append(("tilted faces", f"upright copy beyond {rejector.upright_beyond:g} degrees"))
    if rejector.features.correction is not None:
        found.append(
            ("correction", "landmarks are moved by what their HOG values show, unless they are given")
        )
    return found


def promise_of(rejector: FaceRejector) -> str | None:
    """The guarantee of the model in one sentence, if it has one that holds for it as it is."""
    found = guarantee_of(rejector)
    unit = rejector.points.unit
    if rejector.region:
        unit += f", for the landmarks of {' and '.join(rejector.region)}"
    return statement(found, unit) if found is not None else None


def predictor_name(fingerprint: str | None, name: str = "") -> str:
    """A landmark predictor by the SHA-256 of its file, and its registered name where that says more."""
    if fingerprint == PUBLISHED_PREDICTOR:
        return f"dlib's published 68-point model (SHA-256 {fingerprint[:12]}…)"
    known = f"SHA-256 {fingerprint[:12]}…" if fingerprint else "no fingerprint"
    if name:
        return f"{name} ({known})"
    return f"a predictor with {known}" if fingerprint else "a predictor that has no fingerprint"


def _data(info: dict[str, Any]) -> list[tuple[str, str]]:
    try:
        missed = info["missed"]
        # image files of one person or photo that training kept together count as one
        together = len(info.get("photo_digests") or ()) > info["photographs"]
        of = "photos or people" if together else "photos"
        text = (
            f"{info['faces']:,} faces of {info['photographs']:,} {of}, each as it is and in "
            f"{info['degradations']} degraded versions: {info['rows']:,} rows; the detector missed "
            f"{missed['clean']:,} clean and {missed['degraded']:,} degraded ones"
        )
    except (KeyError, TypeError, ValueError):
        return []
    return [("trained on", text)]


def _results(info: dict[str, Any]) -> list[tuple[str, str]]:
    """Results of the regularisation that was chosen, by cross-validation over photos."""
    found = []
    try:
        # files of earlier versions tried one score only, and do not name it again
        (best,) = (
            fit
            for fit in info["cross_validation"]
            if fit["alpha"] == info["alpha"] and fit.get("score", info["score"]) == info["score"]
        )
        for group in ("clean", "degraded"):
            share = best[f"gap_closed_{group}"]
            if share is None:
                continue
            text = f"closes {share:.0%} of the gap between detector score and oracle"
            areas = info.get("aurc", {}).get(group)
            if areas:
                text += (
                    f" (AuRC {areas['detector']:.2f} by detector score, {areas['score']:.2f} by this score, "
                    f"{areas['oracle']:.2f} by the error itself)"
                )
            found.append((f"{group} photos", f"{text}; {info['folds']}-fold cross-validation"))
    except (KeyError, TypeError, ValueError, AttributeError):
        return []
    return found


class TrainedFor(NamedTuple):
    """The landmark predictor a model was trained for: its fingerprint and its registered name, if any."""

    fingerprint: str | None
    name: str


def trained_for(model: str) -> TrainedFor:
    """The landmark predictor a model was trained for, by the model's name or path.

    The name of an installed model means that model, even if the current folder has a file of that name.
    """
    if model in pretrained_models():
        with resources.as_file(resources.files("facereject") / "pretrained" / f"{model}.safetensors") as path:
            return trained_for(str(path))
    header = read_model(model, MODEL_KIND, None).header
    fingerprint, definition = header.get("predictor"), header.get("landmarks")
    name = definition.get("name") if isinstance(definition, dict) else None
    return TrainedFor(fingerprint if isinstance(fingerprint, str) else None, str(name or ""))


def landmark_model() -> str:
    """The default landmark predictor, or what to do if there is none."""
    try:
        predictor = LandmarkPredictor()
    except LandmarkModelError as error:
        return f"missing: {error}"
    return f"{predictor_name(predictor.fingerprint)}, {predictor.path}"
