"""What a model file says about its guarantee: numbers, bound to the model they were found for."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from facereject.selection.selector import Certificate, Selector

if TYPE_CHECKING:
    from facereject.faces.rejector import FaceRejector


def guarantee_record(rejector: FaceRejector, selector: Selector) -> dict[str, Any]:
    """The numbers of a guarantee, as plain JSON, and what they are bound to."""
    assert selector.certificate_ is not None
    return {
        **asdict(selector.certificate_),
        "coverage": selector.coverage_,
        "selective_risk": selector.selective_risk_,
        "bound_to": binding(rejector),
    }


def guarantee_of(rejector: FaceRejector) -> Certificate | None:
    """The guarantee of a model; None if there is none, or if it was given for another model.

    It holds for one score, threshold, landmark predictor and detector. Numbers that the calibration faces in
    the model contradict are none.
    """
    record = rejector.info.get("certificate")
    if not isinstance(record, dict) or record.get("bound_to") != binding(rejector):
        return None
    try:
        found = Certificate(**{field.name: record[field.name] for field in fields(Certificate)})
    except (KeyError, TypeError):
        return None
    bound, losses = found.loss_bound, rejector.calibration.losses
    numbers = (found.bound, found.delta, bound)
    if not all(isinstance(number, int | float) and math.isfinite(number) for number in numbers):
        return None
    clipped = int((losses > (bound or 0.0)).sum())
    sound = 0 < found.delta < 1 and (found.n, found.n_clipped) == (len(losses), clipped)
    return found if sound else None


def statement(certificate: Certificate) -> str:
    """The promise in one sentence, in the words of faces."""
    return (
        f"With probability at least {1 - certificate.delta:g} over the {certificate.n} calibration faces, "
        f"the mean of min(error, {certificate.loss_bound:g} %) over accepted faces drawn like them is at "
        f"most {certificate.bound:g} % of the outer-eye distance. Calibration errors above "
        f"{certificate.loss_bound:g} %: {certificate.n_clipped}."
    )


def binding(rejector: FaceRejector) -> str:
    """SHA-256 of what a guarantee holds for: score and features, threshold, predictor, detector."""
    definition = {
        "score": rejector.score.kind,
        "hog": rejector.hog.definition,
        "stability": rejector.stability.definition if rejector.stability else None,
        "threshold": repr(float(rejector.selector.threshold_)),
        "predictor": getattr(rejector.predictor, "fingerprint", None) or repr(rejector.predictor),
        "detector": vars(rejector.detector),
    }
    digest = hashlib.sha256(json.dumps(definition, sort_keys=True, default=str).encode())
    for name, array in sorted(rejector.score.arrays().items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes())
    return digest.hexdigest()
