"""What people see of the faces: a line for each, how many of a batch are the best, a strip for each video."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from facereject._cli._shared import console, printable, say, stop
from facereject._words import counted, percent
from facereject.faces.face import CAUSES, Face, FaceFrame
from facereject.outputs.base import Media, Output
from facereject.outputs.table import Table
from facereject.outputs.timeline import Span, Timeline, strip

if TYPE_CHECKING:
    from facereject._cli._choices import BatchTargetChoice
    from facereject._cli._panels import Given
    from facereject.pipeline import Job

# videos shown with a strip; the file of --timeline holds all of them
_MAX_STRIPS = 10


def made_outputs(
    given: Given,
    kinds: Iterable[type[Output]],
    output: str | None,
    columns: str,
    stream_format: str = "csv",
    *,
    target: BatchTargetChoice | None = None,
    rule: str = "all",
) -> list[Output]:
    """The table, the outputs that were asked for, and what a terminal shows.

    Without any, a terminal gets a line per face, and a pipe or file the table.
    """
    outputs = given.outputs(kinds)
    if output is None and not outputs:
        output = default_output()
        outputs = [] if output else [Lines()]
    if output is not None:
        stream = sys.stdout.buffer if output == "-" else output
        outputs.insert(0, Table(stream, stream_format, columns))
    elif columns != "all":
        stop("--columns needs --output TABLE, - for stdout")
    if target is not None and target.best:
        outputs.append(BestOfBatch(photos="keep_best_photos" in target.best, rule=rule))
    return outputs


def default_output() -> str | None:
    """The default output of rows: on a terminal lines for people (None), into a pipe or file CSV ("-")."""
    return None if sys.stdout.isatty() else "-"


class Lines(Output):
    """Prints a line per face."""

    def write(self, frame: FaceFrame) -> None:
        """Print the faces of a frame, or why there is none."""
        where = printable(frame.source)
        if math.isfinite(frame.time_s):
            where += f" at {frame.time_s:.2f} s"
        if not frame.faces:
            rejected = typer.style("rejected", fg="red")
            typer.echo(f"{where}: {rejected}, {printable(frame.problem) or 'no_face'}")
        for number, face in enumerate(frame.faces):
            typer.echo(f"{where}{f' face {number}' if number else ''}: {_decision(face)}")


class BestOfBatch(Output):
    """Counts the best faces or photos of a batch, and the files they are in."""

    def __init__(self, *, photos: bool = False, rule: str = "all") -> None:
        self._photos, self._rule = photos, rule
        self._accepted = self._in_input = self._files = 0

    def begin(self, media: Media) -> None:
        """Another input begins."""
        self._in_input = 0

    def write(self, frame: FaceFrame) -> None:
        """Count what is accepted."""
        self._in_input += (
            frame.accepted(self._rule) if self._photos else sum(face.accepted for face in frame.faces)
        )

    def end(self, *, failed: bool = False) -> None:
        """Add what was counted."""
        self._accepted += self._in_input
        self._files += self._in_input > 0

    def report(self) -> list[str]:
        """How many there are."""
        unit = "photos and frames" if self._photos else "faces"
        best = f"{self._accepted:,} most certain {unit}"
        if self._accepted == 1:
            best = f"most certain {'photo or frame' if self._photos else 'face'}"
        return [f"Accepted: the {best} of this batch, in {counted(self._files, 'file')}"]


def _decision(face: Face) -> str:
    decision = typer.style("accepted", fg="green") if face.accepted else typer.style("rejected", fg="red")
    if not math.isfinite(face.uncertainty):
        return f"{decision}, {face.reason}"
    hint = f"; {CAUSES[face.cause]}" if face.cause in CAUSES else ""
    if math.isnan(face.expected_error):
        return f"{decision}, uncertainty {face.uncertainty:.2f} (relative){hint}"
    return f"{decision}, expected error {face.expected_error:.1f} % of the eye distance{hint}"


class Strips(Timeline):
    """Collects the segments of the videos of this run, for the summary on the terminal."""

    place = "run"


def report_videos(job: Job) -> None:
    """After a complete run: which parts of the videos were accepted."""
    timelines = (output for output in job.outputs if isinstance(output, Timeline))
    videos = [video for timeline in timelines for video in timeline.videos()]
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
