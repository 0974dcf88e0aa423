"""Writing an evaluation report: a page, its figures as PNG, the tables behind it as CSV and JSON."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from facereject._files import display_name, is_regular, output_that_is_read, replacing
from facereject.faces import FaceEvaluation, FaceRejector, FaceSample
from facereject.reports.evaluation.figures import draw_cumulative, draw_reliability, draw_risk_coverage
from facereject.reports.evaluation.numbers import faces_csv, group_evidence, summary, thresholds_csv
from facereject.reports.evaluation.page import report_page

#: the files of a report
FILES = (
    "index.html",
    "risk_coverage.png",
    "calibration.png",
    "cumulative_error.png",
    "thresholds.csv",
    "faces.csv",
    "summary.json",
)


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


def write_report(
    folder: str | os.PathLike[str],
    rejector: FaceRejector,
    samples: Sequence[FaceSample],
    evaluation: FaceEvaluation,
    *,
    model: str,
    data: str,
    notes: Sequence[str] = (),
    overwrite: bool = False,
) -> Path:
    """Write the files of `FILES` into a folder, all or none, and return the path of the page.

    Parameters
    ----------
    folder : path
        Made if missing.
    rejector, samples, evaluation
        What was evaluated, on what, and the result.
    model, data : str
        Their names, for the heading.
    notes : sequence of str
        Warnings, shown above everything else.
    overwrite : bool, default=False
        Replace the files of an earlier report; images of ``samples`` are never replaced.

    Raises
    ------
    FileExistsError
        A file would be replaced.
    """
    check_report_folder(folder, overwrite=overwrite)
    read = output_that_is_read(
        (os.path.join(folder, name) for name in FILES), (sample.image_path for sample in samples)
    )
    if read is not None:
        raise FileExistsError(errno.EEXIST, "this is a file that is read; choose another folder", read)
    groups = group_evidence(rejector, samples, evaluation)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        # everything is on the disk before the first file gets its name, so that a report is never half new
        made = {name: stack.enter_context(replacing(folder / name)) for name in FILES}
        curves = [
            draw_risk_coverage(
                group.losses,
                group.uncertainty,
                group.detector_scores,
                (group.result.coverage, group.result.accepted_error),
            )
            for group in groups
        ]
        calibration = [draw_reliability(group.groups) for group in groups]
        cumulative = [draw_cumulative(group.losses, group.accepted) for group in groups]
        curves[0].savefig(made["risk_coverage.png"], format="png", dpi=160, facecolor="white")
        calibration[0].savefig(made["calibration.png"], format="png", dpi=160, facecolor="white")
        cumulative[0].savefig(made["cumulative_error.png"], format="png", dpi=160, facecolor="white")
        numbers = summary(groups, rejector, evaluation, model, data, notes)
        options = (model, data, notes, list(zip(curves, calibration, cumulative, strict=True)), FILES[1:])
        texts = {
            "thresholds.csv": thresholds_csv(groups),
            "faces.csv": faces_csv(rejector, samples, evaluation),
            "summary.json": json.dumps(numbers, indent=2) + "\n",
            "index.html": report_page(groups, rejector, samples, evaluation, *options),
        }
        for name, text in texts.items():
            # names of files need not be valid UTF-8
            made[name].write(display_name(text).encode())
        for file in made.values():
            file.flush()
    return folder / "index.html"
