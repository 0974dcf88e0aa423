"""The card of the default models: results on photographs set aside, calibration plot, licences, limits."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from facereject.faces import FaceDataset, FaceRejector, FaceTable
from facereject.faces.evaluation.results import evaluate_rows, gap_closed
from facereject.faces.models.score_models import ScoreModel
from facereject.metrics import aurc, risk_at_coverage

_RESAMPLES = 300

_HEAD = """\
# The default face models

`default.safetensors` and `thorough.safetensors` predict how wrong dlib's published 68-point landmark
predictor is on a face. `FaceRejector.pretrained()` and `FaceRejector.pretrained("thorough")` load them.

|  | default | thorough |
|---|---|---|
| features | `LandmarkHOG`: 68 × (2×2 cells × 9 orientations) = 2,448 | the same + 68 stability values |
| score | linear, SELE risk over all pairs | linear, SELE risk over all pairs |
| cost per face | a fraction of the landmark predictor's own time | six more runs of the predictor |

This file is written by `{command}`; equal data and versions give equal models.

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
`facereject/faces/degrade.py`; seeds 0 (fit) and 1 (test).

dlib's detector (threshold −1, no upsampling) finds the face; it missed {missed_clean} clean and
{missed_degraded} degraded faces of the test part, faces with copies included ({missed_share:.0%} of the
degraded ones). Missed faces are rejections and not in the tables. The loss is the mean landmark error
in percent of the true outer-eye distance, clipped at {clip:g} % for training only. Regularisation is
chosen by {folds}-fold cross-validation over photographs; the out-of-fold uncertainties (all clean faces,
one degraded version each, detector score at least 0) calibrate `expected_error` and the threshold.

Not everything was chosen blindly: chip and cell size, the contrast floor and the clip were picked by
cross-validation over all photographs, the test part included, on another draw of degradations.
`tools/select_hog.py` repeats the comparison of chips, cells and floors; no script of this repository
repeats the one of clips (none, 8, 10, 12, 15 and 20 %). Weights, regularisation, calibration and
threshold never saw the test part.

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
- Below the smallest and above the largest expected error of the calibration, `expected_error` stays
  constant.
- The uncertainty is for a detected face. Without a face in the box the prediction is meaningless; see
  the table of boxes without a face for how often such boxes are accepted.
