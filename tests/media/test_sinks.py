"""Sinks: numbers and names come back as they were, a table appears whole or not at all."""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import os
import subprocess
import sys

import numpy as np
import pandas
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facereject.faces.geometry import Box
from facereject.media import table_sink
from facereject.media.formats import encode_csv, encode_jsonl, read_csv, read_jsonl
from facereject.media.sinks import (
    NullSink,
    SettingsError,
    StreamSink,
    TableError,
    TableSink,
    UnfinishedTableError,
)
from facereject.media.summary import Tally
from facereject.media.table import COLUMNS, Row, display_name

SUFFIXES = ("csv", "jsonl", "parquet")
ODD_NAMES = (
    "plain.jpg",
    'comma, "quote".jpg',
    "line\nend\r.jpg",
    " space ",
    "ä☃.jpg",
    display_name(os.fsdecode(b"\xff.jpg")),
)


def _rows() -> list[Row]:
    rng = np.random.default_rng(0)
    rows = [Row(name, 0, reason="no_face") for name in ODD_NAMES]
    rows.append(Row("broken.jpg", reason="unreadable: not an image, it says"))
    for track in range(3):
        box = Box(*(rng.random(4) * 500))
        scores = (float(rng.normal()), 1e-300, 5e22)
        points = rng.normal(size=(68, 2)) * 300 if track else np.rint(rng.normal(size=(68, 2)) * 300)
        rows.append(
            Row("film.mp4", track, track / 29.97, 0, track, box, *scores, track == 1, "uncertain", points)
        )
    # numpy's own floats must not show as such; what is not finite is missing
    rows.append(Row("n", 1, np.float64(0.1), 0, 0, Box(1.0, 2.0, 3.0, 4.0), math.inf, math.nan, -math.inf))
    return rows


def _expected(row: Row) -> list[object]:
    return [None if isinstance(v, float) and not math.isfinite(v) else v for v in row.values()]


def _write(path, rows, **options) -> None:
    with TableSink(path, **options) as sink:
        for row in rows:
            sink.write([row])
            sink.end_input(row.source, Tally(1))


def _die(sink, finished, unfinished=()) -> None:
    """Write some inputs, called by their numbers, and rows of one more; then leave by an error."""
    with sink:
        for number, row in enumerate(finished):
            sink.write([row])
            sink.end_input(str(number), Tally(1, no_face=1))
        sink.write(unfinished)
        raise ZeroDivisionError


def _number(text: str) -> float | None:
    return float(text) if text else None


