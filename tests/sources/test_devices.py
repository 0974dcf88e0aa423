"""Opening cameras: which backend gets which source, and what the messages tell people to do."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from video_files import number_of, write_video

from facereject.sources import camera as devices
from facereject.sources.camera import CameraError, camera_name, open_device


class FakeCapture:
    """Stands for cv2.VideoCapture."""

    opened = True
    images = ()

    def __init__(self, source, backend):
        self.source, self.backend = source, backend
        self.settings = {}
        self.released = False
        self.waiting = iter(self.images)
        FakeCapture.last = self

    def isOpened(self):
        return self.opened

    def set(self, key, value):
        self.settings[key] = value

    def read(self):
        image = next(self.waiting, None)
        return image is not None, image

    def release(self):
        self.released = True


@pytest.fixture
def capture(monkeypatch):
    class Capture(FakeCapture):
        pass

    monkeypatch.setattr(cv2, "VideoCapture", Capture)
    return Capture


@pytest.fixture
def linux(monkeypatch):
    """A Linux computer with the given devices, some of which may be used."""

    def pretend(*found, allowed=()):
        monkeypatch.setattr(devices.sys, "platform", "linux")
        monkeypatch.setattr(devices.glob, "glob", lambda pattern: list(found))
        monkeypatch.setattr(devices.os.path, "exists", lambda path: path in found)
        monkeypatch.setattr(devices.os, "access", lambda path, mode: path in allowed)

    return pretend


@pytest.mark.parametrize("source", [3, "3", " 3 "])
def test_a_number_is_a_device(capture, source):
    open_device(source, (640, 480))
    assert FakeCapture.last.source == 3
    assert FakeCapture.last.backend == cv2.CAP_ANY
    assert FakeCapture.last.settings == {
        cv2.CAP_PROP_BUFFERSIZE: 1,
        cv2.CAP_PROP_FOURCC: cv2.VideoWriter.fourcc(*"MJPG"),
        cv2.CAP_PROP_FRAME_WIDTH: 640,
        cv2.CAP_PROP_FRAME_HEIGHT: 480,
    }


def test_an_address_is_a_stream(capture):
    open_device("rtsp://host/stream")
    assert (FakeCapture.last.source, FakeCapture.last.backend) == ("rtsp://host/stream", cv2.CAP_FFMPEG)


def test_a_device_by_its_path(capture):
    open_device("/dev/video-of-this-test")
    assert FakeCapture.last.source == "/dev/video-of-this-test"


def test_a_video_by_its_path(tmp_path):
    device = open_device(str(write_video(tmp_path / "f.avi", 2, rate=25)))
    shots = [device.read(), device.read()]
    assert [number_of(shot.image) for shot in shots] == [0, 1]
    assert [shot.due_s for shot in shots] == [0, 0.04]
    with pytest.raises(EOFError):
        device.read()
    device.close()


def test_images_become_rgb_and_empty_ones_are_failed_reads(capture):
    capture.images = (
        np.full((2, 3, 3), (10, 20, 30), np.uint8),
        np.full((2, 3), 40, np.uint8),
        np.zeros((0, 0, 3), np.uint8),
    )
    device = open_device(0)
    assert device.read().image[0, 0].tolist() == [30, 20, 10]
    assert device.read().image[0, 0].tolist() == [40, 40, 40]
    assert device.read() is None
    assert device.read() is None
    device.close()
    assert FakeCapture.last.released


def refusal(source):
    with pytest.raises(CameraError) as caught:
        open_device(source)
    return str(caught.value)


def test_no_camera_at_all(capture, linux):
    capture.opened = False
    linux()
    message = refusal(0)
    assert message.startswith("camera 0 cannot be opened: this computer shows no camera")
    assert "connect one" in message
    assert FakeCapture.last.released


def test_another_number(capture, linux):
    capture.opened = False
    linux("/dev/video2", "/dev/video4", allowed=("/dev/video2",))
    assert refusal(0) == "camera 0 does not exist; found: /dev/video2, /dev/video4; choose one with --camera"


@pytest.mark.parametrize("source", [0, "0", "/dev/video0"])
def test_no_permission(capture, linux, source):
    capture.opened = False
    linux("/dev/video0")
    message = refusal(source)
    assert "you may not use /dev/video0" in message
    assert "usermod -aG video" in message


def test_a_busy_camera(capture, linux):
    capture.opened = False
    linux("/dev/video0", "/dev/video1", allowed=("/dev/video0", "/dev/video1"))
    message = refusal(0)
    assert "another program may be using it" in message
    assert "close" in message
    assert "other devices: /dev/video1" in message


def test_other_systems(capture, monkeypatch):
    capture.opened = False
    monkeypatch.setattr(devices.sys, "platform", "darwin")
    message = refusal(0)
    assert "privacy settings" in message
    assert "--camera 1" in message


def test_a_stream_that_does_not_answer(capture):
    capture.opened = False
    message = refusal("rtsp://me:secret@host:554/stream")
    assert message.startswith("rtsp://host:554/stream: the stream cannot be opened; check the address")
    assert "secret" not in message


def test_a_video_that_is_not_there(tmp_path):
    message = refusal(str(tmp_path / "f.mp4"))
    assert message == f"{tmp_path / 'f.mp4'}: no such file; --camera takes a number, an address or a video"


def test_names_for_messages():
    assert camera_name(1) == camera_name("1") == "camera 1"
    assert camera_name("video.mp4") == "video.mp4"
    assert camera_name("http://a:b@c/d@e") == "http://c/d@e"
