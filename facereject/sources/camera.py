"""A live camera: the latest frame wins, so a slow consumer sees the present and not a queue of the past."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from facereject.faces.face import FaceFrame
from facereject.sources._devices import CameraError, Device, Shot, camera_name, open_device
from facereject.sources.frame import Frame

__all__ = ["Camera", "CameraError"]

# pixels of the shorter side; no face could be seen on less
_SMALLEST = 16


class Camera:
    """A camera as a context manager and an iterator of `Frame`.

    A thread reads the device without pause and keeps the newest frame only. A consumer that is slower than
    the camera misses frames, counted in ``dropped``; a frame it gets is never older than one frame interval.
    ``Frame.index`` counts the frames of the camera, so that gaps show what was missed. ``Frame.time_s`` is
    the time of capture.

    If the device stops giving images, it is reopened a few times before `CameraError` is raised.

    Parameters
    ----------
    source : int or str
        A number, a device, the address of a stream, or a video, which plays in its own time and then ends.
    size : tuple of int, optional
        Width and height to ask a device for, in pixels.
    max_failures : int
        Number of failed attempts to read in a row, ...
    patience_s : float
        ... or seconds without a frame, after which the device counts as gone.
    reconnects, retry_s : int, float
        A device that has worked before is reopened up to this many times, after this many seconds each.
    open_device : callable
        Takes ``source`` and ``size``, returns a `Device` or raises CameraError.
    clock : callable
        Seconds that never go back.

    Attributes
    ----------
    dropped : int
        Frames so far that were not read in time.
    too_small : int
        Frames so far that were skipped because a side has less than 16 pixels, as broken drivers give them.
    black : int
        Completely black frames in a row, up to the newest one: a covered lens or a closed shutter.
    reconnected : int
        How often the device was reopened.
    """

    def __init__(
        self,
        source: int | str = 0,
        *,
        size: tuple[int, int] | None = None,
        max_failures: int = 30,
        patience_s: float = 5.0,
        reconnects: int = 5,
        retry_s: float = 1.0,
        open_device: Callable[[int | str, tuple[int, int] | None], Device] = open_device,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.source = source
        self.dropped = 0
        self.too_small = 0
        self.black = 0
        self.reconnected = 0
        self._size = size
        self._max_failures = max_failures
        self._patience_s = patience_s
        self._reconnects = reconnects
        self._retry_s = retry_s
        self._open_device = open_device
        self._clock = clock
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._latest: Frame | None = None
        self._n_captured = 0
        self._n_attempts = 0
        self._start_s: float | None = None
        self._ended = False
        self._error: Exception | None = None

    def open(self) -> Camera:
        """Open the device and start reading; CameraError says what to do if that fails."""
        if self._thread is not None:
            raise CameraError(f"{camera_name(self.source)} is open already")
        device = self._open_device(self.source, self._size)
        self._thread = threading.Thread(target=self._work, args=(device,), name="camera", daemon=True)
        self._thread.start()
        return self

    def read(self, timeout_s: float | None = None) -> Frame | None:
        """The newest frame that was not read yet; waits for one, but not longer than ``timeout_s``.

        Returns
        -------
        Frame or None
            None after the timeout, and at the end (see `ended`).

        Raises
        ------
        CameraError
            The camera has stopped giving images.
        """
        if self._thread is None:
            raise CameraError(f"{camera_name(self.source)} is not open; use it in a with statement")
        with self._changed:
            self._changed.wait_for(lambda: self._latest is not None or self._ended, timeout_s)
            frame, self._latest = self._latest, None
            if frame is None and self._ended and self._error is not None:
                raise self._error
            return frame

    def age_of(self, frame: Frame | FaceFrame) -> float:
        """Seconds since a frame of this camera was taken."""
        return self._clock() - (self._start_s or 0.0) - frame.time_s

    @property
    def ended(self) -> bool:
        """Whether no frame will come any more: the video is over, or the camera was closed."""
        with self._changed:
            return self._ended and self._latest is None

    def __iter__(self) -> Iterator[Frame]:
        while (frame := self.read()) is not None:
            yield frame

    def close(self) -> None:
        """Stop reading and free the device."""
        self._stop.set()
        with self._changed:
            self._changed.notify_all()
        if self._thread is not None:
            # a driver may hang in a read; the thread is a daemon and frees the device when it returns
            self._thread.join(timeout=self._patience_s)
        with self._changed:
            self._ended = True
            self._latest = None
            self._changed.notify_all()

    def __enter__(self) -> Camera:
        return self.open()

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _work(self, device: Device | None) -> None:
        try:
            while device is not None and not self._stop.is_set():
                self._capture_until_silent(device)
                device.close()
                device = None if self._stop.is_set() else self._open_again()
        except EOFError:
            pass
        except Exception as error:
            self._error = error if isinstance(error, CameraError) else self._stopped(error)
        finally:
            if device is not None:
                device.close()
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _capture_until_silent(self, device: Device) -> None:
        """Hand on images until the device gives none any more, or the camera is closed."""
        failures, last_s = 0, self._clock()
        while not self._stop.is_set():
            shot = device.read()
            now_s = self._clock()
            if shot is not None and min(shot.image.shape[:2]) >= _SMALLEST:
                self._hand_on(shot, now_s)
                failures, last_s = 0, self._clock()
                continue
            self.too_small += shot is not None
            failures += 1
            if failures >= self._max_failures or now_s - last_s >= self._patience_s:
                return

    def _hand_on(self, shot: Shot, now_s: float) -> None:
        if self._start_s is None:
            self._start_s = now_s
        if shot.due_s is not None:
            wait_s = self._start_s + shot.due_s - now_s
            if wait_s > 0:
                self._stop.wait(wait_s)
                now_s = self._clock()
        self._n_attempts = 0
        with self._changed:
            if self._latest is not None:
                self.dropped += 1
            self.black = 0 if shot.image.any() else self.black + 1
            time_s = round(now_s - self._start_s, 6)
            self._latest = Frame(self._n_captured, time_s, shot.image, camera_name(self.source))
            self._n_captured += 1
            self._changed.notify_all()

    def _open_again(self) -> Device | None:
        name = camera_name(self.source)
        if self._n_captured == 0:
            raise CameraError(
                f"{name} opens but gives no images: another program may be using it, so close video calls "
                "and browsers; or try another number, such as --camera 1"
            )
        # counted until an image comes: a device may open and give none
        while self._n_attempts < self._reconnects:
            self._n_attempts += 1
            if self._stop.wait(self._retry_s):
                return None
            try:
                device = self._open_device(self.source, self._size)
            except CameraError:
                continue
            self.reconnected += 1
            return device
        raise self._stopped(None)

    def _stopped(self, error: Exception | None) -> CameraError:
        detail = f" ({error})" if error is not None and str(error) else ""
        return CameraError(
            f"{camera_name(self.source)} has stopped giving images after {self._n_captured} frames"
            f"{detail}: check its cable, or the network for a stream, and start again"
        )
