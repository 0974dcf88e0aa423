"""A camera for other programs: it shows accepted frames, and between them the last accepted one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np

from facereject.faces.face import FaceFrame
from facereject.faces.images import ImageArray
from facereject.outputs.base import Output, RunInfo

# what other programs are told; frames come as they are scored
_FPS = 30

_NO_PACKAGE = "a virtual camera needs the package pyvirtualcam: pip install pyvirtualcam"
_NO_DEVICE = (
    "this system has no virtual camera that could be used ({}); on Linux load one with `sudo modprobe "
    "v4l2loopback`, on Windows and macOS install OBS, which brings one"
)


class VirtualCameraError(RuntimeError):
    """There is no virtual camera; the message says how to get one."""


@dataclass
class VirtualCamera(Output):
    """Show accepted frames, and between them the last accepted one, on a camera for other programs.

    The device is opened with the first frame, whose size it keeps. Until a frame is accepted, nothing is
    shown.

    Raises
    ------
    VirtualCameraError
        Before the first frame, the package pyvirtualcam is missing; with it, the system has no virtual
        camera.

    Attributes
    ----------
    name : str
        Of the device, as other programs list it; empty before the first frame.

    Examples
    --------
    >>> from facereject.outputs.camera.virtual_camera import VirtualCamera
    >>> VirtualCamera().name
    ''
    """

    name: str = field(default="", init=False)
    _rule: str = field(default="all", init=False, repr=False)
    _make: Callable[..., Any] | None = field(default=None, init=False, repr=False)
    _device: Any = field(default=None, init=False, repr=False)
    _size: tuple[int, int] = field(default=(0, 0), init=False, repr=False)
    _shown: ImageArray | None = field(default=None, init=False, repr=False)

    def prepare(self, run: RunInfo) -> None:
        """Check that pyvirtualcam is installed."""
        try:
            import pyvirtualcam
        except ImportError:
            raise VirtualCameraError(_NO_PACKAGE) from None
        self._make, self._rule = pyvirtualcam.Camera, run.frame_rule

    def write(self, frame: FaceFrame) -> None:
        """Show the frame if it is accepted."""
        if self._device is None:
            self._open(*frame.image.shape[:2])
        if frame.accepted(self._rule):
            self._shown = self._fitted(frame.image)
        if self._shown is not None:
            # also when it has not changed: programs treat a camera without frames as broken
            self._device.send(self._shown)

    def close(self) -> None:
        """Release the device."""
        if self._device is not None:
            self._device.close()
            self._device = None

    def _open(self, height: int, width: int) -> None:
        if self._make is None:
            raise VirtualCameraError("VirtualCamera is not prepared: call prepare first")
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