"""


def write_card(
    folder: Path,
    command: str,
    samples: FaceDataset,
    test: FaceDataset,
    group: dict[str, str],
    copies: list[int],
    held_out: FaceTable,
    rejectors: dict[str, FaceRejector],
    extra: dict[str, ScoreModel],
    background: dict[str, dict[str, tuple[int, float]]],
    unseen: dict[str, tuple[int, float, float]],
) -> None:
    """Write ``CARD.md`` and ``calibration.png``; ``copies`` are the test faces that are left out."""
    info = next(iter(rejectors.values())).info
    models = {name: rejector.score for name, rejector in rejectors.items()} | extra
    scores = {name: model(held_out.features[:, : model.n_features]) for name, model in models.items()}
    groups = _groups(held_out, test)
    versions = len(test) * info["degradations"]
    text = _HEAD.format(
        command=command,
        faces=len(samples),
        photos=len(samples.photos),
        fit_photos=len(samples.photos) - len(test.photos),
        groups=len(set(group.values())),
        copies=len(copies),
        test_photos=len(test.photos),
        degradations=info["degradations"],
        missed_clean=int(held_out.missed[0]),
        missed_degraded=int(held_out.missed[1]),
        missed_share=held_out.missed[1] / versions,
        clip=info["clip"],
        folds=info["folds"],
    )
    photo = np.array([group[test[int(i)].photo] for i in held_out.sample])
    text += "\n" + _main_table(held_out, groups, scores, photo)
    text += "\n" + _group_table(held_out, groups, scores)
    text += "\n" + _unseen_table(unseen)
    text += "\n" + _target_table(held_out, groups, rejectors, scores)
    text += "\n" + _background_table(background)
    text += "\n" + _calibration_plot(folder, held_out, rejectors, scores)
    (folder / "CARD.md").write_text(text + "\n" + _TAIL, encoding="utf-8")
    print(text[text.index("## Results") :])


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


def _main_table(
    table: FaceTable, groups: dict[str, np.ndarray], scores: dict[str, np.ndarray], photo: np.ndarray
) -> str:
    names = ["clean", "degraded", "degraded, detector's box"]
    lines = [
        "## Results on photographs set aside",
        "",
        "AuRC (area under the risk-coverage curve, percent of the eye distance; lower is better) and share",
        "of the gap between detector score and oracle that is closed, with a 95 % bootstrap interval over",
        'photographs. "Detector\'s box" leaves out the pictures with a jittered box, which the detector',
        "score cannot know of.",
        "",
        "| ranking by | " + " | ".join(f"{name} (n = {int(groups[name].sum()):,})" for name in names) + " |",
        "|---|---|---|---|",
    ]

    def row(label: str, value: object) -> None:
        lines.append(f"| {label} | " + " | ".join(value(groups[name]) for name in names) + " |")

    row("nothing (mean error)", lambda g: f"{table.losses[g].mean():.3f}")
    row("detector score", lambda g: f"{aurc(table.losses[g], -table.detector_scores[g]):.3f}")
    for label, uncertainty in scores.items():

        def cell(g: np.ndarray, u: np.ndarray = uncertainty) -> str:
            share = gap_closed(table.losses[g], table.detector_scores[g], u[g])
            low, high = _interval(table, g, u, photo)
            return f"{aurc(table.losses[g], u[g]):.3f}, **{share:.1%}** ({low:.0%} to {high:.0%})"

        row(label, cell)
    row("oracle (the error itself)", lambda g: f"{aurc(table.losses[g], table.losses[g]):.3f}")
    return "\n".join(lines) + "\n"


def _group_table(table: FaceTable, groups: dict[str, np.ndarray], scores: dict[str, np.ndarray]) -> str:
    lines = [
        "### By group",
        "",
        "Share of the gap closed within a group; groups of a hundred faces are uncertain by ten points and",
        'more. "Head turned": the tip of the nose is off the middle between the ears by more than 15 % of',
        "their distance.",
        "",
        "| group | n | mean error | " + " | ".join(scores) + " |",
        "|---|---|---|" + "---|" * len(scores),
    ]
    for name, rows in groups.items():
        if rows.sum() < 30:
            continue
        losses, detector = table.losses[rows], table.detector_scores[rows]
        shares = " | ".join(f"{gap_closed(losses, detector, u[rows]):.0%}" for u in scores.values())
        lines.append(f"| {name} | {int(rows.sum())} | {losses.mean():.2f} | {shares} |")
    return "\n".join(lines) + "\n"


def _unseen_table(unseen: dict[str, tuple[int, float, float]]) -> str:
    lines = [
        "### Degradations that training never saw",
        "",
        "Share of the gap closed on test pictures with a degradation, alone or among others, by the default",
        "model and by one trained without any picture of that kind.",
        "",
        "| degradation | n | default | trained without it |",
        "|---|---|---|---|",
    ]
    for kind, (n, seen, never) in unseen.items():
        lines.append(f"| {kind.replace('_', ' ')} | {n} | {seen:.0%} | {never:.0%} |")
    return "\n".join(lines) + "\n"


def _target_table(
    table: FaceTable,
    groups: dict[str, np.ndarray],
    rejectors: dict[str, FaceRejector],
    scores: dict[str, np.ndarray],
) -> str:
    found = table.detector_scores >= 0
    shipped = {name: rejector for name, rejector in rejectors.items() if "`" in name}
    target = next(iter(shipped.values())).target
    lines = [
        "### With the shipped target",
        "",
        f"The target is max_error = {target.value:.2f} %, the mean error of the clean faces: accept as many",
        "of the calibration faces, half of them degraded, as keeps their mean error there. Faces with a",
        "detector score of at least 0, as the shipped models use.",
        "",
        "| model | group | mean error | expected | coverage | error of accepted | error of rejected | "
        "error at that coverage by detector score |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, rejector in shipped.items():
        for group in ("clean", "degraded"):
            rows = groups[group] & found
            result = evaluate_rows(rejector, table, scores[name], rows, 0)
            rejected = table.losses[rows & (scores[name] > rejector.selector.threshold_)]
            baseline = risk_at_coverage(table.losses[rows], -table.detector_scores[rows], result.coverage)
            errors = (result.accepted_error, rejected.mean(), baseline)
            lines.append(
                f"| {name} | {group} | {result.mean_error:.2f} | {result.expected_error:.2f} | "
                f"{result.coverage:.1%} | " + " | ".join(f"{error:.2f}" for error in errors) + " |"
            )
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
            lines.append(f"| {name} | {bucket} | {n} | {share:.0%} |")
    return "\n".join(lines) + "\n"


def _calibration_plot(
    folder: Path, table: FaceTable, rejectors: dict[str, FaceRejector], scores: dict[str, np.ndarray]
) -> str:
    shipped = [name for name in rejectors if "`" in name]
    figure, axes = plt.subplots(1, len(shipped), figsize=(7.4, 3.5), layout="constrained", sharey=True)
    found = table.detector_scores >= 0
    for ax, name in zip(axes, shipped, strict=True):
        expected = rejectors[name].calibration.expected_error(scores[name])
        for label, rows, color in (("clean", table.clean, "#2166ac"), ("degraded", ~table.clean, "#b2182b")):
            chosen = np.flatnonzero(rows & found)
            blocks = np.array_split(chosen[np.argsort(expected[chosen], kind="stable")], 10)
            x = [expected[block].mean() for block in blocks]
            y = [table.losses[block].mean() for block in blocks]
            error = [1.96 * table.losses[block].std() / np.sqrt(len(block)) for block in blocks]
            ax.errorbar(x, y, error, fmt="o-", ms=4, lw=1, color=color, label=label)
        ax.plot([2, 30], [2, 30], color="0.5", lw=1, ls="--", label="perfect")
        ax.set(xscale="log", yscale="log", xlabel="expected error (%)", title=name.split("`")[1])
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
