"""The commands as typer has them, with plainer help pages, --verbose, and exit codes for interruptions.

Help pages do without the types of Python: a flag takes no value, and ``list[str]`` says nothing to users.
"""

from __future__ import annotations

import copy
import functools
import logging
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from facereject._cli._panels import in_flags
from facereject._cli._shared import say, stop
from facereject._files import InputError
from facereject._options import OptionError
from facereject._signals import exit_code, interruptible


class PlainCommand(TyperCommand):
    """A command with such a page, which can be interrupted and says more with --verbose."""

    def __init__(self, *args: Any, params: list[Any] | None = None, **options: Any) -> None:
        verbose = TyperOption(
            param_decls=["--verbose"],
            is_flag=True,
            expose_value=False,
            callback=_log_to_stderr,
            help="Show log messages on stderr.",
        )
        super().__init__(*args, params=[*(params or []), verbose], **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what it leaves behind when interrupted is its own matter."""
        try:
            with interruptible():
                return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            say("Interrupted.")
            raise typer.Exit(exit_code(interrupt)) from None
        except (InputError, OptionError) as error:
            # an option or an input that the library refuses
            stop(in_flags(str(error)))

    def get_params(self, ctx: Any) -> list[Any]:
        """Options and arguments, also those that typer adds."""
        return _untyped(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """The commands together, with such a page."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Options, also those that typer adds."""
        return _untyped(super().get_params(ctx))


def _untyped(params: list[Any]) -> list[Any]:
    for param in params:
        if param.param_type_name == "argument":
            # its metavar is its name; versions of typer ask for the type in one way or the other, or not
            param.display_type_rich = _nothing
            param.make_metavar = functools.partial(_metavar, param)
            if hasattr(param, "type"):
                # other parameters share the object
                param.type = copy.copy(param.type)
                param.type.get_metavar = _nothing
        elif param.is_flag and param.metavar is None:
            param.metavar = ""
    return params


def _log_to_stderr(context: Any, option: Any, wanted: bool) -> None:
    log = logging.getLogger("facereject")
    if wanted and not any(type(handler) is logging.StreamHandler for handler in log.handlers):
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.DEBUG)


def _metavar(argument: Any, *_: Any, **__: Any) -> str:
    # newer versions of typer put braces around required arguments, which mean a choice elsewhere
    name = (argument.metavar or argument.name) + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _nothing(*args: Any, **options: Any) -> str:
    return ""
