"""The journal: only whole lines count, a table shorter than it says is believed, commits may be repeated."""

from __future__ import annotations

import json
import os
import pathlib

import pytest

from facereject.outputs.summary import Tally
from facereject.pipeline._store.journal import Entry, Journal

ENTRIES = [
    Entry("a.jpg", 100, Tally(1, 0, 2, 1, 0, 0)),
    Entry(os.fsdecode(b"\xff\n.jpg"), 250, Tally(0, failure="unreadable: x")),
    Entry("c.mp4", 900, Tally(30, 2, 31, 20, 1, 19)),
]


@pytest.fixture
def path(tmp_path):
    """A closed journal with three inputs."""
    name = str(tmp_path / "t.csv.partial.journal")
    journal = Journal(name)
    journal.begin({"model": "a"})
    for entry in ENTRIES:
        journal.add(entry)
        journal.commit()
    journal.close()
    return name


def test_reads_back(path):
    journal = Journal(path)
    assert journal.settings == {"model": "a"}
    assert journal.resume(2000) == 900
    assert list(journal.entries()) == ENTRIES
    journal.close()


def test_cut_at_every_byte(path):
    whole = pathlib.Path(path).read_bytes()
    ends = [whole.index(json.dumps(entry.path).encode()) for entry in ENTRIES]
    line_ends = [whole.index(b"\n", end) + 1 for end in ends]
    header = whole.index(b"\n") + 1
    for length in range(0, len(whole) + 1, 7):
        with open(path, "wb") as file:
            file.write(whole[:length])
        journal = Journal(path)
        if length < header:
            assert journal.settings is None
            journal.close()
            continue
        n_whole = sum(length >= end for end in line_ends)
        assert journal.resume(2000) == ([0] + [entry.offset for entry in ENTRIES])[n_whole]
        # what follows starts on a line of its own
        journal.add(Entry("new", 5000, Tally()))
        journal.commit()
        assert list(journal.entries()) == [*ENTRIES[:n_whole], Entry("new", 5000, Tally())]
        journal.close()


def test_table_shorter_than_the_journal_says(path):
    journal = Journal(path)
    assert journal.resume(899) == 250
    assert list(journal.entries()) == ENTRIES[:2]
    journal.close()


def test_interrupted_commit_is_repeated(path, monkeypatch):
    journal = Journal(path)
    journal.resume(2000)
    journal.add(Entry("d", 950, Tally()))
    write = journal._write

    def interrupt(data):
        write(data)
        raise KeyboardInterrupt

    monkeypatch.setattr(journal, "_write", interrupt)
    with pytest.raises(KeyboardInterrupt):
        journal.commit()
    monkeypatch.undo()
    journal.commit()
    assert [entry.path for entry in journal.entries()][-2:] == ["c.mp4", "d"]
    journal.close()


def test_foreign_file(tmp_path):
    for content in (b"", b"no json\n", b"[1]\n", b'{"journal": 99, "settings": {}}\n', b'{"journal": 1}\n'):
        (tmp_path / "j").write_bytes(content)
        journal = Journal(str(tmp_path / "j"))
        assert journal.settings is None
        journal.begin({"x": "y"})
        assert journal.settings == {"x": "y"}
        assert list(journal.entries()) == []
        journal.remove()
        assert not (tmp_path / "j").exists()
