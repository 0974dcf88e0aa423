"""facereject evaluate: how good a model is on annotated faces, as a report."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from facereject._cli._annotated import (
    AnnotationOption,
    CacheOption,
    DatasetArgument,
    ImagesOption,
    JobsOption,
    ModelArgument,
    OverwriteOption,
    cache_warnings,
    check_not_read,
    check_report,
    files_of_dataset,
    landmark_inputs,
    list_problems,
    one_dataset,
    read_dataset,
    results,
    tell,
)
from facereject._cli._output.progress import counting
from facereject._cli._plugins import (
    DetectorOption,
    LandmarksOption,
    PointsOption,
    chosen_points,
)
from facereject._cli._shared import (
    CostOption,
    CoverageOption,
    MaxErrorBoundOption,
    MaxErrorOption,
    MaxExpectedErrorOption,
    OfflineOption,
    QuietOption,
    RegionOption,
    ThresholdOption,
    chosen_target,
    load_rejector,
    option,
    paragraphs,
    say,
    stop,
)

if TYPE_CHECKING:
    from facereject.faces import FaceRejector
    from facereject.reports.evaluation import GroupEvidence
    from facereject.reports.tools import ToolResult

EVALUATE_EXAMPLES = paragraphs("""[bold]Examples[/bold]

facereject evaluate default 300w/helen --report report

facereject evaluate my.safetensors test.csv --report report --degradations 8

facereject evaluate my.safetensors test.xml --report report --max-error 4

facereject evaluate default pts --predictions a --predictions b --report which

[dim]The report: index.html (one file, opens anywhere), figures as PNG, thresholds.csv with coverage, error
and threshold of every possible rule, faces.csv, summary.json.[/dim]""")


def evaluate(
    model: ModelArgument,
    report: Path = option(..., metavar="DIR", help="Folder for the report."),
    dataset: DatasetArgument = None,
    annotation: AnnotationOption = None,
    images: ImagesOption = None,
    predictions: list[Path] | None = option(
        None,
        metavar="FILES",
        help="What a tool predicted for the annotated faces, in any of these formats. Given several "
        "times, the tools are compared on the faces that all of them have; for a model that was trained "
        "with several, they are its input.",
        panel="Landmarks in files",
    ),
    landmarks: LandmarksOption = None,
    detector: DetectorOption = None,
    offline: OfflineOption = False,
    points: PointsOption = None,
    degradations: int = option(
        0, metavar="N", min=0, help="Also use N degraded versions of every photo (8 is usual)."
    ),
    region: RegionOption = None,
    max_error: MaxErrorOption = None,
    max_expected_error: MaxExpectedErrorOption = None,
    max_error_bound: MaxErrorBoundOption = None,
    coverage: CoverageOption = None,
    cost: CostOption = None,
    threshold: ThresholdOption = None,
    jobs: JobsOption = None,
    cache: CacheOption = None,
    seed: int = option(1, metavar="N", min=0, help="Seed of the degraded versions."),
    overwrite: OverwriteOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure a model on annotated faces, and write a report.

    DATASET must hold faces that the model was not trained on. An error is the mean distance of the landmarks
    from the annotation, in percent; with 68 landmarks, of the distance between the outer eye corners. The
    model is compared with the detector's own score and with an oracle that knows the errors.
    """
    from facereject.reports.evaluation import group_evidence, write_report

    dataset = one_dataset(dataset, annotation)
    files = predictions or []
    if files and degradations:
        stop("--degradations: landmarks in files are of the images as they are")
    pages = check_report(report, overwrite=overwrite)
    given = chosen_target(
        max_error=max_error,
        max_expected_error=max_expected_error,
        max_error_bound=max_error_bound,
        coverage=coverage,
        cost=cost,
        threshold=threshold,
    )
    rejector = load_rejector(
        model,
        detector=detector,
        landmarks=landmarks,
        target=given,
        region=region,
        argument="MODEL",
        given=bool(files),
    )
    if len(files) > 1 and not rejector.needs_others:
        _compare(rejector, model, dataset, images, files, points, report, jobs, cache, overwrite, quiet)
        return

    from facereject.faces import evaluate_face_rejector
    from facereject.faces.evaluation.data_warnings import data_warnings
    from facereject.faces.models.card import error_unit

    samples = read_dataset(
        dataset,
        images=images,
        predictions=files,
        points=chosen_points(points),
        quiet=quiet,
    )
    read = [model, landmarks, *landmark_inputs(files), *files_of_dataset(dataset, samples)]
    check_not_read("--report", pages, read)
    notes = data_warnings(samples, None if files else rejector.predictor, rejector.info)
    for text in notes:
        tell(f"Warning: {text}")
    try:
        with cache_warnings(), counting("faces", quiet=quiet) as progress:
            evaluation = evaluate_face_rejector(
                rejector,
                samples,
                degradations=degradations,
                random_state=seed,
                workers=jobs,
                cache=cache,
                progress=progress,
            )
    except ValueError as error:
        stop(f"DATASET {dataset}: {error}")
    list_problems(evaluation.problems[len(samples.problems) :])
    try:
        page = write_report(
            report,
            rejector,
            samples,
            evaluation,
            model=model,
            data=str(dataset),
            notes=notes,
            overwrite=overwrite,
        )
    except OSError as error:
        stop(f"--report {report}: cannot be written ({error.strerror})", 1)
    if not quiet:
        _print(group_evidence(rejector, samples, evaluation), error_unit(rejector))
        if evaluation.domain is not None:
            tell(evaluation.domain.sentence)
        say(f"Report: {page}")


def _compare(
    rejector: FaceRejector,
    model: str,
    dataset: Path,
    images: Path | None,
    files: list[Path],
    points: str | None,
    report: Path,
    jobs: int | None,
    cache: Path | None,
    overwrite: bool,
    quiet: bool,
) -> None:
    """Compare several tools on the same faces, and write the page."""
    from facereject.faces.evaluation.data_warnings import data_warnings
    from facereject.reports.tools import FILES, compare_tools, write_comparison

    names = [file.name for file in files]
    if len(set(names)) < len(names):
        names = [str(file) for file in files]
    if len(set(names)) < len(names):
        stop("--predictions: the same files are named twice")
    tools = {}
    for name, file in zip(names, files, strict=True):
        tools[name] = read_dataset(
            dataset, images=images, predictions=[file], points=chosen_points(points), quiet=quiet
        )
    samples = next(iter(tools.values()))
    read: list[str | Path | None] = [model, *landmark_inputs(files), *files_of_dataset(dataset, samples)]
    check_not_read("--report", [report / name for name in FILES], read)
    notes = data_warnings(samples, None, rejector.info)
    for text in notes:
        tell(f"Warning: {text}")
    try:
        with cache_warnings(), counting("faces", quiet=quiet) as progress:
            found = compare_tools(rejector, tools, workers=jobs, cache=cache, progress=progress)
        page = write_comparison(
            report, rejector, found, model=model, data=str(dataset), notes=notes, overwrite=overwrite
        )
    except ValueError as error:
        stop(f"--predictions: {error}")
    except FileExistsError as error:
        stop(f"--report {error.filename}: {str(error.strerror).replace('`overwrite`', '--overwrite')}")
    except OSError as error:
        stop(f"--report {report}: cannot be written ({error.strerror})", 1)
    if not quiet:
        _print_tools(found)
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
