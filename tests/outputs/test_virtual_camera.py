"""The virtual camera: only accepted frames reach other programs; without one there is a sentence."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from feeding import face, prepared

from facereject.faces.face import FaceFrame
from facereject.outputs.camera.virtual_camera import VirtualCamera, VirtualCameraError


class Device:
    """What pyvirtualcam opens."""

    def __init__(self, width, height, fps):
        self.size, self.fps, self.device = (width, height), fps, "/dev/video7"
        self.sent, self.closed = [], False

    def send(self, image):
        assert image.dtype == np.uint8
        assert image.flags.c_contiguous
        assert image.shape == (self.size[1], self.size[0], 3)
        self.sent.append(int(image[0, 0, 0]))

    def close(self):
        self.closed = True


@pytest.fixture
def devices(monkeypatch):
    """The devices that were opened."""
    opened = []

    def make(**options):
        opened.append(Device(**options))
        return opened[-1]

    monkeypatch.setitem(sys.modules, "pyvirtualcam", SimpleNamespace(Camera=make))
    return opened


def frame(level, accepted=True, size=(32, 24)):
    image = np.full((size[1], size[0], 3), level, np.uint8)
    return FaceFrame(level, level / 10, image, [face(accepted)])


def test_while_frames_are_rejected_the_last_accepted_one_stays(devices):
    camera = prepared(VirtualCamera())
    for level, accepted in [(1, False), (2, True), (3, False), (4, False), (5, True), (6, False)]:
        camera.write(frame(level, accepted))
    assert camera.name == "/dev/video7"
    camera.close()
    (device,) = devices
    assert device.sent == [2, 2, 2, 5, 5]
    assert (device.size, device.closed) == ((32, 24), True)


def test_frames_of_another_size_are_fitted(devices):
    camera = prepared(VirtualCamera())
    camera.write(frame(1))
    camera.write(frame(2, size=(64, 48)))
    assert devices[0].sent == [1, 2]


def test_a_system_without_one_is_told_what_to_do(monkeypatch):
    def none(**options):
        raise RuntimeError("'v4l2loopback' backend: No v4l2 loopback device\nfound")

    monkeypatch.setitem(sys.modules, "pyvirtualcam", SimpleNamespace(Camera=none))
    camera = prepared(VirtualCamera())
    with pytest.raises(VirtualCameraError) as error:
        camera.write(frame(1))
    camera.close()
    assert "modprobe v4l2loopback" in str(error.value)
    assert "No v4l2 loopback device found" in str(error.value)


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyvirtualcam", None)
    with pytest.raises(VirtualCameraError, match=r"pip install pyvirtualcam"):
        prepared(VirtualCamera())
