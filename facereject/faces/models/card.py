"""What a model is, in words: data, results, target, threshold, promise, predictor, licence."""

from __future__ import annotations

import math
from typing import Any

from facereject.faces.evaluation.data_warnings import PUBLISHED_PREDICTOR
from facereject.faces.models.calibration import Target
from facereject.faces.models.guarantee import guarantee_of, statement
from facereject.faces.rejector import FaceRejector

LICENCE = (
    "The photographs of iBUG 300-W, and so dlib's published 68-point model trained on them, exclude "
    "commercial use; so do the models that come with facereject. The code is BSD-3-Clause: with a predictor "
    "and photographs of your own, `facereject train` makes a model that is yours."
)

#: the unit of every error
UNIT = "percent of the distance of the outer eye corners (true landmarks)"

_SCORES = {
    "sele": "linear, SELE risk over all pairs",
    "reg": "linear regression of the error",
    "boosted": "boosted trees on the SELE risk",
}


def target_words(target: Target) -> str:
    """What acceptance is tuned for, in words."""
    value = f"{target.value:.3g}"
    return {
        "max_error": f"mean error of the accepted faces at most {value} %",
        "coverage": f"at least {target.value:.3g} of the faces accepted",
        "cost": f"a rejection is as bad as an error of {value} %",
        "threshold": f"uncertainty at most {value}",
    }[target.kind]


def model_facts(rejector: FaceRejector) -> list[tuple[str, str]]:
    """Names and sentences about a model, from its own file; what it does not know is left out."""
    info, selector = rejector.info, rejector.selector
    features = f"{rejector.hog.n_features:,} HOG values"
    if rejector.stability is not None:
        features += f" and {rejector.stability.n_features} stability values (six more predictions per face)"
    found = [("score", f"{_SCORES.get(str(info.get('score')), rejector.score.kind)}, on {features}")]
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
    found.append(("promise", promise_of(rejector) or "none; `facereject calibrate` makes one"))
    detector = rejector.detector
    smallest = detector.min_face or 80 / 2**detector.upsample
    found.append(("detector", f"threshold {detector.threshold:g}, faces from {smallest:.0f} pixels"))
    return found


def promise_of(rejector: FaceRejector) -> str | None:
    """The guarantee of the model in one sentence, if it has one that holds for it as it is."""
    found = guarantee_of(rejector)
    return statement(found) if found is not None else None


def predictor_name(fingerprint: str | None) -> str:
    """A landmark predictor by the SHA-256 of its file."""
    if not fingerprint:
        return "a predictor without a fingerprint"
    if fingerprint == PUBLISHED_PREDICTOR:
        return f"dlib's published 68-point model (SHA-256 {fingerprint[:12]}…)"
    return f"a predictor of SHA-256 {fingerprint[:12]}…"


def _data(info: dict[str, Any]) -> list[tuple[str, str]]:
    try:
        missed = info["missed"]
        text = (
            f"{info['faces']:,} faces of {info['photographs']:,} photographs, each as it is and in "
            f"{info['degradations']} degraded versions: {info['rows']:,} rows; the detector missed "
            f"{missed['clean']:,} clean and {missed['degraded']:,} degraded ones"
        )
    except (KeyError, TypeError, ValueError):
        return []
    return [("trained on", text)]


def _results(info: dict[str, Any]) -> list[tuple[str, str]]:
    """Results of the regularisation that was chosen, by cross-validation over photographs."""
    found = []
    try:
        (best,) = (fit for fit in info["cross_validation"] if fit["alpha"] == info["alpha"])
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
            found.append((f"{group} photographs", f"{text}; {info['folds']}-fold cross-validation"))
    except (KeyError, TypeError, ValueError, AttributeError):
        return []
    return found
