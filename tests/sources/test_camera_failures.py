"""Cameras that fail, with fake devices: busy, silent, unplugged, plugged in again."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest
from fake_devices import WAIT_S, Devices, FakeDevice, camera_threads, fake_camera, image, in_step
from video_files import write_video

from facereject.sources.camera import Camera, CameraError, VideoDevice


def test_single_failed_reads_are_skipped():
    device, taken = in_step(2)
    device.script = itertools.chain([None, None], device.script, [None, None, None])
    with fake_camera(device, max_failures=4) as camera:
        frames = []
        for frame in camera:
            frames.append(frame)
            taken()
    assert [frame.index for frame in frames] == [0, 1]
    assert camera.reconnected == 0


def test_a_camera_that_never_gives_an_image():
    device = FakeDevice([], at_end=None)
    devices = Devices(device)
    with (
        Camera(2, open_device=devices, max_failures=10) as camera,
        pytest.raises(CameraError, match=r"camera 2 opens but gives no images: .*close.*--camera"),
    ):
        next(iter(camera))
    assert device.n_reads == 10
    assert device.closed.is_set()
    assert devices.calls == [(2, None)]


def test_a_driver_that_hangs_in_every_read_is_given_up_by_the_clock():
    seconds = itertools.count(0, 10)
    device = FakeDevice([], at_end=None)
    camera = fake_camera(device, clock=lambda: next(seconds), patience_s=5)
    with camera, pytest.raises(CameraError, match="gives no images"):
        camera.read()
    assert device.n_reads == 1


def test_a_camera_that_is_unplugged_and_plugged_in_again():
    before = FakeDevice([image(1)], at_end=None)
    after = FakeDevice([image(2)])
    gone = CameraError("not there")
    camera = fake_camera(before, gone, gone, after)
    with camera:
        levels = [int(frame.image[0, 0, 0]) for frame in camera]
    # the first may have been replaced before it was asked for
    assert levels in ([1, 2], [2])
    assert camera.dropped == 2 - len(levels)
    assert camera.reconnected == 1
    assert before.closed.is_set()
    assert after.closed.is_set()


def test_a_camera_that_stays_unplugged():
    device, taken = in_step(3)
    device.at_end = None
    devices = Devices(device)
    with Camera(open_device=devices, retry_s=0, reconnects=4) as camera:
        for index in range(3):
            assert camera.read().index == index
            taken()
        with pytest.raises(CameraError, match=r"camera 0 has stopped giving images after 3 frames: .*cable"):
            camera.read()
        # asked again, it says so again
        with pytest.raises(CameraError, match="has stopped"):
            camera.read()
    assert len(devices.calls) == 1 + 4
    assert not camera_threads()


def test_a_camera_that_opens_again_and_again_but_stays_black_out():
    silent = [FakeDevice([], at_end=None) for _ in range(10)]
    camera = fake_camera(FakeDevice([image(1)], at_end=None), *silent, reconnects=3)
    with camera, pytest.raises(CameraError, match="has stopped giving images after 1 frames"):
        list(camera)
    assert [device.closed.is_set() for device in silent] == [True] * 3 + [False] * 7


def test_the_last_frame_is_given_before_the_error():
    failed = threading.Event()
    device = FakeDevice([image(9), failed.set, OSError("pipe broken")])
    with fake_camera(device) as camera:
        assert failed.wait(WAIT_S)
        assert camera.read().image[0, 0, 0] == 9
        with pytest.raises(CameraError, match=r"after 1 frames \(pipe broken\)"):
            camera.read()
    assert device.closed.is_set()


def test_an_error_at_opening_is_raised_at_once():
    camera = fake_camera(CameraError("camera 0 cannot be opened: close the other program"))
    with pytest.raises(CameraError, match="close the other program"):
        camera.open()
    assert not camera_threads()


def test_a_video_that_ends_in_a_failure(tmp_path):
    video = VideoDevice(str(write_video(tmp_path / "f.avi", 5, rate=500)))

    class Unplugged:
        def __init__(self):
            self.n_reads = 0

        def read(self):
            self.n_reads += 1
            return video.read() if self.n_reads <= 3 else None

        def close(self):
            video.close()

    with fake_camera(Unplugged()) as camera, pytest.raises(CameraError, match="after 3 frames"):
        list(camera)


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 500, 3), (500, 1, 3)])
def test_frames_that_are_too_small_are_skipped_and_counted(shape):
    small = np.zeros(shape, np.uint8)
    with fake_camera(FakeDevice([small, image(1), small, small, image(2)])) as camera:
        levels = [frame.image[0, 0, 0] for frame in camera]
    assert levels[-1] == 2
    assert camera.too_small == 3


def test_a_camera_that_gives_only_tiny_frames_is_broken():
    tiny = [FakeDevice([np.zeros((1, 1, 3), np.uint8)] * 50, at_end=None) for _ in range(3)]
    camera = fake_camera(*tiny, max_failures=30)
    with camera, pytest.raises(CameraError, match="gives no images"):
        list(camera)
    assert camera.too_small == 30


def test_a_number_that_no_camera_can_have():
    with pytest.raises(CameraError, match="does not exist"):
        Camera("9" * 20).open()
