"""--region: the points that matter decide; hints say why a face is uncertain."""

from __future__ import annotations

import csv

import numpy as np
import PIL.Image
import pytest
from typer.testing import CliRunner

from facereject._cli import app
from facereject._cli._rows import _decision
from facereject.demo.material import clean_picture, covered_mouth
from facereject.faces import Box, Face
from facereject.faces.face import CAUSES, changed


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("pictures")
    PIL.Image.fromarray(covered_mouth(clean_picture()).image).save(made / "masked.png")
    return made


def test_a_covered_mouth(folder, tmp_path):
    decisions = {}
    for region in ("eyes", "mouth"):
        table = tmp_path / f"{region}.csv"
        assert run("score", folder / "masked.png", "--region", region, "-o", table, "-q").exit_code == 0
        with open(table, newline="") as file:
            rows = list(csv.DictReader(file))
        face = max(rows, key=lambda row: float(row["width"]))
        decisions[region] = face["accepted"]
        errors = [float(face[f"e_{i}"]) for i in range(68)]
        assert max(errors[48:]) > 2 * max(errors[36:48])
    assert decisions == {"eyes": "true", "mouth": "false"}


def test_the_line_says_why():
    face = Face(Box(0, 0, 9, 9), 1.0, np.zeros((68, 2)), 1.0, 9.0, False, cause="dark")
    assert _decision(face).endswith(f"expected error 9.0 % of the eye distance; {CAUSES['dark']}")
    assert "uncertainty 1.00 (relative)" in _decision(changed(face, expected_error=float("nan")))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--region", "ears"], "--region ears: regions must be among jaw, brows"),
        (["--region", "eyes", "--model", "dlib"], "does not tell the error of each point"),
    ],
)
def test_regions_that_cannot_be(folder, arguments, words):
    result = run("score", folder / "masked.png", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
