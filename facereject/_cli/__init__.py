"""The command line: parses, calls the library, reports. No logic lives here."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from facereject import __version__
from facereject._cli._commands import PlainCommand, PlainGroup
from facereject._cli._shared import described, drop_output, missing_library, printable, say

# the panels of the help page and their commands, in order; each has a function named after it
_PANELS = {
    "Photos, videos and cameras": ("demo", "score", "filter", "webcam", "serve", "review"),
    "Annotated faces of your own": ("annotate", "train", "evaluate", "calibrate"),
    "Results of other tools": ("assess", "predictions"),
    "This installation": ("info", "models"),
}
_COMMANDS = {name: panel for panel, names in _PANELS.items() for name in names}
# commands that share a module with another one
_MODULES = {"filter": "score", "annotate": "review"}


def make_app(names: Iterable[str] = tuple(_COMMANDS), *, listed: bool = False) -> typer.Typer:
    """The command line with some of its commands; the modules of others are not imported.

    Parameters
    ----------
    names : iterable of str
    listed : bool, default=False
        The commands are only listed: the libraries that their options come from are not imported.
    """
    app = typer.Typer(
        cls=PlainGroup,
        no_args_is_help=True,
        add_completion=True,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        # local variables in a traceback can be whole images
        pretty_exceptions_show_locals=False,
        help="Know which face-landmark predictions to trust.",
        epilog="New here? Run [bold]facereject demo[/bold]: it needs no input.",
    )
    app.callback()(_root)
    for name in names:
        module = importlib.import_module(f"{__name__}.{_MODULES.get(name, name)}")
        if name in ("models", "predictions"):
            app.add_typer(getattr(module, f"{name}_app"), rich_help_panel=_COMMANDS[name])
            continue
        # `filter` is a name of Python
        function = getattr(module, f"{name}_" if name == "filter" else name)
        register = app.command(name, cls=PlainCommand, rich_help_panel=_COMMANDS[name], **described(function))
        register(_nothing if listed else function)
    return app


def __getattr__(name: str) -> Any:
    # all commands at once, which takes longer to make than most of them to begin
    if name == "app":
        return globals().setdefault("app", make_app())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"facereject {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    # keeps sub-commands named even while there is only one
    pass


def _nothing() -> None:
    """In place of a command that is only listed."""


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
        # deprecated names and options are reported once each
        warnings.filterwarnings("once", message=".* is deprecated and will be removed in facereject")
        warnings.showwarning = _show_warning
        os.environ.setdefault("PYTHONWARNINGS", "ignore")
        # by its name, as importing parallel would make --help slow
        os.environ.setdefault("FACEREJECT_QUIET_WORKERS", "1")
    first = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "")
    try:
        if first in _COMMANDS:
            make_app([first])()
        else:
            # help pages show all commands, and an unknown one is compared with them; completion needs them
            make_app(listed="_FACEREJECT_COMPLETE" not in os.environ)()
    except ImportError as error:
        sentence = missing_library(error)
        if not sentence:
            raise
        print(sentence, file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        # most commands say more about their files; without a name it is the output itself, as on a full disk
        if error.filename is None:
            drop_output()
        what = "stdout cannot be written" if error.filename is None else printable(str(error.filename))
        print(f"{what}: {error.strerror or error}", file=sys.stderr)
        sys.exit(1)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    say(f"Warning: {message}")
