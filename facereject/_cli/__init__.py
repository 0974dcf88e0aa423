"""The command line: parses, calls the library, reports. No logic lives here."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated

import typer

from facereject import __version__
from facereject._cli._commands import PlainCommand, PlainGroup
from facereject._cli._shared import paragraphs
from facereject._cli.assess import ASSESS_EXAMPLES, assess
from facereject._cli.calibrate import CALIBRATE_EXAMPLES, calibrate
from facereject._cli.demo import DEMO_EXAMPLES, demo
from facereject._cli.evaluate import EVALUATE_EXAMPLES, evaluate
from facereject._cli.filtering import FILTER_EXAMPLES, filter_
from facereject._cli.info import INFO_EXAMPLES, info
from facereject._cli.models import models_app
from facereject._cli.score import SCORE_EXAMPLES, score
from facereject._cli.serve import SERVE_EXAMPLES, serve
from facereject._cli.train import TRAIN_EXAMPLES, train
from facereject._cli.webcam import WEBCAM_EXAMPLES, webcam

app = typer.Typer(
    cls=PlainGroup,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    # local variables in a traceback can be whole images
    pretty_exceptions_show_locals=False,
    help="Know which face-landmark predictions to trust.",
    epilog="New here? [bold]facereject demo[/bold] shows what it does, without any input.",
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


app.command(cls=PlainCommand, help=paragraphs(demo.__doc__), epilog=DEMO_EXAMPLES)(demo)
app.command(cls=PlainCommand, help=paragraphs(score.__doc__), epilog=SCORE_EXAMPLES)(score)
app.command("filter", cls=PlainCommand, help=paragraphs(filter_.__doc__), epilog=FILTER_EXAMPLES)(filter_)
app.command(cls=PlainCommand, help=paragraphs(webcam.__doc__), epilog=WEBCAM_EXAMPLES)(webcam)
app.command(cls=PlainCommand, help=paragraphs(serve.__doc__), epilog=SERVE_EXAMPLES)(serve)
app.command(cls=PlainCommand, help=paragraphs(train.__doc__), epilog=TRAIN_EXAMPLES)(train)
app.command(cls=PlainCommand, help=paragraphs(evaluate.__doc__), epilog=EVALUATE_EXAMPLES)(evaluate)
app.command(cls=PlainCommand, help=paragraphs(calibrate.__doc__), epilog=CALIBRATE_EXAMPLES)(calibrate)
app.command(cls=PlainCommand, help=paragraphs(assess.__doc__), epilog=ASSESS_EXAMPLES)(assess)
app.command(cls=PlainCommand, help=paragraphs(info.__doc__), epilog=INFO_EXAMPLES)(info)
app.add_typer(models_app)


def _open_closed_streams() -> None:
    """Keep files from getting the numbers of standard streams that are closed, and say if stdout is."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    # Python has None for streams that were closed when it started
    closed = sys.stdout is None
    for name, mode, number in (("stdout", "w", 1), ("stderr", "w", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115
    if closed:
        print("stdout is closed; to drop what is printed there, write >/dev/null", file=sys.stderr)
        sys.exit(2)


def main() -> None:
    """Entry point of the ``facereject`` console script."""
    _open_closed_streams()
    if not sys.warnoptions:
        # what libraries say about damaged files is in the table; workers inherit the environment
        warnings.simplefilter("ignore")
        os.environ.setdefault("PYTHONWARNINGS", "ignore")
        # by its name, as importing parallel would make --help slow
        os.environ.setdefault("FACEREJECT_QUIET_WORKERS", "1")
    try:
        app()
    except KeyboardInterrupt:
        # pressed while the command line was still being read
        sys.exit(130)
