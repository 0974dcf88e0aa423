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
    results,
    tell,
    writing_report,
)
from facereject._cli._choices import PartsChoice, TargetChoice
from facereject._cli._panels import Given, command
from facereject._cli._shared import QuietOption, RegionOption, option, paragraphs, say, stop

if TYPE_CHECKING:
    from facereject.reports.evaluation import GroupEvidence
    from facereject.reports.tools import ToolResult

EVALUATE_EXAMPLES = paragraphs("""[bold]Examples[/bold]

facereject evaluate default 300w/helen --report report

facereject evaluate my.safetensors test.csv --report report --degradations 8

facereject evaluate my.safetensors test.xml --report report --max-error 4

facereject evaluate default pts --predictions a --predictions b --report which

[dim]The report: index.html (one file, opens anywhere), figures as PNG, thresholds.csv with coverage, error
and threshold of every possible rule, faces.csv, summary.json.[/dim]""")


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
    """
    from facereject.faces.evaluation.data_warnings import data_warnings
    from facereject.faces.models.card import error_unit
    from facereject.reports.evaluation import group_evidence, write_report
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
            _print(group_evidence(rejector, samples, evaluation), error_unit(rejector))
            check = evaluation.domain
            tell(evaluation.not_compared if check is None else check.sentence)
    if not quiet:
        say(f"Report: {page}")


def _print_tools(tools: list[ToolResult]) -> None:
    from rich.table import Table

    compared = tools[0].numbers["faces_compared"]
    table = Table(title=f"{compared:,} faces that all tools have", title_justify="left")
    columns = ("tool", "mean error (%)", "its 95 % interval", "AuRC (%)", "expected over true", "accepted")
    for name in (*columns, "their error (%)"):
        table.add_column(name, justify="left" if name == "tool" else "right")
    for tool in tools:
        table.add_row(*(tool.cell(str(column.header)) for column in table.columns))
    results.print(table)


def _print(groups: list[GroupEvidence], unit: str) -> None:
    from rich.table import Table

    from facereject.faces.evaluation.evidence import failure_rates

    table = Table(title=f"Errors in {unit}", title_justify="left")
    table.add_column("photos")
    for group in groups:
        table.add_column(group.name, justify="right")

    def line(name: str, *cells: str, end: bool = False) -> None:
        table.add_row(name, *cells, end_section=end)

    found = [group.result for group in groups]
    line("faces found", *(f"{r.n:,}" for r in found))
    line("missed by the detector", *(f"{r.missed:,}" for r in found))
    line("mean error", *(f"{r.mean_error:.2f} %" for r in found))
    line("mean expected error", *(f"{r.expected_error:.2f} %" for r in found))
    line("errors in their 80 % interval", *(_share(r.interval_coverage) for r in found), end=True)
    line("AuRC by the detector's score", *(f"{r.aurc_detector:.3f} %" for r in found))
    line("AuRC by this model", *(f"{r.aurc_score:.3f} %" for r in found))
    line("AuRC by the error itself", *(f"{r.aurc_oracle:.3f} %" for r in found))
    gaps = (f"{_share(g.result.gap_closed)} ({_interval(g.interval)})" for g in groups)
    line("gap closed (95 % interval)", *gaps, end=True)
    line("accepted", *(f"{r.coverage:.1%}" for r in found))
    line("mean error of the accepted", *(_percent(r.accepted_error) for r in found))
    rejected = [group.losses[~group.accepted] for group in groups]
    line(
        "mean error of the rejected",
        *(_percent(float(losses.mean()) if losses.size else math.nan) for losses in rejected),
    )
    accepted = [failure_rates(group.losses[group.accepted]) for group in groups]
    everything = [failure_rates(group.losses) for group in groups]
    for i, level in enumerate(("8 %", "10 %")):
        cells = (f"{_share(a[i], 1)} → {_share(b[i], 1)}" for a, b in zip(everything, accepted, strict=True))
        line(f"errors above {level}: all → accepted", *cells)
    results.print(table)


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f} %"


def _share(value: float, digits: int = 0) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}%}"


def _interval(ends: tuple[float, float]) -> str:
    return f"{_share(ends[0])} to {_share(ends[1])}"
