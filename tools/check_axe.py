"""Run axe on every page of the server: python tools/check_axe.py path/to/axe.min.js

axe-core is not installed with the project: unpack `npm pack axe-core`, or download axe.min.js. The pages of
serve, review and annotate are opened in light and dark, at 1280 and 360 pixels, with their dialogs, in
headless Chromium. Each violation is printed; the exit code is 1 if there is one.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "serve"), str(ROOT / "tests")]

_RUN = """
const [source, done] = arguments;
if (!window.axe) (0, eval)(source);
axe.run(document).then(({ violations }) => done(violations.map((found) => (
  [found.id, found.help, found.nodes.map((node) => node.html.slice(0, 120))]
))));
"""


class Checker:
    """Counts the violations in all states of a page."""

    def __init__(self, browser: Any, axe: str) -> None:
        self.browser, self._axe, self.violations = browser, axe, 0

    def check(self, name: str) -> None:
        """Check what is on the screen now, in two sizes and two schemes."""
        driver = self.browser.driver
        driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
        for width in (1280, 360):
            for scheme in ("light", "dark"):
                screen = {"width": width, "height": 757, "deviceScaleFactor": 1, "mobile": width < 600}
                media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
                driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
                driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
                time.sleep(0.3)
                found = driver.execute_async_script(_RUN, self._axe)
                self.violations += len(found)
                print(f"{name}, {width} pixels, {scheme}: {len(found)} violations")
                for rule, words, nodes in found:
                    print(f"  {rule}: {words}", *nodes[:5], sep="\n    ")


def main(axe: str) -> int:
    from browsing import Browser, write_camera
    from reviewing import make_photos, photo, reviewing
    from serving import jpeg, running

    from facereject import FaceRejector

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = make_photos(folder / "photos", 60)
        (folder / "photo.jpg").write_bytes(jpeg(photo()))
        write_camera(folder / "camera.mjpeg", [np.ascontiguousarray(photo())] * 10)
        browser = Browser(folder / "camera.mjpeg", folder)
        checker = Checker(browser, axe)
        try:
            with running(FaceRejector.pretrained()) as server:
                address = f"http://127.0.0.1:{server.port}/"
                browser.open(address)
                checker.check("camera off")
                browser.click("start")
                time.sleep(3)
                checker.check("camera on")
                browser.click("tab-files")
                browser.driver.find_element("id", "file-input").send_keys(str(folder / "photo.jpg"))
                browser.wait(lambda: browser.text("summary").startswith(("0 of 1", "1 of 1")))
                checker.check("files")
                browser.run("document.querySelector('#rows tr').click()")
                checker.check("a file")
                browser.driver.get(f"{address}api/docs")
                checker.check("documentation of the API")
            with reviewing(table, images=str(folder / "photos")) as review:
                browser.open(review.address, ready="window.facereject?.grid")
                checker.check("review")
                browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
                checker.check("review, all panels")
                browser.click("open-export")
                checker.check("export")
                browser.click("export-close")
                browser.run("facereject.large.show(3)")
                browser.wait(lambda: browser.run("return facereject.large.editor.points?.length"))
                checker.check("large view")
            with reviewing(
                table,
                images=str(folder / "photos"),
                page="annotate",
                queue=[1],
                annotations=str(folder / "a"),
            ) as review:
                browser.open(review.address, ready="window.facereject?.editor?.points")
                checker.check("annotate")
                browser.click("next")
                browser.wait(lambda: "annotated" in browser.text("done"))
                checker.check("annotated")
        finally:
            browser.quit()
    print(f"{checker.violations} violations")
    return int(checker.violations > 0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]).read_text(encoding="utf-8")))
