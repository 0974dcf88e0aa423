"""What a model file says about its guarantee: numbers, bound to the model they were found for."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from facereject.faces.landmarks.point_set import POINTS_300W
from facereject.faces.plugins import definition_of, fingerprint_of, name_of
from facereject.selection.selector import Guarantee, Selector

if TYPE_CHECKING:
    from facereject.faces.rejector import FaceRejector


def guarantee_record(rejector: FaceRejector, selector: Selector) -> dict[str, Any]:
    """The numbers of a guarantee, as plain JSON, and what they are bound to."""
    assert selector.guarantee_ is not None
    return {
        **asdict(selector.guarantee_),
        "coverage": selector.coverage_,
        "selective_risk": selector.selective_risk_,
        "bound_to": binding(rejector),
    }


def guarantee_of(rejector: FaceRejector) -> Guarantee | None:
    """The guarantee of a model; None if there is none, or if it was given for another model.

    It holds for one score, threshold, landmark predictor and detector. Numbers that the calibration faces in
    the model contradict are none.
    """
    record = rejector.info.get("certificate")
    if not isinstance(record, dict) or record.get("bound_to") != binding(rejector):
        return None
    try:
        numbers = {field.name: record[field.name] for field in fields(Guarantee)}
        found = Guarantee(**{**numbers, "groups": ()})
    except (KeyError, TypeError):
        return None
    bound, losses = found.loss_bound, rejector.calibration.losses
    figures = (found.bound, found.delta, bound)
    if not all(isinstance(figure, int | float) and math.isfinite(figure) for figure in figures):
        return None
    clipped = int((losses > (bound or 0.0)).sum())
    sound = 0 < found.delta < 1 and (found.n, found.n_clipped) == (len(losses), clipped)
    return found if sound else None


def statement(guarantee: Guarantee, unit: str = POINTS_300W.unit) -> str:
    """The guarantee in one sentence, in the words of faces; ``unit`` says what errors are divided by."""
    return (
        f"With probability at least {1 - guarantee.delta:g} over the {guarantee.n} calibration faces, "
        f"the mean of min(error, {guarantee.loss_bound:g} %) over accepted faces drawn like them is at "
        f"most {guarantee.bound:g} % of {unit}. Calibration errors above "
        f"{guarantee.loss_bound:g} %: {guarantee.n_clipped}."
    )


def binding(rejector: FaceRejector) -> str:
    """SHA-256 of what a guarantee holds for: score and features, threshold, predictor, detector."""
    definition = {
        "score": rejector.score.kind,
        **({"region": rejector.region} if rejector.region else {}),
        **{name: part for name, part in rejector.features.definition.items() if name != "context" or part},
        **({} if rejector.upright_beyond is None else {"upright_beyond": rejector.upright_beyond}),
        "threshold": repr(float(rejector.selector.threshold_)),
        "points": rejector.points.definition,
        "predictor": fingerprint_of(rejector.predictor) or name_of(rejector.predictor),
        "detector": definition_of(rejector.detector) or name_of(rejector.detector),
    }
    digest = hashlib.sha256(json.dumps(definition, sort_keys=True, default=str).encode())
    for name, array in sorted(rejector.score.arrays().items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes())
    return digest.hexdigest()
