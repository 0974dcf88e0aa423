"""What the landmark results say about each claim of the paper; every sentence follows the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction.landmark_statistics import DETECTOR, Areas

# where selective risks of REG and SELE are compared, as stored results name them
_COVERAGES = ("0.1", "0.5", "0.9")

_HEAD = """\
The paper prints no numbers for landmarks, only two figures and what it reads from them. It has 5,807 faces,
3,484 of them for training; here there are {faces:,}, {train:,} for training. Its predictor is dlib's
published model, measured on photographs that model was trained on. The claims of the paper, with differences
of AuRC (95 % interval) for both predictors:
"""


def beside_the_paper(found: dict[str, list[dict[str, Any]]], areas: dict[str, Areas]) -> str:
    """The paper's claims, one by one."""
    names = list(areas)
    claims = {
        "Learned scores beat the face-detector score.": _all_lower(
            areas, [("REG", DETECTOR), ("SELE", DETECTOR)]
        ),
        "SELE is slightly better than REG.": _all_lower(areas, [("SELE", "REG")]),
        "The difference is largest at low coverage, where SELE does not accept bad faces.": _low_coverage(
            found, names
        ),
        "SELE is not saturated and would gain more from further faces than REG.": _slopes(found, names),
    }
    sizes = found[names[0]][0]["faces"]
    lines = [_HEAD.format(faces=sum(sizes.values()), train=sizes["train"])]
    for claim, finding in claims.items():
        lines.append(f"- **{claim}** {finding}")
    lines += ["", _additions(areas[names[0]]), "", _leak(found)]
    return "\n".join(lines)


def signed(value: float, digits: int = 3) -> str:
    """With a sign, and a minus that is as wide as the plus."""
    return f"{value:+.{digits}f}".replace("-", "−")


def _all_lower(areas: dict[str, Areas], pairs: list[tuple[str, str]]) -> str:
    sentences = []
    for name, area in areas.items():
        found = []
        for method, other in pairs:
            value, low, high = area.difference(method, other)
            numbers = f"{signed(value)} ({signed(low)} to {signed(high)})"
            found.append(f"{method} − {other} {numbers}: {_verdict(low, high)}")
        sentences.append(f"{name.capitalize()}: {'; '.join(found)}.")
    return " ".join(sentences)


def _verdict(low: float, high: float) -> str:
    """Whether an interval of a difference that should be negative agrees with the paper."""
    if high < 0:
        return "agrees"
    return "disagrees" if low > 0 else "not to be told apart"


def _low_coverage(found: dict[str, list[dict[str, Any]]], names: list[str]) -> str:
    sentences = []
    for name in names:
        splits = found[name]
        risk = {
            (method, c): np.array([one["methods"][method]["risk_at"][c] for one in splits])
            for method in (DETECTOR, "REG", "SELE")
            for c in _COVERAGES
        }
        shown = ", ".join(f"{m} {risk[m, _COVERAGES[0]].mean():.2f} %" for m in (DETECTOR, "REG", "SELE"))
        gains = {c: risk["REG", c] - risk["SELE", c] for c in _COVERAGES}
        drop = ", ".join(f"{signed(gain.mean())} at {100 * float(c):.0f} %" for c, gain in gains.items())
        first, *others = gains.values()
        wins = int((first > 0).sum())
        holds = first.mean() > max(gain.mean() for gain in others) and 2 * wins > len(splits)
        sentences.append(
            f"{name.capitalize()}: mean error of the surest tenth {shown}; REG − SELE {drop} coverage, at "
            f"the lowest positive in {wins} of {len(splits)} splits: {'agrees' if holds else 'not seen'}."
        )
    return " ".join(sentences)


def _slopes(found: dict[str, list[dict[str, Any]]], names: list[str]) -> str:
    sentences = []
    for name in names:
        gains = {}
        for method in ("REG", "SELE", "BoostedSELE"):
            before, after = (
                np.array([one["learning"][method][step]["test"] for one in found[name]]) for step in (-2, -1)
            )
            gains[method] = after - before
        shown = ", ".join(
            f"{method} {signed(drop.mean())} (lower in {(drop < 0).sum()} of {len(drop)} splits)"
            for method, drop in gains.items()
        )
        holds = gains["SELE"].mean() < min(gains["REG"].mean(), 0.0) and np.median(gains["SELE"]) < 0
        sentences.append(
            f"{name.capitalize()}, when the training faces double for the last time: {shown}: "
            f"{'agrees' if holds else 'not seen'}."
        )
    return " ".join(sentences)


def _additions(area: Areas) -> str:
    parts = [
        f"{m} {100 * area.gap_closed(m)[0]:.0f} %" for m in ("REG", "SELE", "BoostedSELE", "SELE + stability")
    ]
    return (
        "What is added here: losses on faces the predictor has not seen, intervals, boosted trees on the "
        "same risk, and stability features. Share of the gap between detector score and oracle that is "
        f"closed on such faces: {', '.join(parts)}."
    )


def _leak(found: dict[str, list[dict[str, Any]]]) -> str:
    errors = found["data"][0]["errors"]
    honest, leaky = errors["cross-fitted"], errors["published"]
    return (
        f"What the leak hides: on these photographs the published model errs by {leaky['mean']:.2f} % on "
        f"average and by more than 10 % on {100 * leaky['above_10']:.1f} % of the faces; predictors of the "
        f"same kind that have not seen them by {honest['mean']:.2f} % and on "
        f"{100 * honest['above_10']:.1f} %."
    )
