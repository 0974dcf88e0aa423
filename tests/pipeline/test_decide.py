"""A table decided anew: other targets and outputs, without its images being opened again."""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path

import pytest
from bright_faces import NO_FACE, BrightFaces, gray_photo

from facereject.faces import FaceRejector
from facereject.outputs import Crops, SortedFiles, Table, Timeline
from facereject.pipeline import OptionError, Running, score_files
from facereject.pipeline.decide import TableJob, is_table
from facereject.sources import InputError
from facereject.tables.errors import SettingsError

LEVELS = {"a.png": 100, "b.png": 150, "sub/c.png": 220, "d.png": NO_FACE}


class Blind(BrightFaces):
    """Must not be asked for faces."""

    rescore = FaceRejector.rescore
    pose_limits = FaceRejector.pose_limits
    relative = False

    def error_interval(self, uncertainty):
        return math.nan, math.nan

    def __call__(self, image):
        raise AssertionError("the images are not needed")


@pytest.fixture(params=["csv", "jsonl", "parquet", "sqlite"])
def table(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos" / "sub").mkdir(parents=True)
    for name, level in LEVELS.items():
        gray_photo(f"photos/{name}", level)
    score_files("photos", f"t.{request.param}", rejector=BrightFaces())
    return f"t.{request.param}"


def accepted(path):
    with open(path, newline="") as file:
        return [row["source"] for row in csv.DictReader(file) if row["accepted"] == "true"]


@pytest.mark.parametrize(("limit", "number"), [(200.0, 1), (120.0, 2), (50.0, 3)])
def test_another_target(table, limit, number):
    before = Path(table).read_bytes()
    outputs = [Table("new.csv"), SortedFiles("good", "bad"), Timeline("spans.csv")]
    summary = TableJob(table, outputs).run(Blind(limit))
    names = [f"photos/{name}" for name, level in LEVELS.items() if level > limit]
    assert sorted(accepted("new.csv")) == sorted(names)
    assert (summary.inputs, summary.faces, summary.accepted_faces) == (4, 3, number)
    assert sorted(str(path.relative_to("good")) for path in Path("good").rglob("*.png")) == sorted(
        name.removeprefix("photos/") for name in names
    )
    assert len(list(Path("bad").rglob("*.png"))) == 4 - number
    assert Path(table).read_bytes() == before


def test_the_best_of_a_table(table):
    TableJob(table, [Table("new.csv")], keep_best=1).run(Blind())
    assert accepted("new.csv") == ["photos/sub/c.png"]


def test_a_file_that_has_changed_is_not_placed(table):
    gray_photo("photos/b.png", 250)
    os.utime("photos/b.png", ns=(1, 1))
    summary = TableJob(table, [SortedFiles("good", "bad")]).run(Blind(50.0))
    assert (summary.failed, summary.failures[0][0]) == (1, "photos/b.png")
    assert not Path("good/b.png").exists()
    assert Path("good/a.png").exists()


def test_what_cannot_be_done(table):
    with pytest.raises(OptionError, match="pixels"):
        TableJob(table, [Crops("crops")])
    with pytest.raises(OptionError, match="resume"):
        TableJob(table, [Table("new.csv")], running=Running(resume=True))
    with pytest.raises(OptionError, match="input"):
        TableJob(table, [Table(table)])
    with pytest.raises(SettingsError, match="another model"):
        TableJob(table).run(FaceRejector.pretrained())
    Path("other.csv").write_text("a,b\n1,2\n")
    assert is_table(table)
    assert not is_table("other.csv")
    with pytest.raises(InputError):
        TableJob("other.csv")


@pytest.mark.parametrize("change", ["doubled", "appended", "apart"])
def test_rows_that_are_there_twice_or_apart_are_refused(tmp_path, monkeypatch, change):
    """They would be counted twice, or left out."""
    monkeypatch.chdir(tmp_path)
    for name, level in LEVELS.items():
        gray_photo(Path(name).name, level)
    score_files(["a.png", "b.png"], "t.csv", rejector=BrightFaces())
    head, *rows = Path("t.csv").read_text().splitlines(keepends=True)
    changed = {
        "doubled": [row for row in rows for _ in range(2)],
        "appended": rows * 2,
        "apart": [rows[0], rows[1], rows[0].replace("a.png,0,,0", "a.png,0,,1")],
    }
    Path("t.csv").write_text("".join([head, *changed[change]]))
    with pytest.raises(InputError, match=r"t\.csv: has rows of a\.png in two places, or twice"):
        TableJob("t.csv")
