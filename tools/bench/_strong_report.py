"""What the cases of strong.py say together: means, worst cases, and whether the bar is met."""

from __future__ import annotations

from typing import Any

import numpy as np

# a table with fewer errors among its test rows cannot tell two good scores apart
ENOUGH_ERRORS = 20
# seconds from which the cost of a fit matters
SLOW = 1.0
# the tables of numbers that were looked at before the others were added
FORMER_NUMBERS = ("ABALONE", "BANK", "BIKESHARE", "CALIFORNIA", "CCPP", "CPU")


def summarise(results: list[dict[str, Any]], used: dict[str, str]) -> list[str]:
    """The bar of each kind of case, as lines of a Markdown text; tables that decided nothing come first."""
    lines: list[str] = []
    for title, part in (
        ("Tables on which nothing was chosen", [r for r in results if r["case"]["table"] not in used]),
        ("Tables on which something was chosen", [r for r in results if r["case"]["table"] in used]),
    ):
        regressors, noise = ([r for r in part if r["case"]["kind"] == kind] for kind in ("numbers", "noise"))
        classifiers = [r for r in part if r not in regressors + noise and r["errors"] >= ENOUGH_ERRORS]
        if part:
            lines += [f"## {title}", ""]
        if classifiers:
            lines += _classifier_lines(classifiers)
        if regressors:
            lines += _regressor_lines(regressors)
        if noise:
            lines += _noise_lines(noise)
    default, fit = (np.array([r["seconds"][name] for r in results]) for name in ("default", "predictor"))
    slow = fit >= SLOW
    lines.append(
        f"Processor time of SelectivePredictor(predictor).fit: {default.sum() / fit.sum():.2f} times that of "
        f"predictor.fit in total ({default.sum():.0f} s / {fit.sum():.0f} s)"
    )
    if slow.any():
        ratio = default[slow] / fit[slow]
        worst = results[int(np.flatnonzero(slow)[ratio.argmax()])]
        lines.append(
            f"  where a fit takes {SLOW:g} s: median {np.median(ratio):.2f}, worst {ratio.max():.2f} "
            f"({_name(worst)}), "
            f"above 3 in {(ratio > 3).sum()} of {len(ratio)}"
        )
    return lines


