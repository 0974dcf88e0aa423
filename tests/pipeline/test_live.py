"""The live loop with a scripted camera and a scripted window."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from fake_world import Someone, World, blank

from facereject.pipeline.live import Live
from facereject.sources.camera import CameraError
from facereject.sources.frame import Frame
from facereject.sources.video import open_video
from facereject.tracking.tracker import FaceTracker


class ScriptedCamera:
    """Gives so many frames, 10 per second, then ends or fails."""

    def __init__(self, n_frames=10, error=None):
        self.n_frames, self.error, self.given, self.dropped = n_frames, error, 0, 2

    def read(self, timeout_s=None):
        if self.given == self.n_frames:
            if self.error is not None:
                raise self.error
            return None
        self.given += 1
        return Frame(self.given - 1, (self.given - 1) / 10, blank())

    @property
    def ended(self):
        return self.given == self.n_frames


class ScriptedWindow:
    """Presses keys, given by the number of times it is asked."""

    def __init__(self, keys=None, close_after=None):
        self.keys, self.close_after = dict(keys or {}), close_after
        self.asked, self.shown = 0, []

    def show(self, image):
        self.shown.append(image)

    def key(self, wait_ms):
        self.asked += 1
        return self.keys.get(self.asked, "")

    def closed(self):
        return self.close_after is not None and self.asked >= self.close_after

    def close(self):
        pass


class Adjustable(World):
    """A world whose threshold can be moved."""

    def with_target(self, threshold):
        other = Adjustable(*self.faces)
        other.selector.threshold_ = threshold
        return other


@pytest.fixture
def start(monkeypatch, tmp_path):
    ticks = itertools.count()

    def make(camera=None, window=None, world=None, **options):
        tracker = FaceTracker(world or Adjustable(Someone(100, 80)))
        options = {"folder": tmp_path, "clock": lambda: next(ticks) / 100, **options}
        return Live(camera or ScriptedCamera(), tracker, source="camera 0", window=window, **options)

    return make


def test_every_frame_gives_rows_until_the_camera_ends(start):
    rows = []
    summary = start(on_rows=rows.extend).run()
    assert [row.frame for row in rows] == list(range(10))
    assert {(row.source, row.track, row.accepted) for row in rows} == {("camera 0", 0, True)}
    assert (summary.frames, summary.accepted, summary.dropped) == (10, 10, 2)


def test_a_frame_without_a_face_has_a_row_too(start):
    rows = []
    assert start(on_rows=rows.extend, world=World()).run().accepted == 0
    assert [row.reason for row in rows] == ["no_face"] * 10


def test_limits_of_frames_and_seconds(start):
    assert start(max_frames=4).run().frames == 4
    assert 0 < start(ScriptedCamera(10_000), max_seconds=1).run().frames < 100


@pytest.mark.parametrize("window", [ScriptedWindow({3: "q"}), ScriptedWindow(close_after=2)])
def test_the_user_ends_it_by_key_or_by_closing_the_window(start, window):
    assert start(window=window).run().frames == 3


def test_keys_move_the_threshold_within_its_scale(start):
    window = ScriptedWindow({1: "-", 2: "-", 3: "-"})
    live = start(window=window)
    live.run()
    assert live.tracker.rejector.selector.threshold_ < 0
    live = start(ScriptedCamera(300), window=ScriptedWindow(dict.fromkeys(range(1, 200), "+")))
    live.run()
    assert live.tracker.rejector.selector.threshold_ == pytest.approx(1.176)


def test_the_decision_follows_the_threshold(start):
    rows = []
    # about halfway down the scale, below the uncertainty of the face
    window = ScriptedWindow(dict.fromkeys(range(1, 21), "-"))
    start(ScriptedCamera(30), window, on_rows=rows.extend).run()
    assert rows[0].accepted
    assert not rows[-1].accepted


def test_pause_shows_the_same_frame_and_takes_no_new_one(start):
    camera, window = ScriptedCamera(), ScriptedWindow({3: " ", 20: " "})
    start(camera, window).run()
    assert window.asked > 20
    assert camera.given == 10
    camera, window = ScriptedCamera(), ScriptedWindow({3: " ", 20: "q"})
    assert start(camera, window).run().frames == camera.given == 3


def test_snapshots_get_new_names_and_never_replace_a_file(start, tmp_path):
    (tmp_path / "snapshot-001.png").write_bytes(b"mine")
    summary = start(window=ScriptedWindow({2: "s", 4: "s"})).run()
    assert (tmp_path / "snapshot-001.png").read_bytes() == b"mine"
    assert [file.rsplit("/")[-1] for file in summary.files] == ["snapshot-002.png", "snapshot-003.png"]
    assert (tmp_path / "snapshot-003.png").read_bytes().startswith(b"\x89PNG")


def test_help_is_an_overlay_that_can_be_hidden(start):
    window = ScriptedWindow({3: "h", 7: "h"})
    start(window=window).run()
    # shown again at once when a key is pressed
    plain, overlaid = window.shown[0], window.shown[3]
    assert (plain != overlaid).mean() > 0.05
    assert plain.shape == overlaid.shape
    assert plain.shape[0] > 240


def test_a_recording_is_a_video_in_real_time(start, tmp_path):
    start(record=tmp_path / "all.mp4").run()
    with open_video(tmp_path / "all.mp4") as video:
        frames = [frame.image for frame in video]
        assert video.fps == pytest.approx(30)
    # ten frames at 10 per second; the last one is shown once
    assert len(frames) == 28
    # with the faces drawn
    assert np.ptp(frames[0]) > 50


def test_a_key_starts_and_stops_recordings(start, tmp_path):
    summary = start(ScriptedCamera(30), ScriptedWindow({2: "r", 10: "r", 15: "r"})).run()
    assert [file.rsplit("/")[-1] for file in summary.files] == ["recording-001.mp4", "recording-002.mp4"]
    for file in summary.files:
        with open_video(file) as video:
            assert sum(1 for _ in video) > 10


@pytest.mark.parametrize("error", [KeyboardInterrupt(), CameraError("camera 0 has stopped")])
def test_the_recording_is_finished_however_it_ends(start, tmp_path, error):
    live = start(ScriptedCamera(5, error), record=tmp_path / "all.mp4")
    with pytest.raises(type(error)):
        live.run()
    with open_video(tmp_path / "all.mp4") as video:
        assert sum(1 for _ in video) == 13
    assert live.summary.frames == 5
    assert [file.name for file in tmp_path.iterdir()] == ["all.mp4"]


def test_a_message_stays_for_a_while(start):
    window = ScriptedWindow({1: "s"})
    start(ScriptedCamera(120), window).run()
    corner = [image[:40, :120].astype(int) for image in window.shown]
    assert np.abs(corner[2] - corner[0]).max() > 50
    assert np.abs(corner[-1] - corner[0]).max() == 0


def test_the_view_knows_when_the_whole_frame_was_last_searched(start, monkeypatch):
    seen = []

    def note(image, faces, accepted, rejector, status):
        seen.append(round(status.searched_s, 3))
        return image

    monkeypatch.setattr("facereject.pipeline.live.draw_view", note)
    live = start(camera=ScriptedCamera(40), window=ScriptedWindow())
    live.run()
    assert seen[0] == 0
    assert seen.count(0) == live.tracker.searches > 1
    # 15 frames at 10 per second
    assert max(seen) == 1.4
