"""facereject filter: decide which faces to trust, by a target of your own, and sort the files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from facereject._cli._options.pictures import (
    AnnotatedOption,
    BestPerTrackOption,
    ContactSheetOption,
    CropsOption,
    FramesOption,
    SizeOption,
)
from facereject._cli._options.pose import MaxPitchOption, MaxRollOption, MaxYawOption, with_limits
from facereject._cli._options.region import RegionOption
from facereject._cli._options.run import (
    EngineOption,
    MaxPixelsOption,
    OverwriteOption,
    PathsArgument,
    ResumeOption,
    RetryFailedOption,
    SchedulerOption,
    TimeoutOption,
    WorkersOption,
    make_engine,
)
from facereject._cli._options.video import (
    AnnotateOption,
    BridgeOption,
    DetectEveryOption,
    EveryFrameOption,
    MinSpanOption,
    NoAudioOption,
    SaveOption,
    SmoothLandmarksOption,
    SmoothOption,
    TimelineOption,
)
from facereject._cli._plugins import DetectorOption, LandmarksOption
from facereject._cli._run import default_output, make_job, run_job, with_listed
from facereject._cli._shared import (
    CostOption,
    CoverageOption,
    DetectorThresholdOption,
    KeepBestOption,
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
from facereject._options import OptionError

if TYPE_CHECKING:
    from facereject.outputs import Output

FILTER_EXAMPLES = """[bold]Examples[/bold]
facereject filter photos --max-error 3                           [dim]lists faces[/dim]
facereject filter photos --max-error 3 --accepted good --rejected bad
facereject filter photos --coverage 0.9 -o faces.csv --workers 4
facereject filter photos --keep-best 100 --accepted good         [dim]of this batch[/dim]
facereject filter photos --cost 6 --accepted good --link -o faces.csv
facereject filter clip.mp4 --save good.mp4 --timeline spans.csv  [dim]good frames[/dim]
facereject filter clip.mp4 --save shown.mp4 --annotate           [dim]with faces drawn[/dim]
facereject filter clip.mp4 --best-per-track 3 --crops people     [dim]each person, aligned[/dim]
facereject filter photos --annotated drawn --contact-sheet sheet.jpg

