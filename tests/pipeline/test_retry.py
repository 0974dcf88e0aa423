"""An input whose worker crashed is retried once when the run is resumed."""

from __future__ import annotations

import csv
import os
import signal
from dataclasses import dataclass

import pytest
import scoring
from bright_faces import BrightFaces, gray_photo

from facereject.parallel import WorkerEngine
from facereject.pipeline import OptionError


@dataclass(frozen=True)
class Deadly(BrightFaces):
    """Kills its process over dark pictures as long as the file `deadly` is there."""

    def __call__(self, image):
        if image.mean() < 50 and os.path.exists("deadly"):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(image)


def reasons():
    with open("t.csv", newline="") as file:
        return {row["source"]: row["reason"] for row in csv.DictReader(file)}


def test_a_killed_worker(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, level in (("dark.png", 20), ("light.png", 200)):
        gray_photo(name, level)
    (tmp_path / "broken.png").write_text("no picture")
    open("deadly", "w").close()

    def score(**options):
        summary = scoring.score("*.png", "t.csv", rejector=Deadly(), engine=WorkerEngine(1), **options)
        with open("t.csv") as file:
            assert len(file.readlines()) == 4
        return summary

    assert score().failed == 2
    assert reasons()["dark.png"].startswith("failed: its worker process died")
    assert score(resume=True).failed == 2
    os.unlink("deadly")
    # it had its second chance
    assert score(resume=True).failed == 2
    assert score(resume=True, retry_failed=True).failed == 1
    assert reasons()["dark.png"] == "uncertain"
    assert reasons()["broken.png"].startswith("unreadable")
    gray_photo("broken.png", 200)
    assert score(resume=True).failed == 0


def test_retrying_belongs_to_resuming(tmp_path):
    with pytest.raises(OptionError, match="retry_failed"):
        scoring.score(tmp_path, tmp_path / "t.csv", retry_failed=True)
