"""The destructive trials run, find nothing, and would find something."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from facereject.faces.face import NO_IMAGE, Box, Face, FaceFrame
from facereject.outputs.summary import Counts
from facereject.pipeline.store import Store
from tools.stress.__main__ import KINDS
from tools.stress.landmark_files import damaged_landmark_files
from tools.stress.models import damaged_models
from tools.stress.mutations import mutated
from tools.stress.samples import write_samples
from tools.stress.sorted_files import complaint
from tools.stress.stores import damaged_stores
from tools.stress.training_cache import damaged_caches
from tools.stress.trial import Trial

ROOT = Path(__file__).parents[2]


def test_the_short_form_finds_nothing():
    command = [sys.executable, "-W", "ignore", "-m", "tools.stress", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    # remarks are indented
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines() if not line.startswith(" "))
    assert set(lines) == {*KINDS, "all"} - {"workers", "cluster"}
    assert all(", 0 failed" in counts and not counts.startswith("0 tried") for counts in lines.values())


def test_a_believed_model_would_be_found(tmp_path, monkeypatch):
    monkeypatch.setattr("tools.stress.models._is_refused", lambda path: False)
    trial = Trial("models", 60)
    damaged_models(trial, tmp_path, 10, random.Random(0))
    assert len(trial.failures) == trial.tried > 10


def test_a_believed_store_would_be_found(tmp_path, monkeypatch):
    monkeypatch.setattr("facereject.pipeline.store._checksum", lambda *values: 0)
    trial = Trial("damaged stores", 60)
    damaged_stores(trial, tmp_path, 150, random.Random(0))
    assert trial.failures


def test_a_believed_cache_would_be_found(tmp_path, monkeypatch):
    monkeypatch.setattr("facereject.faces.training.extract._digest", lambda file, name: bytes(32))
    trial = Trial("training cache", 60)
    damaged_caches(trial, tmp_path, 100, random.Random(0))
    assert trial.failures


def test_a_traceback_of_a_reader_would_be_found(tmp_path, monkeypatch):
    monkeypatch.setattr("facereject.sources.landmark_files.DAMAGE", ())
    trial = Trial("landmark files", 60)
    damaged_landmark_files(trial, tmp_path, 100, random.Random(0))
    assert trial.failures


def test_mutations_change_bytes_and_repeat_by_seed():
    data = bytes(range(256)) * 20
    made = [mutated(data, random.Random(seed)) for seed in range(200)]
    assert sum(one != data for one in made) > 190
    assert made == [mutated(data, random.Random(seed)) for seed in range(200)]
    for seed in range(50):
        mutated(b"", random.Random(seed))


def test_all_formats_are_tried(tmp_path):
    assert len(write_samples(tmp_path)) >= 17


@pytest.fixture
def sorted_folder(tmp_path):
    for name in ("photos", "good", "bad"):
        (tmp_path / name).mkdir()
    (tmp_path / "photos/1.png").write_bytes(b"one")
    (tmp_path / "good/1.png").write_bytes(b"one")
    face = Face(Box(0.0, 0.0, 9.0, 9.0), 1.0, np.zeros((68, 2)), -1.0, 1.0, True)
    with Store(tmp_path / "t.csv") as store:
        store.write([FaceFrame(0, float("nan"), NO_IMAGE, [face], "photos/1.png")])
        store.end_input("photos/1.png", Counts(1))
    return tmp_path


def test_what_is_wrong_with_sorted_files_is_seen(sorted_folder):
    photos = {"1.png": b"one"}
    assert complaint(sorted_folder, photos, "copy", "csv") == ""
    assert "should be" in complaint(sorted_folder, photos, "link", "csv")
    assert "where it was" in complaint(sorted_folder, photos, "move", "csv")
    assert "missing" in complaint(sorted_folder, photos, "copy", "jsonl")
    assert "2 inputs" not in complaint(sorted_folder, photos | {"2.png": b"two"}, "copy", "csv")
    assert "not 2" in complaint(sorted_folder, photos | {"2.png": b"two"}, "copy", "csv")
    (sorted_folder / "good/1.png").rename(sorted_folder / "bad/1.png")
    assert "wrong folder" in complaint(sorted_folder, photos, "copy", "csv")
    (sorted_folder / "good/1.png").write_bytes(b"one")
    assert "in 2 folders" in complaint(sorted_folder, photos, "copy", "csv")
