"""What is said about videos at the end of a run: a strip for each."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rich.text import Text

from facereject._cli._shared import console, printable, say
from facereject._words import percent
from facereject.outputs.timeline import Span, Timeline, strip

# videos shown with a strip; the file of --timeline holds all of them
_MAX_STRIPS = 10


class Strips(Timeline):
    """Collects the segments of the videos of this run, for the summary on the terminal."""

    place = "run"


def report_videos(timeline: Timeline) -> None:
    """After a complete run: which parts of the videos were accepted."""
    videos = timeline.videos()
    for source, spans in videos[:_MAX_STRIPS]:
        console.print(_strip(os.path.basename(source), spans), soft_wrap=True)
    if len(videos) > _MAX_STRIPS:
        say(f"... and {len(videos) - _MAX_STRIPS:,} more videos")


def _strip(name: str, spans: Sequence[Span]) -> Text:
    """One line: where the video was accepted (full blocks), partly, or rejected (a thin line)."""
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
