"""What is said about videos at the end of a run: a strip for each, and the files that were written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from facereject._cli._shared import console, printable, say
from facereject._words import percent

if TYPE_CHECKING:
    from facereject.outputs.timeline import Span
    from facereject.pipeline import ScoreJob

# videos shown with a strip; the file of --timeline holds all of them
_MAX_STRIPS = 10


def report_videos(job: ScoreJob) -> None:
    """After a run that came to its end: which parts of the videos were accepted, and what was written."""
    timeline, video = job.timeline, job.video
    videos = timeline.videos()
    for source, spans in videos[:_MAX_STRIPS]:
        console.print(_strip(os.path.basename(source), spans), soft_wrap=True)
    if len(videos) > _MAX_STRIPS:
        say(f"... and {len(videos) - _MAX_STRIPS:,} more videos")
    if video is not None and video.base is not None:
        say(f"Videos: {video.save}")
    elif video is not None:
        if not any(span.accepted or video.annotate for span in timeline.spans):
            least = job.min_span_s
            nothing = (
                f"No accepted stretch lasts {least:g} s (--min-span)" if least else "No frame was accepted"
            )
            say(f"{nothing}, so {video.save} was not written")
        elif os.path.exists(video.save):
            say(f"Video: {video.save}")
        else:
            # videos are made while frames are read, and none was
            say(
                f"{video.save} was not written, as the table was complete; run it without --resume to make it"
            )


def _strip(name: str, spans: Sequence[Span]) -> Text:
    """One line: where the video was accepted (full blocks), partly, or rejected (a thin line)."""
    from facereject.outputs.timeline import strip

    full, some, none = "█▄─" if (console.encoding or "").lower().startswith("utf") else "#+-"
    text = Text(f"{_short(printable(name)):<24} ")
    for share in strip(spans, 40):
        sign, style = (full, "green") if share > 0.99 else (some, "yellow") if share > 0.01 else (none, "red")
        text.append(sign, style)
    accepted = sum(span.last_frame - span.first_frame + 1 for span in spans if span.accepted)
    frames = sum(span.last_frame - span.first_frame + 1 for span in spans)
    length = spans[-1].end_s - spans[0].start_s
    text.append(f" {percent(accepted, frames)} of {length:.1f} s accepted")
    return text


def _short(name: str) -> str:
    return name if len(name) <= 24 else name[:11] + "…" + name[-12:]
