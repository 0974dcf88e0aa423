"""Videos made from videos: which frames they hold, and when there is none."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from feeding import clip, feed, prepared
from video_files import number_of, picture

from facereject._options import OptionError
from facereject.faces.landmarks.point_set import MEAN_SHAPE
from facereject.outputs import SavedVideo, VideoWriter, saved_video
from facereject.outputs._video.writer import VideoWriteError
from facereject.outputs.base import Media
from facereject.sources.video import open_video

SIGNS = "+++uu++++uuuu++0"


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A video of 16 numbered frames, ten per second."""
    monkeypatch.chdir(tmp_path)
    with VideoWriter("clip.mp4", 10, (160, 120)) as writer:
        for index in range(len(SIGNS)):
            writer.write(picture(index))
    return "clip.mp4"


def save(output, path, signs=SIGNS):
    with open_video(path) as reader:
        images = [frame.image for frame in reader]
    with open_video(path) as reader:
        feed(output, path, clip(signs, images=images), kind="video", video=reader)


def numbers(path):
    with open_video(path) as reader:
        return [number_of(frame.image) for frame in reader]


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, [0, 1, 2, 5, 6, 7, 8, 13, 14]),
        ({"bridge": 0.3}, [0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 14]),
        ({"min_span": 0.35}, [5, 6, 7, 8]),
        ({"bridge": 0.5, "min_span": 1.5}, list(range(15))),
    ],
)
@pytest.mark.parametrize("memory", [1 << 28, 0])
def test_the_accepted_segments_are_saved(source, monkeypatch, options, kept, memory):
    # with or without room for frames that wait: the second time the video is decoded twice
    monkeypatch.setattr(saved_video, "_HELD_BYTES", memory)
    output = prepared(SavedVideo("good.mp4", **options), [source])
    save(output, source)
    assert numbers("good.mp4") == kept
    assert output.report() == ["Video: good.mp4"]


def test_frames_wait_in_memory_no_longer_than_needed(source, monkeypatch):
    opened = []
    monkeypatch.setattr(saved_video, "open_video", lambda *args, **options: opened.append(args))
    output = prepared(SavedVideo("good.mp4", bridge=0.5, min_span=1.0), [source])
    save(output, source)
    assert opened == []
    assert numbers("good.mp4") == list(range(15))


def test_an_annotated_video_holds_every_frame(source):
    save(prepared(SavedVideo("shown.avi", annotate=True), [source]), source)
    with open_video("shown.avi") as reader:
        images = [frame.image for frame in reader]
    assert len(images) == len(SIGNS)
    # the frame line tells the decision
    edges = [image[60, 1].astype(int) for image in images]
    assert edges[0][1] > edges[0][0]
    assert edges[3][0] > edges[3][1]


def test_no_video_without_an_accepted_frame(source):
    output = prepared(SavedVideo("good.mp4", min_span=0.2), [source])
    save(output, source, "u" * 16)
    assert os.listdir() == ["clip.mp4"]
    assert output.report() == ["Video: none, no accepted segment lasts 0.2 s"]


def test_one_object_saves_one_video_after_the_other_below_a_folder(source):
    os.mkdir("sub")
    os.rename("clip.mp4", "sub/clip.flv")
    output = prepared(SavedVideo("out"), ["sub"])
    # as it is sent to a worker
    output = pickle.loads(pickle.dumps(output))  # noqa: S301
    for _ in range(2):
        save(output, "sub/clip.flv")
    assert os.listdir("out") == ["clip.flv.mp4"]
    assert len(numbers("out/clip.flv.mp4")) == 9
    assert output.target_of("sub/a/b.mkv") == os.path.join("out", "a", "b.mkv")
    assert output.files() == []


def test_a_failed_input_leaves_nothing(source):
    output = prepared(SavedVideo("good.mp4", bridge=0.5), [source])
    with open_video(source) as reader:
        output.begin(Media(source, source, "video", MEAN_SHAPE, reader))
        for frame in clip("++", images=[picture(0), picture(1)]):
            output.write(frame)
        output.end(failed=True)
    assert os.listdir() == ["clip.mp4"]


def test_images_are_left_out(source):
    output = prepared(SavedVideo("good.mp4"), [source])
    feed(output, "a.png", clip("+", images=[np.zeros((8, 8, 3), np.uint8)]))
    assert os.listdir() == ["clip.mp4"]


def test_the_video_that_is_read_is_never_replaced(source):
    before = Path(source).read_bytes()
    output = prepared(SavedVideo("clip.mp4"), [source], overwrite=True)
    with pytest.raises(VideoWriteError, match="the video that is read"):
        save(output, source)
    assert Path(source).read_bytes() == before


@pytest.mark.parametrize(
    "name", ["clip.mpeg", "no/a.mp4", "mine.mp4", "pipe.mp4", "clip.mp4/x", "videos/out"]
)
def test_what_cannot_be_written_is_said_before_any_work(source, name):
    os.mkdir("videos")
    os.mkfifo("pipe.mp4")
    with open("mine.mp4", "w") as file:
        file.write("precious")
    with pytest.raises(OptionError, match="SavedVideo"):
        prepared(SavedVideo(name), ["videos"])
