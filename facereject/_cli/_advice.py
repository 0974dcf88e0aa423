"""Advice after a run that found few faces, or accepted almost none or almost all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from facereject._words import percent

if TYPE_CHECKING:
    from facereject.faces import FaceRejector
    from facereject.outputs.summary import Summary

# of fewer faces or frames nothing can be told
_ENOUGH = 20

# shares that are said to be almost nothing and almost everything
_FEW, _MOST = 0.1, 0.995

# pixels; YuNet finds few faces that are smaller
_SMALL_FACE = 20

# a target and its value in words
_TARGETS = {
    "max_error": "a mean error of {} %",
    "max_expected_error": "expected errors up to {} %",
    "max_error_bound": "error bounds up to {} %",
    "cost": "a cost of {} %",
    "coverage": "a coverage of {}",
    "threshold": "an uncertainty up to {}",
}


def advice(
    summary: Summary, rejector: FaceRejector, *, decided: bool = True, finds: bool = True, command: str = ""
) -> list[str]:
    """Sentences about a run, or none.

    Parameters
    ----------
    summary : Summary
    rejector : FaceRejector
    decided : bool
        The decisions are those of its target, not of the best of a batch.
    finds : bool
        Faces were searched for, not read from a table or from landmark files.
    command : str
        The command that has the options of targets, if this one has none.
    """
    return [
        *(_on_finding(summary, rejector) if finds else ()),
        *_on_accepting(summary, rejector, decided, command),
    ]


def _on_finding(summary: Summary, rejector: FaceRejector) -> Iterator[str]:
    fell_back = getattr(rejector, "fell_back", False)
    if fell_back:
        yield (
            "Faces were found by dlib's detector, as the weights of YuNet are not installed: it finds fewer "
            "faces. `facereject models get` installs them."
        )
    total = summary.total
    if total.frames < _ENOUGH or total.no_face <= total.frames / 2:
        return
    detector = getattr(rejector, "detector", None)
    options = getattr(detector, "options", {})
    tries = []
    if (options.get("min_face") or 0) > _SMALL_FACE:
        tries.append(f"--min-face {_SMALL_FACE} for small faces")
    elif options.get("upsample") == 0:
        tries.append("--upsample 1 for small faces")
    if not fell_back and getattr(detector, "registered_name", "") != "both":
        tries.append("--detector both")
    share = percent(total.no_face, total.frames)
    hint = f": try {', or '.join(tries)}" if tries else ""
    yield f"In {share} of the images and frames no face was found{hint}."


def _on_accepting(summary: Summary, rejector: FaceRejector, decided: bool, command: str) -> Iterator[str]:
    total, target = summary.total, getattr(rejector, "target", None)
    if total.faces < _ENOUGH:
        return
    few, most = total.accepted_faces < _FEW * total.faces, total.accepted_faces > _MOST * total.faces
    poses = getattr(rejector, "pose_limits", None)
    given = {} if poses is None else poses._asdict()
    limits = [f"--{name.replace('_', '-')}" for name, limit in given.items() if limit is not None]
    if few and limits and summary.turned > total.faces / 2:
        share = percent(summary.turned, total.faces)
        allowed = f"{' and '.join(limits)} allow{'s' * (len(limits) == 1)}"
        yield f"Few faces are accepted: {share} are turned further than {allowed}."
        return
    if not decided or target is None:
        return
    # a share of the faces that is as small or large as the one asked for needs no explanation
    asked = target.value if target.kind == "coverage" else 0.5
    value, flag = _in_words(target.kind, target.value), f"--{target.kind.replace('_', '-')}"
    with_option = f" with {command}" if command else ""
    if few and asked >= 2 * _FEW:
        reached, half = percent(rejector.selector.coverage_, 1.0), _for_half(rejector)
        why = f"with {value} this model accepts {reached} of its calibration faces"
        if half:
            why += f", and half of them with {half}"
        elif rejector.selector.coverage_ >= 0.5:
            why = f"{why}, but these are less certain"
        yield f"Few faces are accepted: {why}. Try a higher {flag}{with_option}, or --keep-best."
    elif most and asked < _MOST:
        yield f"Almost all faces are accepted: they meet {value}. A lower {flag}{with_option} rejects more."


def _in_words(kind: str, value: float) -> str:
    return _TARGETS[kind].format(f"{value:.3g}")


def _for_half(rejector: FaceRejector) -> str:
    """The value of the target that accepts half of the calibration faces, in words; empty if unknown."""
    half, kind = rejector.with_target(coverage=0.5).selector, rejector.target.kind
    if kind == "coverage" or rejector.selector.coverage_ >= 0.5:
        return ""
    value = half.threshold_
    if kind == "max_error":
        value = half.selective_risk_
    elif kind == "max_error_bound":
        value = float(rejector.calibration.error_interval(half.threshold_)[1])
    elif kind != "threshold":
        value = float(rejector.calibration.expected_error(half.threshold_))
    return _in_words(kind, value) if math.isfinite(value) else ""
