"""facereject.score_files: all that the commands do, from Python; what is wrong is a typed exception."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
from pathlib import Path

import pandas
import pyarrow.parquet
import pytest
import skimage.data
from bright_faces import NO_FACE, POISON, BrightFaces, gray_photo
from scoring import score

import facereject
from facereject import score_files, score_table
from facereject.outputs import Output, SavedVideo, SortedFiles, Table, Timeline, VideoWriter
from facereject.parallel import EngineError, WorkerEngine
from facereject.parallel.base import SerialEngine
from facereject.pipeline import Job, OptionError, Running, RunProgress
from facereject.pipeline.running import GENEROUS_SECONDS
from facereject.sources import InputError, inputs
from facereject.sources.video import open_video
from facereject.tables.columns import COLUMNS
from facereject.tables.errors import SettingsError, TableError, UnfinishedTableError

REJECTOR = BrightFaces()


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """photos/: bright 2.png and sub/2.png, dark 1.png, black 0.png; the folder above is the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos" / "sub").mkdir(parents=True)
    for name, level in (("2.png", 200), ("sub/2.png", 220), ("1.png", 50), ("0.png", NO_FACE)):
        gray_photo(tmp_path / "photos" / name, level)
    return tmp_path / "photos"


def sources(path):
    with open(path, newline="") as file:
        return [row["source"] for row in csv.DictReader(file)]


def interrupted_run(photos, output):
    """A run that ends after its second input."""

    def stop(state):
        if state.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_files("photos", output, rejector=REJECTOR, progress=stop)


def test_summary_without_a_table(photos):
    gray_photo(photos / "3.png", POISON)
    (photos / "4.jpg").write_text("no picture")
    summary = score_files("photos", rejector=REJECTOR)
    assert (summary.inputs, summary.faces, summary.accepted_faces, summary.failed) == (6, 3, 2, 2)
    assert [name for name, _ in summary.failures] == ["photos/3.png", "photos/4.jpg"]
    assert summary.total.no_face == 1
    assert summary.seconds > 0
    assert repr(summary).startswith(
        "Summary(6 inputs; 3 faces, 2 accepted (66.7%); 1 without a face; 2 failed; 0."
    )
    assert "photos/4.jpg" in summary._repr_html_()
    assert os.listdir() == ["photos"]


def test_every_format_says_the_same(photos):
    names = ("t.csv", "t.jsonl", "t.parquet", "t.sqlite")
    for name in names:
        score_files("photos", Path(name), rejector=REJECTOR)
    stream = io.BytesIO()
    score_files("photos", stream, rejector=REJECTOR)
    assert stream.getvalue() == Path("t.csv").read_bytes()
    lines = [json.loads(line) for line in Path("t.jsonl").read_text().splitlines()]
    parquet = pyarrow.parquet.read_table("t.parquet").to_pylist()
    assert lines == parquet
    with sqlite3.connect("t.sqlite") as database:
        assert [
            dict(zip(COLUMNS, row, strict=True)) for row in database.execute("SELECT * FROM faces")
        ] == lines
    assert [line["accepted"] for line in lines] == [False, False, True, True]
    with open("t.csv", newline="") as file:
        assert [row["reason"] for row in csv.DictReader(file)] == ["no_face", "uncertain", "", ""]
    assert sorted(os.listdir()) == sorted(["photos", *(n + e for n in names for e in ("", ".run"))])


@pytest.mark.parametrize(
    "paths",
    ["photos", Path("photos"), ["photos"], (path for path in [Path("photos/2.png"), "photos"]), b"photos"],
    ids=["str", "Path", "list", "iterator", "bytes"],
)
def test_paths_may_be_given_in_any_way(photos, paths):
    assert score_files(paths, rejector=REJECTOR).inputs == 4


def test_lists_and_patterns_are_strings_and_path_objects_are_files(photos):
    Path("list.txt").write_text("photos/1.png\n")
    gray_photo("@photo.png", 200)
    assert score_files("@list.txt", rejector=REJECTOR).accepted_faces == 0
    assert score_files(Path("@photo.png"), rejector=REJECTOR).accepted_faces == 1
    with pytest.raises(InputError, match=r"@photo\.png: names a list of files"):
        score_files("@photo.png", rejector=REJECTOR)
    assert score_files("photos/*.png", rejector=REJECTOR).inputs == 3


