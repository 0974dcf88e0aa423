"""No option of version 0.2 is lost: every command still has it, with its flags, metavar and default."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from facereject._cli import app

RECORDED = Path(__file__).with_name("options_of_0.2.txt")


CHANGED = {
    # a table goes to stdout only into a pipe, as from `filter`
    ("assess", "--output/-o TABLE = -"),
    # the search of a whole frame has become cheap: the default is 5
    *((command, "--detect-every K = 15") for command in ("score", "filter", "webcam")),
}


def recorded() -> list[tuple[str, str]]:
    """Command and option, as the command line of 0.2 had them."""
    options, command = [], ""
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            options.append((command, line.strip()))
        else:
            command = line
    return options


def present(command: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The same of the command line of today."""
    for sub, inner in getattr(command, "commands", {}).items():
        yield from present(inner, f"{name} {sub}".strip())
    for each in [] if hasattr(command, "commands") else command.params:
        named = each.param_type_name == "option"
        flags = "/".join([*each.opts, *each.secondary_opts]) if named else "argument"
        shown = f"{flags} {each.metavar or ''}".strip()
        # a default that was not told before may be told now
        yield name, shown
        yield name, f"{shown} = {each.default}"


def test_every_option_is_still_there():
    now = set(present(typer.main.get_command(app)))
    assert len(recorded()) > 150
    assert [option for option in recorded() if option not in now | CHANGED] == []
