"""What people see of the faces: a short line per face, and how many of a batch are the best."""

from __future__ import annotations

import math

import typer

from facereject._cli._shared import printable
from facereject._words import counted
from facereject.faces.face import CAUSES, Face, FaceFrame
from facereject.outputs.base import Media, Output


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
