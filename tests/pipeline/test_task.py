"""What a video becomes: frames in chunks, videos made of it, frames that say what went wrong."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from fake_world import GOOD, SIZE, Someone, World
from video_files import write_video

from facereject.faces import FaceRejector
from facereject.outputs._video.writer import VideoWriter
from facereject.outputs.saved_video import SavedVideo
from facereject.pipeline.task import ScoreTask
from facereject.sources.inputs import Input
from facereject.sources.video import open_video
from facereject.tracking import Tracking
from facereject.tracking import tracker as tracking

N_FRAMES = 100


class Changing(World):
    """A face that is certain in frames 0 to 9 of every twenty, uncertain up to 14, then away."""

    def __init__(self):
        super().__init__()
        self.frame = -1

    def next(self):
        self.frame += 1
        phase = self.frame % 20
        there = [Someone(100, 80, uncertainty=GOOD if phase < 10 else 0.5)] if phase < 15 else []
        self.faces = there


@pytest.fixture
def video(tmp_path):
    with VideoWriter(tmp_path / "video.mkv", 30000 / 1001, SIZE) as writer:
        for level in range(N_FRAMES):
            writer.write(np.full((SIZE[1], SIZE[0], 3), 40 + 2 * level, dtype=np.uint8))
    return tmp_path / "video.mkv"


@pytest.fixture
def make_task(monkeypatch):
    """Makes a task whose tracker sees the changing face."""
    update = tracking.FaceTracker.update

    def see(tracker, image, time_s=None):
        tracker.rejector.next()
        return update(tracker, image, time_s)

    monkeypatch.setattr(tracking.FaceTracker, "update", see)

    def make(*outputs, **options):
        return ScoreTask(Changing(), Tracking(every_frame=True), outputs, **options)

    return make


def frames_of(task, path):
    return [frame for chunk in task(Input(str(path), "video")) for frame in chunk.frames]


def n_frames(path):
    with open_video(path) as reader:
        return sum(1 for _ in reader)


def test_frames_come_in_chunks(make_task, video):
    chunks = list(make_task()(Input(str(video), "video")))
    assert [len(chunk.frames) for chunk in chunks] == [64, 36]
    assert sum(chunk.undecodable for chunk in chunks) == 0
    frames = [frame for chunk in chunks for frame in chunk.frames]
    assert [frame.index for frame in frames] == list(range(N_FRAMES))
    assert {frame.source for frame in frames} == {str(video)}
    times = np.arange(N_FRAMES) * 1001 / 30000
    np.testing.assert_allclose([frame.time_s for frame in frames], times, atol=2e-3)
    reasons = [([""] if i % 20 < 10 else ["uncertain"] if i % 20 < 15 else []) for i in range(N_FRAMES)]
    assert [[face.reason for face in frame.faces] for frame in frames] == reasons
    assert all(face.track == 0 for frame in frames for face in frame.faces)
    # pixels stay where they were read
    assert all(frame.image.size == 0 for frame in frames)


def test_only_accepted_frames_are_saved(make_task, video, tmp_path):
    frames = frames_of(make_task(SavedVideo(str(tmp_path / "good.mp4"))), video)
    assert n_frames(tmp_path / "good.mp4") == sum(frame.accepted() for frame in frames) == 50
    with open_video(tmp_path / "good.mp4") as reader:
        assert reader.fps == pytest.approx(30000 / 1001, abs=0.001)
        levels = [float(frame.image.mean()) for frame in reader]
    wanted = [40 + 2 * level for level in range(N_FRAMES) if level % 20 < 10]
    # encoded twice; the next segment begins 20 levels higher
    np.testing.assert_allclose(levels, wanted, atol=9)


@pytest.mark.parametrize(
    ("options", "kept"),
    # accepted for 10 frames, rejected for 10, and so on
    [({"bridge": 0.4}, range(90)), ({"min_span": 0.4}, []), ({"bridge": 0.1, "min_span": 0.3}, None)],
)
def test_short_gaps_are_kept_and_short_segments_dropped(make_task, video, tmp_path, options, kept):
    frames = frames_of(make_task(SavedVideo(str(tmp_path / "good.mp4"), **options)), video)
    assert sum(frame.accepted() for frame in frames) == 50
    wanted = [i for i in range(N_FRAMES) if i % 20 < 10] if kept is None else list(kept)
    if not wanted:
        assert not (tmp_path / "good.mp4").exists()
        return
    with open_video(tmp_path / "good.mp4") as reader:
        levels = [float(frame.image.mean()) for frame in reader]
    np.testing.assert_allclose(levels, [40 + 2 * i for i in wanted], atol=9)


def test_an_annotated_video_holds_every_frame(make_task, video, tmp_path):
    frames_of(make_task(SavedVideo(str(tmp_path / "shown.avi"), annotate=True)), video)
    with open_video(tmp_path / "shown.avi") as reader:
        edges = [frame.image[:, 1].mean(axis=0) for frame in reader]
    assert len(edges) == N_FRAMES
    # the border is green where the frame was accepted, else red
    assert [edge[1] > edge[0] for edge in edges] == [i % 20 < 10 for i in range(N_FRAMES)]


def test_a_video_that_is_not_read_to_the_end_leaves_nothing(make_task, video, tmp_path):
    chunks = make_task(SavedVideo(str(tmp_path / "good.mp4")))(Input(str(video), "video"))
    next(chunks)
    chunks.close()
    assert [file.name for file in tmp_path.iterdir()] == ["video.mkv"]


def test_a_video_is_never_written_over_the_one_that_is_read(make_task, video):
    before = video.read_bytes()
    with pytest.raises(ValueError, match="the video that is read"):
        frames_of(make_task(SavedVideo(str(video))), video)
    assert video.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"no video at all" * 100])
def test_a_video_that_cannot_be_read_has_one_frame_that_says_so(make_task, tmp_path, content):
    (tmp_path / "bad.mp4").write_bytes(content)
    task = make_task(SavedVideo(str(tmp_path / "out.mp4")), folder=str(tmp_path))
    ((frame,), undecodable), *more = task(Input("bad.mp4", "video"))
    assert (frame.source, frame.index, frame.faces, undecodable, more) == ("bad.mp4", -1, [], 0, [])
    assert frame.problem.startswith("unreadable: ")
    # the name is in the frame once
    assert "bad.mp4" not in frame.problem
    assert not (tmp_path / "out.mp4").exists()


def test_missing_frames_of_a_truncated_video_are_counted(make_task, tmp_path):
    whole = write_video(tmp_path / "whole.avi", 90)
    data = whole.read_bytes()
    (tmp_path / "cut.avi").write_bytes(data[: len(data) // 2])
    chunks = list(make_task()(Input(str(tmp_path / "cut.avi"), "video")))
    numbers = [frame.index for chunk in chunks for frame in chunk.frames]
    assert 20 < len(numbers) < 70
    assert numbers == list(range(len(numbers)))
    assert len(numbers) + sum(chunk.undecodable for chunk in chunks) == 90


def test_the_task_can_be_sent_to_other_processes():
    task = ScoreTask(FaceRejector.pretrained(), Tracking(smooth=0.5), (SavedVideo("a.mp4", annotate=True),))
    sent = pickle.loads(pickle.dumps(task))  # noqa: S301
    assert (sent.tracking, sent.outputs) == (task.tracking, task.outputs)
