"""The card of the default models: results on photographs set aside, calibration plot, licences, limits."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from facereject.faces import FaceDataset, FaceRejector
from facereject.faces.evaluation.results import evaluate_rows
from facereject.faces.models.ranking import gap_closed, usable_share
from facereject.faces.training.extract import FaceTable
from facereject.metrics import aurc, risk_at_coverage
from tools.train import model_card_sets
from tools.train.interval_coverage import coverage_by_third
from tools.train.model_card_points import cause_table, point_tables

_RESAMPLES = 300

# mean errors in percent at which usable shares are told
_USABLE = {"clean": 2.3, "degraded": 3.0}

_HEAD = """\
# The face models that come with the package

They predict how wrong dlib's published 68-point landmark predictor is on a face.
`FaceRejector.pretrained()` loads `default`, `FaceRejector.pretrained("thorough")` and
`FaceRejector.pretrained("dlib")` the others.

|  | dlib | default | thorough |
|---|---|---|---|
| faces found by | dlib's HOG detector | YuNet | YuNet |
| landmarks | the predictor's | **mean of {default_runs} runs**: on the image, or on an upright copy if \
tilted by more than {upright:g}°; on a mirrored copy, levelled by the first; **then corrected** | **mean of \
{thorough_runs} runs**: those of `default`, others on mirrored or turned copies; then corrected |
| features | 68 × 36 HOG values | HOG, shape, place in box and frame, image quality, agreement with the \
detector, 2 × 68 distances between the runs | the same |
| score | linear, by SELE | {default_trees} trees on {default_columns} columns | \
{thorough_trees} trees on {thorough_columns} columns |
| error of each point, cause, regions | no | yes | yes |

The mean counts the first run less the further it is off the others (`RefinedRuns`). It is corrected by a
ridge regression from the HOG values at the landmarks to how far they are off (`LandmarkCorrection`), fitted
to the fit part; its own faces are scored and calibrated with corrections learned without their photograph.

This file is written by `{command}`; equal data and versions give equal models. `dlib` is the stack of the
paper: the model that was called `linear` before 0.3, as it was.

## Data and protocol

{faces} faces of {photos} photographs with human 68-point annotation (AFW, HELEN and LFPW parts of iBUG
300-W). **Split by photograph**: {fit_photos} photographs to fit and calibrate, {test_photos} set aside
for the results below (split seed 0). Some photographs are in 300-W more than once under different names:
those whose aligned faces correlate by more than 0.94 count as one ({groups} groups in all). They share a
fold of the cross-validation, and the {copies} test faces with such a copy in the fit part are left out of
all results. Every photograph is used as it is and in {degradations} degraded
versions: all but one go through one to three random degradations (blur, motion, noise, JPEG, dark,
bright, shadow, haze, low resolution, occlusion, rotation up to 60°, faces cut by the frame, small faces,
scans of old prints), 15 % of these with a jittered box besides; the last one only has its box jittered.
Severities are uniform over the ranges in `facereject/faces/training/degrade.py`; seeds 0 (fit) and 1 (test).

YuNet finds the face (threshold {threshold:g}); it missed {missed_clean} clean and {missed_degraded}
degraded faces of the test part, faces with copies included ({missed_share:.1%} of the degraded ones).
dlib's detector, threshold −1, missed {dlib_clean} and {dlib_degraded}. Missed faces are rejections: they
count in the usable share, and are not in the other tables. The loss is the mean landmark error in percent
of the true outer-eye distance, clipped at {clip:g} % for training only. The linear columns that the trees
see, the number of trees and all calibrations come from {folds}-fold cross-validation over photographs (all
clean faces and one degraded version each calibrate `expected_error` and the threshold). The trees also
learn from boxes beside the faces, and from faces without what the detector says of them: so they rank faces
that another detector found, too.