def test_an_output_of_your_own(photos):
    frames = []

    class Mine(Output):
        def write(self, frame):
            frames.append(frame)

    summary = score_files("photos", Mine(), rejector=REJECTOR)
    assert [frame.accepted() for frame in frames] == [False, False, True, True]
    assert summary.inputs == 4
    score_files("photos", [Mine(), "t.csv"], rejector=REJECTOR)
    assert len(frames) == 8
    assert len(sources("t.csv")) == 4


def test_interrupted_then_resumed(photos):
    score_files("photos", "whole.csv", rejector=REJECTOR)
    interrupted_run(photos, "t.csv")
    assert not Path("t.csv").exists()
    with pytest.raises(UnfinishedTableError, match="pass `resume` to continue it, or `overwrite`"):
        score_files("photos", "t.csv", rejector=REJECTOR)
    with pytest.raises(SettingsError, match=r"max_pixels.*use the same options, or pass `overwrite`"):
        score_files("photos", "t.csv", rejector=REJECTOR, running=Running(resume=True, max_pixels=1000))
    summary = score_files("photos", "t.csv", rejector=REJECTOR, running=Running(resume=True))
    assert (summary.inputs, summary.earlier.inputs) == (4, 2)
    assert Path("t.csv").read_bytes() == Path("whole.csv").read_bytes()
    again = score_files("photos", "t.csv", rejector=REJECTOR, running=Running(resume=True))
    assert (again.inputs, again.earlier.inputs) == (4, 4)


def test_interrupted_then_overwritten(photos):
    interrupted_run(photos, "t.csv")
    summary = score_files("photos", "t.csv", rejector=REJECTOR, running=Running(overwrite=True))
    assert (summary.inputs, summary.earlier) == (4, None)
    assert len(sources("t.csv")) == 4


def test_workers_and_engines_give_the_same_table(photos):
    score_files("photos", "one.csv", rejector=REJECTOR)
    for name, where in (
        ("two.csv", {"workers": 2}),
        ("own.csv", {"running": Running(engine=WorkerEngine(1))}),
        ("serial.csv", {"running": Running(engine=SerialEngine())}),
        ("elsewhere.csv", {"running": Running(engine=Elsewhere())}),
    ):
        summary = score_files("photos", name, rejector=REJECTOR, **where)
        assert summary.inputs == 4
        assert Path(name).read_bytes() == Path("one.csv").read_bytes()


class Elsewhere:
    """An engine whose workers have a current folder of their own."""

    def run(self, task, items):
        here = os.getcwd()
        os.chdir("/")
        try:
            yield from SerialEngine().run(task, list(items))
        finally:
            os.chdir(here)


def test_progress_counts_up(photos):
    (photos / "4.jpg").write_text("no picture")
    states = []
    score_files("photos", rejector=REJECTOR, progress=states.append)
    assert states[0] == RunProgress(0, 5, "inputs")
    assert [state.done for state in states] == [0, 1, 2, 3, 4, 5]
    assert states[-1] == RunProgress(5, 5, "inputs", faces=3, accepted=2, failed=1)


def test_what_is_logged(photos, caplog):
    caplog.set_level("DEBUG", logger="facereject")
    (photos / "broken.png").write_text("no image")
    score_files("photos", "t.csv", rejector=REJECTOR)
    text = caplog.text
    assert "settings: facereject: " in text
    assert "5 inputs to score by SerialEngine" in text
    assert "photos/broken.png: unreadable: " in text
    assert "table of 5 inputs written" in text


def test_inputs_are_listed_once(photos, monkeypatch):
    listed = []
    real = inputs.list_folder
    monkeypatch.setattr(inputs, "list_folder", lambda folder: listed.append(folder) or real(folder))
    monkeypatch.setattr("facereject.pipeline.plan._MAX_BYTES", 1)
    (photos / os.fsdecode(b"caf\xe9\n.png")).write_bytes((photos / "2.png").read_bytes())
    assert score_files(["photos", "photos/2.png"], "t.csv", rejector=REJECTOR).accepted_faces == 3
    assert listed == ["photos", "photos/sub"]


