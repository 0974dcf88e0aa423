"""Tables: numbers and names are read back as they were, by every reader."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import os
import sqlite3

import numpy as np
import pandas
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_frames import SUFFIXES, expected_rows, face, photo, sample_frames, write_table

from facereject._files import display_name, name_of_cell
from facereject.faces.face import Box, Face, Pose
from facereject.pipeline.store import Store
from facereject.tables.columns import COLUMNS, REASONS
from facereject.tables.errors import TableError, TableFormatError
from facereject.tables.packing import frames_of, rows_of
from facereject.tables.reading import points_in_table, read_table
from facereject.tables.writing import encode_frame, text_format

#: columns that tables of earlier versions lack
LATE_COLUMNS = ("detector", "typicality", "error_low", "error_high")

NOTHING = np.full((68, 2), np.nan)


def encode(suffix, *frames):
    return text_format(suffix).encode([row for frame in frames for row in rows_of(frame)]).decode()


def _number(text: str) -> float | None:
    return float(text) if text else None


def values_in(path) -> list[list[object]]:
    """The values of a table, read without facereject."""
    if path.suffix == ".csv":
        with open(path, encoding="utf-8", newline="") as file:
            header, *lines = csv.reader(file)
        assert tuple(header) == COLUMNS
        return [
            [line[0], *map(_number, line[1:12]), {"true": True, "false": False}[line[12]], *line[13:15]]
            + [*map(_number, line[15:18]), line[18], *map(_number, line[19:])]
            for line in lines
        ]
    if path.suffix == ".jsonl":
        lines = path.read_bytes().decode().split("\n")[:-1]
        return [list(json.loads(line, parse_constant=pytest.fail).values()) for line in lines]
    if path.suffix == ".parquet":
        return [list(row.values()) for row in pyarrow.parquet.read_table(path).to_pylist()]
    with sqlite3.connect(path) as database:
        return [list(row) for row in database.execute(f"SELECT {', '.join(COLUMNS)} FROM faces")]


def test_columns_are_those_promised():
    head = "source frame time_s face track x y width height detector_score uncertainty expected_error"
    head += " accepted reason cause yaw pitch roll detector typicality error_low error_high"
    points = [f"{name}_{i}" for name in ("x", "y", "e") for i in range(68)]
    assert list(COLUMNS) == [*head.split(), *points]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_values_are_read_back(tmp_path, suffix):
    path, frames = tmp_path / f"t.{suffix}", sample_frames()
    write_table(path, frames)
    assert os.listdir(tmp_path) == [path.name]
    assert values_in(path) == expected_rows(frames)
    found = list(read_table(str(path)))
    assert expected_rows(found) == expected_rows(frames)
    assert [frame.problem for frame in found] == [frame.problem for frame in frames]
    assert [frame.index for frame in found] == [frame.index for frame in frames]
    for before, after in zip(frames, found, strict=True):
        assert len(before.faces) == len(after.faces)
        for one, other in zip(before.faces, after.faces, strict=True):
            np.testing.assert_allclose(one.landmarks, other.landmarks, rtol=0, atol=5.001e-4)
            np.testing.assert_allclose(one.box, other.box, rtol=0, atol=5.001e-4)
            assert (one.pose, one.cause, one.track) == (other.pose, other.cause, other.track)
            assert one.detector == other.detector
            shown = [[each.typicality, *each.error_interval] for each in (one, other)]
            np.testing.assert_allclose(*shown, atol=1e-4)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_tables_without_the_last_columns_are_read(tmp_path, suffix):
    """Tables of earlier versions do not say who found a face, nor how typical it is."""
    path, frames = tmp_path / f"t.{suffix}", sample_frames()
    write_table(path, frames)
    if suffix == "csv":
        lines = [line.split(",") for line in path.read_text().splitlines()]
        path.write_text("".join(",".join([*cells[:18], *cells[22:]]) + "\n" for cells in lines))
    elif suffix == "jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row, name in itertools.product(rows, LATE_COLUMNS):
            del row[name]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif suffix == "parquet":
        table = pyarrow.parquet.read_table(path)
        pyarrow.parquet.write_table(table.drop_columns(list(LATE_COLUMNS)), path)
    else:
        with sqlite3.connect(path) as database:
            for name in LATE_COLUMNS:
                database.execute(f"ALTER TABLE faces DROP COLUMN {name}")
    found = list(read_table(str(path)))
    assert [len(frame.faces) for frame in found] == [len(frame.faces) for frame in frames]
    assert {face.detector for frame in found for face in frame.faces} == {""}
    assert all(np.isnan([face.typicality, *face.error_interval]).all() for f in found for face in f.faces)


def test_numbers_have_no_more_digits_than_they_say():
    """Means of several runs would fill a row with digits that are noise."""
    points = np.arange(136.0).reshape(68, 2) + 1 / 3
    row = encode("csv", photo("p", [face(landmarks=points, box=Box(1 / 3, 2 / 3, 100.0, 100.0))]))
    cells = row.split(",")
    assert cells[5:9] == ["0.333", "0.667", "100", "100"]
    assert cells[22:24] == ["0.333", "2.333"]


@pytest.mark.filterwarnings("ignore:The 'float_precision'")
def test_csv_with_pandas(tmp_path):
    frames = sample_frames()
    write_table(tmp_path / "t.csv", frames)
    table = pandas.read_csv(tmp_path / "t.csv", float_precision="round_trip", keep_default_na=False)
    rows = expected_rows(frames)
    assert table["source"].tolist() == [row[0] for row in rows]
    assert table["accepted"].tolist() == [row[12] for row in rows]
    assert pandas.to_numeric(table["x_67"]).tolist()[-2] == round(frames[-2].faces[0].landmarks[67, 0], 3)


def test_parquet_types(tmp_path):
    write_table(tmp_path / "t.parquet", sample_frames())
    schema = pyarrow.parquet.read_schema(tmp_path / "t.parquet")
    kinds = {name: str(schema.field(name).type) for name in ("source", "frame", "track", "accepted", "y_3")}
    assert list(kinds.values()) == ["string", "int64", "int64", "bool", "double"]


def test_faces_queried_with_sql(tmp_path):
    write_table(tmp_path / "t.sqlite", sample_frames())
    with sqlite3.connect(tmp_path / "t.sqlite") as database:
        query = "SELECT source, count(*), sum(accepted) FROM faces WHERE face IS NOT NULL GROUP BY source"
        assert sorted(database.execute(query)) == [("n", 1, 0), ("video.mp4", 3, 1)]


def test_text_is_neat():
    points = np.arange(136.0).reshape(68, 2)
    plain = Face(Box(1.0, 2.5, 3.0, 4.0), 0.5, points, -1.0, 3.0, True)
    line = encode(".csv", photo("a.jpg", [plain]))
    assert line.startswith("a.jpg,0,,0,,1,2.5,3,4,0.5,-1,3,true,,,,,,,,,,0,2,4,")
    assert line.endswith(",133,135" + 68 * "," + "\n")
    more = Face(
        *list(vars(plain).values())[:6],
        cause="dark",
        landmark_errors=np.full(68, 2.5),
        pose=Pose(-12.5, 3.0, 0.25),
        detector="yunet",
    )
    line = encode(".csv", photo("a.jpg", [more]))
    assert line.startswith("a.jpg,0,,0,,1,2.5,3,4,0.5,-1,3,true,,dark,-12.5,3,0.25,yunet,,,,0,2,4,")
    assert line.endswith(",133,135" + 68 * ",2.5" + "\n")
    assert encode(".jsonl", photo("a.jpg", [plain])).count("\n") == 1


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.floats())
@settings(max_examples=60, deadline=None)
def test_any_name_and_number(name, number):
    text = encode(".csv", photo(name, [face(number, accepted=False)]))
    (line,) = csv.reader(io.StringIO(text, newline=""))
    assert name_of_cell(line[0]) == name
    assert line[10] == "" if not math.isfinite(number) else float(line[10]) == number


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_empty_table(tmp_path, suffix):
    with Store(tmp_path / f"t.{suffix}"):
        pass
    assert list(read_table(str(tmp_path / f"t.{suffix}"))) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_frames_with_several_faces(tmp_path, suffix):
    two = [face(0.1, track=3), face(0.2, track=7)]
    frames = [
        photo("v", two, index=0, time_s=0.0),
        photo("v", two[:1], index=1, time_s=0.1),
        photo("v", index=2, time_s=0.2),
        photo("v", two[1:], index=3, time_s=0.3),
        photo("v", problem="failed: out of memory"),
        # another file whose name looks the same
        photo("v", two),
        photo("v", two),
    ]
    write_table(tmp_path / f"t.{suffix}", frames)
    found = list(read_table(str(tmp_path / f"t.{suffix}")))
    assert [[each.track for each in frame.faces] for frame in found] == [
        [3, 7],
        [3],
        [],
        [7],
        [],
        [3, 7],
        [3, 7],
    ]
    assert [frame.index for frame in found] == [0, 1, 2, 3, -1, 0, 0]


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (face(), ""),
        (face(accepted=False), "uncertain"),
        (face(np.inf, accepted=False), "no_score"),
        (face(np.inf, NOTHING, accepted=False), "no_landmarks"),
    ],
)
def test_reason_of_a_face(found, reason):
    (row,) = expected_rows([photo("a.jpg", [found])])
    assert row[COLUMNS.index("reason")] == reason
    assert reason == "" or reason in REASONS


def test_what_is_not_known_is_empty_never_zero():
    without = Face(Box(1.0, 2.0, 3.0, 4.0), np.nan, NOTHING, np.inf, np.nan, False)
    for frame in [photo("a.jpg", [without]), photo("a.jpg"), photo("a.jpg", problem="unreadable: empty")]:
        (row,) = expected_rows([frame])
        values = dict(zip(COLUMNS, row, strict=True))
        assert {values[name] for name in COLUMNS if name[:2] in ("x_", "y_", "e_")} == {None}
        assert values["uncertainty"] is values["expected_error"] is values["detector_score"] is None
        assert values["accepted"] is False


def test_details_stay_on_one_line_and_valid():
    (row,) = rows_of(photo("a.jpg", problem="failed: first\n  second \ud800"))
    assert row[COLUMNS.index("reason")] == "failed: first second \\ud800"
    assert row[1] is None


def test_names_are_valid_utf8():
    assert display_name(os.fsdecode(b"caf\xe9.jpg")) == r"caf\xe9.jpg"
    assert display_name("café.jpg") == "café.jpg"


def test_a_frame_is_one_line():
    sure, unsure = face(-0.5), face(0.7, accepted=False)
    broken = face(math.inf, NOTHING, accepted=False)
    cases = [
        ([sure], "all", (True, "", -0.5, 1)),
        ([sure, unsure], "all", (False, "uncertain", 0.7, 2)),
        ([sure, unsure], "any", (True, "", 0.7, 2)),
        ([unsure, broken], "all", (False, "uncertain", None, 2)),
        ([], "all", (False, "no_face", None, 0)),
    ]
    for faces, rule, expected in cases:
        text = encode_frame(photo("cam", faces, index=3, time_s=0.5), rule).decode()
        assert text.endswith("\n")
        values = json.loads(text)
        assert (values["source"], values["frame"], values["time_s"]) == ("cam", 3, 0.5)
        assert (
            *(values[name] for name in ("accepted", "reason", "uncertainty")),
            len(values["faces"]),
        ) == expected
        assert all(tuple(each) == COLUMNS for each in values["faces"])


FORMULAS = ["=1+1.jpg", "+x", "-x", "@x", "\t=x", "./=x", "././@x", ".//=x", "./x", "a/=x", '=x,"y"', "\n=x"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_names_that_look_like_formulas_are_read_back_and_start_none(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    write_table(path, map(photo, FORMULAS))
    assert [frame.source for frame in read_table(str(path))] == FORMULAS
    if suffix == "csv":
        with open(path, newline="") as file:
            cells = [row["source"] for row in csv.DictReader(file)]
        assert not any(cell.startswith(tuple("=+-@\t\r\n")) for cell in cells)
        assert [os.path.normpath(cell) for cell in cells] == [os.path.normpath(name) for name in FORMULAS]
    with Store(path, resume=True) as store:
        assert all(store.has(name) for name in FORMULAS)


@pytest.mark.parametrize("n_points", [1, 5, 468, 1000])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_any_number_of_landmarks(tmp_path, suffix, n_points):
    path = tmp_path / f"t.{suffix}"
    found = face(landmarks=np.random.default_rng(0).normal(size=(n_points, 2)))
    if suffix == "sqlite" and n_points == 1000:
        with pytest.raises(TableError, match="landmarks"):
            Store(path, n_points=n_points)
        return
    write_table(path, [photo("a", [found])], n_points=n_points)
    assert points_in_table(str(path)) == n_points
    (frame,) = read_table(str(path))
    np.testing.assert_allclose(frame.faces[0].landmarks, found.landmarks, rtol=0, atol=5.001e-4)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_tables(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    write_table(path, sample_frames())
    data = path.read_bytes()
    for content in (b"", b"a,b\n1,2\n", data[: len(data) // 2], data[: len(data) - 100]):
        path.write_bytes(content)
        if content or suffix in ("parquet", "sqlite", "csv"):
            with pytest.raises(TableFormatError):
                list(read_table(str(path)))


@pytest.mark.parametrize(
    "values", [{"frame": 1e400}, {"frame": "x"}, {"x_0": "x"}, {"source": 3}, {"face": []}]
)
def test_values_of_other_kinds(tmp_path, values):
    path = tmp_path / "t.jsonl"
    row = json.loads(encode(".jsonl", photo("a", [face()]))) | values
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(TableFormatError):
        list(read_table(str(path)))


def test_a_view_is_not_read(tmp_path):
    names = ", ".join(f"1 AS {name}" for name in COLUMNS)
    with sqlite3.connect(tmp_path / "t.sqlite") as database:
        database.execute(f"CREATE VIEW faces AS SELECT {names}")
    with pytest.raises(TableFormatError):
        list(read_table(str(tmp_path / "t.sqlite")))


def test_no_rows_are_no_frames():
    assert list(frames_of([])) == []


def test_columns_that_are_missing_are_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("source,frame,time_s,face,uncertainty,accepted\na.jpg,0,,0,1.0,true\n")
    with pytest.raises(TableFormatError, match=r"lacks track, x, .*, x_0"):
        list(read_table(str(path)))
