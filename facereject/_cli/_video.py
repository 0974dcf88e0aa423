"""What `score` and `filter` offer for videos: how faces are followed, videos to save, timelines."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from facereject._cli._shared import console, printable, say, stop

if TYPE_CHECKING:
    from facereject.batch.saving import VideoOutput
    from facereject.batch.timeline import Span, Timeline

_PANEL = "Videos"

EveryFrameOption = Annotated[
    bool,
    typer.Option(
        "--every-frame",
        help="Look for faces in the whole of every frame. Usually the uncertainty decides when that is "
        "needed, which is several times as fast.",
        rich_help_panel=_PANEL,
    ),
]
DetectEveryOption = Annotated[
    int,
    typer.Option(
        "--detect-every",
        metavar="K",
        help="Look for new faces at least every K frames, twice as often while none is in view.",
        rich_help_panel=_PANEL,
    ),
]
SmoothOption = Annotated[
    float,
    typer.Option(
        "--smooth",
        metavar="SECONDS",
        help="Average the uncertainty of each face over about this time; expected error and decision follow.",
        rich_help_panel=_PANEL,
    ),
]
SaveOption = Annotated[
    str | None,
    typer.Option(
        "--save",
        metavar="VIDEO|DIR",
        help="Write the accepted frames, with their sound, as a video (.mp4, .mov, .mkv, .webm or .avi); for "
        "several videos, a folder.",
        rich_help_panel=_PANEL,
    ),
]
AnnotateOption = Annotated[
    bool,
    typer.Option(
        "--annotate",
        help="With --save: the whole video, with landmarks, score and decision drawn.",
        rich_help_panel=_PANEL,
    ),
]
NoAudioOption = Annotated[
    bool,
    typer.Option("--no-audio", help="With --save: leave the sound out.", rich_help_panel=_PANEL),
]
TimelineOption = Annotated[
    str | None,
    typer.Option(
        "--timeline",
        metavar="FILE",
        help="Write the accepted and rejected stretches of the videos: .csv or .json.",
        rich_help_panel=_PANEL,
    ),
]

# videos shown with a strip; the file of --timeline holds all of them
_MAX_STRIPS = 10


def tracking_options(every_frame: bool, detect_every: int, smooth: float) -> dict[str, Any]:
    """The options of `ScoreTask` for following faces; what is wrong with them ends the command."""
    if detect_every < 1:
        stop(f"--detect-every must be at least 1 frame; got {detect_every}")
    if not (math.isfinite(smooth) and smooth >= 0):
        stop(f"--smooth must be seconds, 0 or more; got {smooth:g}")
    return {"every_frame": every_frame, "detect_every": detect_every, "smooth_s": smooth}


def video_output(
    save: str | None, annotate: bool, no_audio: bool, paths: Sequence[str], rule: str
) -> VideoOutput | None:
    """The videos to be written; ends the command if that cannot work for these inputs."""
    from facereject.batch.saving import VideoOutput
    from facereject.batch.sorting import base_of
    from facereject.video.writer import CODECS, VideoWriteError

    if save is None:
        if annotate:
            stop("--annotate needs a video to write: --save VIDEO, or --save DIR for several")
        if no_audio:
            stop("--no-audio needs a video to write: --save VIDEO, or --save DIR for several")
        return None
    single = os.path.splitext(save)[1].lower() in CODECS and not os.path.isdir(save)
    # any other suffix is a mistake rather than the name of a folder
    if not single and not os.path.isdir(save) and 2 <= len(os.path.splitext(save)[1]) <= 5:
        stop(f"--save {save}: videos are written as {', '.join(CODECS)}; or name a folder")
    output = VideoOutput(save, None if single else base_of(paths), annotate, rule, not no_audio)
    try:
        output.check()
    except VideoWriteError as error:
        stop(f"--save {error}")
    if single:
        _check_single(save, paths)
    else:
        _check_apart(save, paths)
    return output


def _check_single(save: str, paths: Sequence[str]) -> None:
    from facereject.batch.inputs import InputError, expand_inputs

    videos = []
    try:
        for item in expand_inputs(paths):
            if item.kind == "video":
                videos.append(item.path)
            if len(videos) > 1:
                stop(f"--save {save}: there are several videos to read; name a folder, such as --save videos")
    except InputError:
        # said elsewhere, and better
        return
    if not videos:
        stop(f"--save {save}: there is no video to read")
    if os.path.exists(save) and os.path.samefile(save, videos[0]):
        stop(f"--save {save}: this is the video that is read; save it under another name")


def _check_apart(save: str, paths: Sequence[str]) -> None:
    folder = os.path.realpath(save)
    for path in paths:
        if os.path.isdir(path) and (folder + os.sep).startswith(
            os.path.realpath(path).rstrip(os.sep) + os.sep
        ):
            stop(f"--save {save}: lies in {path}, which is read; choose a folder apart from the inputs")


def check_timeline(path: str | None) -> None:
    """End the command if no timeline can be written there."""
    from facereject.batch.timeline import TimelineError, check_timeline_path

    if path is not None:
        try:
            check_timeline_path(path)
        except TimelineError as error:
            stop(f"--timeline {error}")


@contextmanager
def video_report(
    timeline: Timeline, path: str | None, video: VideoOutput | None, table: str | None, *, quiet: bool
) -> Iterator[None]:
    """After a run that came to its end: write the timeline, name the videos, show their strips.

    Parameters
    ----------
    table : str or None
        The table of a run that was resumed: it knows the videos of earlier runs, too.
    """
    from facereject.batch.timeline import Timeline, TimelineError

    code = 0
    try:
        yield
    except typer.Exit as ended:
        if ended.exit_code not in (0, 1):
            raise
        code = ended.exit_code
    if table is not None:
        timeline = Timeline.of_table(table, timeline.rule)
    if not quiet:
        _show_strips(timeline, video)
    if path is not None:
        try:
            timeline.write(path)
        except TimelineError as error:
            stop(f"--timeline {error}", 1)
        if not quiet:
            say(f"Timeline: {path}")
    if code:
        raise typer.Exit(code)


def _show_strips(timeline: Timeline, video: VideoOutput | None) -> None:
    videos = timeline.videos()
    for source, spans in videos[:_MAX_STRIPS]:
        console.print(_strip(os.path.basename(source), spans), soft_wrap=True)
    if len(videos) > _MAX_STRIPS:
        say(f"... and {len(videos) - _MAX_STRIPS:,} more videos")
    if video is not None and video.base is not None:
        say(f"Videos: {video.save}")
    elif video is not None:
        if not any(span.accepted or video.annotate for span in timeline.spans):
            say(f"No frame was accepted, so {video.save} was not written")
        elif os.path.exists(video.save):
            say(f"Video: {video.save}")
        else:
            # videos are made while frames are read, and none was
            say(
                f"{video.save} was not written, as the table was complete; run it without --resume to make it"
            )


def _strip(name: str, spans: Sequence[Span]) -> Text:
    """One line: where the video was accepted (full blocks), partly, or rejected (a thin line)."""
    from facereject.batch.timeline import strip

    full, some, none = "█▄─" if (console.encoding or "").lower().startswith("utf") else "#+-"
    text = Text(f"{_short(printable(name)):<24} ")
    for share in strip(spans, 40):
        sign, style = (full, "green") if share > 0.99 else (some, "yellow") if share > 0.01 else (none, "red")
        text.append(sign, style)
    accepted = sum(span.last_frame - span.first_frame + 1 for span in spans if span.accepted)
    frames = sum(span.last_frame - span.first_frame + 1 for span in spans)
    length = spans[-1].end_s - spans[0].start_s
    text.append(f" {accepted / frames:.0%} of {length:.1f} s accepted")
    return text


def _short(name: str) -> str:
    return name if len(name) <= 24 else name[:11] + "…" + name[-12:]