[bold]Exit codes[/bold]: 0 done, 1 some inputs failed (they are listed), 2 wrong usage, 130 interrupted,
143 by SIGTERM"""

_SORT_PANEL = "Where files go (subfolders are kept, nothing is overwritten)"


def filter_(
    paths: PathsArgument,
    max_error: MaxErrorOption = None,
    coverage: CoverageOption = None,
    cost: CostOption = None,
    threshold: ThresholdOption = None,
    keep_best: KeepBestOption = None,
    frame_rule: Annotated[
        str,
        typer.Option(
            "--frame-rule",
            metavar="all|any|largest",
            help="An image or frame with several faces is accepted if all of them are, any of them, or the "
            "largest.",
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
    no_audio: NoAudioOption = False,
    timeline: TimelineOption = None,
    bridge: BridgeOption = 0.0,
    min_span: MinSpanOption = 0.0,
    crops: CropsOption = None,
    size: SizeOption = 256,
    annotated: AnnotatedOption = None,
    frames: FramesOption = None,
    best_per_track: BestPerTrackOption = None,
    contact_sheet: ContactSheetOption = None,
    every_frame: EveryFrameOption = False,
    detect_every: DetectEveryOption = 15,
    smooth: SmoothOption = 0.0,
    smooth_landmarks: SmoothLandmarksOption = False,
    model: ModelOption = "default",
    landmarks: LandmarksOption = None,
    detector: DetectorOption = None,
    upsample: UpsampleOption = None,
    min_face: MinFaceOption = None,
    detector_threshold: DetectorThresholdOption = None,
    region: RegionOption = None,
    max_yaw: MaxYawOption = None,
    max_pitch: MaxPitchOption = None,
    max_roll: MaxRollOption = None,
    workers: WorkersOption = 1,
    timeout: TimeoutOption = None,
    engine: EngineOption = "local",
    scheduler: SchedulerOption = None,
    resume: ResumeOption = False,
    retry_failed: RetryFailedOption = False,
    overwrite: OverwriteOption = False,
    max_pixels: MaxPixelsOption = 200_000_000,
    quiet: QuietOption = False,
) -> None:
    """Accept or reject faces by a target you state, and sort the files accordingly.

    State at most one target; without any, the one the model was made for holds. The threshold is tuned on
    annotated faces that are stored in the model; if your images are of another kind, [bold]facereject
    calibrate[/bold] tunes it on yours. With --keep-best it is chosen when all inputs have been judged, and
    only then are files sorted.

    The table is that of [bold]facereject score[/bold]; accepted and reason follow your target.
    """
    best = _amount(keep_best)
    target = chosen_target(
        max_error=max_error, coverage=coverage, cost=cost, threshold=threshold, keep_best=best
    )
    target.pop("keep_best", None)
    remark = ""
    if coverage is not None:
        remark = (
            f"--coverage {coverage:g} holds for faces like those the model was calibrated on, not for every "
            f"batch; --keep-best {float(coverage)} accepts that share of this one."
        )
    elif best is not None:
        remark = "Accepted are the best faces of this batch."
    if link and move:
        stop("--link and --move exclude each other")
    if (link or move) and accepted is None and rejected is None:
        stop(f"{'--link' if link else '--move'} needs a folder: give --accepted, --rejected or both")
    places = (accepted, rejected, save, timeline, crops, annotated, frames, contact_sheet)
    lines = False
    if output is None and not any(places):
        output = default_output()
        lines = output is None
    paths = with_listed(paths)
    # first: workers import what they need while this process still does
    runner = make_engine(engine, workers, scheduler, timeout, paths)
    mode = "link" if link else "move" if move else "copy"

    def outputs() -> list[Output]:
        from facereject import outputs as known
        from facereject._cli._output.rows import Lines

        made: list[Output] = [known.Timeline(timeline, bridge, min_span)]
        if output is not None:
            made.append(known.Table(sys.stdout.buffer if output == "-" else output))
        if lines:
            made.append(Lines())
        if accepted is not None or rejected is not None:
            made.append(known.SortedFiles(accepted, rejected, mode, video_share))
        if save is not None:
            made.append(known.SavedVideo(save, annotate, not no_audio, bridge, min_span))
        elif annotate or no_audio:
            option = "annotate" if annotate else "no_audio"
            raise OptionError(f"`{option}` needs a video to write: name it with `save`, or a folder")
        if best_per_track is not None and crops is None and frames is None:
            raise OptionError("`best_per_track` needs a folder: give `crops`, `frames` or both")
        best = 1 if best_per_track is None else best_per_track
        if crops is not None:
            made.append(known.Crops(crops, size, best))
        if frames is not None:
            made.append(known.BestFrames(frames, best))
        if annotated is not None:
            made.append(known.AnnotatedImages(annotated))
        if contact_sheet is not None:
            made.append(known.ContactSheet(contact_sheet))
        return made

    job = make_job(
        paths,
        outputs,
        running={
            "engine": runner,
            "resume": resume,
            "retry_failed": retry_failed,
            "overwrite": overwrite,
            "max_pixels": max_pixels,
        },
        tracking={
            "detect_every": detect_every,
            "every_frame": every_frame,
            "smooth": smooth,
            "smooth_landmarks": smooth_landmarks,
        },
        frame_rule=frame_rule,
        keep_best=best,
    )
    rejector = load_rejector(
        model,
        detector=detector,
        landmarks=landmarks,
        upsample=upsample,
        min_face=min_face,
        detector_threshold=detector_threshold,
        region=region,
        target=target,
    )
    rejector = with_limits(rejector, max_yaw, max_pitch, max_roll)
    run_job(job, rejector, quiet=quiet, remark=remark)


def _amount(text: str | None) -> float | None:
    """The number of faces or the share that --keep-best asks for."""
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        stop(f"--keep-best must be a share such as 0.5 or 50%, or a number of faces such as 100; got {text}")
