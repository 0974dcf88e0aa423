"""The command line: parses, calls the library, reports. No logic lives here."""

from __future__ import annotations

from typing import Annotated

import typer

from facereject import __version__
from facereject._cli.demo import demo

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Know which face-landmark predictions to trust."
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"facereject {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    # keeps sub-commands named even while there is only one
    pass


app.command()(demo)


def main() -> None:
    """Entry point of the ``facereject`` console script."""
    app()
