"""One short line per face for people, where no table was asked for."""

from __future__ import annotations

import math

import typer

from facereject._cli._shared import printable
from facereject.faces.face import CAUSES, Face, FaceFrame
from facereject.outputs.base import Output


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


def _decision(face: Face) -> str:
    decision = typer.style("accepted", fg="green") if face.accepted else typer.style("rejected", fg="red")
    if not math.isfinite(face.uncertainty):
        return f"{decision}, {face.reason}"
    hint = f"; {CAUSES[face.cause]}" if face.cause in CAUSES else ""
    if math.isnan(face.expected_error):
        return f"{decision}, uncertainty {face.uncertainty:.2f} (relative){hint}"
    return f"{decision}, expected error {face.expected_error:.1f} % of the eye distance{hint}"
