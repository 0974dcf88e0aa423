"""Tables in files: they appear whole or not at all, and survive any interruption."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pyarrow.parquet
import pytest
from sample_tables import ODD_NAMES, SUFFIXES, sample_rows, write_and_die, write_table

from facereject.outputs.summary import Tally
from facereject.pipeline._store import table_sink
from facereject.pipeline._store.journal import Entry, Journal
from facereject.pipeline._store.sinks import SettingsError, TableError, TableSink, UnfinishedTableError
from facereject.tables import table_path
from facereject.tables.formats import read_csv


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_left_by_an_error_then_continued(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    rows = sample_rows()
    write_table(path, rows[:2])
    old = path.read_bytes()
    with pytest.raises(ZeroDivisionError):
        # the rows of the input that was not finished must vanish
        write_and_die(TableSink(path, settings={"model": "a"}), rows[:1], rows[1:4])
    assert path.read_bytes() == old
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
    write_table(whole, rows[:3])
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, f"{path.name}.journal", whole.name])
    if suffix == "parquet":
        assert pyarrow.parquet.read_table(path).equals(pyarrow.parquet.read_table(whole))
    else:
        assert path.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_finished_table_is_completed(tmp_path, suffix):
    path, rows = tmp_path / f"t.{suffix}", sample_rows()
    write_table(path, rows[:7])
    before = path.stat()
    with TableSink(path, resume=True) as sink:
        assert sink.summary.inputs == 7
        assert sink.summary.failures == [("broken.jpg", "unreadable: not an image, it says")]
        assert sink.has(os.fsdecode(b"\xff.jpg"))
    # nothing was missing: not even written again
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    with TableSink(path, resume=True) as sink:
        sink.write(rows[7:])
        sink.end_input("video.mp4", Tally(3))
    whole = tmp_path / f"whole.{suffix}"
    write_table(whole, rows)
    if suffix == "parquet":
        assert pyarrow.parquet.read_table(path).equals(pyarrow.parquet.read_table(whole))
    else:
        assert path.read_bytes() == whole.read_bytes()
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, whole.name])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_died_while_a_finished_table_was_completed(tmp_path, suffix):
    path, rows = tmp_path / f"t.{suffix}", sample_rows()
    write_table(path, rows[:3])
    finished = path.read_bytes()
    with pytest.raises(ZeroDivisionError):
        write_and_die(TableSink(path, resume=True), rows[3:5], rows[5:6])
    assert path.read_bytes() == finished
    with TableSink(path, resume=True) as sink:
        assert sink.summary.inputs == 5
        assert [sink.has(name) for name in (*ODD_NAMES[:3], "0", "1")] == [True] * 5
        sink.write(rows[5:])
        sink.end_input("x", Tally(1))
    whole = tmp_path / f"whole.{suffix}"
    write_table(whole, rows)
    if suffix == "parquet":
        assert pyarrow.parquet.read_table(path).equals(pyarrow.parquet.read_table(whole))
    else:
        assert path.read_bytes() == whole.read_bytes()


def test_a_journal_that_was_left_behind(tmp_path):
    path = tmp_path / "t.csv"
    write_table(path, sample_rows()[:2])
    # as if the run had died between the renaming and the deletion
    for resume in (False, True):
        journal = Journal(f"{path}.partial.journal")
        journal.begin({"old": "settings"})
        journal.add(Entry("gone", 5, Tally(1)))
        journal.commit()
        journal.close()
        with TableSink(path, resume=resume) as sink:
            assert sink.summary.inputs == (2 if resume else 0)
            if not resume:
                sink.write(sample_rows()[:2])
                sink.end_input("a", Tally(1))
        assert os.listdir(tmp_path) == ["t.csv"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_foreign_files_are_not_completed(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match="not made by facereject"):
        TableSink(path, resume=True)
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_text() == "a,b\n1,2\n"


def test_overwrite_starts_again(tmp_path):
    path = tmp_path / "t.csv"
    with pytest.raises(ZeroDivisionError):
        write_and_die(TableSink(path), sample_rows()[:1])
    write_table(path, sample_rows()[1:2], settings={"other": "settings"}, overwrite=True)
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
        "pipe.csv": "a pipe",
    }
    for name, words in cases.items():
        with pytest.raises(TableError, match=words):
            TableSink(tmp_path / name)
    monkeypatch.setattr(table_path.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(TableError, match=r"pip install 'facereject\[parquet\]'"):
        TableSink(tmp_path / "t.parquet")


def test_permission_denied(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("facereject.pipeline._store.journal.os.open", refuse)
    with pytest.raises(
        TableError, match=r"t\.csv\.partial\.journal: cannot be written \(Permission denied\)"
    ):
        TableSink(tmp_path / "t.csv")


def test_disk_full_keeps_what_is_finished(tmp_path, monkeypatch):
    path, rows = tmp_path / "t.csv", sample_rows()
    write_table(path, rows[:2])
    old = path.read_bytes()

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
    assert path.read_bytes() == old
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

    path, rows = tmp_path / "t.parquet", sample_rows()
    monkeypatch.setattr(table_sink, "csv_to_parquet", full)
    with pytest.raises(TableError, match="No space left"):
        write_table(path, rows)
    monkeypatch.undo()
    assert sorted(os.listdir(tmp_path)) == ["t.parquet.partial", "t.parquet.partial.journal"]
    with TableSink(path, resume=True) as sink:
        assert sink.has("plain.jpg")
    assert pyarrow.parquet.read_table(path).num_rows == len(rows)


def test_links_are_kept(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "t.csv").symlink_to(tmp_path / "real" / "t.csv")
    write_table(tmp_path / "t.csv", sample_rows())
    assert (tmp_path / "t.csv").is_symlink()
    assert (tmp_path / "real" / "t.csv").stat().st_size > 1000


def test_inputs_are_handed_on_once_they_are_safe(tmp_path):
    handed: list[str] = []
    path = tmp_path / "t.csv"
    with TableSink(path, after_input=lambda name, counts: handed.append(name)) as sink:
        sink.write(sample_rows()[:1])
        sink.end_input("a", Tally(1))
        assert handed == []
        sink.commit()
        assert handed == ["a"]
        sink.write(sample_rows()[:1])
        sink.end_input("b", Tally(1))
    assert handed == ["a", "b"]


def test_inputs_of_a_run_that_died_are_handed_on_again(tmp_path):
    handed: list[str] = []
    with pytest.raises(ZeroDivisionError):
        write_and_die(TableSink(tmp_path / "t.csv"), sample_rows()[:2], sample_rows()[:1])
    with TableSink(tmp_path / "t.csv", resume=True, after_input=lambda name, counts: handed.append(name)):
        assert handed == ["0", "1"]


def test_a_second_run_is_refused(tmp_path):
    # not this package but what it does, as importing it takes its time
    holder = (
        "import fcntl, os, sys\n"
        "file = open(sys.argv[1], 'w')\n"
        "fcntl.lockf(file, fcntl.LOCK_EX)\n"
        "print(f'00000000 {{\"pid\": {os.getpid()}}}', file=file, flush=True)\n"
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
    write_table(tmp_path / "t.csv", sample_rows())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_only_tables_are_replaced(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    path.write_text("name,telephone\nAda,1843\n")
    with pytest.raises(TableError, match="not made by facereject"):
        TableSink(path)
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_text() == "name,telephone\nAda,1843\n"
    write_table(path, sample_rows(), overwrite=True)
    # now it is one
    write_table(path, sample_rows()[:2])
    assert TableSink(path, resume=True).summary.inputs == 2


def test_a_file_saved_during_the_run_is_not_replaced(tmp_path):
    path = tmp_path / "t.csv"
    sink = TableSink(path)
    sink.write(sample_rows()[:1])
    sink.end_input("a", Tally(1))
    path.write_text("a letter")
    with pytest.raises(TableError, match="not made by facereject"):
        sink.__exit__(None, None, None)
    assert path.read_text() == "a letter"
    path.unlink()
    with TableSink(path, resume=True) as sink:
        assert sink.has("a")
