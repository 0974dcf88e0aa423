"""The bars of `facereject serve`: python tools/bench/serve.py {start,live,clients,all} [--seconds S]

start    seconds from the command to the first answer, and processor seconds.
live     one page in headless Chromium with a fake camera of 640 x 480 at 30 frames per second and one face:
         frames per second end to end, and the delay from the capture of a frame to its drawn landmarks, both
         as the page measures them. Chromium works on the same cores as the server.
clients  eight programs that send frames of 640 x 480 as fast as they are answered: frames per second of each,
         the longest wait for an answer, and the server's memory at the start and at the end. With
         --seconds 600 this is the run of ten minutes.

Every line gives what was measured, the bar, and whether it was met. Wall-clock figures mean something only on
a machine with nothing else to do; the load average is printed with them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import psutil
import skimage.data

ROOT = Path(__file__).parents[2]
# the browser of the tests
sys.path.insert(0, str(ROOT / "tests" / "serve"))

N_CLIENTS = 8
WARM_UP_S = 5.0


@contextmanager
def server() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The command, and its address once it says it."""
    command = [sys.executable, "-m", "facereject", "serve", "--no-browser", "--port", "0"]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"}
    )
    assert process.stderr is not None
    try:
        address = re.search(r"http://\S+", process.stderr.readline())
        if address is None:
            sys.exit("the server did not start")
        yield address[0], process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def report(what: str, value: float, unit: str, bar: float, *, least: bool = False) -> None:
    """One line: the figure, its bar, and whether it is met."""
    met = value >= bar if least else value <= bar
    sign = ">=" if least else "<="
    print(f"{what:<44} {value:8.1f} {unit:<4} bar {sign} {bar:g}: {'met' if met else 'MISSED'}")


def processor_seconds(pid: int) -> float:
    """Of a process and all that it has started."""
    parent = psutil.Process(pid)
    total = 0.0
    for process in [parent, *parent.children(recursive=True)]:
        try:
            used = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += used.user + used.system
    return total


def faces(n_frames: int = 90) -> list[np.ndarray]:
    """Frames of 640 x 480 with one face that moves about."""
    photo = cv2.resize(skimage.data.astronaut(), (640, 640))[:480]
    turns = np.linspace(0, 2 * np.pi, n_frames, endpoint=False)
    return [np.roll(photo, (int(6 * np.cos(turn)), int(40 * np.sin(turn))), axis=(0, 1)) for turn in turns]


def start() -> None:
    """How long the command takes to answer."""
    walls = []
    for _ in range(3):
        began = time.perf_counter()
        with server() as (_, process):
            walls.append(time.perf_counter() - began)
            used = psutil.Process(process.pid).cpu_times()
    report("start, best of three", min(walls), "s", 3.0)
    print(f"{'processor time of the last start':<44} {used.user + used.system:8.1f} s")


def live(seconds: float) -> None:
    """The page with a camera."""
    from browsing import Browser, write_camera

    with tempfile.TemporaryDirectory() as name, server() as (address, process):
        folder = Path(name)
        write_camera(folder / "camera.mjpeg", faces())
        browser = Browser(folder / "camera.mjpeg", folder)
        try:
            browser.open(address)
            browser.click("start")
            time.sleep(WARM_UP_S)
            browser.run("facereject.forget()")
            driver = browser.driver.service.process.pid
            before = [processor_seconds(process.pid), processor_seconds(driver)]
            time.sleep(min(seconds, 60))
            figures = browser.run("return facereject.measured()")
            after = [processor_seconds(process.pid), processor_seconds(driver)]
        finally:
            browser.quit()
    used = [late - early for late, early in zip(after, before, strict=True)]
    report(
        "live, frames per second end to end", (figures["frames"] - 1) / figures["seconds"], "", 25, least=True
    )
    report("live, median delay from capture to drawing", figures["median"], "ms", 80)
    report("live, 95 % of the delays", figures["p95"], "ms", 150)
    print(f"{'median time of the server for a frame':<44} {figures['server']:8.1f} ms")
    for who, seconds_used in zip(("server", "browser"), used, strict=True):
        text = f"processor time of the {who} for a frame"
        print(f"{text:<44} {1000 * seconds_used / figures['frames']:8.1f} ms")


def clients(seconds: float) -> None:
    """Eight clients at once."""
    from websockets.sync.client import connect

    frames = []
    for image in faces(30):
        _, data = cv2.imencode(".jpg", image[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 85])
        frames.append(data.tobytes())
    counts, waits, refused = [0] * N_CLIENTS, [0.0] * N_CLIENTS, [0] * N_CLIENTS
    stop = threading.Event()

    def watch(number: int, address: str) -> None:
        with connect(address) as socket:
            while not stop.is_set():
                began = time.perf_counter()
                socket.send(frames[counts[number] % len(frames)])
                refused[number] += "error" in json.loads(socket.recv(60))
                waits[number] = max(waits[number], time.perf_counter() - began)
                counts[number] += 1

    with server() as (address, process):
        socket_address = address.replace("http", "ws") + "api/live"
        threads = [threading.Thread(target=watch, args=[k, socket_address]) for k in range(N_CLIENTS)]
        for thread in threads:
            thread.start()
        memory = []
        time.sleep(min(WARM_UP_S, seconds / 4))
        first, began = list(counts), time.perf_counter()
        while time.perf_counter() - began < seconds:
            time.sleep(min(2.0, seconds / 10))
            memory.append(psutil.Process(process.pid).memory_info().rss / 2**20)
        span = time.perf_counter() - began
        rates = [(now - before) / span for now, before in zip(counts, first, strict=True)]
        stop.set()
        for thread in threads:
            thread.join(60)
    shown = ", ".join(f"{rate:.1f}" for rate in rates)
    print(f"{N_CLIENTS} clients, frames per second of each: {shown}; together {sum(rates):.1f}")
    report(
        "slowest client, share of the mean", 100 * min(rates) / (sum(rates) / N_CLIENTS), "%", 80, least=True
    )
    report("longest wait for an answer", max(waits), "s", 2.0)
    tenth = max(1, len(memory) // 10)
    early, late = np.median(memory[:tenth]), np.median(memory[-tenth:])
    print(f"memory of the server: {early:.0f} MB at the start, {late:.0f} MB after {span:.0f} s")
    report("growth of the memory", 100 * (late / early - 1), "%", 5)
    print(f"errors: {sum(refused)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["start", "live", "clients", "all"])
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if options.what in ("start", "all"):
        start()
    if options.what in ("live", "all"):
        live(options.seconds)
    if options.what in ("clients", "all"):
        clients(options.seconds)


if __name__ == "__main__":
    main()