def _csv_values(path) -> list[list[object]]:
    with open(path, encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    assert tuple(header) == COLUMNS
    return [
        [line[0], *map(_number, line[1:12]), {"true": True, "false": False}[line[12]], line[13]]
        + [_number(text) for text in line[14:]]
        for line in lines
    ]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_values_come_back(tmp_path, suffix):
    path, rows = tmp_path / f"t.{suffix}", _rows()
    _write(path, rows)
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
    rows = _rows()
    _write(tmp_path / "t.csv", rows)
    frame = pandas.read_csv(tmp_path / "t.csv", float_precision="round_trip", keep_default_na=False)
    assert frame["source"].tolist() == [row.source for row in rows]
    assert frame["accepted"].tolist() == [row.accepted for row in rows]
    shown = pandas.to_numeric(frame["x_67"]).tolist()[-2]
    assert rows[-2].landmarks is not None
    assert shown == rows[-2].landmarks[67, 0]


def test_parquet_types(tmp_path):
    _write(tmp_path / "t.parquet", _rows())
    schema = pyarrow.parquet.read_schema(tmp_path / "t.parquet")
    kinds = {name: str(schema.field(name).type) for name in ("source", "frame", "track", "accepted", "y_3")}
    assert kinds == {
        "source": "string",
        "frame": "int64",
        "track": "int64",
        "accepted": "bool",
        "y_3": "double",
    }


def test_text_is_neat():
    points = np.arange(136.0).reshape(68, 2)
    row = Row("a.jpg", 0, None, 0, None, Box(1.0, 2.5, 3.0, 4.0), 0.5, -1.0, 3.0, True, "", points)
    line = encode_csv([row]).decode()
    assert line.startswith("a.jpg,0,,0,,1,2.5,3,4,0.5,-1,3,true,,0,2,4,")
    assert line.endswith(",133,135\n")
    assert encode_jsonl([row]).count(b"\n") == 1


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.floats())
@settings(max_examples=60, deadline=None)
def test_any_name_and_number(name, number):
    (line,) = csv.reader(io.StringIO(encode_csv([Row(name, uncertainty=number)]).decode(), newline=""))
    assert line[0] == name
    assert line[10] == "" if not math.isfinite(number) else float(line[10]) == number


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_empty_table(tmp_path, suffix):
    with TableSink(tmp_path / f"t.{suffix}"):
        pass
    if suffix == "parquet":
        assert pyarrow.parquet.read_table(tmp_path / "t.parquet").num_rows == 0
    else:
        assert not list((read_csv if suffix == "csv" else read_jsonl)(str(tmp_path / f"t.{suffix}")))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_left_by_an_error_then_continued(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    path.write_text("the old table")
    rows = _rows()
    with pytest.raises(ZeroDivisionError):
        # the rows of the input that was not finished must vanish
        _die(TableSink(path, settings={"model": "a"}), rows[:1], rows[1:4])
    assert path.read_text() == "the old table"
    with pytest.raises(UnfinishedTableError, match="1 inputs"):
        TableSink(path, settings={"model": "a"})
    with pytest.raises(SettingsError, match="model: a then, b now; size: none then, 3 now"):
        TableSink(path, settings={"model": "b", "size": "3"}, resume=True)
    with TableSink(path, settings={"model": "a"}, resume=True) as sink:
        assert sink.has("0")
        assert not sink.has("1")
        assert sink.summary.inputs == 1
        assert sink.summary.total.no_face == 1
        sink.write(rows[1:3])
        sink.end_input("1", Tally(1))
    whole = tmp_path / f"whole.{suffix}"
    _write(whole, rows[:3])
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, whole.name])
    if suffix == "parquet":
        assert pyarrow.parquet.read_table(path).equals(pyarrow.parquet.read_table(whole))
    else:
        assert path.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_finished_table_is_completed(tmp_path, suffix):
    path, rows = tmp_path / f"t.{suffix}", _rows()
    _write(path, rows[:7])
    before = path.stat()
    with TableSink(path, resume=True) as sink:
        assert sink.summary.inputs == 7
        assert sink.summary.failures == [("broken.jpg", "unreadable: not an image, it says")]
        assert sink.has(os.fsdecode(b"\xff.jpg"))
    # nothing was missing: not even written anew
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    with TableSink(path, resume=True) as sink:
        sink.write(rows[7:])
        sink.end_input("film.mp4", Tally(3))
    whole = tmp_path / f"whole.{suffix}"
    _write(whole, rows)
    if suffix == "parquet":
        assert pyarrow.parquet.read_table(path).equals(pyarrow.parquet.read_table(whole))
    else:
        assert path.read_bytes() == whole.read_bytes()
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, whole.name])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_foreign_files_are_not_completed(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match=r"not a|no row"):
        TableSink(path, resume=True)
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_text() == "a,b\n1,2\n"


def test_overwrite_starts_again(tmp_path):
    path = tmp_path / "t.csv"
    with pytest.raises(ZeroDivisionError):
        _die(TableSink(path), _rows()[:1])
    _write(path, _rows()[1:2], settings={"other": "settings"}, overwrite=True)
    assert [row.source for row in read_csv(str(path))] == [ODD_NAMES[1]]


def test_nothing_is_left_if_nothing_was_written(tmp_path):
    with pytest.raises(ZeroDivisionError), TableSink(tmp_path / "t.csv"):
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


def test_partial_without_journal(tmp_path):
    (tmp_path / "t.csv.partial").write_bytes(b"x" * 5000)
    with pytest.raises(TableError, match="journal is missing"):
        TableSink(tmp_path / "t.csv", resume=True)
    assert os.listdir(tmp_path) == ["t.csv.partial"]


