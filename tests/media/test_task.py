"""What a film becomes: rows of every frame in chunks, films made of it, and rows that say what went wrong."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from fake_world import GOOD, SIZE, Someone, World
from film_files import write_film

from facereject.faces import FaceRejector
from facereject.media import tracking
from facereject.media.film import FilmWriter
from facereject.media.film_output import FilmOutput
from facereject.media.inputs import Input
from facereject.media.task import ScoreTask
from facereject.media.video import open_video

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
def film(tmp_path):
    with FilmWriter(tmp_path / "film.mkv", 30000 / 1001, SIZE) as writer:
        for level in range(N_FRAMES):
            writer.write(np.full((SIZE[1], SIZE[0], 3), 40 + 2 * level, dtype=np.uint8))
    return tmp_path / "film.mkv"


@pytest.fixture
def make_task(monkeypatch):
    """Makes a task whose tracker sees the changing face."""
    update = tracking.FaceTracker.update

    def see(tracker, image, time_s=None):
        tracker.rejector.next()
        return update(tracker, image, time_s)

    monkeypatch.setattr(tracking.FaceTracker, "update", see)
    monkeypatch.setattr(tracking, "LocalSearch", lambda detector: detector.near)
    return lambda **options: ScoreTask(Changing(), every_frame=True, **options)


def rows_of(task, path):
    return [row for chunk in task(Input(str(path), "video")) for row in chunk.rows]


def n_frames(path):
    with open_video(path) as reader:
        return sum(1 for _ in reader)


def test_every_frame_has_rows_in_chunks_of_whole_frames(make_task, film):
    chunks = list(make_task()(Input(str(film), "video")))
    assert [chunk.frames for chunk in chunks] == [64, 36]
    assert sum(chunk.undecodable for chunk in chunks) == 0
    rows = [row for chunk in chunks for row in chunk.rows]
    assert [row.frame for row in rows] == list(range(N_FRAMES))
    assert {row.source for row in rows} == {str(film)}
    np.testing.assert_allclose([row.time_s for row in rows], np.arange(N_FRAMES) * 1001 / 30000, atol=2e-3)
    reasons = [("" if i % 20 < 10 else "uncertain" if i % 20 < 15 else "no_face") for i in range(N_FRAMES)]
    assert [row.reason for row in rows] == reasons
    assert all(row.track == 0 for row in rows if row.box is not None)


def test_only_accepted_frames_are_saved(make_task, film, tmp_path):
    rows = rows_of(make_task(film=FilmOutput(str(tmp_path / "good.mp4"))), film)
    assert n_frames(tmp_path / "good.mp4") == sum(row.accepted for row in rows) == 50
    with open_video(tmp_path / "good.mp4") as reader:
        assert reader.fps == pytest.approx(30000 / 1001, abs=0.001)
        levels = [float(frame.image.mean()) for frame in reader]
    wanted = [40 + 2 * level for level in range(N_FRAMES) if level % 20 < 10]
    # encoded twice; the next stretch begins 20 levels higher
    np.testing.assert_allclose(levels, wanted, atol=9)


def test_an_annotated_film_holds_every_frame(make_task, film, tmp_path):
    rows_of(make_task(film=FilmOutput(str(tmp_path / "shown.avi"), annotate=True)), film)
    with open_video(tmp_path / "shown.avi") as reader:
        edges = [frame.image[:, 1].mean(axis=0) for frame in reader]
    assert len(edges) == N_FRAMES
    # the border is green where the frame was accepted, else red
    assert [edge[1] > edge[0] for edge in edges] == [i % 20 < 10 for i in range(N_FRAMES)]


def test_films_go_into_a_folder_under_their_names(make_task, film, tmp_path):
    output = FilmOutput(str(tmp_path / "out"), base=str(tmp_path))
    rows_of(make_task(film=output), film)
    assert n_frames(tmp_path / "out" / "film.mkv") == 50
    assert output.target(str(tmp_path / "a" / "b.gif")) == str(tmp_path / "out" / "a" / "b.gif.mp4")
    assert output.target("/elsewhere/c.mp4") == str(tmp_path / "out" / "elsewhere" / "c.mp4")


def test_a_film_that_is_not_read_to_the_end_leaves_nothing(make_task, film, tmp_path):
    chunks = make_task(film=FilmOutput(str(tmp_path / "good.mp4")))(Input(str(film), "video"))
    next(chunks)
    chunks.close()
    assert [file.name for file in tmp_path.iterdir()] == ["film.mkv"]


def test_a_film_is_never_written_over_the_one_that_is_read(make_task, film):
    before = film.read_bytes()
    with pytest.raises(ValueError, match="the film that is read"):
        rows_of(make_task(film=FilmOutput(str(film))), film)
    assert film.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"no film at all" * 100])
def test_a_film_that_cannot_be_read_has_one_row_that_says_so(make_task, tmp_path, content):
    (tmp_path / "bad.mp4").write_bytes(content)
    task = make_task(film=FilmOutput(str(tmp_path / "out.mp4")), folder=str(tmp_path))
    (chunk,) = task(Input("bad.mp4", "video"))
    (row,) = chunk.rows
    assert row.source == "bad.mp4"
    assert row.reason.startswith("unreadable: ")
    # the name stands in the row once
    assert "bad.mp4" not in row.reason
    assert (row.frame, row.landmarks, chunk.frames) == (None, None, 0)
    assert not (tmp_path / "out.mp4").exists()


def test_missing_frames_of_a_truncated_film_are_counted(make_task, tmp_path):
    whole = write_film(tmp_path / "whole.avi", 90)
    data = whole.read_bytes()
    (tmp_path / "cut.avi").write_bytes(data[: len(data) // 2])
    chunks = list(make_task()(Input(str(tmp_path / "cut.avi"), "video")))
    frames = sum(chunk.frames for chunk in chunks)
    assert 20 < frames < 70
    assert len({row.frame for chunk in chunks for row in chunk.rows}) == frames
    assert frames + sum(chunk.undecodable for chunk in chunks) == 90


def test_the_task_can_be_sent_to_other_processes():
    task = ScoreTask(FaceRejector.pretrained(), smooth_s=0.5, film=FilmOutput("a.mp4", annotate=True))
    sent = pickle.loads(pickle.dumps(task))  # noqa: S301
    assert (sent.smooth_s, sent.film) == (0.5, task.film)
    assert sent.tracker().smooth_s == 0.5
