"""Pages: text is escaped, pictures are inside, charts follow the style of the page."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree
from base64 import b64decode
from html.parser import HTMLParser

import numpy as np
import PIL.Image
import pytest
from matplotlib.figure import Figure

from facereject.outputs._drawing.crops import GREEN, RED, WHITE, face_crop
from facereject.reports import pages

NASTY = "<script>alert(1)</script> & \"quotes\" 'too' é"


class Balance(HTMLParser):
    """Collects tags that are closed wrongly, and the text."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.text, self.scripts = [], [], "", 0

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        if tag not in ("meta", "br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        self.text += data


def test_everything_is_escaped_and_closed():
    image = np.zeros((20, 20, 3), np.uint8)
    card = pages.face(image, False, NASTY, [NASTY])
    pieces = [
        pages.note(NASTY),
        pages.tiles([(NASTY, NASTY)]),
        pages.section(NASTY, pages.paragraph(NASTY), pages.paragraph(NASTY, soft=True), pages.heading(NASTY)),
        pages.facts([(NASTY, NASTY)]) + pages.facts([(NASTY, NASTY)], code=True),
        pages.table([NASTY, NASTY], [[NASTY, NASTY]], own=0),
        pages.faces([card, card], large=True),
        pages.columns(pages.strip([(3, "good"), (1, "bad")]), pages.movie(b"x", "image/webp", NASTY)),
        pages.links(NASTY, [(NASTY, NASTY)]),
    ]
    page = pages.page(NASTY, NASTY, *pieces, footer=NASTY)
    parser = Balance()
    parser.feed(page)
    assert parser.wrong == []
    assert parser.open == []
    assert parser.scripts == 0
    assert parser.text.count(NASTY) >= 15
    assert "viewport" in page


def test_backticks_are_code():
    assert pages.note("run `a < b` now") == '<p class="note">run <code>a &lt; b</code> now</p>'


def test_pictures_come_back():
    image = np.zeros((30, 40, 3), np.uint8)
    image[:, 20:] = (200, 30, 60)
    uri = pages.image_uri(image)
    head, code = uri.split(",")
    assert head == "data:image/webp;base64"
    with PIL.Image.open(io.BytesIO(b64decode(code))) as picture:
        assert np.abs(np.asarray(picture.convert("RGB"), int) - image)[:, [5, 35]].max() < 12


def make_figure():
    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="#0072B2", label="a line")
    axes.set_xlabel("x & y")
    axes.legend()
    return figure


def test_charts_are_sound_and_take_the_colours_of_the_page():
    svg = pages.figure_svg(make_figure(), "one")
    root = ElementTree.fromstring(svg)
    assert root.get("width") is None
    assert root.get("viewBox") is not None
    assert "var(--blue)" in svg
    assert "#0072b2" not in svg.lower()
    assert "x &amp; y" in svg
    # equal input gives equal pages; figures of one page do not share ids of clip paths
    assert svg == pages.figure_svg(make_figure(), "one")
    other = pages.figure_svg(make_figure(), "two")
    clips = [{e.get("id") for e in ElementTree.fromstring(s).iter() if e.tag.endswith("clipPath")}
             for s in (svg, other)]  # fmt: skip
    assert clips[0]
    assert clips[0].isdisjoint(clips[1])


@pytest.mark.parametrize("size", [1.0, 20.0])
def test_crops_show_the_points(size):
    """Points of faces of any size lie where they belong in the crop."""
    image = np.full((int(120 * size), int(120 * size), 3), 90, np.uint8)
    rng = np.random.default_rng(0)
    truth = rng.uniform(40, 80, (68, 2)) * size
    truth[:4] = np.array([(40, 40), (80, 40), (40, 80), (80, 80)]) * size
    crop = face_crop(image, truth + 3 * size, False, truth, side=200)
    assert crop.shape == (200, 200, 3)
    for color in (WHITE, RED):
        assert (np.abs(crop.astype(int) - color).sum(axis=2) < 60).sum() > 50
    green = face_crop(image, truth, True, side=200)
    spots = np.argwhere(np.abs(green.astype(int) - GREEN).sum(axis=2) < 60)
    # the points reach from margin to margin: extent / (1 + 2 margin) of the crop
    assert np.ptp(spots, axis=0) == pytest.approx([200 / 1.9] * 2, abs=8)
    assert spots.mean(axis=0) == pytest.approx([100, 100], abs=12)


def test_a_crop_without_points_needs_a_place():
    image = np.zeros((50, 50, 3), np.uint8)
    with pytest.raises(ValueError, match="where the face is"):
        face_crop(image, None, False)
    assert face_crop(image, None, False, around=np.random.default_rng(0).uniform(9, 40, (68, 2))).any()
