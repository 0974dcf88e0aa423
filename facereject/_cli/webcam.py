"""facereject webcam: faces of a live camera, their landmarks, scores and decisions."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from facereject._cli._options.pose import MaxPitchOption, MaxRollOption, MaxYawOption, with_limits
from facereject._cli._options.region import RegionOption
from facereject._cli._options.video import DetectEveryOption, EveryFrameOption, SmoothOption
from facereject._cli._plugins import DetectorOption, LandmarksOption
from facereject._cli._run import with_options, wrong_usage
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
    say,
    stop,
)
from facereject._cli._signals import exit_code
from facereject._words import counted, percent

if TYPE_CHECKING:
    from facereject.pipeline.live import Live

WEBCAM_EXAMPLES = """[bold]Examples[/bold]
facereject webcam
facereject webcam --camera 1 --max-error 3 --record session.mp4
facereject webcam --camera clip.mp4                    [dim]a video in real time instead of a camera[/dim]
facereject webcam --headless --seconds 60 -o faces.csv > faces.jsonl
facereject webcam --headless | jq -c '{frame, accepted, expected_error}'

[bold]Exit codes[/bold]: 0 done, 1 the camera failed, 2 wrong usage, 130 interrupted, 143 by SIGTERM
(files are complete)"""


def webcam(
    camera: Annotated[
        str,
        typer.Option(
            "--camera", "-c", metavar="N|PATH|URL", help="Number of the camera, a stream, or a video."
        ),
    ] = "0",
    max_error: MaxErrorOption = None,
    coverage: CoverageOption = None,
    cost: CostOption = None,
    threshold: ThresholdOption = None,
    headless: Annotated[
        bool,
        typer.Option(
            "--headless",
            metavar="",
            help="No window: print one line of JSON per frame, the decision on the frame and in faces all "
            "columns of the table for every face.",
        ),
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="TABLE", help="Write the table, too: .csv, .jsonl or .parquet."
        ),
    ] = None,
    record: Annotated[
        str | None,
        typer.Option("--record", metavar="VIDEO", help="Record with landmarks and decisions drawn: .mp4 ..."),
    ] = None,
    snapshots: Annotated[
        str,
        typer.Option("--snapshots", metavar="DIR", help="Folder for snapshots and recordings by key."),
    ] = ".",
    virtual_camera: Annotated[
        bool,
        typer.Option(
            "--virtual-camera",
            metavar="",
            help="Show accepted frames, and between them the last accepted one, on a virtual camera that "
            "other programs can use.",
        ),
    ] = False,
    max_frames: Annotated[
        int | None, typer.Option("--max-frames", metavar="N", help="End after so many frames.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", metavar="S", help="End after so many seconds.")
    ] = None,
    frame_rule: Annotated[
        str,
        typer.Option(
            "--frame-rule",
            metavar="all|any|largest",
            help="A frame with several faces is accepted if all of them are, any of them, or the largest.",
        ),
    ] = "all",
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            metavar="",
            help="Start again although an unfinished table is there, and "
            "replace files that facereject has not made.",
        ),
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
    smooth_landmarks: Annotated[
        bool | None,
        typer.Option(
            "--smooth-landmarks/--raw-landmarks",
            help="Steady the landmarks: certain points follow at once, uncertain ones lean on the past. By "
            "default in the window, not with --headless.",
            rich_help_panel="Videos",
            show_default=False,
        ),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Watch a camera: landmarks, expected error and decision, live.

    Keys: [bold]+[/bold] and [bold]-[/bold] (or the arrows) accept more or less, [bold]space[/bold] pauses,
    [bold]s[/bold] saves a snapshot, [bold]r[/bold] records, [bold]h[/bold] shows help, [bold]q[/bold] or Esc
    quits.

    The newest frame wins: on a slow machine frames are skipped, but what you see is the present.
    """
    target = chosen_target(max_error=max_error, coverage=coverage, cost=cost, threshold=threshold)
    if output == "-":
        stop("-o - is the table on stdout; for that use --headless, which prints every frame as JSON")
    if not os.path.isdir(snapshots):
        stop(f"--snapshots {snapshots}: no such folder; make it first")
    if record is not None and _is_same_file(record, camera):
        stop(f"--record {record}: this is the video that is read; choose another name")
    from facereject.outputs import JSONLines, Output, Recording, VirtualCamera, Window
    from facereject.outputs._video.writer import VideoWriteError
    from facereject.outputs.camera.virtual_camera import VirtualCameraError
    from facereject.outputs.camera.window import WindowError
    from facereject.pipeline.live import CameraTable, Live, warm_up
    from facereject.sources._devices import camera_name
    from facereject.sources.camera import Camera, CameraError
    from facereject.tables.errors import TableError, UnfinishedTableError
    from facereject.tracking.tracker import FaceTracker, Tracking

    window = Window(snapshots)
    outputs: list[Output] = [] if output is None else [CameraTable(output)]
    outputs += [JSONLines(sys.stdout.buffer)] if headless else []
    outputs += [] if record is None else [Recording(record)]
    outputs += [VirtualCamera()] if virtual_camera else []
    # last, as its keys may end the loop
    outputs += [] if headless else [window]
    try:
        with wrong_usage():
            tracking = Tracking(
                detect_every,
                every_frame,
                smooth,
                not headless if smooth_landmarks is None else smooth_landmarks,
            )
            live = Live(
                outputs,
                frame_rule=frame_rule,
                overwrite=overwrite,
                max_frames=max_frames,
                max_seconds=seconds,
            )
        if not headless:
            window.open()
    except WindowError as error:
        stop(str(error))
    except VirtualCameraError as error:
        stop(str(error), 1)
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
    warm_up(rejector)
    source: int | str = int(camera) if camera.isdecimal() else camera
    failed, code, too_small = "", 0, 0
    try:
        with Camera(source) as device:
            try:
                live.run(device, FaceTracker(rejector, tracking), camera_name(source))
            except KeyboardInterrupt as interrupt:
                # the table and the recording are complete
                code = exit_code(interrupt)
            except BrokenPipeError:
                # the reader has closed the pipe; nothing must be left to be flushed at exit
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                quiet = True
            except CameraError as error:
                failed = str(error)
            finally:
                too_small = device.too_small
    except UnfinishedTableError as error:
        stop(f"--output {error}: pass --overwrite to start again")
    except (CameraError, VideoWriteError, TableError, VirtualCameraError) as error:
        stop(with_options(str(error)), 1)
    if not quiet:
        _report(live, too_small)
    if failed:
        stop(failed, 1)
    if code:
        raise typer.Exit(code)


def _is_same_file(record: str, camera: str) -> bool:
    return os.path.exists(record) and os.path.exists(camera) and os.path.samefile(record, camera)


def _report(live: Live, too_small: int) -> None:
    summary = live.summary
    share = f" ({percent(summary.accepted, summary.frames, 1)})" if summary.frames else ""
    dropped = f"; {counted(summary.dropped, 'frame')} skipped" if summary.dropped else ""
    small = f"; {counted(too_small, 'frame')} too small to use" if too_small else ""
    say(f"{counted(summary.frames, 'frame')}; {summary.accepted:,} accepted{share}{dropped}{small}")
    for output in live.outputs:
        for sentence in output.report():
            say(sentence)
