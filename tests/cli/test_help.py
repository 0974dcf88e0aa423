"""The help pages, as a terminal of 80 columns shows them."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from facereject._cli import app
from facereject.tables.columns import REASONS

COMMANDS = (
    "demo", "score", "filter", "webcam", "serve", "review", "annotate",
    "train", "evaluate", "calibrate", "assess", "predictions", "info", "models",
)  # fmt: skip


def help_of(*command: str) -> str:
    result = CliRunner(env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).invoke(app, [*command, "--help"])
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_no_types_of_python(command):
    page = help_of(*command)
    assert not re.search(r"<\w+|list\[", page), page
    assert "--help" in page


def test_every_command_is_listed_on_one_line():
    assert re.findall(r"^│ (\w+) ", help_of(), re.MULTILINE) == list(COMMANDS)
    assert len(re.findall(r"^│ {6,}\w", help_of().split("--help")[1], re.MULTILINE)) == 0


def test_usage_names_what_is_required():
    assert "score [OPTIONS] PATH...\n" in re.sub(" +\n", "\n", help_of("score"))
    assert "info [OPTIONS] [MODEL]\n" in re.sub(" +\n", "\n", help_of("info"))


def test_short_flag_for_help():
    assert CliRunner().invoke(app, ["score", "-h"]).exit_code == 0


def test_every_reason_is_named():
    page = help_of("score")
    assert [reason for reason in REASONS if reason not in page] == []


@pytest.mark.parametrize("command", [*app.registered_commands, *app.registered_groups], ids=COMMANDS)
def test_examples_can_be_copied(command):
    # a group of commands has its settings in its own object
    command = getattr(command, "typer_instance", None) or command
    command = getattr(command, "info", command)
    name = command.name or command.callback.__name__
    lines = [re.sub(r"\[/?\w+\]", "", line) for line in command.epilog.splitlines()]
    # two spaces set a remark apart
    examples = [line.split("  ")[0] for line in lines if line.startswith("facereject")]
    assert any(line.startswith(f"facereject {name}") for line in examples)
    shown = [line.strip().split("  ")[0] for line in help_of(name).splitlines()]
    assert [line for line in examples if line not in shown] == []
