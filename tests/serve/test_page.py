"""The page in a real browser with a fake camera that plays a clip."""

from __future__ import annotations

import base64
import copy
import dataclasses
import io
import threading
import time
import zipfile

import cv2
import numpy as np
import pytest
import skimage.data
from browsing import Browser, find_browser, write_camera
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from serving import jpeg, pixels, running

from facereject import FaceRejector, score_files
from facereject.faces.face import Box
from facereject.outputs._video.writer import VideoWriter
from facereject.serve.app import ServeCounts, make_app
from facereject.serve.models import ModelRegistry
from facereject.serve.server import bind, make_server
from facereject.sources import open_video

ALTERNATION = 25


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A face for 25 frames, then black for 25, again and again."""
    find_browser()
    folder = tmp_path_factory.mktemp("browser")
    face = cv2.resize(skimage.data.astronaut(), (640, 640))[:480]
    frames = [np.roll(face, 2 * k, axis=1) for k in range(ALTERNATION)]
    write_camera(folder / "camera.mjpeg", [*frames, *[np.zeros_like(face)] * ALTERNATION])
    found = Browser(folder / "camera.mjpeg", folder)
    yield found
    found.quit()


@pytest.fixture
def page(browser, server):
    """The page, open and still."""
    browser.open(server.address)
    browser.errors()
    return browser


def watch(page) -> None:
    """Start the camera and wait for a judged face."""
    page.click("start")
    page.wait(lambda: page.text("state-word") == "Accepted")


def test_landmarks_are_drawn_where_the_library_puts_them(page, rejector):
    watch(page)
    answer, frame, shown = page.wait(lambda: (found := page.last_frame())[0]["faces"] and found)
    (face,) = answer["faces"]
    truth = rejector.assess_box(np.ascontiguousarray(frame), [face["box"][side] for side in Box._fields])
    points = np.array(face["landmarks"])
    assert frame.shape == shown.shape == (480, 640, 3)
    assert np.abs(points - truth.landmarks).max() < 0.1
    assert face["expected_error"] == pytest.approx(truth.expected_error, abs=1e-6)
    (found,) = rejector(np.ascontiguousarray(frame))
    assert np.abs(points - found.landmarks).max() < 0.05 * found.box.width
    # a point in one of the bright colours of errors stands at every landmark, and nothing like it was there
    drawn, before = (
        np.array([picture[round(y), round(x)] for x, y in points], dtype=int) for picture in (shown, frame)
    )
    # 228 and 36 at their ends; the rim of a neighbour may touch a point
    ends = np.abs([drawn.max(axis=1) - 228, drawn.min(axis=1) - 36]).max(axis=0)
    assert np.mean(ends <= 3) > 0.85
    assert (np.ptp(drawn, axis=1) > 130).all()
    assert (np.ptp(before, axis=1) < 130).all()
    # but for the losses of JPEG
    assert np.abs(shown[-60:].astype(int) - frame[-60:]).mean() < 3
    assert page.errors() == []
    # nothing comes from elsewhere
    loaded = page.run("return performance.getEntriesByType('resource').map(entry => entry.name)")
    assert [name for name in loaded if not name.startswith(page.run("return location.origin"))] == []


def test_state_figures_and_best_frame(page):
    watch(page)
    page.wait(lambda: "No face is seen" in page.text("state-why"))
    page.wait(lambda: page.text("rate").isdigit() and page.text("delay").endswith("ms"))
    page.wait(lambda: 0 < int(page.text("share").split()[0]) < 100)
    assert "#0 · " in page.text("best")
    page.driver.find_element("css selector", "#best button").click()
    picture = cv2.imdecode(np.frombuffer(page.downloaded("person-0-*.jpg"), np.uint8), cv2.IMREAD_COLOR)
    assert picture.shape == (480, 640, 3)
    assert picture.mean() > 30
    page.click("stop")
    assert page.text("state-word") == "Camera off"


def test_the_slider_changes_decisions_at_once(page, rejector):
    watch(page)
    slider = page.driver.find_element("id", "target")
    slider.send_keys(Keys.HOME)
    page.wait(lambda: page.text("state-word") == "Rejected")
    lowest = rejector.calibration.values[0]
    assert float(page.text("target-value").split()[0]) == pytest.approx(lowest, abs=0.06)
    page.wait(lambda: "more than" in page.text("state-why"))
    slider.send_keys(Keys.END)
    page.wait(lambda: page.text("state-word") == "Accepted")
    page.wait(lambda: "Every face is accepted" in page.text("target-words"))
    assert page.errors() == []


def test_another_model_judges_again(page, tmp_path, photo_jpeg):
    (tmp_path / "a.jpg").write_bytes(photo_jpeg)
    page.click("tab-files")
    page.driver.find_element("id", "file-input").send_keys(str(tmp_path / "a.jpg"))
    page.wait(lambda: page.text("summary") == "1 of 1 accepted")
    before = page.run("return facereject.files.items[0].frames[0].faces[0].uncertainty")
    page.driver.find_element("css selector", "#model option[value=thorough]").click()
    page.wait(lambda: page.run("return facereject.target.model.name") == "thorough")
    page.wait(lambda: page.run("return facereject.files.items[0].state") == "done")
    (face,) = FaceRejector.pretrained("thorough")(pixels(photo_jpeg))
    after = page.run("return facereject.files.items[0].frames[0].faces[0].uncertainty")
    assert after == pytest.approx(face.uncertainty)
    assert after != before
    page.click("tab-camera")
    watch(page)


def test_regions_can_be_chosen(page, rejector):
    box = page.driver.find_element("id", "regions")
    assert box.text.split("\n")[:4] == ["Which points matter", "whole face", "eyes", "mouth"]
    watch(page)
    whole = page.run("return facereject.target.limit")
    page.driver.find_element("css selector", "#regions input[value=mouth]").click()
    page.wait(lambda: page.run("return facereject.target.limit") != whole)
    mouth = rejector.for_region("mouth")

    def judged_by_the_mouth():
        answer, frame, _ = page.last_frame()
        if not answer["faces"]:
            return False
        (face,) = answer["faces"]
        truth = mouth.assess_box(np.ascontiguousarray(frame), [face["box"][side] for side in Box._fields])
        return face["expected_error"] == pytest.approx(truth.expected_error, rel=1e-3)

    # frames on their way are still judged by the whole face
    page.wait(judged_by_the_mouth)


def test_only_accepted_frames_are_recorded(page, tmp_path, rejector):
    watch(page)
    page.click("record")
    page.wait(lambda: page.run("return facereject.recorder.frames") >= 2)
    # over at least one stretch of black
    page.wait(lambda: page.text("state-word") == "No face")
    frames = page.run("return facereject.recorder.frames")
    page.wait(lambda: page.run("return facereject.recorder.frames") > frames)
    page.click("record")
    suffix = page.run("return facereject.recorder.suffix")
    (tmp_path / f"video.{suffix}").write_bytes(page.downloaded(f"accepted-*.{suffix}"))
    with open_video(tmp_path / f"video.{suffix}") as video:
        images = [frame.image for frame in video]
    assert len(images) >= 2
    assert all(image.mean() > 30 for image in images)
    assert len(rejector(images[-1])) == 1


def test_files_are_judged_and_downloaded(page, rejector, tmp_path, photo):
    blurred = cv2.GaussianBlur(photo, (0, 0), 2.5)
    for name, image in [("a.jpg", photo), ("=b.jpg", blurred), ("black.jpg", np.zeros_like(photo))]:
        (tmp_path / name).write_bytes(jpeg(image))
    (tmp_path / "broken.jpg").write_bytes(b"no picture")
    paths = sorted(path for path in tmp_path.iterdir() if path.name != "broken.jpg")
    page.click("tab-files")
    page.driver.find_element("id", "file-input").send_keys(
        "\n".join(map(str, [*paths, tmp_path / "broken.jpg"]))
    )
    page.wait(lambda: "could not be read" in page.text("summary"))
    page.wait(lambda: not page.driver.find_element("id", "work").is_displayed())
    table = tmp_path / "table.csv"
    score_files(paths, table, rejector=rejector)
    accepted = [line.split(",")[0] for line in table.read_text().splitlines() if ",true,," in line]
    assert page.text("summary") == f"{len(accepted)} of 3 accepted, 1 could not be read"
    page.driver.find_element("css selector", "[data-format=csv]").click()
    got = page.downloaded("faces.csv").decode().splitlines()
    wanted = table.read_text().replace(f"{tmp_path}/=", "./=").replace(f"{tmp_path}/", "").splitlines()
    assert sorted(line for line in got if not line.startswith("broken")) == sorted(wanted)
    assert sum("unreadable: not an image" in line for line in got) == 1
    rows = [row.text for row in page.driver.find_elements("css selector", "#rows tr")]
    assert rows[0].startswith("a.jpg")
    assert "failed" in rows[-1] or "no face" in rows[-1]
    page.driver.find_element("css selector", "[data-sort=name]").click()
    page.driver.find_element("css selector", "[data-sort=name]").click()
    names = [row.text.split()[0] for row in page.driver.find_elements("css selector", "#rows tr")]
    assert names[-1] == "=b.jpg" or names[0] == "broken.jpg"
    page.click("zip")
    with zipfile.ZipFile(io.BytesIO(page.downloaded("accepted.zip"))) as archive:
        assert archive.testzip() is None
        assert sorted(archive.namelist()) == sorted(name.rpartition("/")[2] for name in accepted)
        assert archive.read("a.jpg") == (tmp_path / "a.jpg").read_bytes()
    # under another target the same pictures are decided upon again
    page.run("facereject.target.set(0.5)")
    page.wait(lambda: page.text("summary").startswith("0 of 3 accepted"))
    page.driver.find_element("css selector", "#filter input[value=accepted]").click()
    page.wait(lambda: not page.driver.find_elements("css selector", "#rows tr"))


def test_a_dropped_video_has_a_timeline_to_click_into(page, tmp_path, photo):
    path = tmp_path / "clip.mp4"
    with VideoWriter(str(path), 10, (320, 240)) as video:
        for k in range(20):
            video.write(photo if k < 10 else np.zeros_like(photo))
    page.click("tab-files")
    page.run(
        """
        const bytes = Uint8Array.from(atob(arguments[0]), (letter) => letter.charCodeAt(0));
        const transfer = new DataTransfer();
        transfer.items.add(new File([bytes], "clip.mp4", { type: "video/mp4" }));
        document.getElementById("drop").dispatchEvent(new DragEvent("drop", { dataTransfer: transfer }));
        """,
        base64.b64encode(path.read_bytes()).decode(),
    )
    page.wait(lambda: page.text("summary") == "1 of 1 accepted")
    page.wait(lambda: "50 % of them accepted" in page.text("rows"))
    page.driver.find_element("css selector", "#rows tr").click()
    page.wait(lambda: page.text("detail-words").startswith("Frame 0: Accepted"))
    strip = page.driver.find_element("id", "timeline")
    # frame 15 of 20, from the middle of the strip
    right = round((15.5 / 20 - 0.5) * strip.size["width"])
    ActionChains(page.driver).move_to_element_with_offset(strip, right, 0).click().perform()
    page.wait(lambda: page.text("detail-words").startswith("Frame 15: No face"))
    page.click("detail-close")
    assert [line for line in page.errors() if "favicon" not in line] == []


class Slow:
    """A rejector that waits in every picture."""

    def __init__(self, rejector) -> None:
        self._rejector, self.go = rejector, threading.Event()

    def __getattr__(self, name):
        return getattr(self._rejector, name)

    def __call__(self, image):
        if image.shape != (100, 100, 3):
            self.go.wait(30)
        return self._rejector(image)


def test_a_long_job_can_be_cancelled(browser, rejector, tmp_path, photo_jpeg):
    slow = Slow(rejector)
    for k in range(12):
        (tmp_path / f"{k}.jpg").write_bytes(photo_jpeg)
    with running(slow) as server:
        browser.open(server.address)
        browser.click("tab-files")
        paths = "\n".join(map(str, sorted(tmp_path.iterdir())))
        browser.driver.find_element("id", "file-input").send_keys(paths)
        browser.wait(lambda: browser.text("progress-text") == "0 of 12 files")
        browser.click("cancel")
        browser.wait(lambda: not browser.driver.find_element("id", "work").is_displayed())
        assert browser.text("rows").count("cancelled") == 12
        slow.go.set()


def test_a_dead_server_is_explained_and_its_return_noticed(browser, rejector):
    app = make_app(ModelRegistry("first", rejector), workers=1, counts=ServeCounts())
    listener = bind("127.0.0.1", 0)
    port = listener.getsockname()[1]

    def serve(listener, app):
        server = make_server(app)
        thread = threading.Thread(target=server.run, args=[[listener]], daemon=True)
        thread.start()
        return server, thread

    server, thread = serve(listener, app)
    try:
        time.sleep(0.3)
        browser.open(f"http://127.0.0.1:{port}/")
        watch(browser)
        server.should_exit = True
        thread.join(20)
        browser.wait(lambda: "server does not answer" in browser.text("trouble"))
        assert "start it again" in browser.text("trouble")
        server, thread = serve(bind("127.0.0.1", port), make_app(ModelRegistry("first", rejector), workers=1))
        browser.wait(lambda: not browser.text("trouble"))
        browser.wait(lambda: browser.text("state-word") == "Accepted")
    finally:
        server.should_exit = True
        thread.join(20)


def test_a_refused_camera_is_explained(browser, server):
    browser.open(server.address, camera=False)
    browser.click("start")
    browser.wait(lambda: "not allowed to use the camera" in browser.text("trouble"))
    assert browser.driver.find_element("id", "start").is_displayed()


def test_keys(page):
    body = page.driver.find_element("tag name", "body")
    body.send_keys(" ")
    page.wait(lambda: page.text("state-word") == "Accepted")
    before = page.run("return facereject.target.limit")
    body.send_keys("+")
    page.wait(lambda: page.run("return facereject.target.limit") > before)
    body.send_keys("s")
    picture = cv2.imdecode(np.frombuffer(page.downloaded("snapshot-*.png"), np.uint8), cv2.IMREAD_COLOR)
    assert picture.shape == (480, 640, 3)
    body.send_keys(" ")
    page.wait(lambda: page.text("state-word") == "Camera off")


def test_nothing_is_cut_off_on_a_phone(page):
    size = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        for tab in ("tab-camera", "tab-files"):
            page.click(tab)
            assert page.run("return document.documentElement.scrollWidth") <= 360
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


class Telling(FaceRejector):
    """Gives an error for every point, from small to large, and a cause."""

    def judge(self, face, uncertainty):
        errors = np.linspace(0.5, 20.0, len(face.landmarks))
        judged = super().judge(face, uncertainty)
        return dataclasses.replace(judged, landmark_errors=errors, cause="dark")


def test_points_are_coloured_by_their_errors_and_causes_told_where_models_give_them(browser, rejector):
    telling = copy.copy(rejector)
    telling.__class__ = Telling
    with running(telling) as server:
        browser.open(server.address)
        watch(browser)
        answer, _, shown = browser.wait(lambda: (found := browser.last_frame())[0]["faces"] and found)
        points = answer["faces"][0]["landmarks"]
        first, last = (shown[round(points[k][1]), round(points[k][0])].astype(int) for k in (0, 67))
        assert first[1] > first[0] + 50
        assert last[0] > last[1] + 50
        browser.run("facereject.target.set(0.5)")
        browser.wait(lambda: browser.text("state-word") == "Rejected")
        browser.wait(lambda: "Too dark: add light." in browser.text("state-why"))
