"""The frame loop: the frames of a video with their faces and track numbers."""

from __future__ import annotations

import numpy as np
import pytest
from fake_world import SIZE, Someone, World, blank
from video_files import encode

from facereject.faces import FaceRejector
from facereject.pipeline import scored_video
from facereject.sources import Frame, VideoError, open_video
from facereject.tracking import FaceTracker, Tracking


@pytest.fixture
def world():
    return World(Someone(40, 40), Someone(200, 100))


def test_frames_come_with_their_faces(world):
    frames = [Frame(index, index / 25, blank()) for index in range(5)]
    scored = list(map(FaceTracker(world), frames))
    assert [(frame.index, frame.time_s) for frame in scored] == [(index, index / 25) for index in range(5)]
    assert all(one.image is other.image for one, other in zip(scored, frames, strict=True))
    assert [[face.track for face in frame.faces] for frame in scored] == [[0, 1]] * 5
    assert all(face.accepted for frame in scored for face in frame.faces)


def test_a_video_is_scored_frame_by_frame(world, tmp_path):
    path = encode(tmp_path / "v.mp4", [blank(100 + index) for index in range(12)], rate=25)
    scored = list(scored_video(world, path))
    assert [frame.index for frame in scored] == list(range(12))
    assert scored[3].time_s == pytest.approx(3 / 25)
    assert scored[0].image.shape == (SIZE[1], SIZE[0], 3)
    assert {face.track for frame in scored for face in frame.faces} == {0, 1}


def test_the_rejector_offers_it(tmp_path):
    image = np.zeros((96, 128, 3), dtype=np.uint8)
    path = encode(tmp_path / "v.mp4", [image] * 4, rate=25)
    frames = list(FaceRejector.pretrained().video(path, Tracking(every_frame=True)))
    assert [(frame.index, frame.faces) for frame in frames] == [(index, []) for index in range(4)]


def test_a_video_that_cannot_be_read_is_an_error_with_the_first_frame(world, tmp_path):
    frames = scored_video(world, tmp_path / "none.mp4")
    with pytest.raises(VideoError, match=r"none\.mp4: no such file"):
        next(frames)


def test_a_loop_that_is_left_early_frees_the_video(world, tmp_path):
    path = encode(tmp_path / "v.mp4", [blank()] * 50, rate=25)
    frames = scored_video(world, path)
    next(frames)
    frames.close()
    with open_video(path) as video:
        assert len(list(video)) == 50
