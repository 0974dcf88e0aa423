"""Videos through OpenCV's FFmpeg: every frame that can be decoded, with the times of the container."""

from __future__ import annotations

import math
import os
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np

from facereject.faces.images import ImageArray
from facereject.video.frames import DEFAULT_STEP, VideoError, quiet_opencv

# A damaged frame makes one call of read fail, and the end of the video makes all that follow fail. So the end
# is where so many calls in a row have failed, or as many as the container still announces frames.
_PATIENCE = 250
_MOST_PATIENCE = 20_000
# a table that counts more frames than the file has room for is damaged
_LEAST_BYTES = 8
# what a container announces by its length may be sound without pictures; less than this is not missed
_SILENT_TAIL_S = 1.0
_NO_VIDEO = "not a video in a format that can be read, or one without any frames"


class ContainerVideo:
    """A video file, decoded from start to end.

    Attributes are those of `VideoReader`; ``failed`` counts the frames that could not be decoded.
    """

    def __init__(self, path: str, name: str, max_pixels: int):
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._location = self._utf8_location(path)
        self.failed = 0
        # a video may be closed while a thread reads ahead
        self._lock = threading.Lock()
        self._closed = False
        with quiet_opencv():
            self._capture: Any = cv2.VideoCapture(self._location, cv2.CAP_FFMPEG)
        try:
            if not self._capture.isOpened():
                raise VideoError(f"{name}: {_NO_VIDEO}")
            width, height = (int(self._capture.get(p)) for p in _SIZE)
            if width * height > max_pixels:
                raise VideoError(
                    f"{name}: frames of {width} x {height} pixels are more than the limit of "
                    f"{max_pixels:,}; make the video smaller or raise the limit"
                )
            fps = float(self._capture.get(cv2.CAP_PROP_FPS))
            self.fps = fps if math.isfinite(fps) and 0 < fps <= 1000 else 0.0
            announced = self._capture.get(cv2.CAP_PROP_FRAME_COUNT)
            plausible = 0 < announced <= os.path.getsize(path) / _LEAST_BYTES
            self.frame_count_hint = int(announced) if plausible else None
            self._table = _table_of_frames(path)
            self._n_read = 0
            self._first = self._next_image()
            if self._first is None:
                raise VideoError(f"{name}: no frame of the video can be decoded")
        except BaseException:
            self.close()
            raise
        # rotation is applied already; a video that changes its resolution is scaled to the first one
        self.size = (int(self._first.shape[1]), int(self._first.shape[0]))

    def frames(self) -> Iterator[tuple[float, ImageArray]]:
        """Times in seconds and RGB images."""
        clock = _SteadyClock(1 / self.fps if self.fps else DEFAULT_STEP)
        image, self._first = self._first, None
        time_s = 0.0
        while image is not None:
            time_s = clock.time(self._capture.get(cv2.CAP_PROP_POS_MSEC) / 1000)
            yield time_s, np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), dtype=np.uint8)
            image = self._next_image()
        if not self._closed:
            self.failed += self._missing_at_end(time_s)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._capture.release()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _next_image(self) -> ImageArray | None:
        failures = 0
        announced = (self.frame_count_hint or 0) - self._n_read - self.failed
        patience = min(max(_PATIENCE, announced), _MOST_PATIENCE)
        while failures < patience:
            with self._lock:
                if self._closed:
                    return None
                done, image = self._capture.read()
            if done:
                self._n_read += 1
                self.failed += failures
                return image
            failures += 1
        return None

    def _missing_at_end(self, last_s: float) -> int:
        """Frames that the container announces behind the last one that could be read."""
        missing = (self.frame_count_hint or 0) - self._n_read - self.failed
        if missing <= 0:
            return 0
        if self._table == "AVI":
            return missing
        if self._table == "MP4":
            # frames that are there but hidden by an edit list are not missing
            return max(0, min(missing, (self.frame_count_hint or 0) - self._count_packets()))
        # elsewhere the number is only length times rate
        gap = (self.frame_count_hint or 0) / self.fps - last_s if self.fps else 0.0
        return min(missing, round(gap * self.fps) - 1) if gap > _SILENT_TAIL_S else 0

    def _count_packets(self) -> int:
        with quiet_opencv():
            packets = cv2.VideoCapture(self._location, cv2.CAP_FFMPEG, [cv2.CAP_PROP_FORMAT, -1])
        n_packets = failures = 0
        while failures < _PATIENCE:
            if packets.grab():
                n_packets, failures = n_packets + 1, 0
            else:
                failures += 1
        packets.release()
        return n_packets

    def _utf8_location(self, path: str) -> str:
        # absolute, as FFmpeg takes the start of "12:30.mp4" for a protocol
        location = os.path.abspath(path)
        try:
            location.encode("utf-8")
        except UnicodeEncodeError:
            # OpenCV takes UTF-8 names only; such a video is reached through a link
            self._folder = tempfile.TemporaryDirectory(prefix="facereject-")
            link = os.path.join(self._folder.name, "video" + os.path.splitext(path)[1])
            if not link.isascii():
                link = os.path.join(self._folder.name, "video")
            os.symlink(location, link)
            return link
        return location


class _SteadyClock:
    """Times of the container that never go back: where they do, or stand still, the frame rate goes on."""

    def __init__(self, step: float):
        self._step = step
        self._last = -step
        self._offset = 0.0

    def time(self, stamp: float) -> float:
        if not math.isfinite(stamp) or stamp + self._offset <= self._last:
            self._offset = self._last + self._step - (stamp if math.isfinite(stamp) else 0.0)
        self._last = (stamp if math.isfinite(stamp) else 0.0) + self._offset
        # stamps are multiples of a time base; the noise of their conversion is not
        return round(self._last, 6)


_SIZE = (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT)


def _table_of_frames(path: str) -> str:
    """Kind of container, "MP4" (MOV too) or "AVI", if it counts its frames; otherwise empty."""
    with open(path, "rb") as file:
        head = file.read(12)
    if head[:4] == b"RIFF":
        return "AVI"
    return "MP4" if head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free") else ""
