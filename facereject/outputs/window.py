"""A window on the screen for live images: a small protocol, and OpenCV's window behind it."""

from __future__ import annotations

import os
import socket
import sys
from typing import Protocol

import cv2

from facereject.faces.images.load import ImageArray

# what waitKeyEx gives for the arrow keys with Qt or GTK, on Windows, and on macOS
_ARROWS = {65362: "+", 65364: "-", 2490368: "+", 2621440: "-", 63232: "+", 63233: "-"}
_SIGNS = {"=": "+", "_": "-", "\x1b": "q"}


# OpenCV does not tell how large the screen is; smaller ones are rare, and the window can be resized
_SCREEN = (1280, 720)


class WindowError(RuntimeError):
    """No window can be opened. The message says what to do."""


class Window(Protocol):
    """What the live loop needs of a window."""

    def show(self, image: ImageArray) -> None:
        """Show an RGB image."""

    def key(self, wait_ms: int) -> str:
        """The key that was pressed, waiting so long for one; empty if none was. Escape is "q", arrows + -."""

    def closed(self) -> bool:
        """Whether the user has closed the window."""

    def close(self) -> None:
        """Close the window."""


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
        """Show an RGB image; where its shape is another than before, the window gets it, too."""
        if image.shape[:2] != self._shape:
            self._shape = image.shape[:2]
            cv2.resizeWindow(self._title, *fitting_size(*self._shape))
        cv2.imshow(self._title, cv2.cvtColor(image, cv2.COLOR_RGB2BGR))

    def key(self, wait_ms: int) -> str:
        """The key that was pressed; see `Window`."""
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
    """Width and height of a window that shows an image as large as any screen of today allows."""
    scale = min(_SCREEN[0] / width, _SCREEN[1] / height)
    return max(1, round(scale * width)), max(1, round(scale * height))


def _no_screen() -> str:
    """Why there is no screen; empty if there is one. Qt would end the whole process instead of telling."""
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
