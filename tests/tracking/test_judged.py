"""The frame loop: the frames of a video with their faces and track numbers."""

from __future__ import annotations

import numpy as np
import pytest
from fake_world import SIZE, Someone, World, blank
from video_files import encode

import facereject
from facereject.faces import FaceRejector
from facereject.sources import Frame, VideoError, open_video
from facereject.tracking import FaceTracker, judged_frames, judged_video


@pytest.fixture
def world():
    return World(Someone(40, 40), Someone(200, 100))


def test_frames_come_with_their_faces(world):
    frames = [Frame(index, index / 25, blank()) for index in range(5)]
    judged = list(judged_frames(frames, FaceTracker(world)))
    assert [(frame.index, frame.time_s) for frame in judged] == [(index, index / 25) for index in range(5)]
    assert all(one.image is other.image for one, other in zip(judged, frames, strict=True))
    assert [[face.track for face in frame.faces] for frame in judged] == [[0, 1]] * 5
    assert all(face.accepted for frame in judged for face in frame.faces)


def test_a_video_is_judged_frame_by_frame(world, tmp_path):
    path = encode(tmp_path / "v.mp4", [blank(100 + index) for index in range(12)], rate=25)
    judged = list(judged_video(world, path))
    assert [frame.index for frame in judged] == list(range(12))
    assert judged[3].time_s == pytest.approx(3 / 25)
    assert judged[0].image.shape == (SIZE[1], SIZE[0], 3)
    assert {face.track for frame in judged for face in frame.faces} == {0, 1}


def test_the_rejector_offers_it(tmp_path):
    image = np.zeros((96, 128, 3), dtype=np.uint8)
    path = encode(tmp_path / "v.mp4", [image] * 4, rate=25)
    frames = list(FaceRejector.pretrained().video(path, every_frame=True))
    assert [(frame.index, frame.faces) for frame in frames] == [(index, []) for index in range(4)]
    assert facereject.judged_video is judged_video


def test_a_video_that_cannot_be_read_is_an_error_with_the_first_frame(world, tmp_path):
    frames = judged_video(world, tmp_path / "none.mp4")
    with pytest.raises(VideoError, match=r"none\.mp4: no such file"):
        next(frames)


def test_a_loop_that_is_left_early_frees_the_video(world, tmp_path):
    path = encode(tmp_path / "v.mp4", [blank()] * 50, rate=25)
    frames = judged_video(world, path)
    next(frames)
    frames.close()
    with open_video(path) as video:
        assert len(list(video)) == 50
