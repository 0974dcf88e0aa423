"""facereject score: one row per face for any number of images and videos."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

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
    DetectEveryOption,
    EveryFrameOption,
    SmoothLandmarksOption,
    SmoothOption,
)
from facereject._cli._plugins import DetectorOption, LandmarksOption
from facereject._cli._run import default_output, make_job, run_job, with_listed
from facereject._cli._shared import (
    DetectorThresholdOption,
    MinFaceOption,
    ModelOption,
    QuietOption,
    UpsampleOption,
    load_rejector,
    stop,
)

if TYPE_CHECKING:
    from facereject.outputs import Output

SCORE_EXAMPLES = """[bold]Examples[/bold]
facereject score photo.jpg                        [dim]one line per face[/dim]
facereject score photo.jpg -o faces.csv
facereject score photos -o faces.parquet --workers 4
facereject score clip.mp4 'more/*.png' @list.txt -o faces.jsonl
facereject score photos -o faces.csv --resume     [dim]after an interruption[/dim]
facereject score photo.jpg | cut -d, -f1-18       [dim]all but the landmarks[/dim]
find . -name '*.jpg' | facereject score - --json  [dim]names from stdin, a JSON object per face[/dim]

[bold]Exit codes[/bold]: 0 done, 1 some inputs failed (they are listed), 2 wrong usage, 130 interrupted,
143 by SIGTERM"""


def score(
    paths: PathsArgument,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="TABLE",
            help="Table to write: .csv, .jsonl or .parquet; - writes CSV to stdout. Without it, CSV goes "
            "into a pipe, and a terminal shows one short line per face.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Write JSON lines to stdout: an object per face, with the same names."),
    ] = False,
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
    every_frame: EveryFrameOption = False,
    detect_every: DetectEveryOption = 15,
    smooth: SmoothOption = 0.0,
    smooth_landmarks: SmoothLandmarksOption = False,
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
    """Find faces and say how far their landmarks can be trusted: a table with one row per face.

    Columns: source, frame, time_s, face, track; the box x, y, width, height; detector_score; uncertainty
    (higher = less certain); expected_error (landmark error in percent of the distance of the outer eye
    corners); accepted and reason; yaw, pitch and roll of the head in degrees; the landmarks x_0 ... x_67,
    y_0 ... y_67 in pixels.

    An input without a face, or one that cannot be read, has a row that says so. The reason is empty for what
    is accepted, else uncertain, turned, no_face, no_landmarks, no_score, "unreadable: ..." or "failed: ...".

    [bold]accepted[/bold] follows the target the model was made for; to choose one yourself use
    [bold]facereject filter[/bold].

    While it runs, the table is called TABLE.partial; it gets its name when it is complete. After an
    interruption the same command with --resume continues.
    """
    if json and output not in (None, "-"):
        stop("--json writes to stdout; for a file of that kind use --output TABLE.jsonl alone")
    output = "-" if json else output or default_output()
    paths = with_listed(paths)
    # first: workers import what they need while this process still does
    runner = make_engine(engine, workers, scheduler, timeout, paths)

    def outputs() -> list[Output]:
        from facereject._cli._output.rows import Lines
        from facereject.outputs import Table

        if output is None:
            return [Lines()]
        return [Table(sys.stdout.buffer if output == "-" else output, "jsonl" if json else "csv")]

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
    )
    rejector = load_rejector(
        model,
        detector=detector,
        landmarks=landmarks,
        upsample=upsample,
        min_face=min_face,
        detector_threshold=detector_threshold,
        region=region,
    )
    rejector = with_limits(rejector, max_yaw, max_pitch, max_roll)
    run_job(job, rejector, quiet=quiet)