def test_no_room_for_the_names_of_many_inputs(photos, monkeypatch):
    def full(**options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("facereject.pipeline.plan._MAX_BYTES", 1)
    monkeypatch.setattr("facereject.pipeline.plan.tempfile.TemporaryFile", full)
    with pytest.raises(InputError, match=r"No space left on device\); set TMPDIR"):
        score_files("photos", "t.csv", rejector=REJECTOR)
    assert os.listdir() == ["photos"]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"paths": "phtos"}, InputError, "phtos"),
        ({"paths": []}, InputError, "no input"),
        ({"paths": ["photos", 3]}, OptionError, "`paths`"),
        ({"paths": 3}, OptionError, "`paths`"),
        ({"output": "t.txt"}, OptionError, r"`output` t\.txt"),
        ({"output": "no/t.csv"}, OptionError, "there is no folder no"),
        ({"output": 3}, OptionError, "int"),
        ({"output": io.StringIO()}, OptionError, "binary mode"),
        ({"resume": True}, OptionError, "`resume`"),
        ({"output": "t.csv", "resume": True, "overwrite": True}, OptionError, "exclude each other"),
        ({"workers": 0}, OptionError, "`workers`"),
        ({"workers": 2, "engine": SerialEngine()}, OptionError, "`workers` and `engine`"),
        ({"engine": "tcp://127.0.0.1:1"}, EngineError, r"tcp://127\.0\.0\.1:1"),
        ({"frame_rule": "most"}, OptionError, "`frame_rule`"),
        ({"detect_every": 0}, OptionError, "`detect_every`"),
        ({"smooth": float("nan")}, OptionError, "`smooth`"),
        ({"save": "v.txt"}, OptionError, r"v\.txt"),
        ({"save": "v.mp4"}, OptionError, "no video"),
        ({"save": "photos/out"}, OptionError, "apart from the inputs"),
        ({"timeline": "t.txt"}, OptionError, "t.txt"),
        ({"mode": "move"}, OptionError, "accepted"),
        ({"mode": "burn", "accepted": "a"}, OptionError, "mode"),
        ({"accepted": "x", "rejected": "x/y"}, OptionError, "overlap"),
        ({"accepted": "photos"}, (InputError, OptionError), "photos"),
        ({"accepted": "a", "video_share": 2}, OptionError, "video_share"),
        ({"keep_best": 0}, OptionError, "`keep_best`"),
    ],
)
def test_what_is_wrong_is_said_before_any_work(photos, options, error, words):
    with pytest.raises(error, match=words):
        score(options.pop("paths", "photos"), options.pop("output", None), rejector=REJECTOR, **options)
    assert os.listdir() == ["photos"]


def test_files_are_sorted(photos):
    summary = score_files("photos", ["t.csv", SortedFiles("good", "bad")], rejector=REJECTOR)
    assert (summary.placed.accepted, summary.placed.rejected, summary.placed.failed) == (2, 2, 0)
    assert sorted(path.name for path in Path("bad").rglob("*.png")) == ["0.png", "1.png"]
    Path("good/2.png").write_text("something else")
    summary = score_files("photos", ["t.csv", SortedFiles("good", "bad")], rejector=REJECTOR)
    assert summary.placed.failed == 1
    assert "1 file not placed" in repr(summary)


@pytest.fixture
def clips(photos):
    """videos/: a.mkv shows a face for five frames, then none; b.mkv shows none."""
    face = skimage.data.astronaut()[:240, 80:400]
    os.mkdir("videos")
    for name, images in (("a.mkv", [face] * 5 + [face * 0 + 90] * 5), ("b.mkv", [face * 0 + 90] * 2)):
        with VideoWriter(f"videos/{name}", 10, (320, 240)) as video:
            for image in images:
                video.write(image)
    return Path("videos")


