"""facereject filter: decide which faces to trust, by a target of your own, and sort the files."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from facereject._cli._job import Job
from facereject._cli._plugins import DetectorOption, LandmarksOption, PredictorOption
from facereject._cli._run_options import (
    EngineOption,
    MaxPixelsOption,
    OverwriteOption,
    PathsArgument,
    ResumeOption,
    SchedulerOption,
    WorkersOption,
    check_output,
    check_paths,
    folder_of_inputs,
    make_engine,
)
from facereject._cli._shared import (
    CostOption,
    CoverageOption,
    DetectorThresholdOption,
    MaxErrorOption,
    MinFaceOption,
    ModelOption,
    QuietOption,
    ThresholdOption,
    UpsampleOption,
    chosen_target,
    load_rejector,
    stop,
)
from facereject._cli._show import default_output, show_rows
from facereject._cli._video import (
    AnnotateOption,
    DetectEveryOption,
    EveryFrameOption,
    SaveOption,
    SmoothOption,
    TimelineOption,
    check_timeline,
    tracking_options,
    video_output,
    video_report,
)

FILTER_EXAMPLES = """[bold]Examples[/bold]
facereject filter photos --max-error 3                           [dim]lists faces[/dim]
facereject filter photos --max-error 3 --accepted good --rejected bad
facereject filter photos --coverage 0.9 -o faces.csv --workers 4
facereject filter photos --cost 6 --accepted good --link -o faces.csv
facereject filter clip.mp4 --save good.mp4 --timeline spans.csv  [dim]good frames[/dim]
facereject filter clip.mp4 --save shown.mp4 --annotate           [dim]drawn upon[/dim]

[bold]Exit codes[/bold]: 0 done, 1 some inputs failed (they are listed), 2 wrong usage, 130 interrupted"""

_SORT_PANEL = "Where files go (subfolders are kept, nothing is overwritten)"


def filter_(
    paths: PathsArgument,
    max_error: MaxErrorOption = None,
    coverage: CoverageOption = None,
    cost: CostOption = None,
    threshold: ThresholdOption = None,
    frame_rule: Annotated[
        str,
        typer.Option(
            "--frame-rule",
            metavar="all|any|largest",
            help="A picture with several faces is accepted if all of them are, any of them, or the largest.",
        ),
    ] = "all",
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="TABLE",
            help="Table with one row per face: .csv, .jsonl or .parquet; - writes CSV to stdout. With no "
            "output at all, CSV goes into a pipe, and a terminal shows one short line per face.",
        ),
    ] = None,
    accepted: Annotated[
        str | None,
        typer.Option(
            "--accepted", metavar="DIR", help="Folder for accepted files.", rich_help_panel=_SORT_PANEL
        ),
    ] = None,
    rejected: Annotated[
        str | None,
        typer.Option(
            "--rejected",
            metavar="DIR",
            help="Folder for rejected files, those without a face too; unreadable files stay where they are.",
            rich_help_panel=_SORT_PANEL,
        ),
    ] = None,
    link: Annotated[
        bool,
        typer.Option(
            "--link",
            help="Make symbolic links instead of copies: no space, the originals stay.",
            rich_help_panel=_SORT_PANEL,
        ),
    ] = False,
    move: Annotated[
        bool,
        typer.Option("--move", help="Move the files instead of copying.", rich_help_panel=_SORT_PANEL),
    ] = False,
    video_share: Annotated[
        float,
        typer.Option(
            "--video-share",
            metavar="SHARE",
            help="A video goes to the accepted files if at least this share of its frames is accepted.",
            rich_help_panel=_SORT_PANEL,
        ),
    ] = 0.5,
    save: SaveOption = None,
    annotate: AnnotateOption = False,
    timeline: TimelineOption = None,
    every_frame: EveryFrameOption = False,
    detect_every: DetectEveryOption = 60,
    smooth: SmoothOption = 0.0,
    model: ModelOption = "default",
    landmarks: LandmarksOption = None,
    predictor: PredictorOption = None,
    detector: DetectorOption = None,
    upsample: UpsampleOption = None,
    min_face: MinFaceOption = None,
    detector_threshold: DetectorThresholdOption = None,
    workers: WorkersOption = 1,
    engine: EngineOption = "local",
    scheduler: SchedulerOption = None,
    resume: ResumeOption = False,
    overwrite: OverwriteOption = False,
    max_pixels: MaxPixelsOption = 200_000_000,
    quiet: QuietOption = False,
) -> None:
    """Accept or reject faces by a target you state, and sort the pictures accordingly.

    State at most one target; without any, the one the model was made for holds. The threshold is tuned on
    annotated faces that the model has kept for that; if your pictures are of another kind, [bold]facereject
    calibrate[/bold] tunes it on yours.

    The table is that of [bold]facereject score[/bold] with accepted and reason by your target.
    """
    target = chosen_target(max_error=max_error, coverage=coverage, cost=cost, threshold=threshold)
    if frame_rule not in ("all", "any", "largest"):
        stop(f"--frame-rule must be all, any or largest; got {frame_rule}")
    if link and move:
        stop("--link and --move exclude each other")
    if (link or move) and accepted is None and rejected is None:
        stop(f"{'--link' if link else '--move'} needs a folder: give --accepted, --rejected or both")
    show = False
    if all(place is None for place in (output, accepted, rejected, save, timeline)):
        output = default_output()
        show = output is None
    # first: workers import what they need while this process still does
    tracking = tracking_options(every_frame, detect_every, smooth)
    check_timeline(timeline)
    # as for `folder_of_inputs`, videos must not land in the folder of a worker
    save = os.path.abspath(save) if save and engine == "dask" else save
    video = video_output(save, annotate, paths, frame_rule)
    runner = make_engine(engine, workers, scheduler)
    check_output(output, resume=resume, overwrite=overwrite)
    check_paths(paths, resume=resume)

    from facereject.batch.sorting import Placement, PlacementError, base_of

    settings = {"frame rule": frame_rule}
    placement = None
    if accepted is not None or rejected is not None:
        mode = "link" if link else "move" if move else "copy"
        try:
            placement = Placement(accepted, rejected, base_of(paths), mode, video_share)
        except PlacementError as error:
            stop(f"--accepted, --rejected: {error}")
        except ValueError as error:
            stop(f"--video-share: {error}")
        inside = [path for path in paths if placement.holds(path)]
        if inside:
            stop(f"{inside[0]}: lies in the folder for sorted files; choose a folder apart from the inputs")
        settings |= {
            "folder of accepted files": str(accepted),
            "folder of rejected files": str(rejected),
            "files": f"{mode} from {placement.base}",
            "video share": str(video_share),
        }
    rejector = load_rejector(
        model,
        detector=detector,
        landmarks=landmarks,
        predictor=predictor,
        upsample=upsample,
        min_face=min_face,
        detector_threshold=detector_threshold,
        target=target,
    )
    from facereject.batch.task import ScoreTask
    from facereject.batch.timeline import Timeline

    spans = Timeline(frame_rule)
    job = Job(
        paths,
        ScoreTask(rejector, max_pixels=max_pixels, video=video, folder=folder_of_inputs(engine), **tracking),
        runner,
        output,
        resume=resume,
        overwrite=overwrite,
        quiet=quiet,
        rule=frame_rule,
        placement=placement,
        observers=[spans, *([show_rows] if show else [])],
        settings=settings,
    )
    with video_report(spans, timeline, video, output if resume else None, quiet=quiet):
        job.run()
