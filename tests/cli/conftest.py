"""The tool with a stub in place of the face model."""

from __future__ import annotations

import pytest
from bright_faces import gray_photo
from stub_tool import COMMANDS, make_photos, stub_rejector
from typer.testing import CliRunner

from facereject._cli import app
from facereject.pipeline import store


@pytest.fixture
def stub(monkeypatch):
    """The commands score images by their brightness alone."""
    for module in COMMANDS:
        monkeypatch.setattr(module, "load_rejector", stub_rejector)
    monkeypatch.setattr(store, "_COMMIT_SECONDS", 0.02)


@pytest.fixture
def work(tmp_path, monkeypatch):
    """The current folder, empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def photos(work):
    """photos/: bright 2.png and sub/2.png, dark 1.png, black 0.png."""
    (work / "photos" / "sub").mkdir(parents=True)
    for name, level in (("2.png", 200), ("sub/2.png", 220), ("1.png", 50), ("0.png", 0)):
        gray_photo(work / "photos" / name, level)
    return work / "photos"


@pytest.fixture
def many(work):
    """many/: 150 pictures."""
    make_photos(work / "many", 150)
    return work / "many"


@pytest.fixture
def run():
    """Runs a command line in this process."""

    def invoke(*arguments):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})
        # what is not an exit is a bug and is to be seen
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke
