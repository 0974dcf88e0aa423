"""Files that facereject did not create, and inputs, are not replaced."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas
import pytest
from bright_faces import BrightFaces, gray_photo
from scoring import score

from facereject.outputs._video.writer import VideoWriter
from facereject.pipeline import OptionError
from facereject.tables.errors import TableError
from facereject.tables.reading import points_in_table

REJECTOR = BrightFaces()


@pytest.fixture(autouse=True)
def photo(tmp_path, monkeypatch):
    """a.png in the current folder."""
    monkeypatch.chdir(tmp_path)
    gray_photo(tmp_path / "a.png", 200)


def make_video(path):
    with VideoWriter(path, 10, (64, 48)) as video:
        video.write(np.full((48, 64, 3), 200, dtype=np.uint8))


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("output", "contacts.csv"),
        ("output", "contacts.jsonl"),
        ("timeline", "contacts.csv"),
        ("timeline", "t.json"),
        ("save", "contacts.mp4"),
    ],
)
def test_a_foreign_file_stays(option, name):
    make_video("v.mkv")
    # the stub scores no videos
    options = {option: name, "annotate": True} if option == "save" else {option: name, "rejector": REJECTOR}
    for content in ("name,telephone\nAda,1843\n", '{"name": "Ada"}\n', '[\n{"name": "Ada"}\n]\n', "[1]"):
        Path(name).write_text(content)
        with pytest.raises(OptionError, match="`overwrite`"):
            score("v.mkv", **options)
        assert Path(name).read_text() == content
    for overwrite in (True, False):
        # once it is replaced it may be so again
        score("v.mkv", overwrite=overwrite, **options)
        assert Path(name).read_bytes() != content.encode()


@pytest.mark.parametrize(
    ("name", "read", "write"),
    [
        ("t.csv", pandas.read_csv, lambda table: table.to_csv("t.csv", index=False)),
        (
            "t.jsonl",
            lambda name: pandas.read_json(name, lines=True),
            lambda table: table.to_json("t.jsonl", lines=True, orient="records"),
        ),
        ("t.parquet", pandas.read_parquet, lambda table: table.to_parquet("t.parquet")),
    ],
)
def test_a_table_of_a_version_with_other_columns_may_be_replaced(name, read, write):
    score("a.png", name, rejector=REJECTOR)
    write(read(name).drop(columns=["detector_score", "reason"]))
    with pytest.raises(TableError, match="columns"):
        score("a.png", name, rejector=REJECTOR, resume=True)
    score("a.png", name, rejector=REJECTOR)
    assert points_in_table(name) == 68


def test_an_empty_timeline_is_one():
    for name in ("t.json", "t.csv"):
        for _ in range(2):
            score("a.png", rejector=REJECTOR, timeline=name)


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_input_stays(overwrite):
    Path("list.csv").write_text("a.png\n")
    make_video("v.mp4")
    os.link("list.csv", "same.csv")
    for paths, option, name in (
        ("@list.csv", "output", "list.csv"),
        ("@list.csv", "output", "same.csv"),
        ("@list.csv", "timeline", "./list.csv"),
        (["a.png", "list.csv"], "output", "list.csv"),
        (".", "save", "v.mp4"),
        ("*.mp4", "save", os.path.abspath("v.mp4")),
    ):
        before = Path(name).read_bytes()
        with pytest.raises(OptionError, match="this is an input"):
            score(paths, rejector=REJECTOR, overwrite=overwrite, **{option: name})
        assert Path(name).read_bytes() == before


def test_a_saved_video_does_not_replace_another_input():
    make_video("v.mp4")
    os.mkdir("out")
    make_video("out/v.mp4")
    before = Path("out/v.mp4").read_bytes()
    with pytest.raises(OptionError, match="this is an input"):
        score(["out/v.mp4", "v.mp4"], rejector=REJECTOR, save="out", overwrite=True)
    assert Path("out/v.mp4").read_bytes() == before


def test_two_outputs_of_one_name():
    with pytest.raises(OptionError, match="two outputs have this name"):
        score("a.png", "t.csv", rejector=REJECTOR, timeline="./t.csv")
