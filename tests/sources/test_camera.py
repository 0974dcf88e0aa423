"""Cameras, with fake devices: the latest frame wins, and every frame has its number and time."""

from __future__ import annotations

import itertools
import threading

import pytest
from fake_devices import WAIT_S, Devices, FakeDevice, camera_threads, fake_camera, image, in_step
from video_files import number_of, write_video

from facereject.sources.camera import Camera, CameraError


def test_a_consumer_that_keeps_up_gets_every_frame():
    device, taken = in_step(5)
    levels, indices = [], []
    with fake_camera(device) as camera:
        for frame in camera:
            levels.append(int(frame.image[0, 0, 0]))
            indices.append(frame.index)
            taken()
    assert levels == [1, 2, 3, 4, 5]
    assert indices == [0, 1, 2, 3, 4]
    assert camera.dropped == 0
    assert device.closed.is_set()
    assert not camera_threads()


def test_a_slow_consumer_gets_the_latest_frame_and_the_rest_is_counted():
    first, rest, done = threading.Event(), threading.Event(), threading.Event()
    script = [image(0), lambda: first.wait(WAIT_S), *[image(i) for i in range(1, 100)], done.set]
    script += [lambda: rest.wait(WAIT_S), image(200)]
    with fake_camera(FakeDevice(script)) as camera:
        assert camera.read().index == 0
        first.set()
        assert done.wait(WAIT_S)
        frame = camera.read()
        assert (frame.index, frame.image[0, 0, 0]) == (99, 99)
        assert camera.dropped == 98
        rest.set()
        frame = camera.read()
        assert (frame.index, frame.image[0, 0, 0]) == (100, 200)
        assert camera.read() is None
    assert camera.dropped == 98


def test_time_is_that_of_capture():
    ticks = itertools.count(50)
    device, taken = in_step(3)
    with fake_camera(device, clock=lambda: float(next(ticks))) as camera:
        times = []
        for frame in camera:
            times.append(frame.time_s)
            taken()
    assert times[0] == 0
    assert times == sorted(set(times))


def test_reading_waits_no_longer_than_asked():
    go_on = threading.Event()
    device = FakeDevice([lambda: go_on.wait(WAIT_S), image(7)])
    with fake_camera(device) as camera:
        assert camera.read(timeout_s=0.01) is None
        assert not camera.ended
        go_on.set()
        assert camera.read(timeout_s=WAIT_S).image[0, 0, 0] == 7
        assert camera.read(timeout_s=WAIT_S) is None
        assert camera.ended


def test_black_frames_are_frames_and_are_counted():
    device = FakeDevice([image(0), image(0), image(0)])
    with fake_camera(device) as camera:
        *_, last = camera
        assert last.index == 2
        assert not last.image.any()
        assert camera.black == 3
    with fake_camera(FakeDevice([image(0), image(5)])) as camera:
        list(camera)
        assert camera.black == 0


def test_closing_while_the_consumer_waits_wakes_it():
    waiting = threading.Event()
    # a driver that gives nothing until the camera is closed
    device = FakeDevice([waiting.set, lambda: camera._stop.wait(WAIT_S)], at_end=None)
    camera = fake_camera(device)
    answers = []
    with camera:
        consumer = threading.Thread(target=lambda: answers.append(camera.read()))
        consumer.start()
        assert waiting.wait(WAIT_S)
    consumer.join(WAIT_S)
    assert answers == [None]
    assert camera.ended
    camera.close()


def test_closing_while_reconnecting_does_not_wait_for_it():
    opened = threading.Event()

    def opener(source, size):
        if opened.is_set():
            raise AssertionError("opened after it was closed")
        opened.set()
        return FakeDevice([image(1)], at_end=None)

    with Camera(open_device=opener, retry_s=WAIT_S) as camera:
        assert camera.read().index == 0
    assert not camera_threads()


def test_misuse_is_named():
    camera = fake_camera(FakeDevice([]))
    with pytest.raises(CameraError, match="not open"):
        camera.read()
    with camera, pytest.raises(CameraError, match="open already"):
        camera.open()


def test_the_size_is_asked_for():
    devices = Devices(FakeDevice([]))
    with Camera("1", size=(640, 480), open_device=devices):
        pass
    assert devices.calls == [("1", (640, 480))]


def test_a_video_stands_in_for_a_camera(tmp_path):
    path = write_video(tmp_path / "f.avi", 6, rate=200)
    with Camera(str(path)) as camera:
        frames = list(camera)
    assert frames[-1].index == 5
    assert len(frames) + camera.dropped == 6
    assert [number_of(frame.image) for frame in frames] == [frame.index for frame in frames]


def test_a_video_plays_at_its_own_rate(tmp_path):
    """Time stands still except where the camera waits for a frame to be due."""
    now = [1000.0]
    events = []

    class Stop(threading.Event):
        def wait(self, timeout=None):
            events.append(timeout)
            now[0] += timeout
            return self.is_set()

    camera = Camera(str(write_video(tmp_path / "f.avi", 5, rate=25)), clock=lambda: now[0])
    camera._stop = Stop()
    with camera:
        frames = list(camera)
    assert events == pytest.approx([0.04] * 4, abs=1e-5)
    assert frames[-1].time_s == pytest.approx(0.16, abs=1e-5)
