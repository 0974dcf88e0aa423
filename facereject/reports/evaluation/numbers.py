"""The numbers of an evaluation report: per group of images, and as CSV and JSON."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject import __version__
from facereject._files import cell_name
from facereject.faces import FaceEvaluation, FaceRejector, FaceSample
from facereject.faces.evaluation.evidence import (
    FAILURE_LEVELS,
    CoverageRow,
    ReliabilityGroup,
    coverage_rows,
    failure_rates,
    gap_interval,
    reliability,
)
from facereject.faces.evaluation.results import GroupResult
from facereject.faces.models.card import error_unit


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class GroupEvidence:
    """Results for one group of images, clean or degraded."""

    name: str
    result: GroupResult
    rows: NDArray[np.int64]
    accepted: NDArray[np.bool_]
    losses: NDArray[np.float64]
    uncertainty: NDArray[np.float64]
    detector_scores: NDArray[np.float64]
    thresholds: list[CoverageRow]
    groups: list[ReliabilityGroup]
    interval: tuple[float, float]


def group_evidence(
    rejector: FaceRejector, samples: Sequence[FaceSample], evaluation: FaceEvaluation
) -> list[GroupEvidence]:
    """The numbers of the report for the photos as they are and, if any, for degraded ones."""
    table, found = evaluation.table, []
    results = [("as they are", evaluation.clean, table.clean)]
    if evaluation.degraded is not None:
        results.append(("degraded", evaluation.degraded, ~table.clean))
    for name, result, mask in results:
        rows = np.flatnonzero(mask)
        losses, scores = table.losses[rows], table.detector_scores[rows]
        uncertainty = evaluation.uncertainty[rows]
        photos = np.array([samples[i].photo for i in table.sample[rows]])
        found.append(
            GroupEvidence(
                name,
                result,
                rows,
                rejector.decide(uncertainty),
                losses,
                uncertainty,
                scores,
                coverage_rows(losses, uncertainty, scores),
                reliability(rejector.calibration.expected_error(uncertainty), losses),
                gap_interval(losses, scores, uncertainty, photos),
            )
        )
    return found


def thresholds_csv(groups: Sequence[GroupEvidence]) -> str:
    """Every threshold of every group: coverage, count, errors and failure rates, as CSV text."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    failures = [f"failure_rate_{level:g}" for level in FAILURE_LEVELS]
    writer.writerow(
        ["pictures", "coverage", "n", "threshold", "mean_error", "rejected_mean_error", *failures]
        + ["detector_mean_error", "oracle_mean_error"]
    )
    for group in groups:
        for row in group.thresholds:
            rejected = "" if math.isnan(row.rejected_error) else row.rejected_error
            head = [group.name, row.coverage, row.n, row.threshold, row.error, rejected]
            writer.writerow([*head, *row.failures, row.detector_error, row.oracle_error])
    return stream.getvalue()


def faces_csv(rejector: FaceRejector, samples: Sequence[FaceSample], evaluation: FaceEvaluation) -> str:
    """Error, scores and decision of every face, as CSV text."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        ["image", "photo", "picture", "error", "expected_error", "uncertainty", "detector_score", "accepted"]
        + ["error_low", "error_high"]
    )
    table, expected = evaluation.table, rejector.calibration.expected_error(evaluation.uncertainty)
    low, high = rejector.calibration.error_interval(evaluation.uncertainty)
    for row in range(len(table)):
        sample, uncertainty = samples[int(table.sample[row])], float(evaluation.uncertainty[row])
        accepted = "true" if rejector.decide(uncertainty) else "false"
        name, photo = cell_name(str(sample.image_path)), cell_name(sample.photo)
        numbers = [float(table.losses[row]), float(expected[row]), uncertainty]
        writer.writerow(
            [name, photo, table.kinds[row], *numbers, float(table.detector_scores[row]), accepted]
            + [float(low[row]), float(high[row])]
        )
    return stream.getvalue()


def summary(
    groups: Sequence[GroupEvidence],
    rejector: FaceRejector,
    evaluation: FaceEvaluation,
    model: str,
    data: str,
    notes: Sequence[str],
) -> dict[str, Any]:
    """The report as plain JSON."""
    found: dict[str, Any] = {
        "model": model,
        "data": data,
        "facereject": __version__,
        "unit": error_unit(rejector),
    }
    found["target"] = asdict(rejector.target)
    threshold = rejector.selector.threshold_
    found["threshold"] = threshold if math.isfinite(threshold) else None
    for group in groups:
        numbers: dict[str, Any] = {**asdict(group.result), "gap_closed_interval": list(group.interval)}
        for label, losses in (("all", group.losses), ("accepted", group.losses[group.accepted])):
            numbers[f"failure_rates_{label}"] = dict(
                zip([f"{level:g}" for level in FAILURE_LEVELS], failure_rates(losses), strict=True)
            )
        found[group.name] = _plain(numbers)
    found["domain"] = None if evaluation.domain is None else evaluation.domain.to_dict()
    found["not_compared"] = evaluation.not_compared
    found["warnings"] = list(notes)
    found["problems"] = [problem._asdict() for problem in evaluation.problems]
    return found


def _plain(value: Any) -> Any:
    """Replace NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