def test_paths_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "d.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    cases = {
        "t.txt": "ends in .csv, .jsonl or .parquet",
        "no/t.csv": "there is no folder",
        "d.csv": "this is a folder",
        "pipe.csv": "not a plain file",
    }
    for name, words in cases.items():
        with pytest.raises(TableError, match=words):
            TableSink(tmp_path / name)
    monkeypatch.setattr(table_sink.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(TableError, match=r"pip install 'facereject\[parquet\]'"):
        TableSink(tmp_path / "t.parquet")


def test_permission_denied(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("facereject.media.journal.os.open", refuse)
    with pytest.raises(
        TableError, match=r"t\.csv\.partial\.journal: cannot be written \(Permission denied\)"
    ):
        TableSink(tmp_path / "t.csv")


def test_disk_full_keeps_what_is_finished(tmp_path, monkeypatch):
    path, rows = tmp_path / "t.csv", _rows()
    path.write_text("the old table")

    def full(file, data):
        # as a disk does: some bytes still fit
        file.write(data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    def write_until_full(sink):
        with sink, monkeypatch.context() as patch:
            sink.write(rows[:1])
            sink.end_input("a", Tally(1))
            patch.setattr(table_sink, "write_all", full)
            sink.write(rows[1:2])

    sink = TableSink(path)
    with pytest.raises(TableError, match=r"No space left on device"):
        write_until_full(sink)
    assert path.read_text() == "the old table"
    with TableSink(path, resume=True) as sink:
        assert sink.has("a")
        sink.write(rows[1:2])
        sink.end_input("b", Tally(1))
    assert [row.source for row in read_csv(str(path))] == list(ODD_NAMES[:2])


def test_disk_full_at_the_end(tmp_path, monkeypatch):
    def full(source, target):
        with open(target, "wb") as file:
            file.write(b"PAR1")
        raise OSError(errno.ENOSPC, "No space left on device")

    path, rows = tmp_path / "t.parquet", _rows()
    monkeypatch.setattr(table_sink, "csv_to_parquet", full)
    with pytest.raises(TableError, match="No space left"):
        _write(path, rows)
    monkeypatch.undo()
    assert sorted(os.listdir(tmp_path)) == ["t.parquet.partial", "t.parquet.partial.journal"]
    with TableSink(path, resume=True) as sink:
        assert sink.has("plain.jpg")
    assert pyarrow.parquet.read_table(path).num_rows == len(rows)


def test_links_are_kept(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "t.csv").symlink_to(tmp_path / "real" / "t.csv")
    _write(tmp_path / "t.csv", _rows())
    assert (tmp_path / "t.csv").is_symlink()
    assert (tmp_path / "real" / "t.csv").stat().st_size > 1000


def test_inputs_are_handed_on_once_they_are_safe(tmp_path):
    handed: list[str] = []
    path = tmp_path / "t.csv"
    with TableSink(path, after_input=lambda name, counts: handed.append(name)) as sink:
        sink.write(_rows()[:1])
        sink.end_input("a", Tally(1))
        assert handed == []
        sink.commit()
        assert handed == ["a"]
        sink.write(_rows()[:1])
        sink.end_input("b", Tally(1))
    assert handed == ["a", "b"]


def test_inputs_of_a_run_that_died_are_handed_on_again(tmp_path):
    handed: list[str] = []
    with pytest.raises(ZeroDivisionError):
        _die(TableSink(tmp_path / "t.csv"), _rows()[:2], _rows()[:1])
    with TableSink(tmp_path / "t.csv", resume=True, after_input=lambda name, counts: handed.append(name)):
        assert handed == ["0", "1"]


def test_a_second_run_is_refused(tmp_path):
    # not this package but what it does, as importing it takes its time
    holder = (
        "import fcntl, os, sys\n"
        "file = open(sys.argv[1], 'w')\n"
        "fcntl.lockf(file, fcntl.LOCK_EX)\n"
        "print(f'{{\"pid\": {os.getpid()}}}', file=file, flush=True)\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()"
    )
    command = [sys.executable, "-c", holder, str(tmp_path / "t.csv.partial.journal")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        for options in ({}, {"resume": True}, {"overwrite": True}):
            with pytest.raises(TableError, match=rf"another run \(process {other.pid}\) is writing"):
                TableSink(tmp_path / "t.csv", **options)
        other.communicate("")
    _write(tmp_path / "t.csv", _rows())


def test_stream():
    stream = io.BytesIO()
    with StreamSink(stream) as sink:
        sink.write(_rows()[:2])
        sink.end_input("a", Tally(1, failure="unreadable: x"))
    header, *lines = csv.reader(io.StringIO(stream.getvalue().decode(), newline=""))
    assert tuple(header) == COLUMNS
    assert len(lines) == 2
    assert sink.summary.failed == 1


def test_stream_that_cannot_be_written():
    class Stream(io.BytesIO):
        def flush(self):
            raise self.error

    stream = Stream()
    for stream.error, expected in (
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), BrokenPipeError),
        (OSError(errno.ENOSPC, "No space left on device"), TableError),
    ):
        with pytest.raises(expected):
            StreamSink(stream).__enter__()


def test_null_sink_counts():
    handed = []
    with NullSink(lambda path, counts: handed.append(path)) as sink:
        sink.write(_rows())
        sink.end_input("a", Tally(2, faces=3))
    assert handed == ["a"]
    assert sink.summary.total == Tally(2, faces=3)
    assert not sink.has("a")
