"""The page on landmarks, landmarks.md, from stored results: tables, and what they say beside the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tools.reproduce import landmark_figures
from tools.reproduce.landmark_findings import beside_the_paper, signed
from tools.reproduce.landmark_scores import BOOSTED, COVERAGES, STABLE, unpack
from tools.reproduce.landmark_shipped import OWN, SHIPPED_SCORE
from tools.reproduce.landmark_statistics import DETECTOR, ORACLE, Areas, bootstrap_areas
from tools.reproduce.landmark_trees import RUNS, TREES
from tools.reproduce.store import Store, write_atomically

TASK, PAGE, FIGURES = "landmarks", "landmarks.md", "figures"
TITLES = {
    "cross-fitted": "cross-fitted predictors (honest)",
    "published": "published predictor (leaky: trained on these photographs)",
}
#: under which name the compact trees of either kind of predictor are stored
TREES_OF = {name: f"{name}-trees" for name in TITLES}

_INTRODUCTION = """\
# Landmarks

Made by `python -m tools.reproduce landmarks` from the files in raw/landmarks. Errors and areas are in percent
of the true outer-eye distance; lower is better.

{faces:,} faces of {photographs:,} photographs of 300-W (AFW, HELEN and LFPW parts) with 68 annotated points.
Near-identical photographs under different names count as one, which leaves {groups:,}; none is on two sides
of a split. dlib's detector (threshold −1) misses {missed} faces, which are left out.

- **Cross-fitted**: {folds} dlib predictors, each trained without a {share} of the photographs and used on it
  only. A loss is what a predictor does on a face it has not seen.
- **Published, leaky**: dlib's published 68-point model, as in the paper. It was trained on 300-W, these
  photographs included: its losses are training errors. Nothing below that uses it says how good landmarks or
  scores are on new faces.

Scores are then trained on 60 % of the photographs, regularised on 20 % (alpha from 0, 10⁻⁶ … 10³ by
validation AuRC; trees by early stopping) and tested on 20 %, in {splits} random splits. No face is ever
tested with a predictor that has seen it. "Compact trees" are the recipe of the shipped `default` (half of the
trees by SELE, half by least squares on the log error), here on clean photographs alone: they are trained on
the same 60 %, all choices by cross-validation among them.

