"""The live loop with a scripted camera and a scripted window."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from fake_world import Someone, World, blank

from facereject._options import OptionError
from facereject.outputs import Output
from facereject.outputs.camera.recording import Recording
from facereject.outputs.camera.window import Window
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
        return Frame(self.given - 1, (self.given - 1) / 10, blank(), "camera 0")

    def age_of(self, frame):
        return 0.01

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


class Kept(Output):
    """Keeps the frames."""

    def __init__(self):
        self.frames, self.closed = [], False

    def write(self, frame):
        self.frames.append(frame)

    def close(self):
        self.closed = True


class Session:
    """A live session with scripted parts."""

    def __init__(self, folder, camera=None, screen=None, world=None, record=None, **options):
        ticks = itertools.count()
        clock = lambda: next(ticks) / 100  # noqa: E731
        self.camera, self.kept = camera or ScriptedCamera(), Kept()
        self.tracker = FaceTracker(world or Adjustable(Someone(100, 80)))
        self.window = Window(str(folder), screen, clock)
        outputs = [self.kept, *([Recording(record)] if record else []), *([self.window] if screen else [])]
        self.live = Live(outputs, clock=clock, **options)

    def run(self):
        return self.live.run(self.camera, self.tracker, "camera 0")


@pytest.fixture
def start(tmp_path):
    return lambda *args, **options: Session(tmp_path, *args, **options)


def test_every_frame_is_scored_until_the_camera_ends(start):
    session = start()
    summary = session.run()
    assert [frame.index for frame in session.kept.frames] == list(range(10))
    assert {(frame.source, frame.faces[0].track) for frame in session.kept.frames} == {("camera 0", 0)}
    assert (summary.frames, summary.accepted, summary.dropped) == (10, 10, 2)
    assert session.kept.closed


def test_limits_of_frames_and_seconds(start):
    assert start(max_frames=4).run().frames == 4
    assert 0 < start(ScriptedCamera(10_000), max_seconds=1).run().frames < 100
    for options in ({"max_frames": 0}, {"max_seconds": -1}, {"frame_rule": "most"}):
        with pytest.raises(OptionError, match=next(iter(options))):
            start(**options)


@pytest.mark.parametrize("screen", [ScriptedWindow({3: "q"}), ScriptedWindow(close_after=2)])
def test_the_user_ends_it_by_key_or_by_closing_the_window(start, screen):
    session = start(screen=screen)
    assert session.run().frames == 3
    assert len(session.kept.frames) == 3


def test_keys_move_the_threshold_within_its_scale(start):
    live = start(screen=ScriptedWindow({1: "-", 2: "-", 3: "-"}))
    live.run()
    assert live.tracker.rejector.selector.threshold_ < 0
    live = start(ScriptedCamera(300), ScriptedWindow(dict.fromkeys(range(1, 200), "+")))
    live.run()
    assert live.tracker.rejector.selector.threshold_ == pytest.approx(1.176)


def test_the_decision_follows_the_threshold(start):
    # about halfway down the scale, below the uncertainty of the face
    session = start(ScriptedCamera(30), ScriptedWindow(dict.fromkeys(range(1, 21), "-")))
    session.run()
    assert session.kept.frames[0].accepted()
    assert not session.kept.frames[-1].accepted()


def test_pause_shows_the_same_frame_and_takes_no_new_one(start):
    camera, window = ScriptedCamera(), ScriptedWindow({3: " ", 20: " "})
    start(camera, window).run()
    assert window.asked > 20
    assert camera.given == 10
    camera, window = ScriptedCamera(), ScriptedWindow({3: " ", 20: "q"})
    assert start(camera, window).run().frames == camera.given == 3


def test_snapshots_get_new_names_and_never_replace_a_file(start, tmp_path):
    (tmp_path / "snapshot-001.png").write_bytes(b"mine")
    session = start(screen=ScriptedWindow({2: "s", 4: "s"}))
    session.run()
    assert (tmp_path / "snapshot-001.png").read_bytes() == b"mine"
    assert [file.rsplit("/")[-1] for file in session.window.files_saved] == [
        "snapshot-002.png",
        "snapshot-003.png",
    ]
    assert (tmp_path / "snapshot-003.png").read_bytes().startswith(b"\x89PNG")


def test_help_is_an_overlay_that_can_be_hidden(start):
    window = ScriptedWindow({3: "h", 7: "h"})
    start(screen=window).run()
    # shown again at once when a key is pressed
    plain, overlaid, hidden = window.shown[0], window.shown[3], window.shown[-1]
    assert (plain != overlaid).mean() > 0.05
    assert (plain != hidden).mean() < 0.02
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
    session = start(ScriptedCamera(30), ScriptedWindow({2: "r", 10: "r", 15: "r"}))
    session.run()
    saved = session.window.files_saved
    assert [file.rsplit("/")[-1] for file in saved] == ["recording-001.mp4", "recording-002.mp4"]
    for file in saved:
        with open_video(file) as video:
            assert sum(1 for _ in video) > 10


@pytest.mark.parametrize("error", [KeyboardInterrupt(), CameraError("camera 0 has stopped")])
def test_the_recording_is_finished_however_it_ends(start, tmp_path, error):
    session = start(ScriptedCamera(5, error), record=tmp_path / "all.mp4")
    with pytest.raises(type(error)):
        session.run()
    with open_video(tmp_path / "all.mp4") as video:
        assert sum(1 for _ in video) == 13
    assert session.live.summary.frames == 5
    assert [file.name for file in tmp_path.iterdir()] == ["all.mp4"]


def test_a_message_stays_for_a_while(start):
    window = ScriptedWindow({1: "s"})
    start(ScriptedCamera(120), window).run()
    corner = [image[:40, :120].astype(int) for image in window.shown]
    assert np.abs(corner[2] - corner[0]).max() > 50
    assert np.abs(corner[-1] - corner[0]).max() == 0
