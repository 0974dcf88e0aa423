"""The command line: parses, calls the library, reports. No logic lives here."""

from __future__ import annotations

import typer

from facereject._cli.demo import demo

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Know which face-landmark predictions to trust."
)


@app.callback()
def _root() -> None:
    """Keeps sub-commands named even while there is only one."""


app.command()(demo)


def main() -> None:
    """Entry point of the ``facereject`` console script."""
    app()