Not everything was chosen blindly: chip and cell size, the contrast floor and the clip of `dlib` were picked
by cross-validation over all photographs, the test part included, on another draw of degradations
(`tools/train/select_hog.py`). The columns, the number and size of the trees and the weight of clean faces
(30 %) were chosen by cross-validation on the fit part for an earlier version
(`results/bench/select_trees.txt`). How many runs of the predictor there are, whether they
are corrected and how strongly, and whether what the detector says is among the columns, was judged by
training on two of HELEN, LFPW and AFW and testing on the third (`tools/train/leave_data_set_out.py`,
`results/bench/leave_data_set_out.txt`). The box that is made of YuNet's points was fitted on a third of the
fit part (`tools/train/yunet_box.py`). How readily a box counts as one without a face was set after a look at
one photograph, scikit-image's astronaut. Weights, calibration and threshold never saw the test part.

**The published predictor was trained on 300-W: its errors on the clean photographs are training errors and
flatter it.** So `expected_error` of `default` and `thorough` is that of unseen faces. How much larger errors
are there, at equal uncertainty, was measured with a predictor of the same kind that was trained without a
fifth of the photographs, mirror images included. It had seen {photos_seen:,} photographs, the published one
{photos_published:,}, so the excess is multiplied by the root of their ratio: a judgement between no change
and theory, as one over the number. That the former unit was too small on old scans was known when this was
chosen, so old scans are no blind test of it. `dlib` has no such correction.

`default` and `thorough` also estimate how much larger errors are on faces that they call unlike their
calibration faces. That was learned afterwards, from photographs of the fit part made into other kinds of
images, by `python -m tools.train.unlike`; `results/bench/units.txt` has figures for kinds left out.
"""


_TAIL = """\
## Licences

The photographs and annotations of iBUG 300-W, and hence dlib's published 68-point model, exclude
commercial use. The models here were trained on them; treat them alike. For a predictor of your own,
`train_face_rejector` trains a model on your own data.

## Limits

- Measured on near-frontal faces of web photographs, about 200 pixels large. Full profiles are not among them,
  so nothing is known about them here. Faces
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
    """A model, the table of the photographs set aside by its own detector, and how many faces they had.

    ``unseen`` is a table of faces by a predictor that was not trained on them, and ``unseen_photo`` the
    photograph of each of its rows.
    """

    name: str
    rejector: FaceRejector
    table: FaceTable
    faces: int
    unseen: FaceTable | None = None
    unseen_photo: np.ndarray | None = None


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
    units: dict[str, dict[str, float]],
    seen_photos: int,
    published_photos: int,
) -> None:
    """Write ``CARD.md`` and ``calibration.png``.

    ``copies`` are the test faces that are left out; ``boxes`` has features of boxes without a face, and
    ``fitted`` the table a model was fitted to, and ``units`` expected over true errors by kind of face, by
    model. ``seen_photos`` and ``published_photos`` are the photographs that the predictor trained here and
    the published one learned from.
    """
    models = {each.name: each.rejector for each in judged}
    tables = {each.name: each.table for each in judged}
    info, table = models["default"].info, tables["default"]
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
        dlib_clean=int(tables["dlib"].missed[0]),
        dlib_degraded=int(tables["dlib"].missed[1]),
        threshold=models["default"].detector.threshold,
        upright=models["default"].upright_beyond,
        clip=info["clip"],
        folds=info["folds"],
        **{f"{name}_runs": 1 + len(models[name].stability.angles) for name in scores},
        photos_seen=seen_photos,
        photos_published=published_photos,
        **{f"{name}_trees": len(score.trees.roots) for name, score in scores.items()},
        **{f"{name}_columns": score.columns.n_columns for name, score in scores.items()},
    )
    results = [Results(each, test, group) for each in judged]
    text += "\n" + _main_table(results)
    text += "\n" + _usable_table(results)
    text += "\n" + _unit_table(units, models)
    text += "\n" + interval_table(results)
    text += "\n" + _group_table(results)
    text += "\n" + _data_sets(results, test, fit, fitted, group)
    text += "\n" + _target_table(results)
    text += "\n" + _background_table(background)
    text += "\n" + point_tables(results)
    for each in results:
        if each.name in boxes:
            text += "\n" + cause_table(each, boxes[each.name])
    text += "\n" + _calibration_plot(folder, results)
    (folder / "CARD.md").write_text(text + "\n" + _TAIL, encoding="utf-8")
    print(text[text.index("## Results") :])


class Results:
    """A model on the photographs set aside: its rows by group."""

    def __init__(self, judged: Judged, test: FaceDataset, group: dict[str, str]) -> None:
        self.name, self.rejector, self.table, self.faces, self.unseen, self.unseen_photo = judged
        self.photo = np.array([group[test[int(i)].photo] for i in self.table.sample])
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


