"""Resuming goes by the file itself, not by its name; a damaged journal is noticed."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet
import pytest
from sample_tables import SUFFIXES

from facereject._files import display_name
from facereject.outputs.summary import Tally
from facereject.pipeline._store.journal import Journal
from facereject.pipeline._store.sinks import SettingsError, TableError, TableSink
from facereject.tables.formats import read_table
from facereject.tables.rows import Row

SETTINGS = {"model": "a"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """p/ with three files, in the current folder."""
    monkeypatch.chdir(tmp_path)
    os.mkdir("p")
    for name in "abc":
        write_file(f"p/{name}", name)


def write_file(path, text):
    Path(path).write_text(text)
    # long before the run, as is usual
    os.utime(path, (1e9, 1e9))


def run(table, paths, *, die=False, **options):
    """A run whose rows say what is in the files; returns the inputs that were worked on."""
    sink = TableSink(table, settings=SETTINGS, **options)
    done = []
    with sink:
        for path in paths:
            if not sink.has(path):
                rows = [
                    Row(display_name(path), i, reason=f"failed: {Path(path).read_text()}") for i in (0, 1)
                ]
                sink.write(rows)
                sink.end_input(path, Tally(2, failure=rows[0].reason))
                done.append(path)
        if die:
            raise ZeroDivisionError
    return done


def rows_of(table):
    return [(row.source, row.frame, row.reason.removeprefix("failed: ")) for row in read_table(table)]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("die", [False, True])
def test_another_spelling_is_the_same_input(suffix, die, monkeypatch):
    table = os.path.abspath(f"t.{suffix}")
    os.symlink("p", "q")
    if die:
        with pytest.raises(ZeroDivisionError):
            run(table, ["p/a", "p/b"], die=True)
    else:
        run(table, ["p/a", "p/b"])
    assert run(table, ["./p/a", "q/b", os.path.abspath("p/c")], resume=True) == [os.path.abspath("p/c")]
    monkeypatch.chdir("p")
    assert run(table, ["a", "b", "../q/c"], resume=True) == []
    assert len(rows_of(table)) == 6


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_without_its_record(suffix):
    run(f"t.{suffix}", ["p/a", "p/b"])
    os.unlink(f"t.{suffix}.journal")
    assert run(f"t.{suffix}", ["./p/a", "p/b", "p/c"], resume=True) == ["p/c"]
    assert len(rows_of(f"t.{suffix}")) == 6


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("die", [False, True])
def test_a_changed_file_is_worked_on_again(suffix, die):
    table = f"t.{suffix}"
    if die:
        with pytest.raises(ZeroDivisionError):
            run(table, ["p/a", "p/b"], die=True)
    else:
        run(table, ["p/a", "p/b"])
    write_file("p/a", "other")
    # a run that dies behind the new rows changes nothing in the end
    with pytest.raises(ZeroDivisionError):
        run(table, ["./p/a"], resume=True, die=True)
    sink = TableSink(table, settings=SETTINGS, resume=True)
    assert (sink.summary.inputs, sink.summary.failed, sink.summary.frames) == (2, 2, 4)
    assert sorted(reason for _, reason in sink.summary.failures) == ["failed: b", "failed: other"]
    sink.__exit__(ZeroDivisionError, None, None)
    assert run(table, ["p/a", "p/b", "p/c"], resume=True) == ["p/c"]
    expected = [("p/b", "b"), ("./p/a", "other"), ("p/c", "c")]
    assert rows_of(table) == [(name, i, text) for name, text in expected for i in (0, 1)]
    write_file("p/b", "new")
    assert run(table, ["p/a", "p/b", "p/c"], resume=True) == ["p/b"]
    expected = [*expected[1:], ("p/b", "new")]
    assert rows_of(table) == [(name, i, text) for name, text in expected for i in (0, 1)]


def test_a_file_that_changes_during_the_run():
    sink = TableSink("t.csv", settings=SETTINGS)
    with sink:
        sink.write([Row("p/a", 0)])
        # whether it was read before or after that, nobody knows
        Path("p/a").write_text("new")
        sink.end_input("p/a", Tally(1))
    assert run("t.csv", ["p/a"], resume=True) == ["p/a"]
    assert rows_of("t.csv") == [("p/a", 0, "new"), ("p/a", 1, "new")]


@pytest.mark.parametrize("die", [False, True])
def test_names_that_look_alike(die):
    raw, literal = os.fsdecode(b"n\xff"), "n\\xff"
    assert display_name(raw) == literal
    write_file(raw, "raw")
    write_file(literal, "literal")
    if die:
        with pytest.raises(ZeroDivisionError):
            run("t.csv", [raw], die=True)
    else:
        run("t.csv", [raw])
    assert run("t.csv", [raw, literal], resume=True) == [literal]
    assert [text for _, _, text in rows_of("t.csv")] == ["raw", "raw", "literal", "literal"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_settings_stay_with_a_finished_table(suffix):
    run(f"t.{suffix}", ["p/a"])
    before = Path(f"t.{suffix}").read_bytes()
    with pytest.raises(SettingsError, match="model: a then, b now"):
        TableSink(f"t.{suffix}", settings={"model": "b"}, resume=True)
    assert Path(f"t.{suffix}").read_bytes() == before
    assert sorted(os.listdir()) == ["p", f"t.{suffix}", f"t.{suffix}.journal"]


def test_a_foreign_file_in_place_of_the_record_stays():
    Path("t.csv.journal").write_text("dear diary")
    run("t.csv", ["p/a"])
    assert Path("t.csv.journal").read_text() == "dear diary"
    assert run("t.csv", ["p/a", "p/b"], resume=True) == ["p/b"]


def test_a_record_of_another_table_is_not_believed():
    run("t.csv", ["p/a"])
    run("u.csv", ["p/b"])
    os.replace("u.csv", "t.csv")
    assert run("t.csv", ["p/a", "p/b"], resume=True) == ["p/a"]


def test_flipped_bits_in_a_journal():
    names = ["p/a", "p/b", "p/c"]
    with pytest.raises(ZeroDivisionError):
        run("t.csv", names, die=True)
    journal, partial = Path("t.csv.partial.journal"), Path("t.csv.partial")
    lines, table = journal.read_bytes(), partial.read_bytes()
    expected = [(name, i, name[-1]) for name in names for i in (0, 1)]
    for bit in range(0, 8 * len(lines), 5):
        damaged = bytearray(lines)
        damaged[bit // 8] ^= 1 << bit % 8
        journal.write_bytes(damaged)
        partial.write_bytes(table)
        if bit // 8 <= lines.index(b"\n"):
            with pytest.raises(TableError, match="damaged"):
                run("t.csv", names, resume=True)
            continue
        run("t.csv", names, resume=True)
        assert rows_of("t.csv") == expected
        os.unlink("t.csv")
        os.unlink("t.csv.journal")


def test_a_journal_of_an_earlier_version_is_not_understood():
    Path("j").write_text('{"journal": 1, "settings": {}}\n')
    journal = Journal("j")
    assert journal.settings is None
    journal.close()


def test_parquet_rows_keep_their_numbers_when_others_are_replaced():
    run("t.parquet", ["p/a", "p/b"])
    before = pyarrow.parquet.read_table("t.parquet").to_pylist()
    write_file("p/a", "other")
    run("t.parquet", ["p/a", "p/b"], resume=True)
    assert pyarrow.parquet.read_table("t.parquet").to_pylist()[:2] == before[2:]


def failing_run(table, failures, **options):
    """A run in which inputs fail as told; returns those that were worked on."""
    done = []
    with TableSink(table, settings=SETTINGS, **options) as sink:
        for path, reason in failures.items():
            if not sink.has(path):
                sink.write([Row(path, reason=reason)])
                sink.end_input(path, Tally(failure=reason))
                done.append(path)
    return done


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_has_cost_a_worker_is_tried_once_more(suffix):
    table = f"t.{suffix}"
    died = "failed: its worker process died (signal 9)"
    failures = {"p/a": died, "p/b": "failed: KeyError", "p/c": "unreadable: no image"}
    failing_run(table, failures)
    assert failing_run(table, failures, resume=True) == ["p/a"]
    assert failing_run(table, failures, resume=True) == []
    assert sorted(row.source for row in read_table(table)) == ["p/a", "p/b", "p/c"]
    # another file under that name has a chance of its own
    write_file("p/a", "smaller")
    assert failing_run(table, failures, resume=True) == ["p/a"]
    assert failing_run(table, failures, resume=True) == ["p/a"]
    assert failing_run(table, failures, resume=True) == []
    assert failing_run(table, failures, resume=True, retry_failed=True) == ["p/a", "p/b", "p/c"]
    assert failing_run(table, dict.fromkeys(failures, ""), resume=True, retry_failed=True) == [*failures]
    assert failing_run(table, failures, resume=True, retry_failed=True) == []
    assert [row.reason for row in read_table(table)] == ["", "", ""]
