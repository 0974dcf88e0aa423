"""The part of the card about single points, covered points and causes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from facereject.faces import REGIONS
from facereject.faces.face import CAUSES
from facereject.faces.models.ranking import gap_closed
from facereject.faces.training.details import known_causes
from facereject.faces.training.fit_compact import point_errors

# rows judged at once
_BLOCK = 500


def point_tables(results: list[Any]) -> str:
    """Expected against true errors of points, covered points, and regions, on photographs set aside."""
    lines = [
        "## Every point",
        "",
        "`Face.landmark_errors` on the photographs set aside: rank correlation (Spearman) with the true",
        "errors over all points of all faces, mean expected and mean true error, and how well points under a",
        "simulated occlusion stand out within their face (area under the ROC curve of the expected error",
        "over the median of the point on clean photographs, mean over faces with 4 to 64 covered points).",
        "`Face.visible` is False for points that trees trained on simulated occlusions take to be covered,",
        "by a threshold that flags 2 % of the visible points of clean photographs in cross-validation, and",
        "for points outside the picture, which are left out here.",
        "",
        "| model | pictures | Spearman | expected | true | AUC covered | visible points flagged | "
        "covered points flagged |",
        "|---|---|---|---|---|---|---|---|",
    ]
    regions = []
    for each in results:
        score = each.rejector.score
        if getattr(score, "point_errors", None) is None:
            continue
        table = each.table
        truth = point_errors(table, each.rejector.points)
        expected, hidden = _judged(score, table.features)
        usual = np.median(expected[table.clean], axis=0)
        whole = inside(table)
        for name in ("clean", "degraded"):
            rows = each.groups[name]
            rank = spearmanr(expected[rows].ravel(), truth[rows].ravel())[0]
            covered, seen = table.hidden[rows] & whole[rows], ~table.hidden[rows]
            flagged = hidden[rows]
            areas = within_faces(expected[rows] / usual, covered, seen)
            auc = f"{np.mean(areas):.3f} ({len(areas)} faces)" if areas else "–"
            lines.append(
                f"| `{each.name}` | {name} | {rank:.3f} | {expected[rows].mean():.2f} | "
                f"{truth[rows].mean():.2f} | {auc} | {flagged[seen].mean():.1%} | "
                + (f"{flagged[covered].mean():.0%} |" if covered.any() else "– |")
            )
            for region, points in REGIONS.items():
                losses = truth[rows][:, list(points)].mean(axis=1)
                order = expected[rows][:, list(points)].mean(axis=1)
                by_face = gap_closed(losses, table.detector_scores[rows], each.uncertainty[rows])
                own = gap_closed(losses, table.detector_scores[rows], order)
                regions.append(
                    f"| `{each.name}` | {name} | {region} | {losses.mean():.2f} | {order.mean():.2f} | "
                    f"{by_face:.0%} | {own:.0%} |"
                )
    lines += [
        "",
        "Rejecting by region (`FaceRejector.for_region`, `--region`): share of the gap closed for the mean",
        "error of the region, by the score of the whole face and by the expected error of the region.",
        "",
        "| model | pictures | region | mean error | expected | by the whole face | by the region |",
        "|---|---|---|---|---|---|---|",
        *regions,
    ]
    return "\n".join(lines) + "\n"


def cause_table(each: Any, background: np.ndarray) -> str:
    """Known causes against those found for rejected faces set aside, and for boxes without a face."""
    score, table = each.rejector.score, each.table
    known = known_causes(table, each.rejector.points)
    rows = (known != "") & ~each.rejector.decide(each.uncertainty)
    features = np.concatenate([table.features[rows], background])
    truth = np.concatenate([known[rows], np.full(len(background), "no_face_in_box")])
    said = np.array(list(CAUSES))[score.causes(score.columns(features)).argmax(axis=1)]
    names = [name for name in CAUSES if (truth == name).any()]
    found = [name for name in CAUSES if (said == name).any()]
    lines = [
        f"## Causes, `{each.name}`",
        "",
        "Likely cause of rejected faces of the photographs set aside, as far as one degradation was done to",
        f"them, and of boxes beside the face of clean ones ({(truth == said).mean():.0%} are right).",
        "Rows are what is true. JPEG, haze and hard clean faces count as unclear, shadow as dark,",
        "tilted and turned heads as turned. This is the model alone: where no landmark is near the border of",
        "the picture, `Face.cause` is the next most likely one instead of `cut_off`.",
        "",
        "| cause | " + " | ".join(name.replace("_", " ") for name in found) + " |",
        "|---|" + "---|" * len(found),
    ]
    for name in names:
        cells = " | ".join(str(int(((truth == name) & (said == other)).sum())) for other in found)
        lines.append(f"| {name.replace('_', ' ')} | {cells} |")
    return "\n".join(lines) + "\n"


def _judged(score: Any, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    parts = [
        score.point_errors(part, score.columns(part))
        for part in np.array_split(features, max(1, len(features) // _BLOCK))
    ]
    return np.concatenate([part.errors for part in parts]), np.concatenate([part.hidden for part in parts])


def inside(table: Any) -> np.ndarray:
    """Which hidden points were covered, not cut off: those of pictures that were not cut."""
    return np.array(["cut" not in kind and "rotation" not in kind for kind in table.kinds])[:, None]


def within_faces(ratio: np.ndarray, covered: np.ndarray, seen: np.ndarray) -> list[float]:
    """Area under the ROC curve of covered against visible points, for faces with 4 to 64 covered ones."""
    values = []
    for r, c, s in zip(ratio, covered, seen, strict=True):
        if 3 < c.sum() < 65 and s.any():
            use = c | s
            values.append(float(roc_auc_score(c[use], r[use])))
    return values
