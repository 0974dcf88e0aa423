"""A table with the columns that a user asked for, in every format, and what can be done with it later."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from bright_faces import BrightFaces, gray_photo

from facereject.faces import FaceRejector
from facereject.faces.face import Box, Face, FaceFrame
from facereject.outputs import Table
from facereject.outputs.base import RunInfo
from facereject.outputs.table import JSONLines
from facereject.pipeline import OptionError, Running, score_files
from facereject.pipeline.decide import TableJob
from facereject.tables.columns import COLUMNS, HEAD, chosen_columns, is_own
from facereject.tables.errors import SettingsError, TableError
from facereject.tables.reading import read_table

SUFFIXES = ["csv", "jsonl", "parquet", "sqlite"]


@pytest.fixture
def photos(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("photos").mkdir()
    for level in (0, 140, 200):
        gray_photo(f"photos/{level}.png", level)
    return "photos"


def _columns_of(path: str) -> dict[str, list[object]]:
    if path.endswith(".csv"):
        with open(path, newline="") as file:
            names, *lines = csv.reader(file)
        return {name: [line[i] for line in lines] for i, name in enumerate(names)}
    if path.endswith(".jsonl"):
        rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
        return {name: [row[name] for row in rows] for name in rows[0]}
    if path.endswith(".parquet"):
        return pyarrow.parquet.read_table(path).to_pydict()
    with sqlite3.connect(path) as database:
        found = database.execute("SELECT * FROM faces")
        names = [name for name, *_ in found.description]
        return dict(zip(names, map(list, zip(*found, strict=True)), strict=True))


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("chosen", ["short", "reason,expected_error", "pose,x_3,e_67,accepted", "landmarks"])
def test_a_column_has_the_values_it_has_among_all(photos, suffix, chosen):
    score_files(photos, f"all.{suffix}", rejector=BrightFaces())
    score_files(photos, Table(f"some.{suffix}", columns=chosen), rejector=BrightFaces())
    every, some = _columns_of(f"all.{suffix}"), _columns_of(f"some.{suffix}")
    assert tuple(every) == COLUMNS
    assert tuple(some) == chosen_columns(chosen)
    assert some == {name: every[name] for name in some}


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_streams(photos, form):
    stream = io.BytesIO()
    table = Table(stream, stream_format=form, columns="accepted")
    score_files("photos/200.png", table, rejector=BrightFaces())
    expected = {
        "csv": b"source,accepted\nphotos/200.png,true\n",
        "jsonl": b'{"source": "photos/200.png", "accepted": true}\n',
    }
    assert stream.getvalue() == expected[form]


def test_lines_of_a_camera():
    face = Face(Box(1.0, 2.0, 3.0, 4.0), 0.5, np.ones((68, 2)), 0.1, 2.0, True, "")
    output = JSONLines(io.BytesIO(), columns="expected_error")
    output.prepare(RunInfo((), "", "", "all", False, 1, None, ()))
    output.write(FaceFrame(0, 0.0, np.zeros((9, 9, 3), np.uint8), [face], "camera 0"))
    line = json.loads(output.stream.getvalue())
    assert line["accepted"]
    assert line["faces"] == [{"source": "camera 0", "expected_error": 2.0}]


@pytest.mark.parametrize("chosen", ["shrot", "", "x_68", "source,,face"])
def test_a_column_that_does_not_exist(photos, chosen):
    with pytest.raises(OptionError, match=r"no column .*expected_error"):
        score_files(photos, Table("t.csv", columns=chosen), rejector=BrightFaces())
    assert not Path("t.csv").exists()
    assert not Path("t.csv.partial").exists()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_without_landmarks_is_completed_and_replaced(photos, suffix):
    name = f"t.{suffix}"
    table = Table(name, columns="short")
    score_files(photos, table, rejector=BrightFaces())
    whole = _columns_of(name)
    gray_photo("photos/new.png", 220)
    summary = score_files(photos, table, rejector=BrightFaces(), running=Running(resume=True))
    assert summary.inputs == 4
    again = _columns_of(name)
    assert again == {name: [*values, again[name][-1]] for name, values in whole.items()}
    # other columns need another table
    with pytest.raises(SettingsError, match="other columns"):
        score_files(photos, name, rejector=BrightFaces(), running=Running(resume=True))
    score_files(photos, Table(name, columns="source,uncertainty"), rejector=BrightFaces())
    assert list(_columns_of(name)) == ["source", "uncertainty"]
    score_files(photos, name, rejector=BrightFaces())
    assert tuple(_columns_of(name)) == COLUMNS


def test_decisions_from_a_table_without_landmarks(photos):
    rejector = FaceRejector.pretrained("dlib")
    score_files(photos, Table("t.csv", columns="short"), rejector=rejector)
    assert TableJob("t.csv", [Table("again.csv", columns="short")]).run(rejector).inputs == 3
    assert Path("again.csv").read_bytes() == Path("t.csv").read_bytes()


def test_a_table_with_few_columns_is_not_read_again(photos):
    score_files(photos, Table("t.csv", columns="expected_error"), rejector=BrightFaces())
    with pytest.raises(ValueError, match="all columns"):
        list(read_table("t.csv"))
    with pytest.raises(TableError):
        score_files(photos, "t.csv", rejector=BrightFaces(), running=Running(resume=True))


@pytest.mark.parametrize(
    ("names", "own"),
    [
        (HEAD, True),
        (("source", "expected_error", "accepted"), True),
        (("source", "uncertainty", "x_0", "y_0"), True),
        (("source", "x", "y"), False),
        (("source", "expected_error", "comment"), False),
        (("expected_error",), False),
        ((), False),
    ],
)
def test_whose_table_it_is(names, own):
    assert is_own(names) is own
