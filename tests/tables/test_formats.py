"""Formats: numbers and names come back as they were, whatever reads them."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from dataclasses import replace

import numpy as np
import pandas
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_tables import SUFFIXES, sample_rows, write_table

from facereject._files import name_of_cell
from facereject.faces.face import Box, Pose
from facereject.outputs.summary import Tally
from facereject.pipeline._store.sinks import TableSink
from facereject.tables.formats import (
    encode_csv,
    encode_frame,
    encode_jsonl,
    read_csv,
    read_jsonl,
    read_table,
)
from facereject.tables.rows import COLUMNS, Row


def _expected(row: Row) -> list[object]:
    return [None if isinstance(v, float) and not math.isfinite(v) else v for v in row.values()]


def _number(text: str) -> float | None:
    return float(text) if text else None


def _csv_values(path) -> list[list[object]]:
    with open(path, encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    assert tuple(header) == COLUMNS
    return [
        [line[0], *map(_number, line[1:12]), {"true": True, "false": False}[line[12]], *line[13:15]]
        + [_number(text) for text in line[15:]]
        for line in lines
    ]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_values_come_back(tmp_path, suffix):
    path, rows = tmp_path / f"t.{suffix}", sample_rows()
    write_table(path, rows)
    assert os.listdir(tmp_path) == [path.name]
    if suffix == "csv":
        found = _csv_values(path)
    elif suffix == "jsonl":
        lines = path.read_bytes().decode().split("\n")[:-1]
        found = [list(json.loads(line, parse_constant=pytest.fail).values()) for line in lines]
    else:
        found = [list(row.values()) for row in pyarrow.parquet.read_table(path).to_pylist()]
    assert found == [_expected(row) for row in rows]


@pytest.mark.filterwarnings("ignore:The 'float_precision'")
def test_csv_with_pandas(tmp_path):
    rows = sample_rows()
    write_table(tmp_path / "t.csv", rows)
    frame = pandas.read_csv(tmp_path / "t.csv", float_precision="round_trip", keep_default_na=False)
    assert frame["source"].tolist() == [row.source for row in rows]
    assert frame["accepted"].tolist() == [row.accepted for row in rows]
    shown = pandas.to_numeric(frame["x_67"]).tolist()[-2]
    assert rows[-2].landmarks is not None
    assert shown == rows[-2].landmarks[67, 0]


def test_parquet_types(tmp_path):
    write_table(tmp_path / "t.parquet", sample_rows())
    schema = pyarrow.parquet.read_schema(tmp_path / "t.parquet")
    kinds = {name: str(schema.field(name).type) for name in ("source", "frame", "track", "accepted", "y_3")}
    assert kinds == {
        "source": "string",
        "frame": "int64",
        "track": "int64",
        "accepted": "bool",
        "y_3": "double",
    }


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_whole_rows_come_back_with_their_pose(tmp_path, suffix):
    rows = [replace(sample_rows()[-2], pose=pose) for pose in (Pose(-12.34, 0.0, 90.5), None)]
    write_table(tmp_path / f"t.{suffix}", rows)
    found = (read_csv if suffix == "csv" else read_jsonl)(str(tmp_path / f"t.{suffix}"), whole=True)
    assert [row.pose for row in found] == [Pose(-12.34, 0.0, 90.5), None]


def test_text_is_neat():
    points = np.arange(136.0).reshape(68, 2)
    row = Row("a.jpg", 0, None, 0, None, Box(1.0, 2.5, 3.0, 4.0), 0.5, -1.0, 3.0, True, "", points)
    line = encode_csv([row]).decode()
    assert line.startswith("a.jpg,0,,0,,1,2.5,3,4,0.5,-1,3,true,,,,,,0,2,4,")
    posed = encode_csv([replace(row, pose=Pose(-12.5, 3.0, 0.25))]).decode()
    assert posed.startswith("a.jpg,0,,0,,1,2.5,3,4,0.5,-1,3,true,,,-12.5,3,0.25,0,2,4,")
    assert line.endswith(",133,135" + 68 * "," + "\n")
    judged = replace(row, cause="dark", landmark_errors=np.full(68, 2.5))
    line = encode_csv([judged]).decode()
    assert ",true,,dark,,,,0,2,4," in line
    assert line.endswith(",133,135" + 68 * ",2.5" + "\n")
    assert encode_jsonl([row]).count(b"\n") == 1


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.floats())
@settings(max_examples=60, deadline=None)
def test_any_name_and_number(name, number):
    (line,) = csv.reader(io.StringIO(encode_csv([Row(name, uncertainty=number)]).decode(), newline=""))
    assert name_of_cell(line[0]) == name
    assert line[10] == "" if not math.isfinite(number) else float(line[10]) == number


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_empty_table(tmp_path, suffix):
    with TableSink(tmp_path / f"t.{suffix}"):
        pass
    if suffix == "parquet":
        assert pyarrow.parquet.read_table(tmp_path / "t.parquet").num_rows == 0
    else:
        assert not list((read_csv if suffix == "csv" else read_jsonl)(str(tmp_path / f"t.{suffix}")))


def test_a_frame_is_one_line():
    box = Box(0, 0, 9, 9)
    sure = Row("cam", 3, 0.5, 0, 1, box, 1.0, -0.5, 2.0, True, "")
    unsure = Row("cam", 3, 0.5, 1, 2, box, 1.0, 0.7, 9.0, False, "uncertain")
    broken = Row("cam", 3, 0.5, 2, 3, box, 1.0, reason="no_landmarks")
    cases = [
        ([sure], "all", (True, "", -0.5, 2.0, 1)),
        ([sure, unsure], "all", (False, "uncertain", 0.7, 9.0, 2)),
        ([sure, unsure], "any", (True, "", 0.7, 9.0, 2)),
        ([unsure, broken], "all", (False, "uncertain", None, None, 2)),
        ([Row("cam", 3, 0.5, reason="no_face")], "all", (False, "no_face", None, None, 0)),
    ]
    for rows, rule, expected in cases:
        text = encode_frame(rows, rule).decode()
        assert text.endswith("\n")
        frame = json.loads(text)
        assert (frame["source"], frame["frame"], frame["time_s"]) == ("cam", 3, 0.5)
        found = [frame[name] for name in ("accepted", "reason", "uncertainty", "expected_error")]
        assert (*found, len(frame["faces"])) == expected
        assert all(tuple(face) == COLUMNS for face in frame["faces"])


FORMULAS = ["=1+1.jpg", "+x", "-x", "@x", "\t=x", "./=x", "././@x", ".//=x", "./x", "a/=x", '=x,"y"', "\n=x"]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_names_that_look_like_formulas_come_back_and_start_none(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    with TableSink(path) as sink:
        for name in FORMULAS:
            sink.write([Row(name, 0, reason="no_face")])
            sink.end_input(name, Tally(1))
    assert [row.source for row in read_table(str(path))] == FORMULAS
    if suffix == ".csv":
        with open(path, newline="") as file:
            cells = [row["source"] for row in csv.DictReader(file)]
        assert not any(cell.startswith(tuple("=+-@\t\r\n")) for cell in cells)
        assert [os.path.normpath(cell) for cell in cells] == [os.path.normpath(name) for name in FORMULAS]
    with TableSink(path, resume=True) as sink:
        assert all(sink.has(name) for name in FORMULAS)