def test_files_that_an_earlier_run_has_moved_are_not_missed(folder):
    (folder / "photos").mkdir()
    for level in (130, 240):
        gray_photo(f"photos/{level}.png", level)
    options = {"rejector": BrightFaces(), "mode": "move"}
    assert score("photos", "t.csv", accepted="good", **options).placed.accepted == 2
    gray_photo("photos/200.png", 200)
    placed = score("photos", "t.csv", accepted="better", resume=True, **options).placed
    assert (placed.accepted, placed.failed, os.listdir("better")) == (1, 0, ["200.png"])


def test_saved_video_and_timeline(clips):
    states = []
    # without a rejector: the one that is installed with the package
    summary = score_files(
        clips / "a.mkv", [SavedVideo("good.mp4"), Timeline("t.json")], progress=states.append
    )
    assert (summary.frames, summary.total.accepted_frames) == (10, 5)
    assert repr(summary).startswith("Summary(1 input; 10 frames, 5 accepted (50.0%); 5 faces")
    spans = json.loads(Path("t.json").read_text())
    assert [(span["first_frame"], span["last_frame"], span["accepted"]) for span in spans] == [
        (0, 4, True),
        (5, 9, False),
    ]
    with open_video("good.mp4") as video:
        assert sum(1 for _ in video) == 5
    assert (states[-1].done, states[-1].unit) == (10, "frames")
    with pytest.raises(OptionError, match="several videos"):
        score_files(clips, SavedVideo("all.mp4"))
    score_files(clips, SavedVideo("all", annotate=True))
    assert sorted(os.listdir("all")) == ["a.mkv", "b.mkv"]
    with pytest.raises(OptionError, match="this is an input"):
        score_files(clips / "b.mkv", SavedVideo(str(clips / "b.mkv")))


def test_a_job_can_be_reported_after_an_interruption(photos):
    job = Job(["photos"], [Table("t.csv")])
    assert not job.can_be_resumed

    def stop(state):
        if state.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.run(REJECTOR, progress=stop)
    assert job.summary.inputs == 2
    assert job.can_be_resumed


def test_a_table_that_cannot_be_written(photos):
    class Full(io.RawIOBase):
        def write(self, data):
            raise OSError(28, "No space left on device")

    with pytest.raises(TableError, match="No space left on device"):
        score_files("photos", Full(), rejector=REJECTOR)


def test_data_frame(photos):
    (photos / "4.jpg").write_text("no picture")
    table = score_table(REJECTOR, "photos")
    assert tuple(table.columns) == COLUMNS
    assert table["source"].tolist()[:2] == ["photos/0.png", "photos/1.png"]
    assert table["accepted"].tolist() == [False, False, True, False, True]
    assert table["accepted"].dtype == bool
    assert table["frame"].isna().tolist() == [False, False, False, True, False]
    assert table["track"].isna().all()
    assert table["x_0"].dtype == float
    assert table["reason"][3].startswith("unreadable: ")
    assert table["uncertainty"].isna().tolist() == [True, False, False, True, False]
    score_files("photos", "t.csv", rejector=REJECTOR)
    read = pandas.read_csv("t.csv", keep_default_na=False, na_values={name: [""] for name in COLUMNS[1:13]})
    assert (read["uncertainty"].dropna() == table["uncertainty"].dropna()).all()


def test_data_frame_without_pandas(photos, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        score_table(REJECTOR, "photos")


def test_it_is_what_the_package_offers():
    assert facereject.score_files is score_files
    assert facereject.score_table is score_table


def test_several_workers_have_a_time_limit():
    engine = Running(workers=2).make_engine()
    assert isinstance(engine, WorkerEngine)
    assert engine.timeout == GENEROUS_SECONDS


def test_an_input_that_takes_too_long_is_given_up(photos, monkeypatch):
    monkeypatch.setenv("STUB_DELAY", "60")
    summary = score("photos", rejector=BrightFaces(), timeout=0.5)
    assert summary.failed == summary.inputs > 0
    assert all("nothing came of it for 0.5 seconds" in reason for _, reason in summary.failures)


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("inf"), float("nan")])
def test_wrong_time_limits(photos, timeout):
    with pytest.raises(OptionError, match="`timeout`"):
        score("photos", rejector=BrightFaces(), timeout=timeout)
    with pytest.raises(OptionError, match="`timeout` and `engine`"):
        score("photos", rejector=BrightFaces(), timeout=1.0, engine=SerialEngine())
