"""facereject evaluate: how good a model is on annotated faces, as a report."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from facereject._cli._annotated import (
    AnnotatedChoice,
    DatasetArgument,
    ModelArgument,
    check_not_read,
    check_report,
    show_table,
    tell,
    writing_report,
)
from facereject._cli._choices import PartsChoice, TargetChoice
from facereject._cli._panels import Given, command
from facereject._cli._shared import QuietOption, RegionOption, option, say, stop

if TYPE_CHECKING:
    from facereject.reports.evaluation import GroupEvidence
    from facereject.reports.tools import ToolResult


@command(lambda: (TargetChoice, AnnotatedChoice, PartsChoice))
def evaluate(
    given: Given,
    model: ModelArgument,
    report: Path = option(..., metavar="DIR", help="Folder for the report."),
    dataset: DatasetArgument = None,
    predictions: list[Path] | None = option(
        None,
        metavar="FILES",
        help="What a tool predicted for the annotated faces, in any of these formats. Given several "
        "times, the tools are compared on the faces that all of them have; for a model that was trained "
        "with several, they are its input.",
        panel="Landmarks in files",
    ),
    degradations: int = option(
        0, metavar="N", min=0, help="Also use N degraded versions of every photo (8 is usual)."
    ),
    region: RegionOption = None,
    seed: int = option(1, metavar="N", min=0, help="Seed of the degraded versions."),
    quiet: QuietOption = False,
) -> None:
    """Measure a model on annotated faces, and write a report.

    DATASET must hold faces that the model was not trained on. An error is the mean distance of the landmarks
    from the annotation, in percent; with 68 landmarks, of the distance between the outer eye corners. The
    model is compared with the detector's own score and with an oracle that knows the errors.

    [bold]Examples[/bold]
    facereject evaluate default 300w/helen --report report
    facereject evaluate my.safetensors test.csv --report report --degradations 8
    facereject evaluate my.safetensors test.xml --report report --max-error 4
    facereject evaluate default pts --predictions a --predictions b --report which

    [dim]The report: index.html (one file, opens anywhere), figures as PNG, thresholds.csv with coverage,
    error and threshold of every possible rule, faces.csv, summary.json.[/dim]
    """
    from facereject.faces.evaluation.data_warnings import data_warnings
    from facereject.faces.models.card import error_unit
    from facereject.reports.evaluation import EvaluationReport, write_report
    from facereject.reports.tools import FILES, compare_tools, write_comparison

    faces, parts = given.make(AnnotatedChoice), given.make(PartsChoice)
    path = faces.path(dataset)
    files = predictions or []
    if files and degradations:
        stop("--degradations: landmarks in files are of the images as they are")
    pages = check_report(report, overwrite=faces.overwrite)
    rejector = parts.load_parts(
        model,
        target=given.make(TargetChoice).chosen(),
        region=region,
        argument="MODEL",
        given=bool(files),
    )
    compared = len(files) > 1 and not rejector.needs_others
    tools = {}
    if compared:
        names = [file.name for file in files]
        if len(set(names)) < len(names):
            names = [str(file) for file in files]
        if len(set(names)) < len(names):
            stop("--predictions: the same files are named twice")
        tools = {name: faces.read(path, [file], quiet=quiet) for name, file in zip(names, files, strict=True)}
        samples = tools[names[0]]
        pages = [report / name for name in FILES]
    else:
        samples = faces.read(path, files, quiet=quiet)
    check_not_read("--report", pages, faces.files_read(path, samples, model, parts.landmarks))
    notes = data_warnings(samples, None if files else rejector.predictor, rejector.info)
    for text in notes:
        tell(f"Warning: {text}")
    about: dict[str, Any] = {"model": model, "data": str(path), "notes": notes, "overwrite": faces.overwrite}
    if compared:
        with faces.working("--predictions", quiet=quiet) as more:
            found = compare_tools(rejector, tools, **more)
        with writing_report(report):
            page = write_comparison(report, rejector, found, **about)
        if not quiet:
            _print_tools(found)
    else:
        evaluation = faces.evaluate(
            rejector, samples, path, quiet=quiet, degradations=degradations, random_state=seed
        )
        with writing_report(report):
            page = write_report(report, rejector, samples, evaluation, **about)
        if not quiet:
            groups = EvaluationReport(rejector, samples, evaluation, model, str(path)).groups
            _print(groups, error_unit(rejector))
            check = evaluation.domain
            tell(evaluation.not_compared if check is None else check.sentence)
    if not quiet:
        say(f"Report: {page}")


def _print_tools(tools: list[ToolResult]) -> None:
    columns = ["tool", "mean error (%)", "its 95 % interval", "AuRC (%)", "expected over true", "accepted"]
    columns.append("their error (%)")
    rows = [[tool.cell(column) for column in columns] for tool in tools]
    show_table(f"{tools[0].numbers['faces_compared']:,} faces that all tools have", columns, rows)


def _print(groups: list[GroupEvidence], unit: str) -> None:
    figures = [_figures(group) for group in groups]
    rows = [[name, *(each[name] for each in figures)] for name in figures[0]]
    show_table(f"Errors in {unit}", ["photos", *(group.name for group in groups)], rows, lines=(4, 8))


def _figures(group: GroupEvidence) -> dict[str, str]:
    from facereject.faces.evaluation.evidence import failure_rates

    result, (low, high) = group.result, group.interval
    interval = "" if math.isnan(low) else f" ({_share(low)} to {_share(high)})"
    rejected = group.losses[~group.accepted]
    rates = zip(failure_rates(group.losses), failure_rates(group.losses[group.accepted]), strict=True)
    above = [f"{_share(before, 1)} → {_share(after, 1)}" for before, after in rates]
    return {
        "faces found": f"{result.n:,}",
        "missed by the detector": f"{result.missed:,}",
        "mean error": f"{result.mean_error:.2f} %",
        "mean expected error": f"{result.expected_error:.2f} %",
        "errors in their 80 % interval": _share(result.interval_coverage),
        "AuRC by the detector's score": f"{result.aurc_detector:.3f} %",
        "AuRC by this model": f"{result.aurc_score:.3f} %",
        "AuRC by the error itself": f"{result.aurc_oracle:.3f} %",
        "gap closed (95 % interval)": _share(result.gap_closed) + interval,
        "accepted": f"{result.coverage:.1%}",
        "mean error of the accepted": _percent(result.accepted_error),
        "mean error of the rejected": _percent(float(rejected.mean()) if rejected.size else math.nan),
        "errors above 8 %: all → accepted": above[0],
        "errors above 10 %: all → accepted": above[1],
    }


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f} %"


def _share(value: float, digits: int = 0) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}%}"
