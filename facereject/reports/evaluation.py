"""The report of an evaluation: a page, its figures as PNG, and the numbers behind it as CSV and JSON."""

from __future__ import annotations

import csv
import errno
import functools
import io
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from facereject import __version__
from facereject._files import cell_name, display_name, is_regular, output_that_is_read, replacing
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
from facereject.reports.evaluation_page import drawn, report_page

#: the figures of a report, and all of its files
FIGURES = ("risk_coverage.png", "calibration.png", "cumulative_error.png")
FILES = ("index.html", *FIGURES, "thresholds.csv", "faces.csv", "summary.json")


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class GroupEvidence:
    """Results for one group of images, clean or degraded; ``rows`` are those of the evaluation's table."""

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


@dataclass(frozen=True, eq=False)
class EvaluationReport:
    """What a report is about.

    Parameters
    ----------
    rejector, samples, evaluation
        What was evaluated, on what, and the result.
    model, data : str
        Their names, for the heading.
    notes : sequence of str
        Warnings, shown above everything else.
    """

    rejector: FaceRejector
    samples: Sequence[FaceSample]
    evaluation: FaceEvaluation
    model: str
    data: str
    notes: Sequence[str] = ()

    @functools.cached_property
    def groups(self) -> list[GroupEvidence]:
        """The numbers for the photos as they are and, if any, for degraded ones."""
        table = self.evaluation.table
        found = [self._group("as they are", self.evaluation.clean, table.clean)]
        if self.evaluation.degraded is not None:
            found.append(self._group("degraded", self.evaluation.degraded, ~table.clean))
        return found

    def _group(self, name: str, result: GroupResult, chosen: NDArray[np.bool_]) -> GroupEvidence:
        table, rows = self.evaluation.table, np.flatnonzero(chosen)
        losses, scores = table.losses[rows], table.detector_scores[rows]
        uncertainty = self.evaluation.uncertainty[rows]
        expected = self.rejector.calibration.expected_error(uncertainty)
        photos = np.array([self.samples[i].photo for i in table.sample[rows]])
        return GroupEvidence(
            *(name, result, rows, self.rejector.decide(uncertainty), losses, uncertainty, scores),
            coverage_rows(losses, uncertainty, scores),
            reliability(expected, losses),
            gap_interval(losses, scores, uncertainty, photos),
        )

    def thresholds_csv(self) -> str:
        """Every threshold of every group: coverage, count, errors and failure rates, as CSV text."""
        levels = [f"failure_rate_{level:g}" for level in FAILURE_LEVELS]
        return csv_text(
            {
                "pictures": group.name,
                "coverage": row.coverage,
                "n": row.n,
                "threshold": row.threshold,
                "mean_error": row.error,
                "rejected_mean_error": "" if math.isnan(row.rejected_error) else row.rejected_error,
                **dict(zip(levels, row.failures, strict=True)),
                "detector_mean_error": row.detector_error,
                "oracle_mean_error": row.oracle_error,
            }
            for group in self.groups
            for row in group.thresholds
        )

    def faces_csv(self) -> str:
        """Error, scores and decision of every face, as CSV text."""
        table, uncertainty = self.evaluation.table, self.evaluation.uncertainty
        expected = self.rejector.calibration.expected_error(uncertainty)
        low, high = self.rejector.calibration.error_interval(uncertainty)
        accepted = self.rejector.decide(uncertainty)
        return csv_text(
            {
                "image": cell_name(str(self.samples[i].image_path)),
                "photo": cell_name(self.samples[i].photo),
                "picture": table.kinds[row],
                "error": float(table.losses[row]),
                "expected_error": float(expected[row]),
                "uncertainty": float(uncertainty[row]),
                "detector_score": float(table.detector_scores[row]),
                "accepted": "true" if accepted[row] else "false",
                "error_low": float(low[row]),
                "error_high": float(high[row]),
            }
            for row, i in enumerate(table.sample.tolist())
        )

    def summary(self) -> dict[str, Any]:
        """The report as plain JSON."""
        threshold, domain = self.rejector.selector.threshold_, self.evaluation.domain
        return {
            "model": self.model,
            "data": self.data,
            "facereject": __version__,
            "unit": error_unit(self.rejector),
            "target": asdict(self.rejector.target),
            "threshold": threshold if math.isfinite(threshold) else None,
            **{group.name: _group_summary(group) for group in self.groups},
            "domain": None if domain is None else domain.to_dict(),
            "not_compared": self.evaluation.not_compared,
            "warnings": list(self.notes),
            "problems": [problem._asdict() for problem in self.evaluation.problems],
        }


