"""The card of the default models: results on photographs set aside, calibration plot, licences, limits."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from facereject.faces import FaceDataset, FaceRejector, FaceTable
from facereject.faces.evaluation.results import evaluate_rows, gap_closed
from facereject.metrics import aurc, risk_at_coverage
from tools.train import model_card_sets
from tools.train.model_card_points import cause_table, point_tables

_RESAMPLES = 300

_HEAD = """\
# The face models that come with the package

They predict how wrong dlib's published 68-point landmark predictor is on a face.
`FaceRejector.pretrained()` loads `default`, `FaceRejector.pretrained("thorough")` and
`FaceRejector.pretrained("linear")` the others.

|  | linear | default | thorough |
|---|---|---|---|
| features | 68 × 36 HOG values | HOG, shape, place in box and frame, image quality | \
the same, 2 × 68 stability values |
| score | linear, by SELE | {default_trees} trees on {default_columns} columns | \
{thorough_trees} trees on {thorough_columns} columns |
| landmarks | the predictor's | the predictor's | **the mean of three runs** |
| cost per face | a fraction of the predictor's | a fraction of the predictor's | \
two more runs of the predictor |
| error of each point, cause, regions | no | yes | yes |

This file is written by `{command}`; equal data and versions give equal models. `linear` is the model of an
earlier version, trained by the same protocol.

## Data and protocol

{faces} faces of {photos} photographs with human 68-point annotation (AFW, HELEN and LFPW parts of iBUG
300-W). **Split by photograph**: {fit_photos} photographs to fit and calibrate, {test_photos} set aside
for the results below (split seed 0). Some photographs are in 300-W more than once under different names:
those whose aligned faces correlate by more than 0.94 count as one ({groups} groups in all). They share a
fold of the cross-validation, and the {copies} test faces with such a copy in the fit part are left out of
all results. Every photograph is used as it is and in {degradations} degraded
versions: all but one go through one to three random degradations (blur, motion, noise, JPEG, dark,
bright, shadow, haze, low resolution, occlusion, rotation, faces cut by the frame), 15 % of these with a
jittered box besides; the last one only has its box jittered. Severities are uniform over the ranges in
`facereject/faces/training/degrade.py`; seeds 0 (fit) and 1 (test).

dlib's detector (threshold −1, no upsampling) finds the face; it missed {missed_clean} clean and
{missed_degraded} degraded faces of the test part, faces with copies included ({missed_share:.0%} of the
degraded ones). Missed faces are rejections and not in the tables. The loss is the mean landmark error
in percent of the true outer-eye distance, clipped at {clip:g} % for training only. The linear columns that
the trees see, the number of trees and all calibrations come from {folds}-fold cross-validation over
photographs (all clean faces and one degraded version each, detector score at least 0, calibrate
`expected_error` and the threshold).

Not everything was chosen blindly: chip and cell size, the contrast floor and the clip of `linear` were picked
by cross-validation over all photographs, the test part included, on another draw of degradations
(`tools/train/select_hog.py`; no script of this repository repeats the choice of the clip). Compact columns
and the ridge were chosen by cross-validation on 600 faces of the fit part. Half of the trees are by
SELE, half by least squares on the logarithm of the error; clean faces count as 30 % of all. This, the score
of clean faces among the columns, and the number and size of the trees were chosen among about 25 ways by
cross-validation on the fit part. `tools/train/select_trees.py` sets the recipe beside 13 others there
(`results/bench/select_trees.txt`): what is better is so by 0.6 points at most, within chance or nearly so,
and mostly takes trees of twice the size. How much more a covered point counts, which gives up some rank
correlation to find covered points, and how much more faces with covered points count when it is learned which
points are, were chosen the same way (`tools/train/select_points.py`, `results/bench/select_points.txt`). How
readily a box counts as one without a face was set after a look at one photograph, scikit-image's astronaut.
Weights, calibration and threshold never saw the test part.

**The published predictor was trained on 300-W: its errors on the clean photographs are training errors
and flatter it.** Degraded pictures are new to it; faces from elsewhere are likely to lie in between.
"""

_TAIL = """\
## Licences

The photographs and annotations of iBUG 300-W, and hence dlib's published 68-point model, exclude
commercial use. The models here were trained on them; treat them alike. For a predictor of your own,
`train_face_rejector` trains a model on your own data.

## Limits

