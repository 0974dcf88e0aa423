"""facereject webcam with a video as the camera."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
import skimage.data

from facereject.outputs._video.writer import VideoWriter
from facereject.sources.video import open_video
from facereject.tables.columns import COLUMNS

TOOL = [sys.executable, "-c", "from facereject._cli import main; main()"]


def write_clip(path, n_frames):
    photo = skimage.data.astronaut()[:240, 80:400]
    with VideoWriter(path, 20, (320, 240)) as video:
        for step in range(n_frames):
            video.write(np.roll(photo, step, axis=1))
    return path


@pytest.fixture
def clip(work):
    """Some seconds of a face."""
    return write_clip(work / "clip.mp4", 100)


def test_headless_prints_one_line_of_json_per_frame(run, clip):
    result = run("webcam", "--camera", clip, "--headless", "--max-frames", 4)
    assert result.exit_code == 0
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(lines) == 4
    assert [line["frame"] for line in lines] == sorted(line["frame"] for line in lines)
    assert {(line["accepted"], line["reason"], line["source"]) for line in lines} == {(True, "", str(clip))}
    for line in lines:
        (face,) = line["faces"]
        assert tuple(face) == COLUMNS
        assert (face["track"], face["expected_error"]) == (0, line["expected_error"])
    assert "4 frames; 4 accepted" in result.stderr


def test_table_and_recording_are_written(run, clip, work):
    result = run(
        "webcam", "--camera", clip, "--headless", "-o", "t.csv", "--record", "r.mp4", "-q", "--seconds", 1
    )
    assert (result.exit_code, result.stderr) == (0, "")
    with open(work / "t.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["frame"] for row in rows] == [
        str(json.loads(line)["frame"]) for line in result.stdout.splitlines()
    ]
    with open_video(work / "r.mp4") as video:
        assert sum(1 for _ in video) >= len(rows)
    assert {file.name for file in work.iterdir()} == {"clip.mp4", "t.csv", "r.mp4"}


def test_a_stricter_target_rejects(run, clip):
    result = run("webcam", "--camera", clip, "--headless", "--max-frames", 2, "--threshold", -5)
    assert [json.loads(line)["reason"] for line in result.stdout.splitlines()] == ["uncertain"] * 2


def test_without_a_screen_it_says_what_to_do(run, clip, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    result = run("webcam", "--camera", clip)
    assert result.exit_code == 2
    assert "no screen" in result.stderr
    assert "--headless" in result.stderr
    monkeypatch.setenv("DISPLAY", ":7654")
    result = run("webcam", "--camera", clip)
    assert result.exit_code == 2
    assert "cannot be reached" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--camera", "none.mp4", "--headless"], 1, "none.mp4"),
        (["--headless", "--record", "video.ogv"], 2, "--record"),
        (["--headless", "--snapshots", "none"], 2, "--snapshots"),
        (["--headless", "--size", "large"], 2, "--size must be WIDTHxHEIGHT"),
        (["--headless", "--max-frames", "0"], 2, "--max-frames"),
        (["--headless", "--seconds", "-1"], 2, "--seconds"),
        (["--headless", "--smooth", "-1"], 2, "--smooth"),
        (["--headless", "--detect-every", "0"], 2, "--detect-every"),
        (["--headless", "--frame-rule", "most"], 2, "--frame-rule"),
        (["--headless", "-o", "table.txt"], 2, "--output"),
        (["--headless", "-o", "-"], 2, "--headless"),
        (["--headless", "--max-error", "3", "--cost", "4"], 2, "exclude each other"),
    ],
)
def test_what_cannot_work_is_said_and_leaves_nothing(run, work, arguments, code, message):
    result = run("webcam", *arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stdout == ""
    assert list(work.iterdir()) == []


@pytest.mark.parametrize("option", ["--output", "--record"])
def test_the_video_that_is_read_is_never_replaced(run, clip, work, option):
    content = clip.read_bytes()
    place = work / ("t.csv" if option == "--output" else "r.mp4")
    place.hardlink_to(clip)
    result = run("webcam", "--camera", clip, "--headless", "--max-frames", 1, option, place, "--overwrite")
    assert (result.exit_code, clip.read_bytes()) == (2, content)
    assert "is read" in result.stderr


# as service managers do, and as timeout(1) does, which also signals the group it started
@pytest.mark.parametrize(("numbers", "code"), [([signal.SIGINT], 130), ([signal.SIGTERM] * 2, 143)])
def test_interruptions_leave_whole_files(work, numbers, code):
    clip = write_clip(work / "clip.mp4", 400)
    command = [*TOOL, "webcam", "--camera", str(clip), "--headless", "-o", "t.csv", "--record", "r.mp4"]
    with subprocess.Popen(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        # the first lines tell that it is under way
        for _ in range(3):
            assert process.stdout.readline()
        for number in numbers:
            process.send_signal(number)
            time.sleep(0.05)
        rest, messages = process.communicate(timeout=60)
    assert process.returncode == code
    assert b"Traceback" not in messages
    lines = 3 + len(rest.splitlines())
    with open(work / "t.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == lines
    with open_video(work / "r.mp4") as video:
        assert sum(1 for _ in video) >= 1
    assert {file.name for file in work.iterdir()} == {"clip.mp4", "t.csv", "r.mp4"}


def test_a_reader_that_has_seen_enough_ends_it_quietly(work):
    clip = write_clip(work / "clip.mp4", 400)
    command = [*TOOL, "webcam", "--camera", str(clip), "--headless"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline().startswith(b"{")
        process.stdout.close()
        messages = process.stderr.read()
        process.wait(timeout=60)
    assert (process.returncode, messages) == (0, b"")
    assert os.listdir(work) == ["clip.mp4"]


@pytest.mark.parametrize("package", [None, SimpleNamespace()], ids=["no package", "no device"])
def test_a_virtual_camera_that_is_not_there_is_told_in_a_sentence(run, clip, monkeypatch, package):
    if package is not None:

        def none(**options):
            raise RuntimeError("no loopback device")

        package.Camera = none
    monkeypatch.setitem(sys.modules, "pyvirtualcam", package)
    result = run("webcam", "--camera", clip, "--headless", "--virtual-camera", "--max-frames", 2)
    assert result.exit_code == 1
    assert ("pip install" if package is None else "modprobe v4l2loopback") in " ".join(result.stderr.split())
