"""Self-contained HTML: one file without links to anywhere, light and dark, readable on a phone.

Every function takes plain text, which is escaped, or pieces of HTML that other functions made, and returns a
piece; `page` joins the pieces.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

import PIL.Image

from facereject._html import HTML, Content, document, tag, with_code

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from facereject.faces.images import ImageArray

# colours of the figures (facereject.plotting) -> names that the style sheet defines for light and dark
_THEME = {
    "#0072b2": "blue",
    "#d55e00": "orange",
    "#009e73": "green",
    "#cc79a7": "pink",
    "#222222": "ink",
    "#000000": "ink",
    "#262626": "ink",
    "#6e6e6e": "soft",
    "#e3e3e3": "line",
    "#ffffff": "card",
}


def page(title: str, lead: str, *pieces: Content, footer: str = "") -> str:
    """A whole document from a title, a line below it, and pieces of HTML."""
    style = (resources.files("facereject.reports") / "page.css").read_text(encoding="utf-8")
    top = [tag("h1", title), tag("p", lead, class_="lead")]
    main = tag("main", top, pieces, tag("footer", with_code(footer)))
    return document(title, tag("style", HTML(style)), main)


def section(title: str, *pieces: Content) -> HTML:
    """A card with a heading."""
    return tag("section", tag("h2", title), pieces)


def heading(text: str) -> HTML:
    """A heading within a section."""
    return tag("h3", text)


def paragraph(text: str, *, soft: bool = False) -> HTML:
    """Running text; soft text is less prominent."""
    return tag("p", with_code(text), class_="soft" if soft else "text")


def note(text: str) -> HTML:
    """Something the reader must not miss."""
    return tag("p", with_code(text), class_="note")


def tiles(numbers: Iterable[tuple[str, str]]) -> HTML:
    """Large numbers with what they are: (number, meaning) pairs."""
    return tag(
        "div", [tag("div", tag("b", a), tag("span", b), class_="tile") for a, b in numbers], class_="tiles"
    )


def facts(pairs: Iterable[tuple[str, str]], *, code: bool = False) -> HTML:
    """Names and values, one below the other; the names may be commands."""
    items = [[tag("dt", name), tag("dd", with_code(value))] for name, value in pairs]
    return tag("dl", items, class_="code" if code else "text")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, own: int | None = None) -> HTML:
    """Rows of text; the first column is left-aligned, the row number ``own`` is marked."""
    head = tag("thead", tag("tr", [tag("th", name) for name in columns]))
    body = [
        tag("tr", [tag("td", cell) for cell in row], class_="own" if i == own else "row")
        for i, row in enumerate(rows)
    ]
    return tag("div", tag("table", head, tag("tbody", body)), class_="scroll")


def label(text: str, good: bool) -> HTML:
    """A coloured word: green for accepted, red for rejected."""
    return tag("span", text, class_=f"tag {'good' if good else 'bad'}")


def face(image: ImageArray, accepted: bool, title: str, lines: Sequence[str]) -> HTML:
    """An image in a green or red frame with its decision and some lines of text."""
    decision = label("accepted" if accepted else "rejected", accepted)
    text = [tag("b", title), *([tag("br"), line] for line in (decision, *lines))]
    shown = tag("img", src=image_uri(image), alt=title)
    return tag("div", shown, tag("div", text), class_=f"face {'good' if accepted else 'bad'}")


def faces(pieces: Iterable[str], *, large: bool = False) -> HTML:
    """Images made by `face`, side by side as the screen allows."""
    return tag("div", pieces, class_=f"faces {'large' if large else 'small'}")


def strip(spans: Iterable[tuple[int, str]], *, left: float = 0.0, right: float = 0.0) -> HTML:
    """A timeline: (length, "good" | "bad" | "none") spans from left to right.

    ``left`` and ``right`` are margins in shares of the width, to stand above the axis of a chart.
    """
    inner = [tag("i", class_=kind, style=f"flex:{int(length)}") for length, kind in spans]
    return tag("div", inner, class_="strip", style=f"margin:.5rem {right:.1%} .25rem {left:.1%}")


def columns(*pieces: Content) -> HTML:
    """Pieces side by side where there is room, else below each other."""
    return tag("div", [tag("div", piece) for piece in pieces], class_="side")


def links(intro: str, targets: Iterable[tuple[str, str]]) -> HTML:
    """One line of links to files beside the page: (file, text) pairs after some words."""
    made = [[" · " if i else " ", tag("a", text, href=file)] for i, (file, text) in enumerate(targets)]
    return tag("p", intro, made, class_="soft")


def movie(data: bytes, kind: str, text: str) -> HTML:
    """An animated image, embedded; ``kind`` is its MIME type."""
    return tag("img", class_="movie", src=data_uri(data, kind), alt=text)


def charts(*pieces: Content) -> HTML:
    """Figures side by side where there is room."""
    return tag("div", pieces, class_="charts")


def chart(figure: Figure, name: str, caption: str) -> HTML:
    """A matplotlib figure as inline SVG whose colours follow the page's light or dark style.

    ``name`` must be unique in the page.
    """
    return tag("figure", figure_svg(figure, name), tag("figcaption", caption))


def figure_svg(figure: Figure, name: str) -> HTML:
    """The figure as an <svg> element that can stand in a page beside others of another name."""
    import matplotlib

    stream = io.StringIO()
    # ids must differ between the figures of one page; letters stay text, in the font of the page
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": name}
    with matplotlib.rc_context(settings):
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    for color, name in _THEME.items():
        text = re.sub(color, f"var(--{name})", text, flags=re.I)
    # without a fill letters are black, also on a dark page
    text = re.sub(r'<text style="(?![^"]*fill)', '<text style="fill: var(--ink); ', text)
    return HTML(text.replace("'DejaVu Sans', ", ""))


def image_uri(image: ImageArray, *, quality: int = 82) -> str:
    """An RGB array as a data URI (WebP, which every browser since 2020 shows)."""
    stream = io.BytesIO()
    PIL.Image.fromarray(image).save(stream, "WEBP", quality=quality)
    return data_uri(stream.getvalue(), "image/webp")


def data_uri(data: bytes, kind: str) -> str:
    """Bytes as a data URI of a MIME type."""
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