def _group_summary(group: GroupEvidence) -> dict[str, Any]:
    numbers: dict[str, Any] = {**asdict(group.result), "gap_closed_interval": list(group.interval)}
    for label, losses in (("all", group.losses), ("accepted", group.losses[group.accepted])):
        levels = [f"{level:g}" for level in FAILURE_LEVELS]
        numbers[f"failure_rates_{label}"] = dict(zip(levels, failure_rates(losses), strict=True))
    plain: dict[str, Any] = _plain(numbers)
    return plain


def _plain(value: Any) -> Any:
    """Replace NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def csv_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as CSV, below the names of their columns."""
    stream, listed = io.StringIO(), list(rows)
    writer = csv.DictWriter(stream, list(listed[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(listed)
    return stream.getvalue()


def write_report(
    folder: str | os.PathLike[str],
    rejector: FaceRejector,
    samples: Sequence[FaceSample],
    evaluation: FaceEvaluation,
    *,
    overwrite: bool = False,
    **about: Any,
) -> Path:
    """Write the files of `FILES` into a folder, all or none, and return the path of the page.

    Parameters
    ----------
    folder : path
        Made if missing.
    rejector, samples, evaluation, **about
        As for `EvaluationReport`.
    overwrite : bool, default=False
        Replace the files of an earlier report; images of ``samples`` are never replaced.

    Raises
    ------
    FileExistsError
        A file would be replaced.
    """
    report = EvaluationReport(rejector, samples, evaluation, **about)
    images = (sample.image_path for sample in samples)
    with report_files(folder, FILES, images, overwrite=overwrite) as files:
        figures = [drawn(group) for group in report.groups]
        for name, figure in zip(FIGURES, figures[0], strict=True):
            figure.savefig(files[name], format="png", dpi=160, facecolor="white")
        write_texts(
            files,
            {
                "thresholds.csv": report.thresholds_csv(),
                "faces.csv": report.faces_csv(),
                "summary.json": json.dumps(report.summary(), indent=2) + "\n",
                "index.html": report_page(report, figures, FILES[1:]),
            },
        )
    return Path(folder) / "index.html"


def check_report_folder(
    folder: str | os.PathLike[str], *, overwrite: bool = False, files: Sequence[str] = FILES
) -> None:
    """Raise FileExistsError if a report would replace a file.

    Parameters
    ----------
    folder : path
    overwrite : bool, default=False
        Files may be replaced; devices, pipes, sockets and folders never are.
    files : sequence of str
        The files of the report.
    """
    for path in (os.path.join(folder, name) for name in files):
        if os.path.lexists(path) and not (overwrite and is_regular(path)):
            advice = "pass `overwrite` to replace it" if is_regular(path) else "not a regular file; remove it"
            raise FileExistsError(errno.EEXIST, f"exists already; {advice}", path)


@contextmanager
def report_files(
    folder: str | os.PathLike[str],
    names: Sequence[str],
    read: Iterable[str | os.PathLike[str]] = (),
    *,
    overwrite: bool = False,
) -> Iterator[dict[str, IO[bytes]]]:
    """The new files of a report by name, which take their places together when the block ends.

    A file that is in ``read`` is never replaced.
    """
    check_report_folder(folder, overwrite=overwrite, files=names)
    lost = output_that_is_read((os.path.join(folder, name) for name in names), read)
    if lost is not None:
        raise FileExistsError(errno.EEXIST, "this is a file that is read; choose another folder", lost)
    os.makedirs(folder, exist_ok=True)
    with ExitStack() as stack:
        made = {name: stack.enter_context(replacing(os.path.join(folder, name))) for name in names}
        yield made
        # everything is on the disk before the first file gets its name, so that a report is never half new
        for file in made.values():
            file.flush()


def write_texts(files: Mapping[str, IO[bytes]], texts: Mapping[str, str]) -> None:
    """Write texts into the files of a report; names of images in them need not be valid UTF-8."""
    for name, text in texts.items():
        files[name].write(display_name(text).encode())