def _main_table(results: list[Results]) -> str:
    names = ["clean", "degraded", "degraded, detector's box"]
    lines = [
        "## Results on photographs set aside",
        "",
        "Mean error, AuRC (area under the risk-coverage curve; both in percent of the eye distance, lower is",
        "better) by detector score, by the model and by the error itself, and the share of the gap between",
        "the first and the last that the model closes, with a 95 % bootstrap interval over photographs.",
        '"Detector\'s box" leaves out the pictures with a jittered box, which the detector score cannot know',
        "of. Detectors and landmarks differ, so each model has faces, errors and a baseline of its own.",
        "",
        "| model | pictures | mean error | AuRC detector score | AuRC model | AuRC oracle | gap closed |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in results:
        for name in names:
            g, table = each.groups[name], each.table
            low, high = _interval(table, g, each.uncertainty, each.photo)
            areas = [-table.detector_scores[g], each.uncertainty[g], table.losses[g]]
            numbers = " | ".join(f"{aurc(table.losses[g], order):.3f}" for order in areas)
            lines.append(
                f"| `{each.name}` | {name} (n = {int(g.sum()):,}) | "
                f"{table.losses[g].mean():.3f} | "
                f"{numbers} | **{each.gap(g):.1%}** ({low:.0%} to {high:.0%}) |"
            )
    return "\n".join(lines) + "\n"


def _usable_table(results: list[Results]) -> str:
    lines = [
        "### Usable share",
        "",
        "Of all annotated faces, missed ones included, the share that can be accepted, most certain first,",
        "until their mean error reaches a target: finding, placing and ranking together. 95 % bootstrap",
        "intervals over photographs.",
        "",
        "| model | pictures | target | usable | by the detector's score |",
        "|---|---|---|---|---|",
    ]
    for each in results:
        versions = {"clean": 1, "degraded": int(each.table.variant.max())}
        for k, (name, target) in enumerate(_USABLE.items()):
            rows, table = each.groups[name], each.table
            # the share that was missed of all, faces with copies included
            share = (table.missed[k] + table.failed[k]) / (each.faces * versions[name])
            missed = round(float(share / (1 - share) * rows.sum()))
            orders = (each.uncertainty[rows], -table.detector_scores[rows])
            own, baseline = (usable_share(table.losses[rows], order, target, missed) for order in orders)
            low, high = _usable_interval(table.losses[rows], orders[0], target, share, each.photo[rows])
            lines.append(
                f"| `{each.name}` | {name} | {target:g} % | **{own:.1%}** ({low:.0%} to {high:.0%}) | "
                f"{baseline:.1%} |"
            )
    return "\n".join(lines) + "\n"


def _usable_interval(
    losses: np.ndarray, order: np.ndarray, target: float, missed: float, photo: np.ndarray
) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    _, member = np.unique(photo, return_inverse=True)
    by_photo = np.split(np.argsort(member, kind="stable"), np.cumsum(np.bincount(member))[:-1])
    values = []
    for _ in range(_RESAMPLES):
        rows = np.concatenate([by_photo[i] for i in rng.integers(len(by_photo), size=len(by_photo))])
        gone = round(float(missed / (1 - missed) * len(rows)))
        values.append(usable_share(losses[rows], order[rows], target, gone))
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def _unit_table(units: dict[str, dict[str, float]], models: dict[str, FaceRejector]) -> str:
    kinds = list(next(iter(units.values())))
    lines = [
        "### Whether the percent is right",
        "",
        "Mean expected error over mean error; 1 is right. The first two are faces that the predictor at hand",
        "was trained on, where errors are smaller than elsewhere. The London Set is unseen by all; there,",
        "the jaw, the bridge of the nose and the inner lips have no points by hand and are left out. Its",
        "mark-up differs from that of 300-W: the last row leaves out the mean difference of every point in",
        "the frame of the face, estimated on the other half of the people.",
        "",
        "| faces | " + " | ".join(f"`{name}`" for name in units) + " |",
        "|---|" + "---|" * len(units),
    ]
    for kind in kinds:
        lines.append(f"| {kind} | " + " | ".join(f"{units[name][kind]:.2f}" for name in units) + " |")
    for name in units:
        known = models[name].info["unseen_ratio"]
        shown = ", ".join(f"{value:.2f}" for value in known["ratio"])
        lines += ["", f"Ratio of unseen to seen errors, from certain to uncertain faces, `{name}`: {shown}."]
    return "\n".join(lines) + "\n"


def interval_table(results: list[Results]) -> str:
    """Coverage of the intervals of the models whose expected errors are those of unseen faces."""
    lines = [
        "### Intervals",
        "",
        "Share of the errors in their 80 % intervals (`Face.error_interval`), by third of the uncertainty",
        "within the group, with 95 % bootstrap intervals over photographs. Half and half, as in the",
        'calibration: clean faces count as much as degraded ones. "Seen" are the photographs set aside: the',
        'predictor was trained on them, so its errors are too small there. "Unseen" are photographs of the',
        "fit part by a predictor that was trained without them. The intervals are for faces of which nobody",
        "knows whether the predictor has seen them.",
        "",
        "| model | pictures | faces | most certain third | middle | least certain | all |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in results:
        if "unseen_ratio" not in each.rejector.info:
            continue
        for name, table, photo in (
            ("seen", each.table, each.photo),
            ("unseen", each.unseen, each.unseen_photo),
        ):
            uncertainty = each.rejector.score(table.features)
            even = np.where(table.clean, (~table.clean).sum() / table.clean.sum(), 1.0)
            weighted = {"clean": 1.0 * table.clean, "degraded": 1.0 * ~table.clean, "half and half": even}
            for kind, weights in weighted.items():
                found = coverage_by_third(
                    each.rejector.calibration, table.losses, uncertainty, weights, photo
                )
                cells = " | ".join(f"{share:.1%} ({low:.0%} to {high:.0%})" for share, low, high in found)
                n = int((weights > 0).sum())
                lines.append(f"| `{each.name}` | {kind}, {name} | {n:,} | {cells} |")
    return "\n".join(lines) + "\n"


def _group_table(results: list[Results]) -> str:
    lines = [
        "### By group",
        "",
        "Share of the gap closed within a group; groups of a hundred faces are uncertain by ten points and",
        'more. "Head turned": the tip of the nose is off the middle between the ears by more than 15 % of',
        "their distance. Numbers and mean errors are those of `default`.",
        "",
        "| group | n | mean error | " + " | ".join(f"`{each.name}`" for each in results) + " |",
        "|---|---|---|" + "---|" * len(results),
    ]
    usual = next(each for each in results if each.name == "default")
    for name, rows in usual.groups.items():
        if rows.sum() < 30:
            continue
        shares = " | ".join(f"{each.gap(each.groups[name]):.0%}" for each in results)
        losses = usual.table.losses[rows]
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
        "faces, half of them degraded, as keeps their mean error there; for `default` and `thorough` errors",
        "are those of unseen faces. Faces whose detector score reaches the threshold of the shipped model.",
        "",
        "| model | target | group | mean error | expected | coverage | error of accepted | "
        "error of rejected | error at that coverage by detector score |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for each in results:
        table = each.table
        found = table.detector_scores >= each.rejector.detector.threshold
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


def _background_table(background: dict[str, dict[str, tuple[int, float]]]) -> str:
    lines = [
        "### Boxes without a face",
        "",
        "Detections on clean test photographs that overlap no annotated face, of the model's detector with",
        "a low threshold (dlib −1, YuNet 0.1), and how many of them are accepted.",
        "Some of them are faces that nobody annotated; the rest is background.",
        "",
        "| model | detections | n | accepted |",
        "|---|---|---|---|",
    ]
    for name, row in background.items():
        for bucket, (n, share) in row.items():
            lines.append(f"| `{name}` | {bucket} | {n} | {share:.0%} |")
    return "\n".join(lines) + "\n"


def _calibration_plot(folder: Path, results: list[Results]) -> str:
    figure, axes = plt.subplots(1, len(results), figsize=(10, 3.5), layout="constrained", sharey=True)
    for ax, each in zip(axes, results, strict=True):
        table = each.table
        found = table.detector_scores >= each.rejector.detector.threshold
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
