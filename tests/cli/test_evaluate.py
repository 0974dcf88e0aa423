"""facereject evaluate: the report's numbers are those of its own rows, and the page needs nothing else."""

from __future__ import annotations

import csv
import json
import os
import re

import numpy as np
import PIL.Image
import pytest
from annotated_faces import write_faces
from typer.testing import CliRunner

from facereject._cli import app
from facereject.faces import FaceRejector
from facereject.reports.evaluation import FILES


def run(*arguments):
    return CliRunner().invoke(app, ["evaluate", *map(str, arguments)], env={"COLUMNS": "100"})


def kept(faces):
    """Options that let the tests share what is computed from the photographs."""
    return ["--workers", 1, "--cache", faces.parent / "cache"]


@pytest.fixture(scope="module")
def faces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faces")
    data = write_faces(folder, 16)
    (folder / "face0_5.png").unlink()
    return data


@pytest.fixture(scope="module")
def report(faces, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "deep" / "er"
    result = run("default", faces, "--report", folder, "--workers", 1, "--degradations", 1, "--coverage", 0.7)
    assert result.exit_code == 0, result.output
    return folder, result


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_what_is_printed(report):
    folder, result = report
    assert f"Report: {folder / 'index.html'}" in result.stderr
    assert "only 15 photos" in result.stderr
    assert "1 entry was left out" in result.stderr
    for words in (
        "AuRC by the detector's score",
        "gap closed",
        "errors above 8 %",
        "as they are",
        "degraded",
    ):
        assert words in result.stdout


def test_the_thresholds_are_those_of_the_faces(report):
    folder, _ = report
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    rows = read(folder / "faces.csv")
    for group, clean in (("as they are", True), ("degraded", False)):
        chosen = [row for row in rows if (row["picture"] == "clean") == clean]
        errors = np.array([float(row["error"]) for row in chosen])
        uncertainty = np.array([float(row["uncertainty"]) for row in chosen])
        thresholds = [row for row in read(folder / "thresholds.csv") if row["pictures"] == group]
        assert len(thresholds) == len(set(uncertainty))
        for row in thresholds:
            accepted = uncertainty <= float(row["threshold"])
            assert int(row["n"]) == accepted.sum()
            assert float(row["mean_error"]) == pytest.approx(errors[accepted].mean())
            assert float(row["failure_rate_8"]) == pytest.approx((errors[accepted] > 8).mean())
        assert thresholds[-1]["rejected_mean_error"] == ""
    summary = json.loads((folder / "summary.json").read_text())
    clean = [row for row in rows if row["picture"] == "clean"]
    assert summary["as they are"]["n"] == len(clean)
    accepted = [float(row["error"]) for row in clean if row["accepted"] == "true"]
    assert summary["as they are"]["accepted_error"] == pytest.approx(np.mean(accepted))
    assert summary["problems"][0]["reason"].endswith("face0_5.png")
    assert summary["target"] == {"kind": "coverage", "value": 0.7}


def test_the_page_is_complete_in_itself(report):
    folder, _ = report
    page = (folder / "index.html").read_text(encoding="utf-8")
    linked = set(re.findall(r'(?:src|href)="([^"]{1,60})', page))
    outside = {
        link for link in linked if not link.startswith(("data:image/webp;base64,", "#")) and link not in FILES
    }
    assert outside == set()
    assert "url(http" not in page
    assert "@import" not in page
    assert "percent of the distance of the outer eye corners" in page
    for title in (
        "Most certain",
        "Accepted, with the largest errors",
        "Which threshold?",
        "Left out: 1 entry",
    ):
        assert title in page
    assert page.count("<svg") == 6
    assert "prefers-color-scheme: dark" in page
    for name in ("risk_coverage.png", "calibration.png", "cumulative_error.png"):
        with PIL.Image.open(folder / name) as figure:
            assert figure.width > 600


def test_degraded_faces_are_shown_with_what_was_done_to_them(report):
    folder, _ = report
    page = (folder / "index.html").read_text(encoding="utf-8")
    _, clean, degraded = re.split("Best and worst faces", re.sub('base64,[^"]*', "", page))
    surest = min(
        (
            row
            for row in read(folder / "faces.csv")
            if row["picture"] != "clean" and row["accepted"] == "true"
        ),
        key=lambda row: float(row["uncertainty"]),
    )
    done = surest["picture"].replace("_", " ").replace("+", ", ")
    first = degraded[degraded.index("Most certain") :]
    assert done in first[: first.index("uncertainty") + 200]
    assert done not in clean


@pytest.mark.parametrize(("threshold", "share"), [(-99, "0%"), (99, "100%")])
def test_rules_that_accept_nothing_or_everything(faces, tmp_path, threshold, share):
    options = ["--report", tmp_path / "report", "--threshold", threshold, *kept(faces)]
    result = run("default", faces, *options)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "report" / "index.html").read_text()
    assert f"<b>{share}</b>" in page
    assert "nan" not in re.sub('base64,[^"]*', "", page)
    assert "nan" not in result.stdout
    json.loads((tmp_path / "report" / "summary.json").read_text(), parse_constant=pytest.fail)


