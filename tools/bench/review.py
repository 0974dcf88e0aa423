"""The review page in a real browser: python tools/bench/review.py [page | duplicates] [--faces N]

page        N photos of 640 x 480 pixels, 500 different ones and links to them, made from a photo of
            scikit-image (NASA, public domain), with a table of made-up scores. Measured are the time to the
            first crops, how long the slider takes to the next drawn frame, how long cells on the
            screen stay blank while the page is scrolled, and the memory of the server. Beside each wall time:
            processor time of the main thread of the page and of the server, and requests.
duplicates  in how many of 256 bits the hashes of crops differ, for frames of the same person in a video and
            for different photos of 300-W. The first should lie below the limit of
            `facereject.serve.review.duplicates`, the second above it. Needs the data (FACEREJECT_DATA).

Wall-clock figures mean something only on a machine with nothing else to do; the load average is printed.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np

if TYPE_CHECKING:
    import psutil
    from browsing import Browser

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "serve")]

# photos that differ
_DIFFERENT = 500

_SCROLL = """
const [speed, seconds, done] = arguments;
const box = document.getElementById("grid"), blank = new Map(), waits = [];
const start = performance.now(), top = box.scrollTop;
let last = start, longest = 0;
(function step(now) {
  longest = Math.max(longest, now - last);
  last = now;
  const edge = box.getBoundingClientRect();
  for (const cell of box.querySelectorAll(".cell")) {
    const place = cell.getBoundingClientRect();
    const seen = place.bottom > edge.top && place.top < edge.bottom;
    const loaded = cell.classList.contains("loaded");
    if (seen && !loaded && !blank.has(cell)) blank.set(cell, now);
    if (blank.has(cell) && (loaded || !seen)) {
      waits.push(now - blank.get(cell));
      blank.delete(cell);
    } else if (seen && loaded && !cell.counted) waits.push(0);
    if (seen) cell.counted = true;
  }
  for (const [cell, since] of blank) if (!cell.isConnected) {
    waits.push(now - since);
    blank.delete(cell);
  }
  box.scrollTop = top + speed * (now - start) / 1000;
  if (now - start < 1000 * seconds) requestAnimationFrame(step);
  else done({ waits: [...waits, ...[...blank.values()].map((since) => now - since)], longest });
})(start);
"""

_JUST_SCROLL = """
const [speed, seconds, done] = arguments, box = document.getElementById("grid");
const start = performance.now(), top = box.scrollTop;
(function step(now) {
  box.scrollTop = top + speed * (now - start) / 1000;
  if (now - start < 1000 * seconds) requestAnimationFrame(step);
  else done();
})(start);
"""

_SLIDE = """
const [done] = arguments, slider = document.getElementById("target"), times = [];
let k = 0;
(function next() {
  if (k === 40) return done(times);
  slider.value = (k * 379) % 1000;
  k += 1;
  const start = performance.now();
  slider.dispatchEvent(new Event("input"));
  // the second frame begins when the first is drawn
  requestAnimationFrame(() => requestAnimationFrame(() => {
    times.push(performance.now() - start);
    setTimeout(next, 30);
  }));
})();
"""


def make(folder: Path, n: int) -> Path:
    """Photos that differ, and their table."""
    import skimage.data
    from reviewing import face, write_table

    from facereject.faces.face import NO_IMAGE, Box, FaceFrame

    base = cv2.resize(skimage.data.astronaut(), (640, 640))[:480, :, ::-1]
    rng = np.random.default_rng(0)
    (folder / "photos").mkdir()
    frames = []
    for k in range(n):
        name = f"photos/{k:06d}.jpg"
        if k < _DIFFERENT:
            image = np.roll(base, int(rng.integers(-200, 200)), axis=1)
            image = cv2.convertScaleAbs(image, alpha=rng.uniform(0.5, 1.3))
            cv2.imwrite(str(folder / name), image)
        else:
            os.link(folder / f"photos/{k % _DIFFERENT:06d}.jpg", folder / name)
        box = Box(float(rng.integers(100, 400)), 60.0, 160.0, 160.0)
        frames.append(FaceFrame(0, math.nan, NO_IMAGE, [face(float(rng.random()), box=box)], name))
    return write_table(folder / "faces.csv", frames)


class Meter:
    """What a step costs: main thread of the page, processor time of the server, requests."""

    def __init__(self, browser: Browser, server: psutil.Process) -> None:
        self._browser, self._server = browser, server
        browser.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        self._before = self._now()

    def _now(self) -> np.ndarray:
        metrics = self._browser.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        found = {metric["name"]: metric["value"] for metric in metrics}
        used = self._server.cpu_times()
        requests = self._browser.run("return performance.getEntriesByType('resource').length")
        return np.array([found["TaskDuration"], used.user + used.system, requests])

    def __str__(self) -> str:
        now = self._now()
        busy, server, requests = now - self._before
        self._before = now
        return f"main thread {busy:.2f} s, server {server:.2f} s, {requests:.0f} requests"


def page(n: int) -> None:
    import psutil
    from browsing import Browser, write_camera

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, n)
        begin = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "facereject", "review", "faces.csv", "--no-browser", "--port", "0"],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "COLUMNS": "200"},
        )
        assert process.stderr is not None
        line = next(line for line in process.stderr if "http" in line)
        address = re.search(r"http\S+", line)
        assert address is not None
        server = psutil.Process(process.pid)
        print(f"load average {os.getloadavg()[0]:.1f}")
        print(f"faces {n:,}; the server is ready after {time.perf_counter() - begin:.1f} s")
        write_camera(folder / "camera.mjpeg", [np.zeros((48, 64, 3), np.uint8)])
        browser = Browser(folder / "camera.mjpeg", folder)
        try:
            browser.driver.set_window_size(1400, 900)
            browser.driver.execute_cdp_cmd(
                "Page.addScriptToEvaluateOnNewDocument",
                {"source": "performance.setResourceTimingBufferSize(100000)"},
            )
            meter = Meter(browser, server)
            begin = time.perf_counter()
            browser.driver.get(address[0])
            seen = "return document.querySelectorAll('#grid .cell.loaded').length"
            browser.wait(lambda: browser.run(seen) >= 8)
            print(f"first crops after {time.perf_counter() - begin:.2f} s (asked: 2); {meter}")
            time.sleep(2)
            str(meter)
            times = np.array(browser.driver.execute_async_script(_SLIDE))
            middle, worst = np.median(times), times.max()
            print(
                f"slider to the next frame: median {middle:.0f} ms, worst {worst:.0f} (asked: 100); {meter}"
            )
            start = server.memory_info().rss
            for speed in (800, 2500):
                found = browser.driver.execute_async_script(_SCROLL, speed, 15)
                waits = np.array(found["waits"]) / 1000
                late, longest = int((waits > 0.3).sum()), found["longest"]
                print(
                    f"scrolling {speed} pixels/s: {len(waits)} cells seen, blank for over 0.3 s: {late}, "
                    f"longest {waits.max():.2f} s; longest frame {longest:.0f} ms"
                )
                # the script above that looks at every cell is busier than the page
                str(meter)
                browser.driver.execute_async_script(_JUST_SCROLL, speed, 15)
                print(f"the same without looking, 15 s: {meter}")
            after = server.memory_info().rss
            for _ in range(60):
                browser.run(
                    "const box = document.getElementById('grid'); box.scrollTop += box.clientHeight * 3"
                )
                time.sleep(0.25)
            end = server.memory_info().rss
            print(f"memory of the server in MB: {start >> 20}, {after >> 20}, after scrolling {end >> 20}")
            print(f"load average {os.getloadavg()[0]:.1f}")
            process.send_signal(2)
            process.wait(20)
        finally:
            browser.quit()
            process.kill()


def duplicates() -> None:
    from facereject.faces import FaceRejector
    from facereject.faces.face import Box, cut_square, encode_jpeg, reduced, square_of
    from facereject.serve.review.duplicates import MOST_BITS, crop_hash
    from facereject.sources import open_video

    data = Path(os.environ["FACEREJECT_DATA"]) / "faces"
    rejector = FaceRejector.pretrained()

    def hash_of(image: np.ndarray, box: Box) -> np.ndarray:
        cut = cut_square(image, *square_of(box, 1.5))
        return np.unpackbits(crop_hash(encode_jpeg(reduced(cut, 192), 82)))

    steps = {"same person, next frame": 1, "same person, 5 frames": 5, "same person, 25 frames": 25}
    bursts: dict[str, list[int]] = {name: [] for name in steps}
    for path in sorted((data / "video").glob("*.mkv"))[:4]:
        hashes = []
        with open_video(path) as frames:
            for frame in frames:
                if frame.index > 120:
                    break
                faces = rejector(frame.image)
                hashes.append(hash_of(frame.image, faces[0].box) if len(faces) == 1 else None)
        for name, step in steps.items():
            for a, b in zip(hashes, hashes[step:], strict=False):
                if a is not None and b is not None:
                    bursts[name].append(int((a != b).sum()))
    photos = []
    for path in sorted((data / "300w" / "helen" / "trainset").glob("*.jpg"))[:150]:
        image = cv2.imread(str(path))[:, :, ::-1]
        faces = rejector(np.ascontiguousarray(image))
        if faces:
            photos.append(hash_of(image, faces[0].box))
    stacked = np.array(photos)
    apart = (stacked[:, None] != stacked[None]).sum(axis=2)[np.triu_indices(len(stacked), 1)]
    print(f"limit: {MOST_BITS} of 256 bits")
    for name, bits in (*bursts.items(), ("different photos", apart)):
        low, middle, high = np.percentile(bits, [0, 50, 95])
        within = np.mean(np.asarray(bits) <= MOST_BITS)
        print(f"{name}: least {low:.0f}, median {middle:.0f}, 95 % up to {high:.0f}; {within:.2%} within")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=["page", "duplicates"], default="page")
    parser.add_argument("--faces", type=int, default=5000)
    options = parser.parse_args()
    if options.what == "page":
        page(options.faces)
    else:
        duplicates()
