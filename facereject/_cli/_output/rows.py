"""One short line per face for people, where no table was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from facereject._cli._shared import printable

if TYPE_CHECKING:
    from facereject.sources.inputs import Input
    from facereject.tables.rows import Chunk, Row


def show_rows(item: Input, chunk: Chunk, last: bool) -> None:
    """Print the rows of a chunk; an observer of a run."""
    for row in chunk.rows:
        typer.echo(_line(row))


def _line(row: Row) -> str:
    from facereject.faces.face import CAUSES

    where = printable(row.source) + ("" if row.time_s is None else f" at {row.time_s:.2f} s")
    decision = typer.style("accepted", fg="green") if row.accepted else typer.style("rejected", fg="red")
    if row.uncertainty is None:
        return f"{where}: {decision}, {printable(row.reason)}"
    face = f" face {row.face}" if row.face else ""
    hint = f"; {CAUSES[row.cause]}" if row.cause in CAUSES else ""
    if row.expected_error is None:
        return f"{where}{face}: {decision}, uncertainty {row.uncertainty:.2f} (relative){hint}"
    return f"{where}{face}: {decision}, expected error {row.expected_error:.1f} % of the eye distance{hint}"
