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
from facereject.faces.models.calibration import INTERVAL_LEVEL
from facereject.faces.models.card import MODEL_NOTES
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
    """Start the camera and wait for a scored face."""
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
    # the five points of the detector are not in the answer, and change the error a little
    assert face["expected_error"] == pytest.approx(truth.expected_error, rel=0.05)
    (found,) = rejector(np.ascontiguousarray(frame))
    assert np.abs(points - found.landmarks).max() < 0.05 * found.box.width
    # a point in one of the bright colours of errors stands at every landmark, and nothing like it was there;
    # the smallest points cover little more than a pixel, and not always the nearest one
    near = [[(round(y) + j, round(x) + i) for i in (-1, 0, 1) for j in (-1, 0, 1)] for x, y in points]
    places = [max(pixels, key=lambda pixel: np.ptp(shown[pixel].astype(int))) for pixels in near]
    drawn, before = (np.array([picture[place] for place in places], dtype=int) for picture in (shown, frame))
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
    page.wait(lambda: page.text("state-word") == "No face")
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
    page.wait(lambda: "limit" in page.text("state-why"))
    slider.send_keys(Keys.END)
    page.wait(lambda: page.text("state-word") == "Accepted")
    page.wait(lambda: page.text("state-range").startswith("80"))
    page.wait(lambda: "calibration faces" in page.text("domain"))
    page.wait(lambda: "Every face is accepted" in page.text("target-words"))
    assert page.errors() == []


def test_another_model_scores_again(page, tmp_path, photo_jpeg):
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
    assert box.text.split("\n")[:4] == ["Which landmarks matter", "whole face", "eyes", "mouth"]
    watch(page)
    whole = page.run("return facereject.target.limit")
    page.driver.find_element("css selector", "#regions input[value=mouth]").click()
    page.wait(lambda: page.run("return facereject.target.limit") != whole)
    mouth = rejector.for_region("mouth")

    def scored_by_the_mouth():
        answer, frame, _ = page.last_frame()
        if not answer["faces"]:
            return False
        (face,) = answer["faces"]
        truth = mouth.assess_box(np.ascontiguousarray(frame), [face["box"][side] for side in Box._fields])
        return face["expected_error"] == pytest.approx(truth.expected_error, rel=1e-3)

    # frames on their way are still scored by the whole face
    page.wait(scored_by_the_mouth)


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


def test_files_are_scored_and_downloaded(page, rejector, tmp_path, photo):
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
        assert "Restart it" in browser.text("trouble")
        server, thread = serve(bind("127.0.0.1", port), make_app(ModelRegistry("first", rejector), workers=1))
        browser.wait(lambda: not browser.text("trouble"))
        browser.wait(lambda: browser.text("state-word") == "Accepted")
    finally:
        server.should_exit = True
        thread.join(20)


def test_a_refused_camera_is_explained(browser, server):
    browser.open(server.address, camera=False)
    browser.click("start")
    browser.wait(lambda: "not allowed to use the camera" in browser.text("cover-text"))
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


def test_error_and_limit_are_shown_with_as_many_digits_as_it_takes(page):
    shown = page.driver.execute_async_script(
        """
        const done = arguments[0];
        import("/words.js").then(({ twoPercents, verdict }) => {
          const face = {
            accepted: false, reason: "uncertain", expected_error: 4.214, uncertainty: 1,
            error_interval: [2.51, 7.06],
          };
          const { why, range } = verdict({ accepted: false, faces: [face] }, 4.198);
          done([why, twoPercents(5.04, 4), range]);
        });
        """
    )
    assert shown[0].replace("\xa0", " ") == "Expected error 4.21 %, limit 4.20 %."
    assert [text.replace("\xa0", " ") for text in shown[1]] == ["5.0 %", "4.0 %"]
    share = f"{INTERVAL_LEVEL:.0%}".replace("%", " %")
    assert shown[2].replace("\xa0", " ") == f"{share} of such faces have errors of 2.5 to 7.1 %."


def test_a_missing_camera_is_told_once(page):
    page.run(
        "navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', 'NotFoundError'))"
    )
    page.click("start")
    page.wait(lambda: page.text("cover-text") == "No camera found.")
    assert page.run("return document.body.innerText").count("No camera found") == 1


