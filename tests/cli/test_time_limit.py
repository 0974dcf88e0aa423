"""An input that takes for ever is given up without being asked to, wherever that can happen."""

from __future__ import annotations

import csv

import pytest
from bright_faces import gray_photo
from video_files import write_video

from facereject._cli._choices import EngineChoice
from facereject.parallel import WorkerEngine
from facereject.parallel.base import SerialEngine
from facereject.pipeline import running


def engine_for(*paths, timeout=None):
    return EngineChoice().make(1, timeout, paths)


@pytest.fixture
def files(photos, work):
    write_video(work / "video.avi", 2)
    with open(work / "long.ppm", "wb") as file:
        file.write(b"P6\n#")
        file.truncate(4 << 30)
    (work / "list.txt").write_text("photos/1.png")


@pytest.mark.parametrize(
    "path", ["photos", "photos/*.png", "@list.txt", "video.avi", "long.ppm", "nowhere.png"]
)
def test_one_worker_is_a_process_that_can_be_stopped(files, path):
    engine = engine_for("photos/1.png", path)
    assert isinstance(engine, WorkerEngine)
    assert (engine.workers, engine.timeout) == (1, running.GENEROUS_SECONDS)


def test_a_few_images_need_no_process(files):
    assert isinstance(engine_for("photos/1.png", "photos/2.png"), SerialEngine)
    assert isinstance(engine_for(*["photos/1.png"] * 11), WorkerEngine)
    assert engine_for("photos/1.png", timeout=9.0).timeout == 9.0


def test_the_limit_holds_by_default(stub, work, run, monkeypatch):
    (work / "photos").mkdir()
    gray_photo(work / "photos" / "slow.png", 99)
    monkeypatch.setenv("STUB_DELAY", "600")
    monkeypatch.setattr(running, "GENEROUS_SECONDS", 0.5)
    assert run("score", "photos", "-o", "t.csv").exit_code == 1
    with open("t.csv", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["reason"] == "failed: nothing came of it for 0.5 seconds, the time limit"
