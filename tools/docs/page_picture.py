"""The picture of the page in docs/serve.jpg: python tools/docs/page_picture.py

The fake camera shows a photograph of an astronaut from scikit-image (NASA, public domain), which gets blurred
and dark now and then. Needs Chromium and a minute, so that the strip of the last 60 seconds is full.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
import PIL.Image
import skimage.data

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "serve"), str(ROOT / "tools" / "bench")]

SIZE = (1220, 1180)


def clip(n_frames: int = 300) -> list[np.ndarray]:
    """Ten seconds: clear, blurred more and more, dark, clear."""
    photo = cv2.resize(skimage.data.astronaut(), (720, 720), interpolation=cv2.INTER_CUBIC)
    frames = []
    for k in range(n_frames):
        place = k / n_frames
        left = round(40 + 40 * np.sin(2 * np.pi * place))
        frame = photo[:480, left : left + 640]
        blur = 6 * max(0.0, 1 - abs(place - 0.45) / 0.12)
        if blur > 0.2:
            frame = cv2.GaussianBlur(frame, (0, 0), blur)
        if 0.7 < place < 0.8:
            frame = (frame * 0.06).astype(np.uint8)
        frames.append(frame)
    return frames


def main() -> None:
    from browsing import Browser, write_camera
    from serve import server

    with tempfile.TemporaryDirectory() as name, server() as (address, _):
        folder = Path(name)
        write_camera(folder / "camera.mjpeg", clip())
        browser = Browser(folder / "camera.mjpeg", folder)
        try:
            screen = {"width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": False}
            browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
            browser.open(address)
            browser.click("start")
            time.sleep(60)
            browser.wait(lambda: browser.text("state-word") == "Accepted")
            browser.run("window.scrollTo(0, 0)")
            shot = browser.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        finally:
            browser.quit()
    picture = PIL.Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
    picture.save(ROOT / "docs" / "serve.jpg", quality=82, optimize=True)
    print(f"docs/serve.jpg: {picture.size}, {(ROOT / 'docs' / 'serve.jpg').stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