def _classifier_lines(cases: list[dict[str, Any]]) -> list[str]:
    names = [name for name in cases[0]["aurc"] if name != "trivial"]
    ratios = {name: np.array([r["aurc"][name] / r["aurc"]["trivial"] for r in cases]) for name in names}
    lines = [
        f"Classifiers: {len(cases)} cases with at least {ENOUGH_ERRORS} test errors; AuRC / AuRC(trivial)",
        "",
        "| score | geometric mean | lower in | worst | above 1.05 |",
        "|---|---|---|---|---|",
    ]
    for name, values in ratios.items():
        lines.append(
            f"| {name} | {_mean(values):.3f} | {(values < 1).sum()} of {len(values)} | {values.max():.3f} "
            f"| {(values > 1.05).sum()} |"
        )
    if "log-loss" in ratios:
        lines += _objective_lines(cases, ratios)
    lines.append("")
    for key in ("table", "predictor", "rows", "seed"):
        lines += [f"| {key} | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
        for value in dict.fromkeys(r["case"][key] for r in cases):
            rows = [i for i, r in enumerate(cases) if r["case"][key] == value]
            lines.append(f"| {value} | " + " | ".join(f"{_mean(ratios[n][rows]):.2f}" for n in names) + " |")
        lines.append("")
    for name, bar in (("boosted", 0.85), ("default", 0.90)):
        met = _mean(ratios[name]) <= bar and ratios[name].max() <= 1.05
        lines += [f"{name}: bar {bar:.2f} and none above 1.05: {'met' if met else 'MISSED'}."]
        for i in np.flatnonzero(ratios[name] > 1.05):
            found = cases[i].get("intervals", {}).get(name)
            chance = f" (95 % interval {found[0]:.2f} to {found[1]:.2f})" if found else ""
            lines.append(f"  above: {_name(cases[i])}: {ratios[name][i]:.3f}{chance}")
        lines.append("")
    return lines


def _objective_lines(cases: list[dict[str, Any]], ratios: dict[str, np.ndarray]) -> list[str]:
    """SELE against log-loss, with the same trees."""
    gain = ratios["boosted"] / ratios["log-loss"]
    plain = np.array([r["case"]["kind"] != "ordinal" for r in cases])
    parts = [("0/1 loss", plain), ("absolute error", ~plain)]
    text = ", ".join(f"{_mean(gain[rows]):.3f} on {label}" for label, rows in parts if rows.any())
    return ["", f"SELE / log-loss with the same trees: {_mean(gain):.3f} ({text})."]


def _regressor_lines(results: list[dict[str, Any]]) -> list[str]:
    names = [name for name in results[0]["aurc"] if name != "spread"]
    lines = [f"Regressors: {len(results)} cases; share of the way from random to oracle", ""]
    lines += ["| predictor | " + " | ".join(names) + " | spread |", "|---|" + "---|" * (len(names) + 1)]
    for predictor in ("all", *dict.fromkeys(r["case"]["predictor"] for r in results)):
        rows = [r for r in results if predictor in ("all", r["case"]["predictor"])]
        spread = np.mean([_share(r, "spread") for r in rows]) if predictor == "forest" else float("nan")
        lines.append(f"| {predictor} | {_mean_shares(rows, names)} | {spread:.3f} |")
    for key in ("table", "seed"):
        lines += ["", f"| {key} | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
        for value in dict.fromkeys(r["case"][key] for r in results):
            rows = [r for r in results if r["case"][key] == value]
            lines.append(f"| {value} | {_mean_shares(rows, names)} |")
    former = [r for r in results if r["case"]["table"] in FORMER_NUMBERS]
    # one entry where there are no other tables
    parts = {len({r["case"]["table"] for r in part}): part for part in (results, former) if part}
    lines.append("")
    for name, bar in (("boosted", 0.64), ("default", 0.57)):
        for n_tables, part in parts.items():
            mean = float(np.mean([_share(r, name) for r in part]))
            met = "met" if mean >= bar else "MISSED"
            lines.append(f"{name}, {n_tables} tables: bar {bar:.2f}: {met} ({mean:.3f}).")
        forests = [_share(r, "spread") - _share(r, name) for r in results if "spread" in r["aurc"]]
        if forests:
            below = float(np.mean(forests))
            lines.append(
                f"  forests: {100 * below:+.1f} points below their tree spread in the mean, worst case "
                f"{100 * max(forests):+.1f}: {'met' if below <= 0.02 else 'MISSED'}."
            )
    return [*lines, ""]


def _noise_lines(results: list[dict[str, Any]]) -> list[str]:
    """Where nothing can be learned: AuRC over that of the tree spread, or of a random order."""
    lines = [f"Regressors with nothing to learn: {len(results)} cases; AuRC / AuRC(spread, else random)", ""]
    lines += ["| score | geometric mean | worst | above 1.05 |", "|---|---|---|---|"]
    for name in ("boosted", "default"):
        ratios = np.array([r["aurc"][name] / r["aurc"].get("spread", r["random"]) for r in results])
        worst = f"{ratios.max():.3f} ({_name(results[int(ratios.argmax())])})"
        lines.append(f"| {name} | {_mean(ratios):.3f} | {worst} | {(ratios > 1.05).sum()} |")
    return [*lines, ""]


def _share(result: dict[str, Any], name: str) -> float:
    """How much of the way from a random order to the oracle's."""
    return float((result["random"] - result["aurc"][name]) / (result["random"] - result["oracle"]))


def _mean_shares(results: list[dict[str, Any]], names: list[str]) -> str:
    return " | ".join(f"{np.mean([_share(r, name) for r in results]):.3f}" for name in names)


def _name(result: dict[str, Any]) -> str:
    case = result["case"]
    return f"{case['table']} {case['predictor']} {case['rows']} rows seed {case['seed']}"


def _mean(ratios: np.ndarray) -> float:
    """Geometric mean."""
    return float(np.exp(np.log(ratios).mean()))
