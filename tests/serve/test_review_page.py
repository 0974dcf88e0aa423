"""Review and annotate in a real browser, with thousands of faces."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from browsing import Browser, find_browser, write_camera
from reviewing import face, make_photos, photo, reviewing, write_table
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from serving import jpeg

from facereject.faces import FaceDataset
from facereject.faces.face import NO_IMAGE, FaceFrame
from facereject.outputs._video.writer import VideoWriter
from facereject.serve.review.faces import ACCEPT, REJECT, UNDECIDED

N = 5000


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    find_browser()
    folder = tmp_path_factory.mktemp("browser")
    write_camera(folder / "camera.mjpeg", [np.zeros((48, 64, 3), np.uint8)])
    found = Browser(folder / "camera.mjpeg", folder)
    yield found
    found.quit()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return make_photos(tmp_path_factory.mktemp("review") / "photos", N, suffix=".parquet")


@pytest.fixture
def review(table, tmp_path):
    images = str(table.parent / "photos")
    options = {"decisions": str(tmp_path / "d.review"), "annotations": str(tmp_path / "annotated")}
    with reviewing(table, images=images, export_folder=str(tmp_path / "out"), **options) as found:
        yield found


def show(browser, review):
    browser.open(review.address, ready="window.facereject?.grid?.order.length")
    browser.errors()
    return browser


@pytest.fixture
def page(browser, review):
    return show(browser, review)


def press(page, *keys, on="grid"):
    element = page.driver.find_element("id", on)
    page.driver.execute_script("arguments[0].focus()", element)
    actions = ActionChains(page.driver)
    for key in keys:
        if isinstance(key, tuple):
            actions.key_down(key[0]).send_keys(key[1]).key_up(key[0])
        else:
            actions.send_keys(key)
    actions.perform()


def choose(page, name, value):
    page.driver.find_element("css selector", f"#{name} option[value='{value}']").click()


def cells(page):
    return page.run("return document.querySelectorAll('#grid .cell').length")


def number(text):
    return int(text.replace(",", ""))


def saved(page, review, condition):
    page.wait(lambda: condition(review.session.decisions.values))


def test_thousands_of_faces_need_few_elements_and_every_screen_fills(page, review):
    uncertainty = review.session.faces.columns["uncertainty"]
    assert page.run("return facereject.grid.order.length") == N
    assert page.run("return facereject.grid.face") == int(uncertainty.argmax())
    loaded = "return !document.querySelector('#grid .cell:not(.loaded)')"
    for key in (Keys.HOME, Keys.PAGE_DOWN, Keys.END):
        press(page, key)
        page.wait(lambda: page.run(loaded))
        assert 8 <= cells(page) < 250
    assert page.run("return facereject.grid.face") == int(uncertainty.argmin())
    assert f"face-{int(uncertainty.argmin())}" == page.driver.find_element("id", "grid").get_attribute(
        "aria-activedescendant"
    )
    assert page.errors() == []
    origin = page.run("return location.origin")
    names = page.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert all(name.startswith(origin) for name in names)
    # the token is not left in the address
    assert "token" not in page.driver.current_url


@pytest.mark.parametrize("kind", ["mean_error", "share", "expected_error"])
def test_targets_accept_what_numpy_accepts(page, review, kind):
    columns = review.session.faces.columns
    uncertainty = np.sort(columns["uncertainty"])
    expected = 10 * uncertainty
    choose(page, "kind", kind)
    box = page.driver.find_element("id", "value")
    for value in (3.0, 1.25, 4.5):
        box.clear()
        box.send_keys(str(value), Keys.ENTER)
        if kind == "share":
            accepted = math.ceil(value / 100 * N)
        elif kind == "mean_error":
            accepted = int((np.cumsum(expected) / np.arange(1, N + 1) <= value).sum())
        else:
            accepted = int((expected <= value).sum())
        kept_at(page, review, accepted)
        mean = float(page.text("mean-kept").split()[0])
        assert mean == pytest.approx(expected[:accepted].mean(), abs=0.006)
        assert review.session.decisions.rule().kind == kind


def kept_at(page, review, accepted):
    """Wait until so many faces are accepted, on the page and by the server."""
    faces, decisions = review.session.faces, review.session.decisions
    page.wait(lambda: number(page.text("faces-kept")) == number(page.text("files-kept")) == accepted)
    page.wait(lambda: faces.accepted(decisions.rule(), decisions.values).sum() == accepted)


def test_the_slider_colours_crops_and_moves_the_strip(page, review):
    order = np.argsort(review.session.faces.columns["uncertainty"], kind="stable")
    choose(page, "sort", "uncertainty")
    slider = page.driver.find_element("id", "target")
    slider.send_keys(Keys.HOME)
    page.wait(lambda: page.text("faces-kept") == "0")
    states = "return [...document.querySelectorAll('#grid .cell')].map((cell) => cell.dataset.state)"
    assert set(page.run(states)) == {"rejected"}
    slider.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    page.wait(lambda: page.text("faces-kept") == "10")
    assert page.run(states)[:11] == ["accepted"] * 10 + ["rejected"]
    slider.send_keys(Keys.END)
    page.wait(lambda: number(page.text("faces-kept")) == N)
    choose(page, "kind", "share")
    box = page.driver.find_element("id", "value")
    box.clear()
    box.send_keys("40", Keys.ENTER)
    near = "return [...document.querySelectorAll('#strip button')].map((each) => Number(each.dataset.face))"
    page.wait(lambda: page.run(near) == order[2000 - 20 : 2000 + 20].tolist())
    assert "40" in slider.get_attribute("aria-valuetext")
    # the limit is there again in another window and after a reload
    page.wait(lambda: review.session.decisions.rule().value == 40)
    show(page, review)
    assert page.run("return facereject.faces.rule.value") == 40


def test_keys_overrule_and_decisions_outlast_the_page(page, review):
    values = review.session.decisions.values
    order = page.run("return facereject.grid.order.slice(0, 20)")
    press(page, Keys.HOME, "a")
    saved(page, review, lambda values: values[order[0]] == ACCEPT)
    press(page, Keys.ARROW_RIGHT, "r")
    saved(page, review, lambda values: values[order[1]] == REJECT)
    # a range with shift
    press(page, Keys.ARROW_RIGHT, (Keys.SHIFT, Keys.ARROW_RIGHT), (Keys.SHIFT, Keys.ARROW_RIGHT), "a")
    saved(page, review, lambda values: (values[order[2:5]] == ACCEPT).all())
    assert page.text("selection") == "3 selected"
    press(page, "u")
    saved(page, review, lambda values: not values[order[2:5]].any())
    press(page, (Keys.CONTROL, "z"))
    saved(page, review, lambda values: (values[order[2:5]] == ACCEPT).all())
    assert (values != UNDECIDED).sum() == 5
    counted = page.text("files-kept")
    show(page, review)
    assert page.text("files-kept") == counted
    assert page.run("return [...facereject.faces.decided].filter(Boolean).length") == 5
    choose(page, "show", "decided")
    page.wait(lambda: page.run("return facereject.grid.order.length") == 5)
    name = page.driver.find_element("id", f"face-{order[0]}").accessible_name
    assert name.startswith("accepted")
    assert "by you" in name
    press(page, (Keys.CONTROL, "a"), "u")
    saved(page, review, lambda values: not values.any())


def test_clicks_overrule_and_select(page, review):
    order = page.run("return facereject.grid.order.slice(0, 8)")
    page.driver.find_element("css selector", f"#face-{order[1]} .badge").click()
    saved(page, review, lambda values: values[order[1]] == ACCEPT)
    page.driver.find_element("id", f"face-{order[2]}").click()
    actions = ActionChains(page.driver).key_down(Keys.SHIFT)
    actions.click(page.driver.find_element("id", f"face-{order[4]}")).key_up(Keys.SHIFT).perform()
    page.click("accept")
    saved(page, review, lambda values: (values[order[2:5]] == ACCEPT).all())
    assert (review.session.decisions.values != UNDECIDED).sum() == 4
    page.click("undecide")
    saved(page, review, lambda values: not values[order[2:5]].any())


def test_landmarks_are_dragged_and_saved(page, review, tmp_path):
    press(page, Keys.HOME, " ")
    page.wait(lambda: page.run("return facereject.large.editor.points?.length") == 68)
    shown = page.run("return facereject.large.face")
    truth = review.session.faces.landmarks(shown)
    # the nose, 30 pixels to the right on the screen
    scale = page.run("return facereject.large.editor.svg.getScreenCTM().a")
    dot = page.driver.find_elements("css selector", "#large-view circle")[30]
    ActionChains(page.driver).drag_and_drop_by_offset(dot, 30, 0).perform()
    page.wait(lambda: page.driver.find_element("id", "large-save").is_enabled())
    moved = np.array(page.run("return facereject.large.editor.points"))
    assert moved[30] - truth[30] == pytest.approx([30 / scale, 0], abs=1.5 / scale)
    assert np.abs(np.delete(moved - truth, 30, axis=0)).max() == 0
    press(page, "s", on="large-view")
    page.wait(lambda: shown in review.session.decisions.landmarks)
    # a corrected face is accepted
    saved(page, review, lambda values: values[shown] == ACCEPT)
    (sample,) = FaceDataset.load(tmp_path / "annotated")
    assert np.abs(sample.landmarks - moved).max() < 0.001
    # the keyboard: the first landmark a step to the left, taken back, again; going to the next face saves
    press(page, ".", Keys.ARROW_LEFT, "z", Keys.ARROW_LEFT, Keys.ESCAPE, on="large-view")
    again = np.array(page.run("return facereject.large.editor.points"))
    assert again[0, 0] < moved[0, 0]
    press(page, Keys.ARROW_RIGHT, on="large-view")
    page.wait(lambda: page.run("return facereject.large.face") != shown)
    page.wait(lambda: np.abs(review.session.decisions.landmarks[shown] - again).max() < 1e-9)
    press(page, Keys.ARROW_LEFT, on="large-view")
    page.wait(lambda: page.run("return facereject.large.face") == shown)
    page.wait(lambda: page.driver.find_element("id", "large-reset").is_enabled())
    page.click("large-reset")
    page.wait(lambda: not review.session.decisions.landmarks)
    assert list((tmp_path / "annotated").rglob("*.pts")) == []
    press(page, Keys.ESCAPE, on="large-view")
    page.wait(lambda: not page.run("return facereject.large.open"))
    assert page.errors() == []


def test_zoom_keeps_landmarks_on_the_image(page):
    press(page, Keys.HOME, " ")
    page.wait(lambda: page.run("return facereject.large.editor.points?.length") == 68)
    before = page.run("return facereject.large.editor.points")
    whole = page.run("return facereject.large.editor.frame.side")
    press(page, "+", "+", on="large-view")
    assert page.run("return facereject.large.editor.frame.side") < 0.7 * whole
    assert page.run("return facereject.large.editor.points") == before
    press(page, "0", on="large-view")
    assert page.run("return facereject.large.editor.frame.side") == whole
    press(page, " ", on="large-view")
    page.wait(lambda: not page.run("return facereject.large.open"))


def test_two_windows_follow_each_other(page, review):
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    second = page.driver.current_window_handle
    try:
        show(page, review)
        page.driver.switch_to.window(first)
        order = page.run("return facereject.grid.order.slice(0, 3)")
        press(page, Keys.HOME, "a")
        saved(page, review, lambda values: values[order[0]] == ACCEPT)
        page.driver.switch_to.window(second)
        page.wait(lambda: page.run(f"return facereject.faces.decided[{order[0]}]") == ACCEPT)
        press(page, Keys.HOME, Keys.ARROW_RIGHT, "a")
        saved(page, review, lambda values: values[order[1]] == ACCEPT)
        page.driver.switch_to.window(first)
        page.wait(lambda: page.run(f"return facereject.faces.decided[{order[1]}]") == ACCEPT)
        assert (review.session.decisions.values != UNDECIDED).sum() == 2
    finally:
        page.driver.switch_to.window(second)
        page.driver.close()
        page.driver.switch_to.window(first)


def test_what_cannot_be_saved_yet_is_saved_later(page, review):
    order = page.run("return facereject.grid.order.slice(0, 2)")
    network = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.driver.execute_cdp_cmd("Network.enable", {})
    page.driver.execute_cdp_cmd("Network.emulateNetworkConditions", network)
    press(page, Keys.HOME, "a", Keys.ARROW_RIGHT, "a")
    page.wait(lambda: page.text("saved").startswith("Not saved yet"))
    assert not review.session.decisions.values.any()
    page.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {**network, "offline": False})
    saved(page, review, lambda values: (values[order] == ACCEPT).all())
    page.wait(lambda: page.text("saved") == "Everything is saved.")
    page.errors()


def test_confirm_fit_and_take_it(page, review):
    """Decisions say: accept up to 0.7; the fitted limit follows."""
    uncertainty = review.session.faces.columns["uncertainty"]
    chosen = np.random.default_rng(0).permutation(N)[:60]
    for decision, wanted in ((ACCEPT, uncertainty[chosen] <= 0.7), (REJECT, uncertainty[chosen] > 0.7)):
        review.decide(chosen[wanted].tolist(), decision)
    page.driver.find_element("xpath", "//summary[.='Learn from my decisions']").click()
    page.wait(lambda: page.driver.find_element("id", "fit").is_enabled())
    page.click("fit")
    page.wait(lambda: "fitted to your 60 decisions" in page.text("fit-words"))
    assert "cross-validation" in page.text("fit-words")
    page.click("fit-take")
    below = uncertainty[chosen][uncertainty[chosen] <= 0.7].max()
    page.wait(lambda: review.session.decisions.rule().key == "uncertainty")
    assert below <= review.session.decisions.rule().limit
    assert review.session.decisions.rule().limit < uncertainty[chosen][uncertainty[chosen] > 0.7].min()
    # the strip: what is not decided is confirmed as it is
    page.wait(lambda: page.run("return document.querySelectorAll('#strip button').length") == 40)
    time.sleep(0.3)
    near = page.run(
        "return [...document.querySelectorAll('#strip button')].map((b) => Number(b.dataset.face))"
    )
    page.click("confirm")
    saved(page, review, lambda values: (values[near] != UNDECIDED).all())
    assert (review.session.decisions.values[near[:20]] == ACCEPT).sum() >= 19


def test_groups_search_and_export(page, review, tmp_path):
    choose(page, "group", "cause")
    page.wait(lambda: page.driver.find_elements("css selector", "#grid .title"))
    groups = page.run("return facereject.grid.groups.map((group) => [group.title, group.faces.length])")
    assert dict(groups) == {"blur": 1667, "dark": 1667, "unclear": 1666}
    choose(page, "group", "none")
    page.driver.find_element("id", "search").send_keys("0012")
    page.wait(lambda: page.run("return facereject.grid.order.length") == 11)
    page.driver.find_element("id", "search").send_keys("nothing")
    page.wait(lambda: page.text("empty") == "No face matches.")
    page.click("open-export")
    page.click("export-start")
    page.wait(lambda: "Report:" in page.text("export-result"))
    accepted = (tmp_path / "out" / "accepted.txt").read_text().splitlines()
    assert len(accepted) == number(page.text("files-kept"))
    page.click("export-close")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_control_has_a_name_and_nothing_sticks_out(page, scheme, width):
    screen = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    try:
        page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        show_again = "return document.documentElement.scrollWidth <= innerWidth"
        assert page.run(show_again)
        for summary in page.driver.find_elements("css selector", "summary"):
            summary.click()
        press(page, " ")
        page.wait(lambda: page.run("return facereject.large.editor.points?.length") == 68)
        assert page.run("return document.getElementById('large').scrollWidth <= innerWidth")
        for _ in range(2):
            tree = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
            controls = [
                node
                for node in tree
                if not node["ignored"]
                and node["role"]["value"]
                in (
                    "button",
                    "textbox",
                    "searchbox",
                    "slider",
                    "checkbox",
                    "radio",
                    "combobox",
                    "listbox",
                    "option",
                    "application",
                    "dialog",
                    "image",
                )
            ]
            nameless = [node for node in controls if not node.get("name", {}).get("value")]
            assert controls
            assert nameless == []
            if page.run("return facereject.large.open"):
                press(page, Keys.ESCAPE, on="large-view")
                page.wait(lambda: not page.run("return facereject.large.open"))
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_names_are_text_and_missing_files_a_sentence(browser, tmp_path):
    (tmp_path / "p").mkdir()
    odd = "p/<img src=x onerror=document.title='hacked'>.jpg"
    (tmp_path / odd).write_bytes(jpeg(photo()))
    names = [odd, "p/gone.jpg", "/etc/passwd"]
    frames = [FaceFrame(0, math.nan, NO_IMAGE, [face(0.1 * k)], name) for k, name in enumerate(names)]
    table = write_table(tmp_path / "<b>faces.csv", frames)
    with reviewing(table, images=str(tmp_path / "p")) as review:
        page = show(browser, review)
        choose(page, "sort", "uncertainty")
        page.wait(lambda: len(page.driver.find_elements("css selector", "#grid .note")) == 2)
        page.wait(lambda: "not there" in page.driver.find_element("css selector", "#face-1 .note").text)
        page.wait(
            lambda: "outside the folder" in page.driver.find_element("css selector", "#face-2 .note").text
        )
        assert page.driver.find_element("css selector", "#face-0 .name").text.startswith("<img src=x")
        assert page.text("table-name") == "<b>faces.csv"
        assert "hacked" not in page.driver.title


def test_frames_of_a_video(browser, tmp_path):
    with VideoWriter(str(tmp_path / "clip.mp4"), 25, (200, 180)) as video:
        for shift in range(60):
            video.write(np.roll(photo(), shift, axis=1))
    frames = [
        FaceFrame(k, k / 25, NO_IMAGE, [face(0.2, track=0), face(0.9, track=1)], "clip.mp4")
        for k in range(60)
    ]
    with reviewing(write_table(tmp_path / "t.csv", frames), images=str(tmp_path)) as review:
        page = show(browser, review)
        # one crop for each of two people and three seconds
        assert page.run("return facereject.grid.order.length") == 6
        choose(page, "group", "track")
        titles = page.run("return facereject.grid.groups.map((group) => group.title)")
        assert sorted(titles) == ["clip.mp4, person #0", "clip.mp4, person #1"]
        assert page.text("files-kept") == "0"
        uncertain = page.run("return facereject.grid.groups.find((g) => g.title.endsWith('#1')).faces")
        page.run("facereject.grid.go(arguments[0])", uncertain[0])
        press(page, " ")
        page.wait(lambda: page.run("return facereject.large.editor.points?.length") == 68)
        shown = page.run("return facereject.large.face")
        press(page, "]", on="large-view")
        page.wait(lambda: page.run("return facereject.large.face") == shown + 2)
        assert f"{(shown + 2) // 2} at 0:" in page.text("large-facts")
        # a decision is about the person in that second
        press(page, "a", on="large-view")
        saved(page, review, lambda values: values[shown] == ACCEPT)
        press(page, Keys.ESCAPE, on="large-view")
        for crop in uncertain[1:]:
            page.run("facereject.grid.go(arguments[0])", crop)
            press(page, "a")
        page.wait(lambda: page.text("files-kept") == "1")
        assert page.text("faces-kept") == "120"


def test_annotate_face_after_face(browser, table, tmp_path):
    queue = [5, 77, 1234]
    options = {"decisions": str(tmp_path / "d.review"), "annotations": str(tmp_path / "mine")}
    with reviewing(
        table, images=str(table.parent / "photos"), page="annotate", queue=queue, **options
    ) as review:
        browser.open(review.address, ready="window.facereject?.editor?.points")
        browser.errors()
        page = browser
        assert page.text("place") == "Face 1 of 3"
        predicted = np.array(page.run("return facereject.editor.points"))
        dot = page.driver.find_elements("css selector", "#view circle")[8]
        ActionChains(page.driver).drag_and_drop_by_offset(dot, 0, 25).perform()
        moved = np.array(page.run("return facereject.editor.points"))
        assert moved[8, 1] > predicted[8, 1]
        press(page, "z", on="view")
        assert np.abs(np.array(page.run("return facereject.editor.points")) - predicted).max() == 0
        ActionChains(page.driver).drag_and_drop_by_offset(dot, 0, 25).perform()
        press(page, Keys.ENTER, on="view")
        page.wait(lambda: page.text("place") == "Face 2 of 3")
        press(page, "k", on="view")
        page.wait(lambda: page.text("place") == "Face 3 of 3")
        page.wait(lambda: page.text("name").endswith("01234.jpg"))
        # closed in the middle, it goes on with the first face that is not annotated
        browser.open(review.address, ready="window.facereject?.editor?.points")
        assert page.text("place") == "Face 2 of 3"
        press(page, Keys.ENTER, on="view")
        page.wait(lambda: page.text("place") == "Face 3 of 3")
        press(page, Keys.ENTER, on="view")
        page.wait(lambda: "3 of 3 faces are annotated" in page.text("done"))
        assert "at least 10" in page.text("done")
        assert "facereject annotate" in page.text("done")
        assert page.errors() == []
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")
        faces = review.session.faces
    samples = {sample.image_path.name: sample.landmarks for sample in FaceDataset.load(tmp_path / "mine")}
    assert sorted(samples) == ["00005.jpg", "00077.jpg", "01234.jpg"]
    assert np.abs(samples["00077.jpg"] - faces.landmarks(77)).max() < 0.001
    change = samples["00005.jpg"] - faces.landmarks(5)
    assert change[8, 1] > 1
    assert np.abs(np.delete(change, 8, axis=0)).max() < 0.001
