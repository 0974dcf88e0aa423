"""An unfinished table has a name that can be guessed: a link planted there is never written through."""

from __future__ import annotations

import os

import pytest
from sample_frames import SUFFIXES, photo, write_and_die

from facereject.outputs.summary import Counts
from facereject.pipeline.store import Store
from facereject.tables.errors import TableError


@pytest.fixture
def precious(folder):
    (folder / "precious").write_text("precious")
    return folder / "precious"


def plant(kind, precious, name):
    (os.symlink if kind == "symlink" else os.link)(precious, name)


KINDS = pytest.mark.parametrize("kind", ["symlink", "hard link"])
NAMES = pytest.mark.parametrize("name", ["t.csv.partial", "t.csv.partial-journal"])


@KINDS
@NAMES
def test_a_planted_link_is_refused(precious, kind, name):
    plant(kind, precious, name)
    for options in ({}, {"resume": True}):
        with pytest.raises(TableError, match="link"):
            Store("t.csv", **options)
    assert precious.read_text() == "precious"
    assert sorted(os.listdir()) == ["precious", name]


@KINDS
@NAMES
def test_a_planted_link_is_not_followed_by_overwriting(precious, kind, name):
    plant(kind, precious, name)
    with Store("t.csv", overwrite=True) as store:
        store.write([photo("a.jpg")])
        store.end_input("a.jpg", Counts(1))
    assert precious.read_text() == "precious"
    assert sorted(os.listdir()) == ["precious", "t.csv"]


@KINDS
def test_resuming_never_writes_through_a_link(precious, kind):
    with pytest.raises(ZeroDivisionError):
        write_and_die(Store("t.csv"), [photo("a.jpg")], [photo("a.jpg")])
    os.rename("t.csv.partial", "moved")
    before = (precious.parent / "moved").read_bytes()
    plant(kind, precious.parent / "moved", "t.csv.partial")
    with pytest.raises(TableError, match="link"):
        Store("t.csv", resume=True)
    assert (precious.parent / "moved").read_bytes() == before


@KINDS
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_link_in_place_of_the_record_stays(precious, kind, suffix):
    plant(kind, precious, f"t.{suffix}.run")
    with Store(f"t.{suffix}", settings={"model": "a"}) as store:
        store.write([photo("a.jpg")])
        store.end_input("a.jpg", Counts(1))
    assert precious.read_text() == "precious"
    with Store(f"t.{suffix}", settings={"model": "a"}, resume=True) as store:
        assert store.has("a.jpg")


def test_a_link_planted_during_the_run(precious):
    with Store("t.csv", settings={"model": "a"}) as store:
        store.write([photo("a.jpg")])
        store.end_input("a.jpg", Counts(1))
        store.commit()
        os.unlink("t.csv.partial-journal")
        os.symlink(precious, "t.csv.partial-journal")
        store.write([photo("b.jpg")])
        store.end_input("b.jpg", Counts(1))
        store.commit()
    assert precious.read_text() == "precious"
    assert sorted(os.listdir()) == ["precious", "t.csv", "t.csv.run"]
