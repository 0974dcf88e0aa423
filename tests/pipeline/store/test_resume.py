"""Resuming recognises the file itself, not its name; a damaged store is noticed."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet
import pytest
from sample_frames import SUFFIXES, photo

from facereject._files import display_name
from facereject.outputs.summary import Counts
from facereject.pipeline.store import Store
from facereject.tables.errors import SettingsError, TableError
from facereject.tables.reading import read_table

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
    """A run whose frames say what is in the files; returns the inputs that were worked on."""
    done = []
    with Store(table, settings=SETTINGS, **options) as store:
        for path in paths:
            if not store.has(path):
                text = f"failed: {Path(path).read_text()}"
                frame = photo(display_name(path), problem=text)
                store.write([frame._replace(index=i) for i in (0, 1)])
                store.end_input(path, Counts(2, failure=text))
                done.append(path)
        if die:
            raise ZeroDivisionError
    return done


def rows_of(table):
    return [
        (frame.source, frame.index, frame.problem.removeprefix("failed: ")) for frame in read_table(table)
    ]


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
    os.unlink(f"t.{suffix}.run")
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
    store = Store(table, settings=SETTINGS, resume=True)
    assert (store.summary.inputs, store.summary.failed, store.summary.frames) == (2, 2, 4)
    assert sorted(reason for _, reason in store.summary.failures) == ["failed: b", "failed: other"]
    store.close()
    assert run(table, ["p/a", "p/b", "p/c"], resume=True) == ["p/c"]
    expected = [("p/b", "b"), ("./p/a", "other"), ("p/c", "c")]
    assert rows_of(table) == [(name, i, text) for name, text in expected for i in (0, 1)]
    write_file("p/b", "new")
    assert run(table, ["p/a", "p/b", "p/c"], resume=True) == ["p/b"]
    expected = [*expected[1:], ("p/b", "new")]
    assert rows_of(table) == [(name, i, text) for name, text in expected for i in (0, 1)]


def test_a_file_that_changes_during_the_run():
    with Store("t.csv", settings=SETTINGS) as store:
        store.write([photo("p/a")])
        # whether it was read before or after that, nobody knows
        Path("p/a").write_text("new")
        store.end_input("p/a", Counts(1))
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
        Store(f"t.{suffix}", settings={"model": "b"}, resume=True)
    assert Path(f"t.{suffix}").read_bytes() == before
    assert sorted(os.listdir()) == ["p", f"t.{suffix}", f"t.{suffix}.run"]


def test_another_file_in_place_of_the_record_stays():
    Path("t.csv.run").write_text("dear diary")
    run("t.csv", ["p/a"])
    assert Path("t.csv.run").read_text() == "dear diary"
    assert run("t.csv", ["p/a", "p/b"], resume=True) == ["p/b"]


def test_a_record_of_another_table_is_not_believed():
    run("t.csv", ["p/a"])
    run("u.csv", ["p/b"])
    os.replace("u.csv", "t.csv")
    assert run("t.csv", ["p/a", "p/b"], resume=True) == ["p/a"]


def test_a_damaged_record_is_ignored():
    names = ["p/a", "p/b"]
    run("t.csv", names)
    record = Path("t.csv.run").read_bytes()
    expected = rows_of("t.csv")
    for position in range(0, len(record), 331):
        damaged = bytearray(record)
        damaged[position] ^= 1 << position % 8
        Path("t.csv.run").write_bytes(damaged)
        assert run("t.csv", names, resume=True) == []
        assert rows_of("t.csv") == expected


@pytest.mark.parametrize("overwrite", [False, True])
def test_damage_that_makes_the_message_of_sqlite_unreadable(overwrite):
    store = Store("t.csv")
    store.write([photo("p/a")])
    store.end_input("p/a", Counts())
    store.close()
    partial = Path("t.csv.partial")
    data = partial.read_bytes()
    partial.write_bytes(data.replace(b"PRIMARY KEY, path", b"PRIMARY KEY\xf4 path"))
    if overwrite:
        Store("t.csv", overwrite=True).close()
    else:
        with pytest.raises(TableError, match="damaged"):
            Store("t.csv", resume=True)


def test_flipped_bits_in_an_unfinished_table():
    names = ["p/a", "p/b", "p/c"]
    with pytest.raises(ZeroDivisionError):
        run("t.csv", names, die=True)
    partial = Path("t.csv.partial")
    whole = partial.read_bytes()
    expected = [(name, i, name[-1]) for name in names for i in (0, 1)]
    refused = []
    for position in range(0, len(whole), 331):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        partial.write_bytes(damaged)
        try:
            run("t.csv", names, resume=True)
        except TableError as error:
            refused.append(str(error))
            continue
        assert rows_of("t.csv") == expected
        os.unlink("t.csv")
        os.unlink("t.csv.run")
    assert refused
    assert all("t.csv.partial" in sentence for sentence in refused)


def test_parquet_rows_keep_their_numbers_when_others_are_replaced():
    run("t.parquet", ["p/a", "p/b"])
    before = pyarrow.parquet.read_table("t.parquet").to_pylist()
    write_file("p/a", "other")
    run("t.parquet", ["p/a", "p/b"], resume=True)
    assert pyarrow.parquet.read_table("t.parquet").to_pylist()[:2] == before[2:]


def failing_run(table, failures, **options):
    """A run in which inputs fail as told; returns those that were worked on."""
    done = []
    with Store(table, settings=SETTINGS, **options) as store:
        for path, reason in failures.items():
            if not store.has(path):
                store.write([photo(path, problem=reason)])
                store.end_input(path, Counts(failure=reason))
                done.append(path)
    return done


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_inputs_whose_worker_crashed_are_retried_once(suffix):
    table = f"t.{suffix}"
    died = "failed: its worker process died (signal 9)"
    failures = {"p/a": died, "p/b": "failed: KeyError", "p/c": "unreadable: no image"}
    failing_run(table, failures)
    assert failing_run(table, failures, resume=True) == ["p/a"]
    assert failing_run(table, failures, resume=True) == []
    assert sorted(frame.source for frame in read_table(table)) == ["p/a", "p/b", "p/c"]
    # another file under that name has a chance of its own
    write_file("p/a", "smaller")
    assert failing_run(table, failures, resume=True) == ["p/a"]
    assert failing_run(table, failures, resume=True) == ["p/a"]
    assert failing_run(table, failures, resume=True) == []
    assert failing_run(table, failures, resume=True, retry_failed=True) == ["p/a", "p/b", "p/c"]
    assert failing_run(table, dict.fromkeys(failures, ""), resume=True, retry_failed=True) == [*failures]
    assert failing_run(table, failures, resume=True, retry_failed=True) == []
    assert [frame.problem for frame in read_table(table)] == ["", "", ""]
