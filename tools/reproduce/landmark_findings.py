"""What the landmark results say about each claim of the paper; every sentence follows the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tools.reproduce.landmark_scores import BOOSTED, STABLE
from tools.reproduce.landmark_statistics import DETECTOR, Areas
from tools.reproduce.landmark_trees import RUNS, TREES

# where selective risks of REG and SELE are compared, as stored results name them
_COVERAGES = ("0.1", "0.5", "0.9")

# claims judged by means and counts of splits, which overlap: weaker than an interval, and named so
_SAME, _OTHER = "points the same way", "not seen"

_HEAD = """\
The paper prints no numbers for landmarks, only two figures and what it reads from them. It has 5,807 faces,
3,484 of them for training; here there are {faces:,}, {train:,} for training. Its predictor is dlib's
published model, measured on photographs that model was trained on. The claims of the paper, with differences
of AuRC (95 % interval) for both predictors:
"""


def beside_the_paper(found: dict[str, list[dict[str, Any]]], areas: dict[str, Areas], of_runs: Areas) -> str:
    """The paper's claims, one by one; ``of_runs`` is for the mean of three runs of the first predictors."""
    names = list(areas)
    claims = {
        "Learned scores beat the face-detector score.": _all_lower(
            areas, [("REG", DETECTOR), ("SELE", DETECTOR)]
        ),
        "SELE is slightly better than REG.": _all_lower(areas, [("SELE", "REG")]),
        "The difference is largest at low coverage, where SELE does not accept bad faces.": _low_coverage(
            found, names
        ),
        "SELE is not saturated: more training faces help.": _saturation(found, names),
        "With more faces SELE would move away from REG.": _outlook(found, names),
    }
    sizes = found[names[0]][0]["faces"]
    lines = [_HEAD.format(faces=sum(sizes.values()), train=sizes["train"])]
    for claim, finding in claims.items():
        lines.append(f"- **{claim}** {finding}")
    paragraphs = [
        _regularisation(found, names),
        _additions(areas[names[0]], of_runs, found["data"][0]),
        _leak(found),
    ]
    return "\n\n".join(["\n".join(lines), *paragraphs])


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
            f"the lowest positive in {wins} of {len(splits)} splits: {_SAME if holds else _OTHER}."
        )
    return " ".join(sentences)


def _saturation(found: dict[str, list[dict[str, Any]]], names: list[str]) -> str:
    sentences = []
    for name in names:
        gains = _last_gains(found[name])
        shown = ", ".join(
            f"{method} {signed(gain.mean())} (lower in {(gain < 0).sum()} of {len(gain)} splits)"
            for method, gain in gains.items()
        )
        holds = 2 * (gains["SELE"] < 0).sum() > len(gains["SELE"])
        sentences.append(f"{name.capitalize()}: {shown}: {_SAME if holds else _OTHER}.")
    return "AuRC when the training faces double for the last time. " + " ".join(sentences)


def _outlook(found: dict[str, list[dict[str, Any]]], names: list[str]) -> str:
    sentences = []
    for name in names:
        gains = _last_gains(found[name])
        lead = gains["SELE"] - gains["REG"]
        more = int((lead < 0).sum())
        spread = lead.std(ddof=1) if len(lead) > 1 else np.inf
        (few, first), (many, last) = (_lead(found[name], step) for step in (0, -1))
        sentences.append(
            f"{name.capitalize()}: SELE − REG {signed(first)} with {few:.0f} faces, {signed(last)} with "
            f"{many:.0f}; in the last doubling SELE gained more in {more} of {len(lead)} splits, the lead "
            f"changed by {signed(lead.mean())} ± {spread:.3f}: {_SAME if lead.mean() < -spread else _OTHER}."
        )
    return " ".join([*sentences, "What more faces than these would change was not tested."])


def _last_gains(splits: list[dict[str, Any]]) -> dict[str, Any]:
    """Per method, test AuRC with all training faces minus that with half of them, for every split."""
    curves = {
        method: np.array([[step["test"] for step in one["learning"][method]] for one in splits])
        for method in ("REG", "SELE", BOOSTED)
    }
    return {method: curve[:, -1] - curve[:, -2] for method, curve in curves.items()}


def _lead(splits: list[dict[str, Any]], step: int) -> tuple[float, float]:
    """Training faces at one step of the learning curves, and test AuRC of SELE minus that of REG there."""
    sele, reg = ([one["learning"][method][step] for one in splits] for method in ("SELE", "REG"))
    lead = np.mean([s["test"] - r["test"] for s, r in zip(sele, reg, strict=True)])
    return float(np.mean([s["faces"] for s in sele])), float(lead)


def _regularisation(found: dict[str, list[dict[str, Any]]], names: list[str]) -> str:
    ranges = {}
    for method in ("SELE", "REG"):
        chosen = [one["methods"][method]["alpha"] for name in names for one in found[name]]
        low, high = min(chosen), max(chosen)
        ranges[method] = f"{method} {low:g}" if low == high else f"{method} {low:g} to {high:g}"
    largest = 1000 / found[names[0]][0]["faces"]["train"]
    return (
        f"Regularisation: validation chose alpha = {', '.join(ranges.values())}, as a weight beside the mean "
        "risk. The paper's grid, 0 and 1 to 1000, has such values if read the same way; read as a weight "
        f"beside the sum of the risks, as its tables ask for, it would end at {largest:.2g}."
    )


def _additions(area: Areas, of_runs: Areas, data: dict[str, Any]) -> str:
    added = (BOOSTED, STABLE, TREES)
    closed = ", ".join(f"{m} {100 * area.gap_closed(m)[0]:.0f} %" for m in ("REG", "SELE", *added))
    against_sele = "; ".join(f"{method}: {_better(*area.difference(method, 'SELE'))}" for method in added)
    one, three = (data[kind]["cross-fitted"]["mean"] for kind in ("errors", "errors_of_runs"))
    return (
        "What is added here: losses on faces the predictor has not seen, intervals, boosted trees on the "
        "same risk, stability features, and the trees on compact features that are shipped. On such faces "
        f"the share of the gap between detector score and oracle that is closed is {closed}. Against linear "
        f"SELE, {against_sele}. Two more runs, whose mean is then judged, take the error of these predictors "
        f"from {one:.2f} to {three:.2f} %; {TREES} close {100 * of_runs.gap_closed(RUNS)[0]:.0f} % of the "
        f"gap of that mean, with an AuRC of {of_runs.value[RUNS]:.3f} against {area.value[TREES]:.3f} with "
        "one run."
    )


def _better(value: float, low: float, high: float) -> str:
    if low <= 0 <= high:
        return f"not to be told apart ({signed(value)})"
    return f"{'better' if high < 0 else 'worse'} ({signed(value)}, {signed(low)} to {signed(high)})"


def _leak(found: dict[str, list[dict[str, Any]]]) -> str:
    errors = found["data"][0]["errors"]
    honest, leaky = errors["cross-fitted"], errors["published"]
    return (
        f"What the leak hides: on these photographs the published model errs by {leaky['mean']:.2f} % on "
        f"average and by more than 10 % on {100 * leaky['above_10']:.1f} % of the faces; predictors of the "
        f"same kind that have not seen them by {honest['mean']:.2f} % and on "
        f"{100 * honest['above_10']:.1f} %."
    )
