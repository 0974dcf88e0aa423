"""The loop behind a live camera: newest frame, its faces, the window and its keys, rows and recordings."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import cv2
import numpy as np

from facereject._files import display_name
from facereject.faces import FaceRejector
from facereject.faces.face import FaceFrame
from facereject.faces.images.load import ImageArray
from facereject.outputs._drawing.overlay import Status, draw_view, scale_of
from facereject.outputs._video.writer import VideoWriter
from facereject.outputs.saved_video import draw_decision
from facereject.outputs.window import Window
from facereject.sources.frame import Frame
from facereject.tables.rows import Row, frame_accepted, rows_of_frame
from facereject.tracking.tracker import FaceTracker

#: frames per second of recordings; a frame stays until the next one is there
RECORDING_FPS = 30.0

# seconds without a frame after which keys are looked at
_WAIT_S = 0.05

# seconds for which a message is shown
_MESSAGE_S = 2.0

# steps of the threshold from one end of its scale to the other
_STEPS = 40


class Source(Protocol):
    """What the loop needs of a camera; see `facereject.sources.camera.Camera`."""

    dropped: int

    def read(self, timeout_s: float | None = None) -> Frame | None: ...

    @property
    def ended(self) -> bool: ...


@dataclass
class LiveSummary:
    """What a session gave: frames worked on, accepted frames, files written."""

    frames: int = 0
    accepted: int = 0
    dropped: int = 0
    files: tuple[str, ...] = ()


class Live:
    """Works on the frames of a camera until it ends or the user does.

    Parameters
    ----------
    camera : Source
    tracker : FaceTracker
    source : str
        Name of the camera in the rows.
    window : Window or None
        Where the frames are shown; None works without a screen.
    on_rows : callable or None
        Gets the rows of every frame.
    on_frame : callable or None
        Gets every judged frame and whether it is accepted.
    record : path or None
        A video of the whole session with the faces drawn, in real time (`RECORDING_FPS`).
    overwrite : bool, default=False
        It may replace a file that was not made here.
    folder : path
        For snapshots, and recordings started by a key.
    frame_rule : {"all", "any", "largest"}
        See `facereject.tables.rows.frame_accepted`.
    max_frames, max_seconds : int, float or None
        When to end.
    clock : callable
        Seconds that never go back.

    Attributes
    ----------
    summary : LiveSummary
        Kept up to date, also if the loop ends by an exception.
    """

    def __init__(
        self,
        camera: Source,
        tracker: FaceTracker,
        *,
        source: str,
        window: Window | None = None,
        on_rows: Callable[[list[Row]], None] | None = None,
        on_frame: Callable[[FaceFrame, bool], None] | None = None,
        record: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        folder: str | os.PathLike[str] = os.curdir,
        frame_rule: str = "all",
        max_frames: int | None = None,
        max_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.camera, self.tracker = camera, tracker
        self.summary = LiveSummary()
        self._source, self._window = source, window
        self._on_rows, self._on_frame = on_rows, on_frame
        self._record, self._folder = record, os.fspath(folder)
        self._overwrite = overwrite
        self._frame_rule = frame_rule
        self._max_frames, self._max_seconds = max_frames, max_seconds
        self._clock = clock
        self._status = Status()
        self._message_until = 0.0
        self._searches, self._searched_at = 0, 0.0
        self._recording: Recording | None = None
        self._last: tuple[FaceFrame, bool] | None = None
        self._before: float | None = None

    def run(self) -> LiveSummary:
        """Go on until the end; recordings are finished in any case."""
        start = self._clock()
        try:
            while not self._over(start):
                frame = None if self._status.paused else self.camera.read(_WAIT_S)
                if frame is not None:
                    self._work(frame)
                elif self.camera.ended:
                    break
                if self._window is not None and not self._handle_keys(self._window):
                    break
        finally:
            self.summary.dropped = self.camera.dropped
            self._stop_recording()
        return self.summary

    def _over(self, start: float) -> bool:
        if self._max_frames is not None and self.summary.frames >= self._max_frames:
            return True
        return self._max_seconds is not None and self._clock() - start >= self._max_seconds

    def _work(self, frame: Frame) -> None:
        began = self._clock()
        judged = self.tracker(frame)
        if self.tracker.searches != self._searches:
            self._searches, self._searched_at = self.tracker.searches, frame.time_s
        self._status.searched_s = frame.time_s - self._searched_at
        rows = rows_of_frame(self._source, judged.faces, frame=frame.index, time_s=frame.time_s)
        accepted = frame_accepted(rows, self._frame_rule)
        self.summary.frames += 1
        self.summary.accepted += accepted
        if self._on_rows is not None:
            self._on_rows(rows)
        if self._on_frame is not None:
            self._on_frame(judged, accepted)
        if self._record is not None and self._recording is None:
            self._start_recording(os.fspath(self._record), frame.image)
            self._record = None
        if self._recording is not None:
            self._recording.write(frame.time_s, draw_decision(judged, accepted))
        self._last = (judged, accepted)
        self._show()
        now = self._clock()
        self._status.latency_s = now - began
        if self._before is not None and now > self._before:
            rate = 1 / (now - self._before)
            # a mean over about ten frames: single ones jump too much to be read
            self._status.fps += (0.1 if self._status.fps else 1.0) * (rate - self._status.fps)
        self._before = now

    def _show(self) -> None:
        if self._window is None or self._last is None:
            return
        status = self._status
        status.dropped = self.camera.dropped
        status.recording = self._recording is not None
        if self._clock() > self._message_until:
            status.message = ""
        judged, accepted = self._last
        self._window.show(draw_view(judged.image, judged.faces, accepted, self.tracker.rejector, status))

    def _handle_keys(self, window: Window) -> bool:
        """Do what the user asks for; False to end."""
        if window.closed():
            return False
        actions: dict[str, Callable[[], None]] = {
            "+": lambda: self._move_threshold(1),
            "-": lambda: self._move_threshold(-1),
            " ": self._pause,
            "s": self._snapshot,
            "r": self._toggle_recording,
            "h": self._help,
        }
        # several may have been pressed since the last frame
        key = window.key(30 if self._status.paused else 1)
        while key and key != "q":
            if key in actions:
                actions[key]()
                self._show()
            key = window.key(1)
        return key != "q"

    def _pause(self) -> None:
        self._status.paused = not self._status.paused
        self._before = None

    def _help(self) -> None:
        self._status.show_help = not self._status.show_help

    def _move_threshold(self, steps: int) -> None:
        rejector = self.tracker.rejector
        low, high = scale_of(rejector)
        now = min(max(rejector.selector.threshold_, low), high)
        moved = min(max(now + steps * (high - low) / _STEPS, low), high)
        self.tracker.use(rejector.with_target(threshold=moved))

    def _snapshot(self) -> None:
        if self._last is None:
            return
        path = self._new_file("snapshot", ".png")
        if _write_png(path, draw_decision(*self._last)):
            self._tell(f"saved {os.path.basename(path)}")
            self.summary.files += (path,)
        else:
            self._tell(f"{os.path.basename(path)} could not be written")

    def _toggle_recording(self) -> None:
        if self._recording is not None:
            self._stop_recording()
        elif self._last is not None:
            self._start_recording(self._new_file("recording", ".mp4"), self._last[0].image)

    def _start_recording(self, path: str, image: ImageArray) -> None:
        height, width = image.shape[:2]
        writer = VideoWriter(path, RECORDING_FPS, (width, height), fragmented=True, overwrite=self._overwrite)
        self._recording = Recording(writer)

    def _stop_recording(self) -> None:
        if self._recording is None:
            return
        recording, self._recording = self._recording, None
        recording.close()
        if recording.path is not None:
            self.summary.files += (recording.path,)
            self._tell(f"saved {os.path.basename(recording.path)}")

    def _tell(self, message: str) -> None:
        self._status.message = display_name(message)
        self._message_until = self._clock() + _MESSAGE_S

    def _new_file(self, stem: str, suffix: str) -> str:
        number = 1
        while os.path.lexists(path := os.path.join(self._folder, f"{stem}-{number:03}{suffix}")):
            number += 1
        return path


class Recording:
    """A video in real time of frames that come as they like."""

    def __init__(self, writer: VideoWriter) -> None:
        self._writer = writer
        self._start: float | None = None
        self._image: ImageArray | None = None

    @property
    def path(self) -> str | None:
        """The video; None if it got no frame."""
        return self._writer.path if self._writer.frames else None

    def write(self, time_s: float, image: ImageArray) -> None:
        """The picture at a time: what was shown before it stays until then."""
        if self._start is None:
            self._start = time_s
        else:
            missing = int((time_s - self._start) * RECORDING_FPS) - self._writer.frames
            for _ in range(missing):
                self._writer.write(self._image if self._image is not None else image)
        self._image = image

    def close(self) -> None:
        """Finish the video."""
        if self._image is not None:
            self._writer.write(self._image)
        self._writer.close()


def warm_up(rejector: FaceRejector) -> None:
    """Load in this thread what is loaded with the first face, before frames come."""
    blank = np.zeros((100, 100, 3), dtype=np.uint8)
    rejector(blank)
    rejector.assess_box(blank, (10, 10, 80, 80))


def _write_png(path: str, image: ImageArray) -> bool:
    good, data = cv2.imencode(".png", cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
    if not good:
        return False
    try:
        with open(path, "xb") as file:
            file.write(np.asarray(data).tobytes())
    except OSError:
        return False
    return True
