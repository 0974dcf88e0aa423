"""Options are declared once: an output in the registry has its options on the command line."""

from __future__ import annotations

import importlib
from dataclasses import MISSING, dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from facereject import outputs
from facereject._cli import make_app
from facereject._cli._panels import Given, flags_of, in_flags
from facereject._options import OptionError, option
from facereject.outputs import Output


@dataclass
class FaceList(Output):
    """Writes how many faces each input has."""

    place = "end"
    panel = "Lists"

    path: str = option(MISSING, "--face-list", metavar="FILE", help="Write the number of faces.")
    least: int = option(0, "--least-faces", metavar="N", help="Leave out inputs with fewer.")
    sort: str = option("name", switches={"--by-count": "Sort by number."}, help="Order.")
    header: bool = option(True, "--no-header", help="Without a header.")
    share: float | None = option(
        None, parse=lambda text: float(text.removesuffix("%")) / 100, help="A share."
    )

    def __post_init__(self):
        self.counts = {}

    def prepare(self, run):
        if self.least < 0:
            raise OptionError(f"`FaceList.least` must not be negative; got {self.least}")

    def write(self, frame):
        self.counts[frame.source] = self.counts.get(frame.source, 0) + len(frame.faces)

    def close(self):
        kept = [(name, n) for name, n in self.counts.items() if n >= self.least]
        kept.sort(key=lambda pair: pair[1] if self.sort == "by-count" else pair[0])
        lines = ["source,faces"] * self.header + [f"{name},{n}" for name, n in kept]
        Path(self.path).write_text("\n".join(lines))

    def report(self):
        return [f"Face list: {self.path}"]


@pytest.fixture
def extended(monkeypatch, stub, photos):
    """The command line with another output in the registry."""
    monkeypatch.setattr(outputs, "OUTPUTS", (*outputs.OUTPUTS, FaceList))
    # the flags are made once
    monkeypatch.setattr(importlib.import_module("facereject._cli.score").filter_, "_made", None)

    def run(*arguments):
        return CliRunner().invoke(make_app(["filter", "score"]), arguments, env={"COLUMNS": "200"})

    return run


def test_one_line_in_the_registry_makes_a_panel(extended):
    page = extended("filter", "--help").stdout
    for words in (
        "Lists",
        "--face-list",
        "FILE",
        "Leave out inputs with fewer.",
        "--by-count",
        "--no-header",
    ):
        assert words in page


def test_the_object_gets_what_the_user_gave(extended):
    result = extended("filter", "photos", "--face-list", "list.txt", "--least-faces", "1", "--no-header")
    assert result.exit_code == 0, result.stderr
    assert Path("list.txt").read_text() == "photos/1.png,1\nphotos/2.png,1\nphotos/sub/2.png,1"
    assert "Face list: list.txt" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--least-faces", "2"], "--least-faces needs --face-list"),
        (["--face-list", "l", "--least-faces", "-1"], "--least-faces must not be negative; got -1"),
        (["--face-list", "l", "--share", "much"], "--share: could not convert"),
        (["--bridge", "2"], "--bridge needs --save or --timeline"),
        (["--best-per-track", "2"], "--best-per-track needs --crops or --frames"),
        (["--annotate"], "--annotate needs --save"),
        (["--no-audio"], "--no-audio needs --save"),
    ],
)
def test_what_is_wrong_is_told_in_the_words_of_the_command_line(extended, arguments, words):
    result = extended("filter", "photos", *arguments)
    assert (result.exit_code, words in result.stderr) == (2, True), result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_values_become_fields():
    flags = list(flags_of(FaceList))
    values = {
        "face_list": "a", "least_faces": 0, "by_count": True, "no_header": True, "share": "50%"
    }  # fmt: skip
    given = Given(flags, values, ())
    expected = {"path": "a", "least": 0, "sort": "by-count", "header": False, "share": 0.5}
    assert given.values(FaceList) == expected


def test_every_option_of_an_output_has_a_flag_of_its_own_class_or_the_same_meaning():
    by_name = {}
    for kind in outputs.OUTPUTS:
        for flag in flags_of(kind):
            by_name.setdefault(flag.name, set()).add((flag.flags, flag.help, flag.option.metavar))
    assert {name: found for name, found in by_name.items() if len(found) > 1} == {}


def test_messages_of_the_library_name_flags():
    assert in_flags("`SavedVideo.path` a: no; `max_pixels`") == "--save a: no; --max-pixels"
    assert in_flags("`SortedFiles.mode`, `SavedVideo.audio`") == "--link/--move, --no-audio"
