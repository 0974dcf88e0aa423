"""Options that are declared once, as the fields of a dataclass, for Python and for the command line."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


class OptionError(ValueError):
    """An option cannot be used. The message names options in backticks and says what to do."""


@dataclasses.dataclass(frozen=True)
class Option:
    """How a field of a dataclass appears on the command line.

    Parameters
    ----------
    flags : tuple of str
        Such as ``("--output", "-o")``; empty for the name of the field. A boolean field that is True by
        default takes the flag that turns it off.
    help : str
    metavar : str or None
        Placeholder of the value in the help.
    parse : callable or None
        Turns the text of the command line into the value; a ValueError it raises is shown to the user.
    switches : mapping of str to str
        Flags that set the field to their own name, such as ``--move`` to ``"move"``, and the help of each;
        they take the place of ``flags``.
    panel : str or None
        Title of its group in the help; None is ``panel`` of the class.
    """

    flags: tuple[str, ...]
    help: str
    metavar: str | None = None
    parse: Any = None
    switches: Mapping[str, str] = dataclasses.field(default_factory=dict)
    panel: str | None = None


def option(
    default: Any = dataclasses.MISSING,
    *flags: str,
    help: str,
    metavar: str | None = None,
    parse: Any = None,
    switches: Mapping[str, str] | None = None,
    panel: str | None = None,
) -> Any:
    """A field of a dataclass that is an option of the command line, too; see `Option`."""
    described = Option(flags, help, metavar, parse, switches or {}, panel)
    return dataclasses.field(default=default, metadata={"option": described})


def options_of(kind: type) -> dict[str, Option]:
    """The options that a dataclass declares, by the name of their field."""
    return {
        each.name: each.metadata["option"] for each in dataclasses.fields(kind) if "option" in each.metadata
    }
