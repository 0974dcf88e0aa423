"""Camera devices that play a script, and a factory for them."""

from __future__ import annotations

import threading

import numpy as np

from facereject.sources.camera import Camera, CameraError, Shot

# far longer than anything here takes; only a hanging test gets there
WAIT_S = 60


def image(level=100):
    return np.full((24, 36, 3), level, np.uint8)


class FakeDevice:
    """Plays a script: images, None for a failed read, exceptions; a callable runs before the next entry.

    ``at_end`` is what every later read gives.
    """

    def __init__(self, script, at_end=EOFError):
        self.script = iter(script)
        self.at_end = at_end
        self.closed = threading.Event()
        self.n_reads = 0

    def read(self):
        assert not self.closed.is_set()
        self.n_reads += 1
        for entry in self.script:
            if callable(entry) and not isinstance(entry, type):
                entry()
                continue
            return self._give(entry)
        return self._give(self.at_end)

    @staticmethod
    def _give(entry):
        if isinstance(entry, type | Exception):
            raise entry
        return None if entry is None else Shot(entry)

    def close(self):
        self.closed.set()


class Devices:
    """A factory that gives one device after the other; an exception in the list is raised."""

    def __init__(self, *devices):
        self.waiting = list(devices)
        self.calls = []

    def __call__(self, source, size):
        self.calls.append((source, size))
        device = self.waiting.pop(0) if self.waiting else CameraError("gone")
        if isinstance(device, Exception):
            raise device
        return device


def fake_camera(*devices, **options):
    return Camera(open_device=Devices(*devices), **({"retry_s": 0} | options))


def camera_threads():
    return [thread for thread in threading.enumerate() if thread.name == "camera"]


def in_step(n_images):
    """A device that gives an image only after the one before was taken, and what to call after taking."""
    taken = threading.Semaphore(0)

    def wait():
        assert taken.acquire(timeout=WAIT_S)

    script = [image(1)]
    for level in range(2, n_images + 1):
        script += [wait, image(level)]
    return FakeDevice(script), taken.release