def test_unit_and_models_are_explained_without_backticks(browser, rejector):
    with running(rejector, name="default", notes=MODEL_NOTES) as server:
        browser.open(server.address)
        assert "percent of the distance of the outer eye corners" in browser.text("unit")
        assert browser.text("model-note") == MODEL_NOTES["default"]
        browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert "`" not in browser.run("return document.body.innerText")
        assert browser.driver.find_elements("css selector", "#facts code")


def test_landmarks_of_other_regions_have_no_colour(browser, rejector):
    telling = copy.copy(rejector)
    telling.__class__ = Telling
    with running(telling) as server:
        browser.open(server.address)
        browser.driver.find_element("css selector", "#regions input[value=eyes]").click()
        browser.wait(lambda: browser.run("return facereject.target.points?.size") == 12)
        browser.run("facereject.target.set(1000)")
        watch(browser)

        def colours():
            answer, _, shown = browser.last_frame()
            if not answer["faces"]:
                return None
            points = np.round(answer["faces"][0]["landmarks"]).astype(int)
            return np.ptp(shown[points[:, 1], points[:, 0]].astype(int), axis=1).tolist()

        spread = browser.wait(colours)
    # the grey of a landmark has little colour, and errors are up to 20 %
    assert np.median(spread[48:]) < 40
    assert np.median(spread[36:48]) > 130


@pytest.mark.parametrize("x", [-60, 20, 150])
@pytest.mark.parametrize("y", [-30, 60, 150])
@pytest.mark.parametrize("mirror", [False, True])
def test_labels_stay_inside_the_image(page, x, y, mirror):
    text, left, wide, middle = page.driver.execute_async_script(
        """
        const [x, y, mirror, done] = arguments;
        import("/draw.js").then(({ drawFaces }) => {
          const canvas = Object.assign(document.createElement("canvas"), { width: 200, height: 200 });
          const context = canvas.getContext("2d");
          const width = (text) => context.measureText(text).width;
          context.fillText = (text, left, middle) => done([text, left, width(text), middle]);
          const box = { x, y, width: 100, height: 100 };
          const face = { box, accepted: true, expected_error: 4.25, track: 3, landmarks: null };
          drawFaces(context, [face], { width: 200, limit: 5, mirror });
        });
        """,
        *(x, y, mirror),
    )
    assert text == "✓ #3 4.3 %"
    assert left >= 0
    assert left + wide <= 200
    assert 5 <= middle <= 195


def test_the_buttons_of_the_camera_are_on_the_first_screen(page):
    size = {"width": 1280, "height": 757, "deviceScaleFactor": 1, "mobile": False}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        watch(page)
        for name in ("stop", "snapshot", "state"):
            where = "return document.getElementById(arguments[0]).getBoundingClientRect().bottom"
            assert page.run(where, name) <= 757
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_reasons_are_in_the_rows(page, tmp_path, photo):
    for name, image in [("black.jpg", np.zeros_like(photo)), ("face.jpg", photo)]:
        (tmp_path / name).write_bytes(jpeg(image))
    (tmp_path / "broken.jpg").write_bytes(b"no image")
    page.run("facereject.target.set(0.5)")
    page.click("tab-files")
    paths = "\n".join(map(str, sorted(tmp_path.iterdir())))
    page.driver.find_element("id", "file-input").send_keys(paths)
    page.wait(lambda: page.text("summary") == "0 of 2 accepted, 1 could not be read")
    rows = {row.text.split()[0]: row.text for row in page.driver.find_elements("css selector", "#rows tr")}
    assert "may be too small" in rows["black.jpg"]
    assert "limit 0.5" in rows["face.jpg"]
    assert "not an image" in rows["broken.jpg"]


def test_items_of_description_lists_are_their_children(page):
    parents = page.run(
        "return [...document.querySelectorAll('dt, dd')].map((item) => item.parentElement.tagName)"
    )
    assert len(parents) > 10
    assert set(parents) == {"DL"}


class Telling(FaceRejector):
    """Gives an error for every point, from small to large, and a cause."""

    def rescore(self, face, uncertainty):
        errors = np.linspace(0.5, 20.0, len(face.landmarks))
        scored = super().rescore(face, uncertainty)
        return dataclasses.replace(scored, landmark_errors=errors, cause="dark")


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
