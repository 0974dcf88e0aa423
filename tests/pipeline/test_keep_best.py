"""The best of a batch: the amount that was asked for, in every format, and after an interruption anywhere."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from bright_faces import BrightFaces, gray_photo
from scoring import score

from facereject.faces.face import Box
from facereject.outputs import SortedFiles, Table
from facereject.outputs.base import Output
from facereject.pipeline import OptionError, Running, score_files
from facereject.pipeline.store import Store, threshold_of_best
from facereject.tables.errors import SettingsError

# brighter is more certain; all of them are accepted by the target of the stub
LEVELS = [130, 240, 150, 200, 170, 180]


@pytest.fixture
def photos(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("photos")
    for level in LEVELS:
        gray_photo(f"photos/{level}.png", level)
    gray_photo("photos/none.png", 0)
    Path("photos/broken.png").write_bytes(b"")
    return "photos"


def _best(number):
    return {f"photos/{level}.png" for level in sorted(LEVELS)[-number:]}


def _accepted(path):
    if path.endswith(".csv"):
        with open(path, newline="") as file:
            rows = [row | {"accepted": row["accepted"] == "true"} for row in csv.DictReader(file)]
    elif path.endswith(".jsonl"):
        rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    else:
        rows = pyarrow.parquet.read_table(path).to_pylist()
    assert len(rows) == len(LEVELS) + 2
    assert all((row["reason"] == "") == row["accepted"] for row in rows)
    assert {row["source"]: row["reason"].split(":")[0] for row in rows}["photos/none.png"] == "no_face"
    return {row["source"] for row in rows if row["accepted"]}


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(("amount", "number"), [(2, 2), (0.5, 3), (0.2, 2), (1.0, 6), (99, 6)])
def test_the_amount_that_was_asked_for(photos, suffix, amount, number):
    summary = score_files(photos, f"t.{suffix}", rejector=BrightFaces(), keep_best=amount)
    assert _accepted(f"t.{suffix}") == _best(number)
    assert (summary.accepted_faces, summary.total.accepted_frames, summary.faces) == (number, number, 6)
    assert (summary.inputs, summary.failed, summary.total.no_face) == (8, 1, 1)
    assert sorted(os.listdir()) == ["photos", f"t.{suffix}", f"t.{suffix}.run"]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_all_other_columns_stay_as_they_are(photos, suffix):
    score_files(photos, f"plain.{suffix}", rejector=BrightFaces())
    score_files(photos, f"best.{suffix}", rejector=BrightFaces(), keep_best=1.0)
    # everything is accepted by the target as well
    if suffix == "parquet":
        assert pyarrow.parquet.read_table("best.parquet").equals(pyarrow.parquet.read_table("plain.parquet"))
    else:
        assert Path(f"best.{suffix}").read_bytes() == Path(f"plain.{suffix}").read_bytes()


def test_files_rows_and_streams_follow_the_decisions(photos):
    seen, stream = [], io.BytesIO()

    class Seen(Output):
        def write(self, frame):
            seen.append(frame)

    outputs = [Table(stream), SortedFiles("good", "bad"), Seen()]
    score_files(photos, outputs, rejector=BrightFaces(), keep_best=2)
    assert {f"photos/{name}" for name in os.listdir("good")} == _best(2)
    assert len(os.listdir("bad")) == 5
    assert {frame.source for frame in seen if frame.accepted()} == _best(2)
    assert all(face.landmarks.shape == (68, 2) for frame in seen for face in frame.faces)
    Path("t.csv").write_bytes(stream.getvalue())
    assert _accepted("t.csv") == _best(2)


@pytest.mark.parametrize("moment", ["scoring", "deciding", "placing"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_an_interruption_anywhere_loses_nothing(photos, monkeypatch, moment, suffix):
    calls = []

    def dies(*arguments, **named):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments, **named)

    place, name = {
        "scoring": (BrightFaces, "__call__"),
        "deciding": (Store, "decide"),
        "placing": (SortedFiles, "_place"),
    }[moment]
    real = getattr(place, name)
    if moment == "deciding":
        calls += [None, None]
    options = {"rejector": BrightFaces(), "accepted": "good", "rejected": "bad", "mode": "move"}
    with monkeypatch.context() as patch:
        patch.setattr(place, name, dies)
        with pytest.raises(KeyboardInterrupt):
            score(photos, f"t.{suffix}", **options, keep_best=0.5)
    assert f"t.{suffix}.partial" in os.listdir()
    n_files = sum(len(files) for _, _, files in os.walk("."))
    assert n_files - sum(name.startswith("t.") for name in os.listdir()) == 8
    score(photos, f"t.{suffix}", **options, keep_best=0.5, resume=True)
    assert _accepted(f"t.{suffix}") == _best(3)
    assert {f"photos/{name}" for name in os.listdir("good")} == _best(3)
    assert len(os.listdir("bad")) == 4
    assert os.listdir("photos") == ["broken.png"]
    assert sorted(os.listdir()) == ["bad", "good", "photos", f"t.{suffix}", f"t.{suffix}.run"]


def test_another_amount_for_a_finished_table(photos):
    def never(image):
        raise AssertionError("the faces have been scored before")

    score(photos, "t.csv", rejector=BrightFaces(), keep_best=2)
    scored = type("Scored", (BrightFaces,), {"__call__": never})()
    summary = score(photos, "t.csv", rejector=scored, keep_best=4, resume=True)
    assert _accepted("t.csv") == _best(4)
    assert summary.accepted_faces == 4


@pytest.mark.parametrize("amount", [0, -1, 0.0, 1.5, math.nan, True])
def test_wrong_amounts(photos, amount):
    with pytest.raises(OptionError, match="keep_best"):
        score(photos, rejector=BrightFaces(), keep_best=amount)


def test_the_threshold_against_sorting():
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=200), 1)
    for amount in (1, 7, 200, 0.07, 0.5, 1.0):
        accepted = values <= threshold_of_best(values, amount)
        wanted = amount if isinstance(amount, int) else round(amount * 200)
        # ties with the last one, and nothing else, come on top
        assert accepted.sum() >= wanted
        assert (values < np.sort(values)[wanted - 1]).sum() < wanted
        assert values[accepted].max() == np.sort(values)[wanted - 1]
    assert threshold_of_best([], 3) == -math.inf


def _dies_at(number, patch):
    calls, real = [], SortedFiles._place

    def dies(self, *arguments):
        calls.append(arguments)
        if len(calls) == number:
            raise KeyboardInterrupt
        return real(self, *arguments)

    patch.setattr(SortedFiles, "_place", dies)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_changed_file_is_scored_again_among_the_others(photos, suffix):
    table = f"t.{suffix}"
    score(photos, table, rejector=BrightFaces(), keep_best=2)
    # the best one becomes the worst one, and under another spelling nothing stands twice
    gray_photo("photos/240.png", 131)
    summary = score(f"./{photos}", table, rejector=BrightFaces(), keep_best=2, resume=True)
    names = {name.removeprefix("./") for name in _accepted(table)}
    assert names == {"photos/200.png", "photos/180.png"}
    assert (summary.inputs, summary.faces, summary.accepted_faces, summary.failed) == (8, 6, 2, 1)


def test_a_failed_input_that_is_tried_again_takes_part(photos):
    options = {"rejector": BrightFaces(), "keep_best": 2, "resume": True}
    score(photos, "t.csv", **options)
    stamp = os.stat("photos/broken.png")
    gray_photo("photos/broken.png", 250)
    # neither size nor time of change tell
    with open("photos/broken.png", "rb+") as file:
        file.truncate(max(stamp.st_size, os.path.getsize("photos/broken.png")))
    summary = score(photos, "t.csv", **options, retry_failed=True)
    assert _accepted("t.csv") == {"photos/240.png", "photos/broken.png"}
    assert (summary.inputs, summary.failed) == (8, 0)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_an_interruption_behind_rows_that_were_replaced(photos, monkeypatch, suffix):
    table = f"t.{suffix}"
    options = {"rejector": BrightFaces(), "keep_best": 3, "accepted": "good", "resume": True}
    score(photos, table, **{**options, "accepted": "before"})
    gray_photo("photos/150.png", 245)
    with monkeypatch.context() as patch:
        _dies_at(2, patch)
        with pytest.raises(KeyboardInterrupt):
            score(photos, table, **options)
    score(photos, table, **options)
    expected = {"photos/150.png", "photos/240.png", "photos/200.png"}
    assert _accepted(table) == expected
    assert {f"photos/{name}" for name in os.listdir("good")} == expected


def test_a_table_of_another_kind_of_target(photos):
    score(photos, "t.csv", rejector=BrightFaces())
    score(photos, "t.csv", rejector=BrightFaces(), keep_best=2, resume=True)
    assert _accepted("t.csv") == _best(2)
    # the decisions of the batch are not those of the target
    with pytest.raises(SettingsError, match="target: the best 2 of the batch then"):
        score(photos, "t.csv", rejector=BrightFaces(), resume=True)
    assert _accepted("t.csv") == _best(2)
    score(photos, "t.csv", rejector=BrightFaces())
    assert len(_accepted("t.csv")) == len(LEVELS)


def test_resuming_from_another_folder(photos, monkeypatch):
    options = {"rejector": BrightFaces(), "keep_best": 2, "mode": "move"}
    folders = {name: os.path.abspath(name) for name in ("accepted", "rejected")}
    table = os.path.abspath("t.csv")
    with monkeypatch.context() as patch:
        _dies_at(4, patch)
        with pytest.raises(KeyboardInterrupt):
            score(photos, table, **options, **folders)
    os.mkdir("elsewhere")
    monkeypatch.chdir("elsewhere")
    score("../photos", table, **options, **folders, resume=True)
    assert {f"photos/{name}" for name in os.listdir("../accepted")} == _best(2)
    assert len(os.listdir("../rejected")) == 5


def test_names_that_look_alike_have_decisions_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [os.fsdecode(b"n\xff.png"), "n\\xff.png"]
    for name, level in zip(names, (140, 240), strict=True):
        gray_photo(name, level)
    score(names, "t.csv", rejector=BrightFaces(), keep_best=1, accepted="good", rejected="bad")
    assert os.listdir("good") == names[1:]
    assert os.listdir("bad") == names[:1]


def test_a_table_of_others_is_not_replaced_by_the_best(photos):
    Path("t.csv").write_text("name,phone\nAda,1\n")
    with pytest.raises(OptionError, match="not made by facereject"):
        score(photos, "t.csv", rejector=BrightFaces(), keep_best=2)
    score(photos, "t.csv", rejector=BrightFaces(), keep_best=2, overwrite=True)
    assert _accepted("t.csv") == _best(2)


def test_progress_claims_no_decisions(photos):
    seen = []
    score(photos, rejector=BrightFaces(), keep_best=2, progress=seen.append)
    assert (seen[-1].done, seen[-1].faces) == (8, 6)
    assert {state.accepted for state in seen} == {None}


class TurnedFaces(BrightFaces):
    """The brightest pictures show a head that is turned too far."""

    def __call__(self, image):
        faces = super().__call__(image)
        far = float(image.mean()) > 190
        return [dataclasses.replace(face, accepted=False, reason="turned") if far else face for face in faces]


@pytest.mark.parametrize(("amount", "number"), [(2, 2), (0.5, 2), (1.0, 4)])
def test_a_head_beyond_the_limits_is_never_among_the_best(photos, amount, number):
    summary = score(photos, "t.csv", rejector=TurnedFaces(), keep_best=amount)
    within = sorted(level for level in LEVELS if level <= 190)
    assert _accepted("t.csv") == {f"photos/{level}.png" for level in within[-number:]}
    assert (summary.accepted_faces, summary.faces) == (number, 6)


class ManyFaces(BrightFaces):
    """Three faces in a bright photo: one as bright as the photo, two darker ones, the last the largest."""

    def __call__(self, image):
        faces = super().__call__(image)
        return [
            dataclasses.replace(face, uncertainty=face.uncertainty + more, box=Box(0.0, 0.0, size, size))
            for face in faces
            for more, size in ((0, 5.0), (100, 2.0), (30, 9.0))
        ]


@pytest.mark.parametrize("rule", ["all", "any", "largest"])
@pytest.mark.parametrize(("amount", "number"), [(2, 2), (0.5, 3), (1.0, 6), (99, 6)])
def test_photos_are_counted_by_the_face_that_decides(photos, rule, amount, number):
    summary = score_files(
        photos,
        ["t.csv", SortedFiles(accepted="good")],
        rejector=ManyFaces(),
        keep_best_photos=amount,
        frame_rule=rule,
    )
    assert {f"photos/{name}" for name in os.listdir("good")} == _best(number)
    assert summary.total.accepted_frames == number
    with open("t.csv", newline="") as file:
        accepted = {float(row["uncertainty"]) for row in csv.DictReader(file) if row["accepted"] == "true"}
    worst = -sorted(LEVELS)[-number] + {"all": 100, "any": 0, "largest": 30}[rule]
    assert max(accepted) == worst


def test_faces_and_photos_exclude_each_other(photos):
    with pytest.raises(OptionError, match="exclude each other"):
        score_files(photos, "t.csv", rejector=BrightFaces(), keep_best=2, keep_best_photos=2)
    with pytest.raises(OptionError, match="number of photos"):
        score_files(photos, "t.csv", rejector=BrightFaces(), keep_best_photos=1.5)


def test_another_number_of_photos_for_a_finished_table(photos):
    score_files(photos, "t.csv", rejector=BrightFaces(), keep_best=4)
    summary = score_files(
        photos, "t.csv", rejector=BrightFaces(), keep_best_photos=1, running=Running(resume=True)
    )
    assert summary.accepted_faces == 1
    assert _accepted("t.csv") == _best(1)