def test_names_of_any_bytes(tmp_path):
    folder = tmp_path / os.fsdecode(b"caf\xe9 [bold]")
    data = write_faces(folder, 6)
    model = folder / "model"
    command = [
        "train",
        str(data),
        "-o",
        str(model),
        "--degradations",
        "0",
        "--workers",
        "1",
        "--coverage",
        "0.5",
    ]
    result = CliRunner().invoke(app, command, env={"COLUMNS": "100"})
    assert result.exit_code == 0, result.output
    assert "caf\\xe9 [bold]" in result.stdout
    result = run(model, data, "--report", folder / "report", "--workers", 1)
    assert result.exit_code == 0, result.output
    assert "caf\\xe9 [bold]" in (folder / "report" / "index.html").read_text()
    assert "caf\\xe9 [bold]" in read(folder / "report" / "faces.csv")[0]["image"]
    assert CliRunner().invoke(app, ["info", str(model)]).exit_code == 0


def test_a_page_is_replaced_only_on_demand(report, faces, tmp_path):
    folder, _ = report
    before = (folder / "index.html").read_bytes()
    result = run("default", faces, "--report", folder)
    assert result.exit_code == 2
    assert "--overwrite" in result.stderr
    assert (folder / "index.html").read_bytes() == before
    result = run("default", faces, "--report", folder, "--overwrite", "--quiet", *kept(faces))
    assert result.exit_code == 0
    assert result.stdout == ""
    assert (folder / "index.html").read_bytes() != before


def test_mistakes_are_one_sentence(faces, tmp_path):
    (tmp_path / "file").write_text("no model")
    FaceRejector.pretrained().save(tmp_path / "model")
    cut = (tmp_path / "model").read_bytes()[:-100]
    (tmp_path / "cut").write_bytes(cut)
    report = ["--report", tmp_path / "new"]
    cases = [
        (["default", faces, "--report", tmp_path / "file"], "is a file, not a folder"),
        ([tmp_path / "file", faces, *report], "not a facereject model file"),
        ([tmp_path / "cut", faces, *report], "damaged"),
        (["nonsense", faces, *report], "one of the shipped models: default, thorough, dlib"),
        (["default", tmp_path / "none.csv", *report], "no such file or folder"),
        (["default", faces, *report, "--coverage", 2], "--coverage"),
        (["default", faces, *report, "--cost", 2, "--threshold", 1], "exclude each other"),
    ]
    for arguments, words in cases:
        result = run(*arguments)
        assert result.exit_code == 2, (arguments, result.output)
        assert words in result.stderr
        assert len(result.stderr.splitlines()) == 1, result.stderr
        assert result.stdout == ""
    assert not (tmp_path / "new").exists()


def test_faces_that_nobody_finds(tmp_path):
    data = write_faces(tmp_path / "data", 4)
    for path in (tmp_path / "data").glob("*.png"):
        PIL.Image.new("RGB", (64, 64)).save(path)
    result = run("default", data, "--report", tmp_path / "report", "--workers", 1)
    assert result.exit_code == 2
    assert "no usable face among 4: no face was found in 4 pictures" in result.stderr
    assert not (tmp_path / "report").exists()
