"""A camera for other programs: it shows accepted frames, and between them the last accepted one."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from facereject.faces.face import FaceFrame
from facereject.faces.images.load import ImageArray

# what other programs are told; frames come as they are judged
_FPS = 30

_NO_PACKAGE = "a virtual camera needs the package pyvirtualcam: pip install 'facereject[virtual-camera]'"
_NO_DEVICE = (
    "this system has no virtual camera that could be used ({}); on Linux load one with `sudo modprobe "
    "v4l2loopback`, on Windows and macOS install OBS, which brings one"
)


class VirtualCameraError(RuntimeError):
    """There is no virtual camera; the message says how to get one."""


class VirtualCamera:
    """Sends accepted frames to a virtual camera; a context manager.

    The device is opened with the first frame, whose size it keeps. Until a frame is accepted, nothing is
    shown.

    Raises
    ------
    VirtualCameraError
        The package pyvirtualcam is missing, or, with the first frame, the system has no virtual camera.

    Attributes
    ----------
    name : str
        Of the device, as other programs list it; empty before the first frame.
    """

    def __init__(self) -> None:
        try:
            import pyvirtualcam
        except ImportError:
            raise VirtualCameraError(_NO_PACKAGE) from None
        self._make = pyvirtualcam.Camera
        self._device: Any = None
        self._shown: ImageArray | None = None
        self.name = ""

    def __call__(self, frame: FaceFrame, accepted: bool) -> None:
        """The next judged frame and the decision on it."""
        if self._device is None:
            self._open(*frame.image.shape[:2])
        if accepted:
            self._shown = self._fitted(frame.image)
        if self._shown is not None:
            # also when it has not changed: programs take a camera without frames for broken
            self._device.send(self._shown)

    def close(self) -> None:
        """Give the device back."""
        if self._device is not None:
            self._device.close()
            self._device = None

    def __enter__(self) -> VirtualCamera:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _open(self, height: int, width: int) -> None:
        try:
            self._device = self._make(width=width, height=height, fps=_FPS)
        except Exception as error:
            # each system reports a missing device in its own way
            reason = " ".join(str(error).split()) or type(error).__name__
            raise VirtualCameraError(_NO_DEVICE.format(reason[:200])) from None
        self._size = (width, height)
        self.name = str(self._device.device)

    def _fitted(self, image: ImageArray) -> ImageArray:
        if image.shape[1::-1] != self._size:
            image = np.asarray(cv2.resize(image, self._size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
        return np.ascontiguousarray(image)