- Measured on near-frontal faces of web photographs, about 200 pixels large. dlib's
  detector is frontal: full profiles are usually not found, so nothing is known about them here. Faces
  with and without glasses and faces of children are in the data, but not marked as such: no separate
  figures exist.
- Real degradations differ from simulated ones. Before relying on `expected_error` or a target in percent,
  calibrate on annotated faces of your own (`FaceRejector.with_calibration`); the order of the
  uncertainties carries over further than their unit.
- `default` and `thorough` read the box of the detector. For landmarks from elsewhere, given without a box,
  the box is estimated from them, which hides that they lie in a wrong place: misplaced landmarks are found by
  what the picture shows around them, and less well.
- Below the smallest and above the largest expected error of the calibration, `expected_error` stays
  constant.
- The uncertainty is for a detected face. Without a face in the box the prediction is meaningless; see
  the table of boxes without a face for how often such boxes are accepted.
"""


class Judged(NamedTuple):
    """A model, and the table of the photographs set aside with the features and losses that are its own."""

    name: str
    rejector: FaceRejector
    table: FaceTable


def write_card(
    folder: Path,
    command: str,
    samples: FaceDataset,
    fit: FaceDataset,
    test: FaceDataset,
    group: dict[str, str],
    copies: list[int],
    judged: list[Judged],
    background: dict[str, dict[str, tuple[int, float]]],
    boxes: dict[str, np.ndarray],
    fitted: dict[str, FaceTable],
    others: dict[str, list[float]] | None,
) -> None:
    """Write ``CARD.md`` and ``calibration.png``.

    ``copies`` are the test faces that are left out; ``boxes`` has features of boxes without a face, and
    ``fitted`` the table a model was fitted to, by model.
    """
    models = {each.name: each.rejector for each in judged}
    info, table = models["default"].info, judged[0].table
    scores = {name: models[name].score for name in ("default", "thorough")}
    text = _HEAD.format(
        command=command,
        faces=len(samples),
        photos=len(samples.photos),
        fit_photos=len(fit.photos),
        groups=len(set(group.values())),
        copies=len(copies),
        test_photos=len(test.photos),
        degradations=info["degradations"],
        missed_clean=int(table.missed[0]),
        missed_degraded=int(table.missed[1]),
        missed_share=table.missed[1] / (len(test) * info["degradations"]),
        clip=info["clip"],
        folds=info["folds"],
        **{f"{name}_trees": len(score.trees.roots) for name, score in scores.items()},
        **{f"{name}_columns": score.columns.n_columns for name, score in scores.items()},
    )
    results = [Results(each, test) for each in judged]
    photo = np.array([group[test[int(i)].photo] for i in table.sample])
    text += "\n" + _main_table(results, photo)
    text += "\n" + _group_table(results)
    text += "\n" + _data_sets(results, test, fit, fitted, group)
    text += "\n" + _target_table(results)
    text += "\n" + _background_table(background)
    text += "\n" + point_tables(results)
    for each in results:
        if each.name in boxes:
            text += "\n" + cause_table(each, boxes[each.name])
    if others is not None:
        text += "\n" + _tracker_table(others)
    text += "\n" + _calibration_plot(folder, results)
    (folder / "CARD.md").write_text(text + "\n" + _TAIL, encoding="utf-8")
    print(text[text.index("## Results") :])


class Results:
    """A model on the photographs set aside: its rows by group."""

    def __init__(self, judged: Judged, test: FaceDataset) -> None:
        self.name, self.rejector, self.table = judged
        self.uncertainty = self.rejector.score(self.table.features)
        self.groups = _groups(self.table, test)

    def gap(self, rows: np.ndarray) -> float:
        """Share of the gap between detector score and oracle that is closed on some rows."""
        return gap_closed(self.table.losses[rows], self.table.detector_scores[rows], self.uncertainty[rows])


def _groups(table: FaceTable, test: FaceDataset) -> dict[str, np.ndarray]:
    """Rows by what was done to the picture, by source and by pose."""
    kinds = np.array(table.kinds)
    box = np.array(["box" in kind for kind in kinds])
    groups = {"clean": table.clean, "degraded": ~table.clean, "degraded, detector's box": ~table.clean & ~box}
    groups["box jittered only"] = kinds == "box"
    for kind in sorted(set(kinds) - {"clean", "box"}):
        if "+" not in kind:
            groups[f"only {kind.replace('_', ' ')}"] = kinds == kind
    source = np.array([test[int(i)].photo.split("/")[0] for i in table.sample])
    for name in sorted(set(source)):
        groups[f"clean, {name}"] = table.clean & (source == name)
    turned = np.array([_turned(test[int(i)].landmarks) for i in table.sample]) > 0.15
    groups["clean, head turned"] = table.clean & turned
    groups["clean, head straight"] = table.clean & ~turned
    return groups


def _turned(landmarks: np.ndarray) -> float:
    """How far the tip of the nose is from the middle between the ears, in distances of the ears."""
    left, right, nose = landmarks[0], landmarks[16], landmarks[30]
    across = (right - left) / np.linalg.norm(right - left) ** 2
    return abs(float((nose - (left + right) / 2) @ across))


def _interval(
    table: FaceTable, rows: np.ndarray, uncertainty: np.ndarray, photo: np.ndarray
) -> tuple[float, float]:
    """95 % bootstrap interval of the share of the gap closed, resampling photographs."""
    rng = np.random.default_rng(0)
    index = np.flatnonzero(rows)
    _, member = np.unique(photo[index], return_inverse=True)
    by_photo = np.split(index[np.argsort(member, kind="stable")], np.cumsum(np.bincount(member))[:-1])
    values = []
    for _ in range(_RESAMPLES):
        chosen = np.concatenate([by_photo[i] for i in rng.integers(len(by_photo), size=len(by_photo))])
        values.append(gap_closed(table.losses[chosen], table.detector_scores[chosen], uncertainty[chosen]))
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def _main_table(results: list[Results], photo: np.ndarray) -> str:
    names = ["clean", "degraded", "degraded, detector's box"]
    counts = results[0].groups
    lines = [
        "## Results on photographs set aside",
        "",
        "Mean error, AuRC (area under the risk-coverage curve; both in percent of the eye distance, lower is",
        "better) by detector score, by the model and by the error itself, and the share of the gap between",
        "the first and the last that the model closes, with a 95 % bootstrap interval over photographs.",
        '"Detector\'s box" leaves out the pictures with a jittered box, which the detector score cannot know',
        "of. The landmarks of `thorough` are its own, so its errors are other ones.",
        "",
        "| model | pictures | mean error | AuRC detector score | AuRC model | AuRC oracle | gap closed |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in results:
        for name in names:
            g, table = each.groups[name], each.table
            low, high = _interval(table, g, each.uncertainty, photo)
            areas = [-table.detector_scores[g], each.uncertainty[g], table.losses[g]]
            numbers = " | ".join(f"{aurc(table.losses[g], order):.3f}" for order in areas)
            lines.append(
                f"| `{each.name}` | {name} (n = {int(counts[name].sum()):,}) | "
                f"{table.losses[g].mean():.3f} | "
                f"{numbers} | **{each.gap(g):.1%}** ({low:.0%} to {high:.0%}) |"
            )
    return "\n".join(lines) + "\n"


def _group_table(results: list[Results]) -> str:
    lines = [
        "### By group",
        "",
        "Share of the gap closed within a group; groups of a hundred faces are uncertain by ten points and",
        'more. "Head turned": the tip of the nose is off the middle between the ears by more than 15 % of',
        "their distance. Clean faces stand by data set as well, as image quality could tell data sets apart.",
        "",
        "| group | n | mean error | " + " | ".join(f"`{each.name}`" for each in results) + " |",
        "|---|---|---|" + "---|" * len(results),
    ]
    for name, rows in results[0].groups.items():
        if rows.sum() < 30:
            continue
        shares = " | ".join(f"{each.gap(each.groups[name]):.0%}" for each in results)
        losses = results[0].table.losses[rows]
        lines.append(f"| {name} | {int(rows.sum())} | {losses.mean():.2f} | {shares} |")
    return "\n".join(lines) + "\n"


def _data_sets(
    results: list[Results],
    test: FaceDataset,
    fit: FaceDataset,
    fitted: dict[str, FaceTable],
    group: dict[str, str],
) -> str:
    named = {each.name: each for each in results}
    both = [named[name] for name in ("default", "thorough")]
    aside = [model_card_sets.set_aside(each.table, each.uncertainty) for each in both]
    seen = [model_card_sets.out_of_fold(fitted[each.name], each.rejector) for each in both]
    return model_card_sets.data_set_table(
        {"set aside": (test, aside[0], aside[1]), "fit part": (fit, seen[0], seen[1])}, group
    )


def _target_table(results: list[Results]) -> str:
    lines = [
        "### With the shipped target",
        "",
        "The target is the mean error of the clean faces of the fit part: accept as many of the calibration",
        "faces, half of them degraded, as keeps their mean error there. Faces with a detector score of at",
        "least 0, as the shipped models use.",
        "",
        "| model | target | group | mean error | expected | coverage | error of accepted | "
        "error of rejected | error at that coverage by detector score |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for each in results:
        table, found = each.table, each.table.detector_scores >= 0
        for group in ("clean", "degraded"):
            rows = each.groups[group] & found
            result = evaluate_rows(each.rejector, table, each.uncertainty, rows, 0)
            rejected = table.losses[rows & (each.uncertainty > each.rejector.selector.threshold_)]
            baseline = risk_at_coverage(table.losses[rows], -table.detector_scores[rows], result.coverage)
            errors = (result.accepted_error, rejected.mean(), baseline)
            lines.append(
                f"| `{each.name}` | {each.rejector.target.value:.2f} % | {group} | "
                f"{result.mean_error:.2f} | "
                f"{result.expected_error:.2f} | "
                f"{result.coverage:.1%} | " + " | ".join(f"{error:.2f}" for error in errors) + " |"
            )
    return "\n".join(lines) + "\n"


def _tracker_table(others: dict[str, list[float]]) -> str:
    lines = [
        "### Landmarks of other trackers",
        "",
        "How far the order by uncertainty is on the way from a random one (0 %) to the one by the error",
        "itself (100 %), in AuRC, for published landmarks of other trackers on the 337 faces of AFW, judged",
        "without running a predictor. The last two models were trained without any photograph of AFW.",
        "",
        "| tracker | `linear` as shipped | linear, without AFW | as `default`, without AFW |",
        "|---|---|---|---|",
    ]
    rows = {**others, "**mean**": np.mean(list(others.values()), axis=0).tolist()}
    for name, values in rows.items():
        lines.append(f"| {name} | " + " | ".join(f"{value:.0%}" for value in values) + " |")
    return "\n".join(lines) + "\n"


def _background_table(background: dict[str, dict[str, tuple[int, float]]]) -> str:
    lines = [
        "### Boxes without a face",
        "",
        "Detections on the clean test photographs that overlap no annotated face, by detector score.",
        "Some of them are faces that nobody annotated; the rest is background.",
        "",
        "| model | detector score | n | accepted |",
        "|---|---|---|---|",
    ]
    for name, row in background.items():
        for bucket, (n, share) in row.items():
            lines.append(f"| `{name}` | {bucket} | {n} | {share:.0%} |")
    return "\n".join(lines) + "\n"


def _calibration_plot(folder: Path, results: list[Results]) -> str:
    figure, axes = plt.subplots(1, len(results), figsize=(10, 3.5), layout="constrained", sharey=True)
    for ax, each in zip(axes, results, strict=True):
        table, found = each.table, each.table.detector_scores >= 0
        expected = each.rejector.calibration.expected_error(each.uncertainty)
        for label, rows, color in (("clean", table.clean, "#2166ac"), ("degraded", ~table.clean, "#b2182b")):
            chosen = np.flatnonzero(rows & found)
            blocks = np.array_split(chosen[np.argsort(expected[chosen], kind="stable")], 10)
            x = [expected[block].mean() for block in blocks]
            y = [table.losses[block].mean() for block in blocks]
            error = [1.96 * table.losses[block].std() / np.sqrt(len(block)) for block in blocks]
            ax.errorbar(x, y, error, fmt="o-", ms=4, lw=1, color=color, label=label)
        ax.plot([2, 30], [2, 30], color="0.5", lw=1, ls="--", label="perfect")
        ax.set(xscale="log", yscale="log", xlabel="expected error (%)", title=each.name)
        ticks = [2, 3, 5, 10, 20]
        ax.set_xticks(ticks, [str(t) for t in ticks], minor=False)
        ax.set_yticks(ticks, [str(t) for t in ticks], minor=False)
        ax.minorticks_off()
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("mean error of test faces (%)")
    axes[0].legend(frameon=False)
    figure.savefig(folder / "calibration.png", dpi=80)
    return (
        "## Calibration\n\n![Expected against observed error](calibration.png)\n\n"
        "Test faces in ten groups of equal size by `expected_error`; bars are 95 % intervals of the mean.\n"
    )
