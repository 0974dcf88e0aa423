"""facereject demo: a table with accepted and rejected versions, and a picture."""

from __future__ import annotations

import PIL.Image
import typer
from typer.testing import CliRunner

import facereject
from facereject._cli import app as cli
from facereject._cli.demo import demo


def test_demo(tmp_path):
    app = typer.Typer()
    app.command()(demo)
    result = CliRunner().invoke(app, ["--output", str(tmp_path / "out")], env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    clean = next(line for line in lines if "clean" in line)
    assert "accepted" in clean
    assert sum("rejected" in line for line in lines) >= 2
    with PIL.Image.open(tmp_path / "out" / "demo.png") as picture:
        assert picture.width > 500


def test_mistakes_are_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    cases = [
        (["--output", str(tmp_path / "file")], "not a folder"),
        (["--output", str(tmp_path / "out"), "--model", "nonsense"], "must be one of default, thorough"),
    ]
    for arguments, words in cases:
        result = CliRunner().invoke(cli, ["demo", *arguments])
        assert result.exit_code == 2
        assert words in result.output
        assert len(result.output.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_version():
    result = CliRunner().invoke(cli, ["--version"])
    assert result.exit_code == 0
    assert result.output.strip() == f"facereject {facereject.__version__}"
