"""facereject filter on videos: saved videos, timelines, and what is said about them."""

from __future__ import annotations

import csv
import json

import av
import numpy as np
import pytest
import skimage.data
from video_files import encode

from facereject.outputs._video.writer import VideoWriter
from facereject.sources.video import open_video


@pytest.fixture
def clip(work):
    """A face for half a second, then none."""
    photo = skimage.data.astronaut()[:240, 80:400]
    (work / "videos").mkdir()
    with VideoWriter(work / "videos" / "clip.mkv", 30, (320, 240)) as video:
        for step in range(30):
            video.write(np.roll(photo, step, axis=1) if step < 15 else np.full_like(photo, 90))
    return work / "videos" / "clip.mkv"


def n_frames(path):
    with open_video(path) as video:
        return sum(1 for _ in video)


def test_accepted_frames_timeline_and_strip(run, clip, work):
    result = run("filter", clip, "--save", "good.mp4", "--timeline", "spans.csv", "-o", "t.csv")
    assert result.exit_code == 0
    assert n_frames("good.mp4") == 15
    with open("spans.csv", newline="") as file:
        spans = list(csv.DictReader(file))
    assert [(span["first_frame"], span["last_frame"], span["reason"]) for span in spans] == [
        ("0", "14", ""),
        ("15", "29", "no_face"),
    ]
    assert "50% of 1.0 s accepted" in result.stderr
    with open("t.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 30
    assert {file.name for file in work.iterdir()} == {
        "videos",
        "good.mp4",
        "spans.csv",
        "t.csv",
        "t.csv.run",
    }


def test_annotated_video_of_a_folder(run, clip):
    result = run("filter", clip.parent, "--save", "shown", "--annotate", "--timeline", "spans.json", "-q")
    assert (result.exit_code, result.stderr) == (0, "")
    assert n_frames("shown/clip.mkv") == 30
    with open("spans.json") as file:
        assert [span["accepted"] for span in json.load(file)] == [True, False]


@pytest.mark.parametrize(
    ("options", "seconds"), [(["--annotate"], 1.0), ([], 0.5), (["--annotate", "--no-audio"], None)]
)
def test_the_sound_of_what_is_kept_is_kept(run, work, options, seconds):
    photo = skimage.data.astronaut()[:240, 80:400]
    images = [np.roll(photo, step, axis=1) if step < 15 else np.full_like(photo, 90) for step in range(30)]
    tone = 0.5 * np.sin(np.arange(44_100) / 7)
    encode(work / "clip.mp4", images, rate=30, sound=("aac", 44_100, tone))
    assert run("filter", "clip.mp4", "--save", "saved.mp4", *options).exit_code == 0
    with av.open("saved.mp4") as container:
        sound = container.streams.audio
        assert bool(sound) == (seconds is not None)
        if sound:
            assert float(sound[0].duration * sound[0].time_base) == pytest.approx(seconds, abs=0.06)


def test_a_complete_table_makes_no_video(run, clip, work):
    assert run("filter", clip, "-o", "t.csv").exit_code == 0
    result = run("filter", clip, "-o", "t.csv", "--resume", "--save", "good.mp4")
    assert result.exit_code == 0
    assert "Nothing left to do: the table is complete." in result.stderr
    assert not (work / "good.mp4").exists()


def test_a_resumed_run_has_the_timeline_of_all_videos(run, clip):
    arguments = ("filter", clip.parent, "-o", "t.csv", "--timeline", "spans.csv")
    assert run(*arguments).exit_code == 0
    with open("spans.csv") as file:
        whole = file.read()
    result = run(*arguments, "--resume")
    assert result.exit_code == 0
    with open("spans.csv") as file:
        assert file.read() == whole


def test_without_an_accepted_frame_there_is_no_video(run, clip, work):
    result = run("filter", clip, "--threshold", -9, "--save", "good.mp4")
    assert result.exit_code == 0
    assert "Video: none, this run saved no accepted frame" in result.stderr
    assert not (work / "good.mp4").exists()


def test_a_video_that_was_removed_is_not_said_to_be_without_accepted_frames(run, clip, work):
    arguments = ["filter", clip, "--save", "good.mp4", "-o", "t.csv"]
    assert run(*arguments).exit_code == 0
    (work / "good.mp4").unlink()
    result = run(*arguments, "--resume")
    assert result.exit_code == 0
    assert "Video: none, this run saved no accepted frame" in result.stderr


def test_a_video_without_a_segment_that_is_long_enough_says_so(run, clip, work):
    result = run("filter", clip, "--min-span", 0.7, "--save", "good.mp4", "-o", "t.csv")
    assert result.exit_code == 0
    assert "Video: none, no accepted segment lasts 0.7 s" in result.stderr
    assert not (work / "good.mp4").exists()


def test_pictures_that_are_not_made_are_said_to_be_none(run, clip, work):
    options = ["--threshold", -9, "--crops", "faces", "--frames", "shots", "--annotated", "drawn"]
    result = run("filter", clip, *options, "-o", "t.csv")
    assert result.exit_code == 0
    for said in (
        "Crops: none, this run saved no accepted face",
        "Frames: none, this run saved no accepted face of a video",
        "Annotated: none, there is no photo",
    ):
        assert said in result.stderr
    assert not any((work / name).exists() for name in ("faces", "shots", "drawn"))


def test_tracking_options_are_passed_on(run, clip):
    tables = []
    for options in (("--smooth", 1), ()):
        assert run("score", clip, "-o", "t.csv", "-q", *options).exit_code == 0
        with open("t.csv", newline="") as file:
            tables.append(list(csv.DictReader(file)))
    assert tables[0][0]["uncertainty"] == tables[1][0]["uncertainty"]
    assert tables[0][9]["uncertainty"] != tables[1][9]["uncertainty"]
    # a table is not completed with other options, and the message names them
    result = run("score", clip, "-o", "t.csv", "--resume", "--every-frame", "--detect-every", 3)
    assert result.exit_code == 2
    assert "every_frame: False then, True now" in result.stderr
    assert "detect_every: 6 then, 3 now" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--annotate", "-o", "t.csv"], "--annotate needs"),
        (["--save", "video.ogv"], "--save video.ogv"),
        (["--no-audio"], "--no-audio needs --save"),
        (["--save", "none/video.mp4"], "--save none/video.mp4: there is no folder none; make it first"),
        (["--save", "videos/clip.mkv"], "this is an input"),
        (["--timeline", "spans.txt"], "--timeline"),
        (["--detect-every", "0", "-o", "t.csv"], "--detect-every"),
    ],
)
def test_what_cannot_work_is_said_first(run, clip, work, arguments, message):
    result = run("filter", clip, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert [file.name for file in work.iterdir()] == ["videos"]


def test_several_videos_need_a_folder_apart(run, clip):
    (clip.parent / "other.mkv").write_bytes(clip.read_bytes())
    assert "name a folder" in run("filter", clip.parent, "--save", "good.mp4").stderr
    assert "apart from the inputs" in run("filter", clip.parent, "--save", clip.parent / "out").stderr


def test_flicker_and_short_stretches_go(run, clip):
    result = run("filter", clip, "--save", "good.mp4", "--min-span", "0.6", "--timeline", "spans.csv")
    assert result.exit_code == 0
    with open("spans.csv", newline="") as file:
        assert [span["accepted"] for span in csv.DictReader(file)] == ["false"]
    result = run("filter", clip, "--bridge", "-1", "--timeline", "t.csv")
    assert result.exit_code == 2
    assert "--bridge must be seconds, 0 or more; got -1" in result.stderr


def test_the_best_picture_of_a_person_and_a_contact_sheet(run, clip, work):
    arguments = ["--best-per-track", "1", "--crops", "people", "--size", "64", "--contact-sheet", "sheet.png"]
    result = run("filter", clip, *arguments, "--smooth-landmarks")
    assert result.exit_code == 0, result.stderr
    (crop,) = (work / "people").iterdir()
    assert crop.name.startswith("clip.mkv.track000.frame")
    assert "Crops: people" in result.stderr
    assert "Contact sheet: sheet.png (" in result.stderr
    result = run("filter", clip, "--best-per-track", "1")
    assert result.exit_code == 2
    assert "--best-per-track needs --crops or --frames" in result.stderr
