"""What a video becomes: rows of every frame in chunks, videos made of it, rows that say what went wrong."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from fake_world import GOOD, SIZE, Someone, World
from video_files import write_video

from facereject.faces import FaceRejector
from facereject.outputs._video.writer import VideoWriter
from facereject.pipeline._old.saved_video import VideoOutput
from facereject.pipeline._old.segments import Steadiness
from facereject.pipeline.task import ScoreTask
from facereject.sources.inputs import Input
from facereject.sources.video import open_video
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
    return lambda **options: ScoreTask(Changing(), every_frame=True, **options)


def rows_of(task, path):
    return [row for chunk in task(Input(str(path), "video")) for row in chunk.rows]


def n_frames(path):
    with open_video(path) as reader:
        return sum(1 for _ in reader)


def test_every_frame_has_rows_in_chunks_of_whole_frames(make_task, video):
    chunks = list(make_task()(Input(str(video), "video")))
    assert [chunk.frames for chunk in chunks] == [64, 36]
    assert sum(chunk.undecodable for chunk in chunks) == 0
    rows = [row for chunk in chunks for row in chunk.rows]
    assert [row.frame for row in rows] == list(range(N_FRAMES))
    assert {row.source for row in rows} == {str(video)}
    np.testing.assert_allclose([row.time_s for row in rows], np.arange(N_FRAMES) * 1001 / 30000, atol=2e-3)
    reasons = [("" if i % 20 < 10 else "uncertain" if i % 20 < 15 else "no_face") for i in range(N_FRAMES)]
    assert [row.reason for row in rows] == reasons
    assert all(row.track == 0 for row in rows if row.box is not None)


def test_only_accepted_frames_are_saved(make_task, video, tmp_path):
    rows = rows_of(make_task(video=VideoOutput(str(tmp_path / "good.mp4"))), video)
    assert n_frames(tmp_path / "good.mp4") == sum(row.accepted for row in rows) == 50
    with open_video(tmp_path / "good.mp4") as reader:
        assert reader.fps == pytest.approx(30000 / 1001, abs=0.001)
        levels = [float(frame.image.mean()) for frame in reader]
    wanted = [40 + 2 * level for level in range(N_FRAMES) if level % 20 < 10]
    # encoded twice; the next stretch begins 20 levels higher
    np.testing.assert_allclose(levels, wanted, atol=9)


@pytest.mark.parametrize(
    ("steadiness", "kept"),
    # accepted for 10 frames, rejected for 10, and so on
    [(Steadiness(bridge_s=0.4), range(90)), (Steadiness(min_span_s=0.4), []), (Steadiness(0.1, 0.3), None)],
)
def test_saved_stretches_are_steadied(make_task, video, tmp_path, steadiness, kept):
    output = VideoOutput(str(tmp_path / "good.mp4"), steadiness=steadiness)
    rows = rows_of(make_task(video=output), video)
    assert sum(row.accepted for row in rows) == 50
    wanted = [i for i in range(N_FRAMES) if i % 20 < 10] if kept is None else list(kept)
    if not wanted:
        assert not (tmp_path / "good.mp4").exists()
        return
    with open_video(tmp_path / "good.mp4") as reader:
        levels = [float(frame.image.mean()) for frame in reader]
    np.testing.assert_allclose(levels, [40 + 2 * i for i in wanted], atol=9)


def test_an_annotated_video_holds_every_frame(make_task, video, tmp_path):
    rows_of(make_task(video=VideoOutput(str(tmp_path / "shown.avi"), annotate=True)), video)
    with open_video(tmp_path / "shown.avi") as reader:
        edges = [frame.image[:, 1].mean(axis=0) for frame in reader]
    assert len(edges) == N_FRAMES
    # the border is green where the frame was accepted, else red
    assert [edge[1] > edge[0] for edge in edges] == [i % 20 < 10 for i in range(N_FRAMES)]


def test_videos_go_into_a_folder_under_their_names(make_task, video, tmp_path):
    output = VideoOutput(str(tmp_path / "out"), base=str(tmp_path))
    rows_of(make_task(video=output), video)
    assert n_frames(tmp_path / "out" / "video.mkv") == 50
    assert output.target(str(tmp_path / "a" / "b.gif")) == str(tmp_path / "out" / "a" / "b.gif.mp4")
    assert output.target("/elsewhere/c.mp4") == str(tmp_path / "out" / "elsewhere" / "c.mp4")


def test_a_video_that_is_not_read_to_the_end_leaves_nothing(make_task, video, tmp_path):
    chunks = make_task(video=VideoOutput(str(tmp_path / "good.mp4")))(Input(str(video), "video"))
    next(chunks)
    chunks.close()
    assert [file.name for file in tmp_path.iterdir()] == ["video.mkv"]


def test_a_video_is_never_written_over_the_one_that_is_read(make_task, video):
    before = video.read_bytes()
    with pytest.raises(ValueError, match="the video that is read"):
        rows_of(make_task(video=VideoOutput(str(video))), video)
    assert video.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"no video at all" * 100])
def test_a_video_that_cannot_be_read_has_one_row_that_says_so(make_task, tmp_path, content):
    (tmp_path / "bad.mp4").write_bytes(content)
    task = make_task(video=VideoOutput(str(tmp_path / "out.mp4")), folder=str(tmp_path))
    (chunk,) = task(Input("bad.mp4", "video"))
    (row,) = chunk.rows
    assert row.source == "bad.mp4"
    assert row.reason.startswith("unreadable: ")
    # the name stands in the row once
    assert "bad.mp4" not in row.reason
    assert (row.frame, row.landmarks, chunk.frames) == (None, None, 0)
    assert not (tmp_path / "out.mp4").exists()


def test_missing_frames_of_a_truncated_video_are_counted(make_task, tmp_path):
    whole = write_video(tmp_path / "whole.avi", 90)
    data = whole.read_bytes()
    (tmp_path / "cut.avi").write_bytes(data[: len(data) // 2])
    chunks = list(make_task()(Input(str(tmp_path / "cut.avi"), "video")))
    frames = sum(chunk.frames for chunk in chunks)
    assert 20 < frames < 70
    assert len({row.frame for chunk in chunks for row in chunk.rows}) == frames
    assert frames + sum(chunk.undecodable for chunk in chunks) == 90


def test_the_task_can_be_sent_to_other_processes():
    task = ScoreTask(FaceRejector.pretrained(), smooth_s=0.5, video=VideoOutput("a.mp4", annotate=True))
    sent = pickle.loads(pickle.dumps(task))  # noqa: S301
    assert (sent.smooth_s, sent.video) == (0.5, task.video)
    assert sent.tracker().tracking.smooth == 0.5
