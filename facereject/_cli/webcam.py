"""facereject webcam: faces of a live camera, their landmarks, scores and decisions."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from facereject._cli._choices import ModelChoice, TargetChoice
from facereject._cli._panels import Given, command, in_flags
from facereject._cli._shared import (
    ColumnsOption,
    FrameRuleOption,
    QuietOption,
    RestartOption,
    drop_output,
    option,
    say,
    stop,
)
from facereject._files import output_that_is_read
from facereject._signals import exit_code, interruptible
from facereject._words import counted, percent

if TYPE_CHECKING:
    from facereject.pipeline.live import Live


def _options() -> Sequence[type]:
    from facereject.outputs.camera.recording import Recording
    from facereject.outputs.camera.window import Window
    from facereject.tracking import Tracking

    return TargetChoice, Recording, Window, ModelChoice, Tracking


@command(_options)
def webcam(
    given: Given,
    camera: str = option(
        "0",
        "--camera",
        "-c",
        metavar="N|PATH|URL",
        help="Number of the camera, URL of a stream, or a video file.",
    ),
    size: str | None = option(
        None,
        metavar="WIDTHxHEIGHT",
        help="Resolution to ask the camera for, such as 1920x1080. The camera may choose another one.",
    ),
    headless: bool = option(
        False,
        "--headless",
        help="No window: print one line of JSON per frame with the decision, and in faces the columns "
        "of the table for every face.",
    ),
    output: str | None = option(
        None,
        "--output",
        "-o",
        metavar="TABLE",
        help="Also write the table: .csv, .jsonl, .parquet or .sqlite.",
    ),
    columns: ColumnsOption = "all",
    virtual_camera: bool = option(
        False,
        "--virtual-camera",
        help="Send accepted frames to a virtual camera that other programs can use; while a frame is "
        "rejected, it shows the last accepted one.",
    ),
    max_frames: int | None = option(None, metavar="N", help="Stop after N frames."),
    seconds: float | None = option(None, metavar="S", help="Stop after S seconds."),
    frame_rule: FrameRuleOption = "all",
    overwrite: RestartOption = False,
    resume: bool = option(
        False,
        "--resume",
        help="Continue a table that a full disk or a crash left unfinished. Frame numbers continue, too.",
    ),
    smooth_landmarks: bool | None = option(
        None,
        "--smooth-landmarks/--raw-landmarks",
        help="Smooth the landmarks over time. By default in the window, not with --headless.",
        panel="Videos",
    ),
    quiet: QuietOption = False,
) -> None:
    """Watch a camera: landmarks, expected error and decision, live.

    Keys: [bold]+[/bold] and [bold]-[/bold] (or the arrows) accept more or less, [bold]space[/bold] pauses,
    [bold]s[/bold] saves a snapshot, [bold]r[/bold] records, [bold]h[/bold] shows help, [bold]q[/bold] or Esc
    quits.

    On a slow machine frames are skipped, so that the window never lags behind the camera.

    [bold]Examples[/bold]
    facereject webcam
    facereject webcam --camera 1 --size 1920x1080 --record session.mp4
    facereject webcam --camera clip.mp4                    [dim]a video, played in real time[/dim]
    facereject webcam --headless --seconds 60 -o faces.csv > faces.jsonl
    facereject webcam --headless | jq -c '{frame, accepted, expected_error}'

    [bold]Exit codes[/bold]: 0 done, 1 the camera failed, 2 wrong usage, 130 interrupted, 143 by SIGTERM
    (files are complete)
    """
    target = given.make(TargetChoice).chosen()
    asked = re.fullmatch(r"(\d{2,5})x(\d{2,5})", size or "")
    if size is not None and asked is None:
        stop(f"--size must be WIDTHxHEIGHT in pixels, such as 1920x1080; got {size}")
    if output == "-":
        stop("-o - is the table on stdout; for that use --headless, which prints every frame as JSON")
    from facereject.outputs import Output
    from facereject.outputs._video.writer import VideoWriteError
    from facereject.outputs.camera.recording import Recording
    from facereject.outputs.camera.virtual_camera import VirtualCamera, VirtualCameraError
    from facereject.outputs.camera.window import Window, WindowError
    from facereject.outputs.table import JSONLines
    from facereject.pipeline.live import CameraTable, Live, warm_up
    from facereject.sources.camera import Camera, CameraError, camera_name
    from facereject.tables.errors import TableError, UnfinishedTableError
    from facereject.tracking.tracker import FaceTracker, Tracking

    recordings = given.outputs([Recording])
    outputs: list[Output] = [] if output is None else [CameraTable(output, columns, resume=resume)]
    written = [path for each in (*outputs, *recordings) for path in each.files()]
    if (replaced := output_that_is_read(written, [camera])) is not None:
        stop(f"{replaced}: this is the video that is read; choose another name")
    window = given.make(Window)
    outputs += [JSONLines(sys.stdout.buffer, columns)] if headless else []
    outputs += recordings
    outputs += [VirtualCamera()] if virtual_camera else []
    # last, as its keys may end the loop
    outputs += [] if headless else [window]
    smooth = not headless if smooth_landmarks is None else smooth_landmarks
    tracking = given.make(Tracking, smooth_landmarks=smooth)
    source: int | str = int(camera) if camera.isdecimal() else camera
    device = Camera(source, size=(int(asked[1]), int(asked[2])) if asked else None)
    failed, code = "", 0
    try:
        window.check()
        live = Live(
            outputs,
            frame_rule=frame_rule,
            overwrite=overwrite,
            max_frames=max_frames,
            max_seconds=seconds,
        )
        if not headless:
            window.open()
        rejector = given.make(ModelChoice).load(target)
        warm_up(rejector)
        with interruptible(), device:
            try:
                live.run(device, FaceTracker(rejector, tracking), camera_name(source))
            except KeyboardInterrupt as interrupt:
                # the table and the recording are complete
                code = exit_code(interrupt)
            except BrokenPipeError:
                drop_output()
                quiet = True
            except CameraError as error:
                failed = str(error)
    except WindowError as error:
        stop(str(error))
    except UnfinishedTableError as error:
        stop(in_flags(f"`output` {error}"))
    except (CameraError, VideoWriteError, TableError, VirtualCameraError) as error:
        stop(in_flags(str(error)), 1)
    if not quiet:
        _report(live, device.too_small)
    if failed:
        stop(failed, 1)
    if code:
        raise typer.Exit(code)


def _report(live: Live, too_small: int) -> None:
    summary = live.summary
    share = f" ({percent(summary.accepted, summary.frames, 1)})" if summary.frames else ""
    dropped = f"; {counted(summary.dropped, 'frame')} skipped" if summary.dropped else ""
    small = f"; {counted(too_small, 'frame')} too small to use" if too_small else ""
    say(f"{counted(summary.frames, 'frame')}; {summary.accepted:,} accepted{share}{dropped}{small}")
    for output in live.outputs:
        for sentence in output.report():
            say(sentence)
