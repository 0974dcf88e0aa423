"""facereject train --unlabelled, and the unit that calibrate gives the model."""

from __future__ import annotations

import csv

import numpy as np
from annotated_faces import write_faces
from typer.testing import CliRunner

from facereject._cli import app
from facereject.faces import FaceRejector


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


def test_from_photographs_to_percents(tmp_path):
    data = write_faces(tmp_path / "data", 76, seed=3)
    model, known = tmp_path / "model", tmp_path / "known"
    quick = ["--degradations", 1, "--score", "reg", "--workers", 1]
    result = run("train", tmp_path / "data", "--unlabelled", "-o", model, *quick, "--max-error", 3)
    assert result.exit_code == 2
    assert "only be --coverage" in result.stderr
    result = run("train", tmp_path / "data", "--unlabelled", "-o", model, *quick)
    assert result.exit_code == 0, result.output
    assert "without annotation" in result.stdout
    assert FaceRejector.load(model).relative
    picture = next(path for path in (tmp_path / "data").rglob("*") if path.suffix in (".png", ".jpg"))
    for used, empty in ((model, True), (known, False)):
        if used is known:
            result = run("calibrate", model, data, "-o", known, "--workers", 1)
            assert result.exit_code == 0, result.output
            assert "Nothing is guaranteed" in " ".join(result.output.split())
        table = tmp_path / f"{used.name}.csv"
        assert run("score", picture, "--model", used, "-o", table, "-q").exit_code == 0
        with open(table, newline="") as file:
            row = next(csv.DictReader(file))
        assert np.isfinite(float(row["uncertainty"]))
        assert (row["expected_error"] == "") == empty
