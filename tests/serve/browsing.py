"""A headless Chromium with a fake camera, from the packages of the system."""

from __future__ import annotations

import base64
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

# as root in a container, without a screen and without asking anybody anything
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--use-fake-device-for-media-stream", "--window-size=1200,1400"),
)


def find_browser() -> tuple[str, str]:
    """Chromium and its driver; without them tests skip loudly, or fail where they are required."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        message = (
            "BROWSER MISSING: the tests of the page need Chromium and ChromeDriver; "
            "on Debian: apt-get install chromium chromium-driver"
        )
        if os.environ.get("FACEREJECT_REQUIRE_BROWSER") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return browser, driver


def write_camera(path: Path, frames: list[np.ndarray]) -> None:
    """RGB frames as the Motion JPEG that the fake camera plays, again and again."""
    with open(path, "wb") as file:
        for frame in frames:
            good, data = cv2.imencode(".jpg", frame[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 95])
            assert good
            file.write(data.tobytes())


class Browser:
    """One window of it.

    Parameters
    ----------
    camera : path
        What the fake camera plays.
    folder : path
        For its profile and for downloads.
    """

    def __init__(self, camera: Path, folder: Path) -> None:
        from selenium import webdriver

        browser, driver = find_browser()
        self.downloads = folder / "downloads"
        self.downloads.mkdir()
        options = webdriver.ChromeOptions()
        options.binary_location = browser
        for flag in FLAGS:
            options.add_argument(flag)
        options.add_argument(f"--user-data-dir={folder / 'profile'}")
        options.add_argument(f"--use-file-for-fake-video-capture={camera}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        self.driver.set_script_timeout(60)
        self.driver.execute_cdp_cmd(
            "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(self.downloads)}
        )

    def open(
        self, address: str, *, camera: bool = True, ready: str = "window.facereject?.target.model"
    ) -> None:
        """Show a page that may use the camera, or may not, and wait until something in it is true."""
        self.driver.execute_cdp_cmd(
            "Browser.setPermission",
            {
                "permission": {"name": "camera"},
                "setting": "granted" if camera else "denied",
                "origin": address.partition("?")[0].rstrip("/"),
            },
        )
        self.driver.get(address)
        self.wait(lambda: self.run(f"return Boolean({ready})"))

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a script."""
        return self.driver.execute_script(script, *arguments)

    def click(self, name: str) -> None:
        """Click the element of that id."""
        self.driver.find_element("id", name).click()

    def text(self, name: str) -> str:
        """What the element of that id says."""
        return self.driver.find_element("id", name).text

    def wait(self, condition: Callable[[], Any], seconds: float = 60) -> Any:
        """Wait until something is true and give it."""
        end = time.monotonic() + seconds
        while not (value := condition()):
            assert time.monotonic() < end, self.text("trouble") or self.errors()
            time.sleep(0.05)
        return value

    def downloaded(self, name: str) -> bytes:
        """The download whose name matches, when it is complete; it is taken away."""
        found = self.wait(lambda: list(self.downloads.glob(name)))
        self.wait(lambda: not list(self.downloads.glob("*.crdownload")))
        data = found[0].read_bytes()
        found[0].unlink()
        return data

    def last_frame(self) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
        """The last answer, the frame it is for, and what the canvas shows, both as RGB."""
        answer, frame, shown = self.driver.execute_async_script(
            """
            const [done] = arguments, { answer, blob } = facereject.last;
            const shown = document.getElementById("view").toDataURL("image/png");
            const reader = new FileReader();
            reader.onload = () => done([answer, reader.result, shown]);
            reader.readAsDataURL(blob);
            """
        )
        return answer, _pixels(frame), _pixels(shown)

    def errors(self) -> list[str]:
        """What the console says went wrong since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def quit(self) -> None:
        """Close it."""
        self.driver.quit()


def _pixels(address: str) -> np.ndarray:
    data = np.frombuffer(base64.b64decode(address.partition(",")[2]), dtype=np.uint8)
    return cv2.imdecode(data, cv2.IMREAD_COLOR)[:, :, ::-1]
