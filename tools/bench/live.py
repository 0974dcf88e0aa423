"""A camera of 1920 x 1080 with one person at 30 frames per second, end to end: python tools/bench/live.py

    python tools/bench/live.py [--seconds S] [--clip FILE]

The clip, enlarged and repeated, plays as the camera.

webcam   the loop of ``facereject webcam`` with its window, which draws but has no screen: frames per second
         that were shown, frames of the camera that were skipped, and the delay from the capture of a frame
         until it was drawn, which the window shows.
serve    ``facereject serve`` and a client that sends 30 JPEG images per second, as the page does: the same,
         with the delay from sending an image to the answer. The client works on the same cores.

Wall-clock figures mean something only on a machine with nothing else to do, so the processor time of a frame
is printed, too: where that of the slowest thread stays below 33 ms, 30 frames per second can be reached.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from pathlib import Path

import cv2
import numpy as np
import psutil
from media import DATA, report
from serve import processor_seconds, server
from websockets.sync.client import connect

from facereject import FaceRejector
from facereject.outputs.camera.window import Window
from facereject.pipeline.live import Live, warm_up
from facereject.sources import open_video
from facereject.sources.camera import Camera
from facereject.tracking.tracker import FaceTracker, Tracking

RATE, SIZE, WARM_UP_S = 30, (1920, 1080), 3.0


class NoScreen:
    """Takes what a window draws, and notes when."""

    def __init__(self) -> None:
        self.shown: list[float] = []

    def show(self, image: np.ndarray) -> None:
        """Note the time."""
        self.shown.append(time.monotonic())

    def key(self, wait_ms: int) -> str:
        """No key is pressed."""
        return ""

    def closed(self) -> bool:
        """Nobody closes it."""
        return False

    def close(self) -> None:
        """Nothing is open."""


class Noting(Camera):
    """Notes how old a frame is when the window asks for it, which is when it has been drawn."""

    delays: list[float]

    def age_of(self, frame):
        """The age, which is also kept."""
        self.delays.append(age := super().age_of(frame))
        return age


def images(clip: Path) -> list[bytes]:
    """The frames of a clip as JPEG, enlarged."""
    with open_video(clip) as video:
        large = (cv2.resize(frame.image, SIZE, interpolation=cv2.INTER_CUBIC) for frame in video)
        quality = [cv2.IMWRITE_JPEG_QUALITY, 85]
        return [cv2.imencode(".jpg", image[:, :, ::-1], quality)[1].tobytes() for image in large]


def show(name: str, frames: int, seconds: float, delays: list[float], skipped: int, cpu_s: float) -> None:
    """Print the figures of one part."""
    print(
        f"{name}: {frames} frames in {seconds:.1f} s, {skipped} skipped, processor time of a frame "
        f"{1000 * cpu_s / max(frames, 1):.1f} ms"
    )
    report(f"{name}, frames per second", frames / seconds, RATE * 0.99, at_least=True)
    median, p95 = 1000 * np.quantile(delays, [0.5, 0.95])
    print(f"  {name}, delay: median {median:.0f} ms, 95 % below {p95:.0f} ms")


def webcam(jpegs: list[bytes], seconds: float) -> None:
    """The loop of ``facereject webcam``."""
    rejector = FaceRejector.pretrained()
    warm_up(rejector)
    screen = NoScreen()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "camera.avi")
        writer = cv2.VideoWriter(str(file), cv2.VideoWriter_fourcc(*"MJPG"), RATE, SIZE)
        pictures = [cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) for data in jpegs[:60]]
        for number in range(int(RATE * (seconds + WARM_UP_S))):
            # to and fro, so that nobody jumps
            writer.write(pictures[min(number % 120, 119 - number % 120)])
        writer.release()
        del pictures
        live = Live([Window(folder, screen=screen)], max_seconds=seconds + WARM_UP_S)
        with Noting(str(file)) as camera:
            camera.delays = []
            cpu = time.thread_time()
            live.run(camera, FaceTracker(rejector, Tracking(smooth_landmarks=True)), "camera")
            cpu = time.thread_time() - cpu
    late = [shown for shown in screen.shown if shown > screen.shown[0] + WARM_UP_S]
    delays = camera.delays[-len(late) :]
    show(
        "webcam",
        len(late) - 1,
        late[-1] - late[0],
        delays,
        camera.dropped,
        cpu * len(late) / len(screen.shown),
    )


def serve(jpegs: list[bytes], seconds: float) -> None:
    """A client of ``facereject serve``."""
    sent: dict[int, float] = {}
    delays: list[float] = []
    with server() as (address, process), connect(address.replace("http", "ws") + "api/live") as socket:
        socket.send(jpegs[0])
        socket.recv(60)
        start, before = time.monotonic(), processor_seconds(process.pid)

        def answers() -> None:
            while "frame" in (answer := json.loads(socket.recv(10))):
                delays.append(time.monotonic() - sent[answer["frame"]])
                if answer["frame"] >= last:
                    return

        last = int(RATE * seconds)
        reader = threading.Thread(target=answers)
        reader.start()
        for number in range(1, last + 1):
            time.sleep(max(0.0, start + number / RATE - time.monotonic()))
            sent[number] = time.monotonic()
            place = number % 120
            socket.send(jpegs[min(place, 119 - place)])
        reader.join(30)
        span, cpu = time.monotonic() - start, processor_seconds(process.pid) - before
    show("serve", len(delays), span, delays, last - len(delays), cpu)


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--clip", type=Path, default=DATA / "video" / "book.mkv", help="at least 60 frames")
    options = parser.parse_args()
    jpegs = images(options.clip)
    for part in (webcam, serve):
        before = psutil.cpu_times()
        part(jpegs, options.seconds)
        after = psutil.cpu_times()
        busy, idle = sum(after[:3]) - sum(before[:3]), after.idle - before.idle
        print(f"  processors busy, with what else ran: {busy / (busy + idle):.0%}")


if __name__ == "__main__":
    main()
