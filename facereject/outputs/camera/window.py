"""A window that shows a camera: its keys, and OpenCV's window behind it."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import cv2

from facereject._files import display_name
from facereject._options import OptionError, option
from facereject.faces import FaceRejector
from facereject.faces.face import FaceFrame
from facereject.faces.images import ImageArray
from facereject.outputs._drawing.overlay import Status, draw_view, loading_view, scale_of
from facereject.outputs.base import Output, RunInfo, StopLoop
from facereject.outputs.camera.recording import Recording
from facereject.outputs.images import png
from facereject.outputs.saved_video import draw_decision
from facereject.sources.camera import Camera

# what waitKeyEx gives for the arrow keys with Qt or GTK, on Windows, and on macOS
_ARROWS = {65362: "+", 65364: "-", 2490368: "+", 2621440: "-", 63232: "+", 63233: "-"}
_SIGNS = {"=": "+", "_": "-", "\x1b": "q"}


# OpenCV does not tell how large the screen is; smaller ones are rare, and the window can be resized
_SCREEN = (1280, 720)


# milliseconds between key polls while paused
_PAUSED_MS = 30

# seconds for which a message is shown
_MESSAGE_S = 2.0

# steps of the threshold from one end of its scale to the other
_STEPS = 40


class WindowError(RuntimeError):
    """No window can be opened. The message says what to do."""


class Screen(Protocol):
    """Where a `Window` is shown, and where its keys come from."""

    def show(self, image: ImageArray) -> None:
        """Show an RGB image."""

    def key(self, wait_ms: int) -> str:
        """The key that was pressed within this time; empty if none was. Escape is "q", arrows are + and -."""

    def closed(self) -> bool:
        """Whether the user has closed the window."""

    def close(self) -> None:
        """Close the window."""


class Adjusted(Protocol):
    """What a `Window` needs of a tracker: see `facereject.tracking.FaceTracker`."""

    rejector: FaceRejector

    def use(self, rejector: FaceRejector) -> None:
        """Decide by another threshold."""


@dataclass
class Window(Output):
    """Show frames with their faces in a window, and do what its keys ask for.

    Keys move the threshold, pause, save snapshots and recordings, and quit, which ends the loop.

    Parameters
    ----------
    snapshots : path, default="."
        Folder for snapshots and recordings.
    screen : Screen or None
        None opens a window of OpenCV with `open`.
    clock : callable
        Seconds that never go back.

    Examples
    --------
    >>> from facereject.outputs.camera.window import Window
    >>> Window().snapshots
    '.'
    """

    snapshots: str = option(
        os.curdir, metavar="DIR", help="Folder for snapshots and recordings made with the keys s and r."
    )
    screen: Screen | None = field(default=None, repr=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)

    files_saved: list[str] = field(default_factory=list, init=False, repr=False)
    _run: RunInfo | None = field(default=None, init=False, repr=False)
    _tracker: Adjusted | None = field(default=None, init=False, repr=False)
    _camera: Camera | None = field(default=None, init=False, repr=False)
    _status: Status = field(default_factory=Status, init=False, repr=False)
    _message_until: float = field(default=0.0, init=False, repr=False)
    _recording: Recording | None = field(default=None, init=False, repr=False)
    _last: FaceFrame | None = field(default=None, init=False, repr=False)
    _shown_at: float | None = field(default=None, init=False, repr=False)

    def prepare(self, run: RunInfo) -> None:
        """Check the folder."""
        self._run = run
        self.check()

    def check(self) -> None:
        """OptionError if nothing can be saved in the folder."""
        if not os.path.isdir(self.snapshots):
            raise OptionError(
                f"`Window.snapshots` {display_name(self.snapshots)}: no such folder; make it first"
            )

    def open(self) -> None:
        """Open the window with a loading text; WindowError if there is no screen."""
        if self.screen is None:
            self.screen = ScreenWindow("facereject")
        self.screen.show(loading_view())
        self.screen.key(1)

    def watch(self, camera: Camera, tracker: Adjusted) -> None:
        """Name the camera that is shown, and the tracker whose threshold the keys move."""
        self._camera, self._tracker = camera, tracker

    def write(self, frame: FaceFrame) -> None:
        """Show a frame, then do what the keys ask for; while paused, wait here."""
        if self._recording is not None:
            self._recording.write(frame)
        self._last = frame
        self._show()
        now = self.clock()
        if self._camera is not None:
            self._status.latency_s = self._camera.age_of(frame)
        if self._shown_at is not None and now > self._shown_at:
            rate = 1 / (now - self._shown_at)
            # a mean over about ten frames: single ones jump too much to be read
            self._status.fps += (0.1 if self._status.fps else 1.0) * (rate - self._status.fps)
        self._shown_at = now
        self.poll()

    def poll(self) -> None:
        """Do what the keys ask for; raises StopLoop if that is to quit."""
        if self.screen is None:
            return
        while True:
            if self.screen.closed():
                raise StopLoop
            # several keys may have been pressed since the last frame
            key = self.screen.key(_PAUSED_MS if self._status.paused else 1)
            while key:
                if key == "q":
                    raise StopLoop
                self._act(key)
                key = self.screen.key(1)
            if not self._status.paused:
                return

    def close(self) -> None:
        """Finish a recording and close the window."""
        try:
            self._stop_recording()
        finally:
            if self.screen is not None:
                self.screen.close()

    def report(self) -> list[str]:
        """The files that were saved."""
        return [f"Saved: {path}" for path in self.files_saved]

    def _accepted(self, frame: FaceFrame) -> bool:
        return frame.accepted("all" if self._run is None else self._run.frame_rule)

    def _show(self) -> None:
        frame, status = self._last, self._status
        if frame is None or self.screen is None or self._tracker is None:
            return
        status.dropped = 0 if self._camera is None else self._camera.dropped
        status.recording = self._recording is not None
        if self.clock() > self._message_until:
            status.message = ""
        rejector = self._tracker.rejector
        self.screen.show(draw_view(frame.image, frame.faces, self._accepted(frame), rejector, status))

    def _act(self, key: str) -> None:
        actions = {
            "+": lambda: self._move_threshold(1),
            "-": lambda: self._move_threshold(-1),
            " ": self._pause,
            "s": self._snapshot,
            "r": self._toggle_recording,
            "h": self._toggle_help,
        }
        if key in actions:
            actions[key]()
            self._show()

    def _pause(self) -> None:
        self._status.paused = not self._status.paused
        self._shown_at = None

    def _toggle_help(self) -> None:
        self._status.show_help = not self._status.show_help

    def _move_threshold(self, steps: int) -> None:
        if self._tracker is None:
            return
        rejector = self._tracker.rejector
        low, high = scale_of(rejector)
        now = min(max(rejector.selector.threshold_, low), high)
        moved = min(max(now + steps * (high - low) / _STEPS, low), high)
        self._tracker.use(rejector.with_target(threshold=moved))

    def _snapshot(self) -> None:
        if self._last is None:
            return
        path = self._new_file("snapshot", ".png")
        try:
            with open(path, "xb") as file:
                file.write(png(draw_decision(self._last, self._accepted(self._last))))
        except OSError:
            self._tell(f"{os.path.basename(path)} could not be written")
            return
        self._tell(f"saved {os.path.basename(path)}")
        self.files_saved.append(path)

    def _toggle_recording(self) -> None:
        if self._recording is not None:
            self._stop_recording()
        elif self._last is not None and self._run is not None:
            self._recording = Recording(self._new_file("recording", ".mp4"))
            self._recording.prepare(self._run)
            self._recording.write(self._last)

    def _stop_recording(self) -> None:
        if self._recording is None:
            return
        recording, self._recording = self._recording, None
        recording.close()
        self.files_saved.append(recording.path)
        self._tell(f"saved {os.path.basename(recording.path)}")

    def _tell(self, message: str) -> None:
        self._status.message = display_name(message)
        self._message_until = self.clock() + _MESSAGE_S

    def _new_file(self, stem: str, suffix: str) -> str:
        number = 1
        while os.path.lexists(path := os.path.join(self.snapshots, f"{stem}-{number:03}{suffix}")):
            number += 1
        return path


class ScreenWindow:
    """OpenCV's window; it can be resized, the image keeps its shape.

    Raises
    ------
    WindowError
        There is no screen, or OpenCV was built without windows.
    """

    def __init__(self, title: str) -> None:
        problem = _no_screen()
        if problem:
            raise WindowError(problem)
        self._title = title
        self._shape: tuple[int, ...] = ()
        try:
            cv2.namedWindow(title, cv2.WINDOW_NORMAL | cv2.WINDOW_KEEPRATIO | cv2.WINDOW_GUI_NORMAL)
        except cv2.error:
            raise WindowError(
                "this OpenCV was built without windows (opencv-python-headless?): install opencv-python, or "
                "use --headless"
            ) from None

    def show(self, image: ImageArray) -> None:
        """Show an RGB image; the window follows changes of its aspect ratio."""
        if image.shape[:2] != self._shape:
            self._shape = image.shape[:2]
            cv2.resizeWindow(self._title, *fitting_size(*self._shape))
        cv2.imshow(self._title, cv2.cvtColor(image, cv2.COLOR_RGB2BGR))

    def key(self, wait_ms: int) -> str:
        """The key that was pressed; see `Screen`."""
        code = cv2.waitKeyEx(max(1, wait_ms))
        if code == -1:
            return ""
        if code in _ARROWS:
            return _ARROWS[code]
        sign = chr(code & 0xFF).lower()
        return _SIGNS.get(sign, sign)

    def closed(self) -> bool:
        """Whether the user has closed the window."""
        try:
            return bool(self._shape) and cv2.getWindowProperty(self._title, cv2.WND_PROP_VISIBLE) < 1
        except cv2.error:
            return True

    def close(self) -> None:
        """Close the window."""
        try:
            cv2.destroyWindow(self._title)
            cv2.waitKey(1)
        except cv2.error:
            # the user has closed it
            pass


def fitting_size(height: int, width: int) -> tuple[int, int]:
    """Width and height of a window that fits ordinary screens."""
    scale = min(_SCREEN[0] / width, _SCREEN[1] / height)
    return max(1, round(scale * width)), max(1, round(scale * height))


def _no_screen() -> str:
    """Why there is no screen, or an empty string. Qt would end the process instead of raising."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return ""
    advice = "use --headless, which prints the results, or run it where there is a screen"
    display = os.environ.get("DISPLAY", "")
    if not display:
        # OpenCV's wheels carry Qt for X11 only; Wayland sessions have a DISPLAY too
        return f"there is no screen (DISPLAY is not set): {advice}"
    host, _, number = display.rpartition(":")
    number = number.split(".")[0]
    if not number.isdigit():
        return ""
    try:
        if host in ("", "unix"):
            with socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(2)
                try:
                    probe.connect(f"/tmp/.X11-unix/X{number}")
                except FileNotFoundError:
                    # X servers also listen on a name without a file
                    probe.connect(f"\0/tmp/.X11-unix/X{number}")
        else:
            socket.create_connection((host, 6000 + int(number)), timeout=2).close()
    except OSError as error:
        return f"the screen {display} cannot be reached ({error.strerror or error}): {advice}"
    return ""
