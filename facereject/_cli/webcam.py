"""facereject webcam: faces of a live camera, their landmarks, scores and decisions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
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
    from facereject.outputs.window import Window
    from facereject.pipeline.live import LiveSummary
    from facereject.tables.rows import Row

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
    for name, value in (("--max-frames", max_frames), ("--seconds", seconds)):
        if value is not None and not value > 0:
            stop(f"{name} must be positive; got {value:g}")
    if output == "-":
        stop("-o - is the table on stdout; for that use --headless, which prints every frame as JSON")
    from facereject.pipeline.options import check_frame_rule, check_table, check_tracking

    with wrong_usage():
        check_frame_rule(frame_rule)
        check_tracking(detect_every, smooth)
        check_table(output, resume=False, overwrite=overwrite)
    _check_record(record, snapshots, camera, overwrite)
    window = None if headless else _open_window()
    if window is not None:
        from facereject.outputs._drawing.overlay import loading_view

        window.show(loading_view())
        window.key(1)
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
    from facereject.outputs._video.writer import VideoWriteError
    from facereject.outputs.virtual_camera import VirtualCamera, VirtualCameraError
    from facereject.pipeline._store.sinks import TableError
    from facereject.pipeline.live import Live, warm_up
    from facereject.sources._devices import camera_name
    from facereject.sources.camera import Camera, CameraError
    from facereject.tracking.tracker import FaceTracker, Tracking

    warm_up(rejector)
    tracker = FaceTracker(
        rejector,
        Tracking(
            detect_every,
            every_frame,
            smooth,
            smooth_landmarks=not headless if smooth_landmarks is None else smooth_landmarks,
        ),
    )
    source: int | str = int(camera) if camera.isdigit() else camera
    failed, code, live = "", 0, None
    try:
        with ExitStack() as stack:
            if window is not None:
                stack.callback(window.close)
            table = None
            if output is not None:
                table = _Table(output, overwrite, camera_name(source), frame_rule, rejector.n_points)
                stack.enter_context(table)
            live = Live(
                stack.enter_context(Camera(source)),
                tracker,
                source=camera_name(source),
                window=window,
                on_frame=stack.enter_context(VirtualCamera()) if virtual_camera else None,
                on_rows=_receivers(headless, table, frame_rule, rejector.n_points),
                record=record,
                overwrite=overwrite,
                folder=snapshots,
                frame_rule=frame_rule,
                max_frames=max_frames,
                max_seconds=seconds,
            )
            try:
                live.run()
            except KeyboardInterrupt as interrupt:
                # caught here: the table and the recording end as they should
                code = exit_code(interrupt)
            except BrokenPipeError:
                # the reader has closed the pipe; nothing must be left to be flushed at exit
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                quiet = True
            except CameraError as error:
                failed = str(error)
    except (CameraError, VideoWriteError, TableError, VirtualCameraError) as error:
        stop(str(error), 1)
    if not quiet and live is not None:
        _report(live.summary, output)
    if failed:
        stop(failed, 1)
    if code:
        raise typer.Exit(code)


class _Table:
    """The table of a session, which is one input; a context manager."""

    def __init__(self, path: str, overwrite: bool, name: str, rule: str, n_points: int) -> None:
        from facereject.outputs.summary import Tally
        from facereject.pipeline._store.sinks import TableError, TableSink, UnfinishedTableError

        try:
            self._sink = TableSink(path, overwrite=overwrite, rule=rule, n_points=n_points)
        except UnfinishedTableError as error:
            stop(f"{error}: pass --overwrite to start again")
        except TableError as error:
            stop(with_options(f"--output {error}"))
        self._name, self._rule = name, rule
        self._counts = Tally()

    def write(self, rows: list[Row]) -> None:
        from facereject.outputs.summary import tally
        from facereject.tables.rows import Chunk

        self._sink.write(rows)
        self._counts = self._counts.plus(tally(Chunk(rows, 1), self._rule))

    def __enter__(self) -> _Table:
        self._sink.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        # a camera that stopped or a user who did: what was seen until then is a whole table
        self._sink.end_input(self._name, self._counts)
        self._sink.__exit__(None, None, None)


def _receivers(headless: bool, table: _Table | None, rule: str, n_points: int) -> Callable[[list[Row]], None]:
    from facereject.tables.formats import encode_frame

    def take(rows: list[Row]) -> None:
        if table is not None:
            table.write(rows)
        if headless:
            sys.stdout.buffer.write(encode_frame(rows, rule, n_points))
            sys.stdout.buffer.flush()

    return take


def _check_record(record: str | None, snapshots: str, camera: str, overwrite: bool) -> None:
    from facereject.outputs._video.writer import VideoWriteError, check_video_path

    if not os.path.isdir(snapshots):
        stop(f"--snapshots {snapshots}: no such folder; make it first")
    if record is not None:
        if os.path.exists(record) and os.path.exists(camera) and os.path.samefile(record, camera):
            stop(f"--record {record}: this is the video that is read; choose another name")
        try:
            check_video_path(record, overwrite=overwrite)
        except VideoWriteError as error:
            stop(with_options(f"--record {error}"))


def _open_window() -> Window:
    from facereject.outputs.window import ScreenWindow, WindowError

    try:
        return ScreenWindow("facereject")
    except WindowError as error:
        stop(str(error))


def _report(summary: LiveSummary, output: str | None) -> None:
    share = f" ({percent(summary.accepted, summary.frames, 1)})" if summary.frames else ""
    dropped = f"; {counted(summary.dropped, 'frame')} skipped" if summary.dropped else ""
    say(f"{counted(summary.frames, 'frame')}; {summary.accepted:,} accepted{share}{dropped}")
    if output is not None:
        say(f"Table: {output}")
    for file in summary.files:
        say(f"Saved: {file}")