Two leaks remain. As in all cross-fitting, the predictor behind the loss of a training face may have been
trained on a test photograph. And the settings of the HOG features, three numbers, were chosen with the
published predictor on all of these photographs (`facereject/pretrained/CARD.md`), so they are not blind to
test faces; they are the same for all learned scores. Columns and options of the compact trees were chosen
with the published predictor too, on four fifths of the photographs, clean and degraded.
"""


def write(results: Path) -> Path:
    """Draw the figures and write the page into the folder of results."""
    found = load(results)
    landmark_figures.draw_all(found, TITLES, results / FIGURES)
    write_atomically(results / PAGE, section(results))
    return results / PAGE


def load(results: Path) -> dict[str, list[dict[str, Any]]]:
    """All stored results; the compact trees without further runs are among the methods of their split."""
    found = Store(results, {}).load(TASK)
    for name, trees in TREES_OF.items():
        for split, more in zip(found[name], found[trees], strict=True):
            split["methods"][TREES] = more[TREES]["methods"][TREES]
            split["test"]["rank"][TREES] = more[TREES]["test"]["rank"][TREES]
    return found


def section(results: Path) -> str:
    """The page as Markdown."""
    found = load(results)
    (data,) = found["data"]
    resamples = data["settings"]["effort"]["resamples"]
    areas = {
        name: bootstrap_areas([unpack(one["test"]) for one in found[name]], resamples) for name in TITLES
    }
    runs = {name: [one[RUNS] for one in found[trees]] for name, trees in TREES_OF.items()}
    areas_of_runs = {
        name: bootstrap_areas([unpack(one["test"]) for one in splits], resamples)
        for name, splits in runs.items()
    }
    folds = len(data["folds"])
    paragraphs = [
        _INTRODUCTION.format(
            **{name: data[name] for name in ("faces", "photographs", "groups")},
            missed=data["errors"]["cross-fitted"]["missed"],
            folds=folds,
            share={2: "half", 5: "fifth"}.get(folds, f"{folds}th"),
            splits=len(found["cross-fitted"]),
        ),
        "## Beside the paper",
        beside_the_paper(found, areas, areas_of_runs["cross-fitted"]),
        "## Errors without rejection",
        error_table(data),
    ]
    for name, title in TITLES.items():
        paragraphs += [f"## Scores, {title}", score_table(found[name], areas[name])]
    paragraphs += [
        "Mean ± standard deviation over the splits; 95 % bootstrap interval over photographs. "
        '"Gap closed" is the share of the AuRC between detector score and oracle. R@c: mean error of the '
        "c % least uncertain faces.",
        f"![Risk-coverage curves]({FIGURES}/landmarks-risk-coverage.svg)",
        "## Two more runs of the predictor",
        "The recipe of the shipped `thorough`: runs on two mirrored and turned pictures tell how stable the "
        "points are, and the mean of the three runs takes the place of the landmarks. Errors, detector score "
        "and oracle are those of these landmarks: areas compare with the tables above as landmarks and score "
        "together, shares of the gap as the score alone.",
        *(
            f"{title[0].upper()}{title[1:]}:\n\n{score_table(runs[name], areas_of_runs[name])}"
            for name, title in TITLES.items()
        ),
        "## Differences",
        difference_table(found, areas),
        "## Learning curves",
        *(
            f"{title[0].upper()}{title[1:]}:\n\n{learning_table(found[name])}"
            for name, title in TITLES.items()
        ),
        "The spread over splits is mostly that of the faces tested, which all methods share. Within a split "
        "the validation faces are the same for all sizes.",
        f"![Learning curves]({FIGURES}/landmarks-learning-curve.svg)",
        "## The shipped model on predictors it was not made for",
        shipped_table(found["shipped"][0], resamples),
        "## Processor time",
        time_text(found),
    ]
    return "\n\n".join(paragraph.strip() for paragraph in paragraphs) + "\n"


def error_table(data: dict[str, Any]) -> str:
    """Errors of both predictors on all detected faces, of one run and of the mean of three."""
    errors = data["errors"] | {f"{name}, mean of three runs": e for name, e in data["errors_of_runs"].items()}
    rows = [
        [name, f"{e['faces']:,}", *(f"{e[k]:.2f}" for k in ("mean", "median", "percentile_95"))]
        + [f"{100 * e['above_10']:.1f} %"]
        for name, e in errors.items()
    ]
    table = _table(["predictor", "faces", "mean", "median", "95th percentile", "faces above 10 %"], rows)
    means = data["mean_of_fold"]
    return (
        f"{table}\n\nFold by fold the cross-fitted mean of one run is {min(means):.2f} to {max(means):.2f}."
    )


def score_table(splits: list[dict[str, Any]], areas: Areas) -> str:
    """One row per method: area, interval, gap closed, selective risks, regularisation chosen."""
    header = ["ranking by", "AuRC", "95 % interval", "gap closed", *(f"R@{100 * c:.0f}" for c in COVERAGES)]
    rows = []
    for method in splits[0]["methods"]:
        low, high = areas.interval(method)
        reports = [one["methods"][method] for one in splits]
        risks = [np.mean([r["risk_at"][f"{c:g}"] for r in reports]) for c in COVERAGES]
        gap = "–" if method == DETECTOR else _percents(*areas.gap_closed(method))
        rows.append(
            [method, _spread([r["aurc"] for r in reports]), f"{low:.3f} to {high:.3f}", gap]
            + [f"{risk:.2f}" for risk in risks]
            + [_chosen(reports)]
        )
    low, high = areas.interval(ORACLE)
    spread = _spread([one["oracle_aurc"] for one in splits])
    rows.append([ORACLE, spread, f"{low:.3f} to {high:.3f}", "100 %", *["–"] * (len(COVERAGES) + 1)])
    return _table([*header, "alpha or trees chosen"], rows)


def difference_table(found: dict[str, list[dict[str, Any]]], areas: dict[str, Areas]) -> str:
    """Differences of AuRC between methods, paired over photographs."""
    pairs = [("REG", DETECTOR), ("SELE", DETECTOR), ("SELE", "REG")]
    pairs += [(method, "SELE") for method in (BOOSTED, STABLE, TREES)]
    rows = []
    for method, other in pairs:
        row = [f"{method} − {other}"]
        for name in TITLES:
            value, low, high = areas[name].difference(method, other)
            wins = sum(one["methods"][method]["aurc"] < one["methods"][other]["aurc"] for one in found[name])
            row.append(
                f"{signed(value)} ({signed(low)} to {signed(high)}), lower in {wins} of {len(found[name])}"
            )
        rows.append(row)
    return _table(["AuRC of", *TITLES], rows)


def learning_table(splits: list[dict[str, Any]]) -> str:
    """Test AuRC by number of training faces, and that on the training faces themselves."""
    methods = list(splits[0]["learning"])
    rows = []
    for step in range(len(splits[0]["learning"][methods[0]])):
        values = {m: [one["learning"][m][step] for one in splits] for m in methods}
        row = [f"{np.mean([v['faces'] for v in values[methods[0]]]):.0f}"]
        row += [_spread([v["test"] for v in values[m]]) for m in methods]
        row += [f"{np.mean([v['train'] for v in values[m]]):.3f}" for m in methods]
        rows.append(row)
    header = ["training faces", *(f"{m}, test" for m in methods), *(f"{m}, training" for m in methods)]
    return _table(header, rows)


def shipped_table(result: dict[str, Any], resamples: int) -> str:
    """The shipped model `dlib` with the losses of the cross-fitted predictors."""
    areas = bootstrap_areas([unpack(result["test"])], resamples)
    text = (
        "The model `dlib` was trained for the published predictor, on clean and degraded photographs. Here "
        f"it ranks the errors of the cross-fitted predictors on the {result['faces']['test']} faces that "
        "were set aside when it was trained; the last score was trained for these predictors on the other "
        "photographs, clean ones only."
    )
    value, low, high = areas.difference(SHIPPED_SCORE, OWN)
    after = f"{SHIPPED_SCORE} − {OWN}: {signed(value)} ({signed(low)} to {signed(high)})."
    return "\n\n".join((text, _area_table(result, areas), after))


def _area_table(result: dict[str, Any], areas: Areas) -> str:
    rows = []
    for method in (*result["methods"], ORACLE):
        low, high = areas.interval(method)
        gap = "–" if method == DETECTOR else _percents(*areas.gap_closed(method))
        gap = "100 %" if method == ORACLE else gap
        rows.append([method, f"{areas.value[method]:.3f}", f"{low:.3f} to {high:.3f}", gap])
    return _table(["ranking by", "AuRC", "95 % interval", "gap closed"], rows)


def time_text(found: dict[str, list[dict[str, Any]]]) -> str:
    """Processor seconds of every part."""
    cost = found["data"][0]["seconds_of"]
    parts = {
        f"{len(cost['training'])} predictors, one thread each": sum(cost["training"]),
        "features of all faces by both kinds of predictors": sum(cost["features"]),
        **{f"scores, {name}": sum(one["cpu_seconds"] for one in found[name]) for name in TITLES},
        "compact trees, without and with further runs, both kinds of predictors": sum(
            one["cpu_seconds"] for trees in TREES_OF.values() for one in found[trees]
        ),
    }
    rows = [[name, f"{seconds:,.0f}"] for name, seconds in {**parts, "total": sum(parts.values())}.items()]
    return _table(["part", "processor seconds"], rows)


def _chosen(reports: list[dict[str, Any]]) -> str:
    values = [report.get("alpha", report.get("trees")) for report in reports]
    return "–" if None in values else ", ".join(f"{value:g}" for value in values)


def _spread(values: list[float]) -> str:
    spread = f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
    return f"{np.mean(values):.3f}{spread}"


def _percents(value: float, low: float, high: float) -> str:
    return f"{100 * value:.0f} % ({100 * low:.0f} to {100 * high:.0f})".replace("-", "−")


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
