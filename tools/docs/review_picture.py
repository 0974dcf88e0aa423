"""The picture of the review page in docs/review.jpg: python tools/docs/review_picture.py

Photographs are made from that of an astronaut in scikit-image (NASA, public domain): blurred, dark, bright,
noisy, small, turned, partly covered. They are scored as any folder is. Needs Chromium.
"""

from __future__ import annotations

import base64
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np
import PIL.Image
import skimage.data

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "serve")]

SIZE = (1240, 780)


def photos(folder: Path, n: int = 120) -> None:
    """Photographs from good to hopeless."""
    base = cv2.resize(skimage.data.astronaut(), (720, 720), interpolation=cv2.INTER_CUBIC)
    rng = np.random.default_rng(4)
    folder.mkdir()
    for k in range(n):
        strength = rng.random() ** 1.5
        left, top = rng.integers(40, 200), rng.integers(0, 40)
        image = base[top : top + 420, left : left + 460].copy()
        kind = ("blur", "dark", "bright", "noise", "small", "turned", "covered")[k % 7]
        if kind == "blur":
            image = cv2.GaussianBlur(image, (0, 0), 0.3 + 9 * strength)
        elif kind in ("dark", "bright"):
            image = cv2.convertScaleAbs(
                image, alpha=1 - 0.95 * strength if kind == "dark" else 1 + 4 * strength
            )
        elif kind == "noise":
            image = np.clip(image + rng.normal(0, 90 * strength, image.shape), 0, 255).astype(np.uint8)
        elif kind == "small":
            small = cv2.resize(
                image, None, fx=1 - 0.9 * strength, fy=1 - 0.9 * strength, interpolation=cv2.INTER_AREA
            )
            image = cv2.resize(small, image.shape[1::-1])
        elif kind == "turned":
            matrix = cv2.getRotationMatrix2D((230, 210), 90 * strength * rng.choice([-1, 1]), 1)
            image = cv2.warpAffine(image, matrix, image.shape[1::-1], borderMode=cv2.BORDER_REFLECT)
        else:
            x, y = 250 - left // 2 + rng.integers(-60, 60), 120 - top + rng.integers(-30, 60)
            cv2.circle(image, (int(x), int(y)), int(10 + 70 * strength), (70, 90, 110), -1)
        if k % 2:
            image = image[:, ::-1]
        cv2.imwrite(str(folder / f"{kind}-{k:03d}.jpg"), np.ascontiguousarray(image[:, :, ::-1]))


def main() -> None:
    from browsing import Browser, write_camera

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        photos(folder / "photos")
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "facereject",
                "review",
                "photos",
                "--no-browser",
                "--port",
                "0",
                "--quiet",
            ],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "COLUMNS": "200"},
        )
        assert process.stderr is not None
        address = re.search(r"http\S+", next(line for line in process.stderr if "http" in line))
        assert address is not None
        write_camera(folder / "camera.mjpeg", [np.zeros((48, 64, 3), np.uint8)])
        browser = Browser(folder / "camera.mjpeg", folder)
        try:
            screen = {"width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": False}
            browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
            browser.open(address[0], ready="window.facereject?.grid?.order.length")
            # the limit in the middle, and the faces around it in the grid as well
            browser.run(
                "facereject.rule.accept(facereject.faces.column.uncertainty[facereject.faces.ranked[70]])"
            )
            browser.run("facereject.grid.go(facereject.faces.ranked[66]); document.activeElement.blur()")
            browser.wait(lambda: browser.run("return !document.querySelector('.cell:not(.loaded)')"))
            browser.wait(lambda: browser.text("saved") == "Everything is saved.")
            shot = browser.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        finally:
            browser.quit()
            process.kill()
    picture = PIL.Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
    target = ROOT / "docs" / "review.jpg"
    picture.save(target, quality=82, optimize=True)
    print(f"docs/review.jpg: {picture.size}, {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
