"""An unfinished table has a name that can be guessed: a link planted there is never written through."""

from __future__ import annotations

import os

import pytest
from sample_tables import write_and_die

from facereject.outputs.summary import Tally
from facereject.pipeline._store.sinks import TableError, TableSink
from facereject.tables.rows import Row


@pytest.fixture
def precious(folder):
    (folder / "precious").write_text("precious")
    return folder / "precious"


def plant(kind, precious, name):
    (os.symlink if kind == "symlink" else os.link)(precious, name)


@pytest.mark.parametrize("kind", ["symlink", "hard link"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_planted_partial_is_not_followed(precious, kind, suffix):
    plant(kind, precious, f"t.{suffix}.partial")
    with TableSink(f"t.{suffix}", overwrite=True) as sink:
        sink.write([Row("a.jpg", 0, reason="no_face")])
        sink.end_input("a.jpg", Tally(1))
    assert precious.read_text() == "precious"
    assert sorted(os.listdir()) == ["precious", f"t.{suffix}"]


@pytest.mark.parametrize("kind", ["symlink", "hard link"])
def test_a_planted_journal_is_refused(precious, kind):
    plant(kind, precious, "t.csv.partial.journal")
    with pytest.raises(TableError, match="link"):
        TableSink("t.csv")
    assert precious.read_text() == "precious"


@pytest.mark.parametrize("kind", ["symlink", "hard link"])
def test_resuming_never_writes_through_a_link(precious, kind):
    rows = [Row("a.jpg", 0, reason="no_face")]
    with pytest.raises(ZeroDivisionError):
        write_and_die(TableSink("t.csv"), rows, rows)
    os.rename("t.csv.partial", "moved")
    before = (precious.parent / "moved").read_bytes()
    plant(kind, precious.parent / "moved", "t.csv.partial")
    with pytest.raises(TableError, match="link"):
        TableSink("t.csv", resume=True)
    assert (precious.parent / "moved").read_bytes() == before


def test_the_finished_table_of_a_resumed_run_is_copied_to_a_new_file(precious):
    with TableSink("t.csv") as sink:
        sink.write([Row("a.jpg", 0, reason="no_face")])
        sink.end_input("a.jpg", Tally(1))
    os.symlink(precious, "t.csv.partial")
    with TableSink("t.csv", resume=True, overwrite=False) as sink:
        sink.write([Row("b.jpg", 0, reason="no_face")])
        sink.end_input("b.jpg", Tally(1))
    assert precious.read_text() == "precious"
