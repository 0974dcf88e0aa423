"""The bars of `facereject serve`: python tools/bench/serve.py {start,live,clients,hostile,all} [--seconds S]

start    seconds from the command to the first answer, and processor seconds.
live     one page in headless Chromium with a fake camera of 640 x 480 at 30 frames per second and one face:
         frames per second end to end, and the delay from the capture of a frame to its drawn landmarks, both
         as the page measures them. Chromium works on the same cores as the server.
clients  eight programs that send frames of 640 x 480 as fast as they are answered: frames per second of each,
         the longest wait for an answer, and the server's memory at the start and at the end. With
         --seconds 600 this is the run of ten minutes.
hostile  two videos of 28 MB that are nothing but tiny broken packets, whose clients go after 8 s: how long a
         photo then waits, and the exit after SIGINT; a table of 16 MB of empty frames and one of decisions:
         status and the largest memory of the server.

Every line gives what was measured, the bar, and whether it was met. Wall-clock figures mean something only on
a machine with nothing else to do; the load average is printed with them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
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
    print(f"{what:<44} {value:8.2f} {unit:<4} bar {sign} {bar:g}: {'met' if met else 'MISSED'}")


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


def hostile() -> None:
    """Requests that cost far more than they weigh."""
    videos()
    frame = '{"frame":0,"time_s":null,"faces":[]},'
    count = (16 << 20) // len(frame)
    body = ('{"inputs":[{"source":"a","frames":[' + (frame * count)[:-1] + "]}]}").encode()
    heavy_table("table of empty frames, 16 MB", "/api/table?format=jsonl", body)
    pair = "[0.5,null],"
    body = ('{"inputs":[{"source":"a","frames":[' + (pair * ((16 << 20) // len(pair)))[:-1] + "]}]}").encode()
    heavy_table("decisions, 16 MB", "/api/decide", body)


def videos() -> None:
    """Two videos without a frame, whose clients go; then a photo, and the end of the server."""
    from test_videos import tiny_packets

    with tempfile.TemporaryDirectory() as name:
        video = tiny_packets(Path(name, "clip.avi"), 2_800_000)
        _, photo = cv2.imencode(".jpg", faces(1)[0][:, :, ::-1])
    with server() as (address, process):
        # models are loaded with the first photo
        answer(address, "/api/score", photo.tobytes())
        sockets = [upload(address, "/api/video", video) for _ in range(2)]
        time.sleep(8)
        for connection in sockets:
            connection.close()
        began = time.perf_counter()
        status = answer(address, "/api/score", photo.tobytes())
        report(f"photo after two broken videos (status {status})", time.perf_counter() - began, "s", 5)
        sockets = [upload(address, "/api/video", video) for _ in range(2)]
        time.sleep(1)
        began = time.perf_counter()
        process.send_signal(signal.SIGINT)
        process.wait(120)
        report("exit after SIGINT, videos at work", time.perf_counter() - began, "s", 10)


def heavy_table(what: str, path: str, body: bytes) -> None:
    """One request; the status, the time and the largest memory of a server of its own."""
    with server() as (address, process):
        before = psutil.Process(process.pid).memory_info().rss
        began = time.perf_counter()
        status = answer(address, path, body)
        seconds = time.perf_counter() - began
        peak = int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[1]) / 1024
        print(f"{what}: status {status} after {seconds:.1f} s; {before / 2**20:.0f} MB before")
        report(f"{what}: largest memory", peak, "MB", 1000)


def upload(address: str, path: str, body: bytes) -> socket.socket:
    """Send a request and leave its response unread."""
    host, port = address.removeprefix("http://").rstrip("/").split(":")
    connection = socket.create_connection((host, int(port)), timeout=60)
    head = f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)
    return connection


def answer(address: str, path: str, body: bytes) -> int:
    """Send a request, read its response, give the status."""
    request = urllib.request.Request(f"{address.rstrip('/')}{path}", data=body)
    request.add_header("Content-Type", "application/octet-stream")
    try:
        with urllib.request.urlopen(request, timeout=300) as response:
            while response.read(1 << 20):
                pass
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["start", "live", "clients", "hostile", "all"])
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if options.what in ("start", "all"):
        start()
    if options.what in ("live", "all"):
        live(options.seconds)
    if options.what in ("clients", "all"):
        clients(options.seconds)
    if options.what in ("hostile", "all"):
        hostile()


if __name__ == "__main__":
    main()
