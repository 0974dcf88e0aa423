"""facereject demo: a table with accepted and rejected versions, and a picture."""

from __future__ import annotations

import PIL.Image
import typer
from typer.testing import CliRunner

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
