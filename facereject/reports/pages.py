"""Self-contained HTML: one file without links to anywhere, light and dark, readable on a phone.

Every function takes plain text, escapes it and returns a piece of HTML as a string; `page` joins the pieces.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import PIL.Image

from facereject.faces.images.load import ImageArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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

_STYLE = """
:root { color-scheme: light dark; --back: #f4f5f7; --card: #ffffff; --ink: #1d2329; --soft: #5c6670;
  --line: #dde1e6; --good: #0a7d46; --bad: #c4271c; --good-back: #e3f4ea; --bad-back: #fbe6e4;
  --note-back: #fff4d6; --note: #6b4e00; --blue: #0072b2; --orange: #d55e00; --green: #009e73;
  --pink: #b65a8b; }
@media (prefers-color-scheme: dark) { :root { --back: #111418; --card: #1a1f25; --ink: #e6e9ec;
  --soft: #9aa5b1; --line: #323a43; --good: #4fd08b; --bad: #ff7b70; --good-back: #12301f;
  --bad-back: #3a1a18; --note-back: #33290c; --note: #f0cf7a; --blue: #4fb3f0; --orange: #ff9452;
  --green: #37d1a5; --pink: #e79ac4; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0 .25rem; text-wrap: balance; }
h2 { font-size: 1.2rem; margin: 0 0 .5rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .4rem; }
p { margin: .4rem 0; max-width: 46rem; }
a { color: var(--blue); }
code { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .9em; }
.lead { color: var(--soft); margin-bottom: 1.25rem; overflow-wrap: anywhere; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.1rem;
  margin: 1rem 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem;
  margin: 1rem 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: .8rem .9rem; }
.tile b { display: block; font-size: 1.35rem; line-height: 1.3; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
.tile span, .soft { color: var(--soft); font-size: .875rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1rem; }
.charts figure { max-width: 36rem; }
.charts + .scroll { margin-top: 1rem; max-width: 32rem; }
figure { margin: 0; } figcaption { color: var(--soft); font-size: .875rem; margin-top: .25rem; }
svg { width: 100%; height: auto; display: block; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .94rem; }
th, td { padding: .38rem .6rem; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th { color: var(--soft); font-weight: 600; font-size: .8125rem; vertical-align: bottom;
  white-space: normal; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
tr.own td { background: var(--good-back); font-weight: 600; }
tr:last-child td { border-bottom: 0; }
dl { display: grid; grid-template-columns: minmax(8rem, 13rem) 1fr; gap: .35rem 1rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
dl.code { grid-template-columns: minmax(8rem, max-content) 1fr; }
dl.code dt { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .875rem; color: var(--ink); }
dl.code dd { color: var(--soft); }
.faces { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: .75rem; }
.faces.large { grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); }
.face { border: 2px solid var(--line); border-radius: 10px; overflow: hidden; font-size: .8125rem; }
.face img { display: block; width: 100%; height: auto; }
.face div { padding: .4rem .55rem .5rem; overflow-wrap: anywhere; line-height: 1.4; }
.face.good { border-color: var(--good); } .face.bad { border-color: var(--bad); }
.tag { display: inline-block; border-radius: 99px; padding: 0 .5rem; font-weight: 600; }
.tag.good { color: var(--good); background: var(--good-back); }
.tag.bad { color: var(--bad); background: var(--bad-back); }
.note { background: var(--note-back); color: var(--note); border-radius: 10px; padding: .6rem .9rem;
  margin: .6rem 0; max-width: none; }
.strip { display: flex; height: 1.5rem; border-radius: 6px; overflow: hidden; }
.strip i { display: block; background: var(--bad); } .strip i.good { background: var(--good); }
.strip i.none { background: var(--soft); }
.movie { max-width: 32rem; width: 100%; border-radius: 10px; display: block; }
.side { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 1.25rem;
  align-items: start; }
footer { color: var(--soft); font-size: .875rem; margin-top: 2rem; }
@media (max-width: 40rem) { section { padding: .9rem .8rem; }
  dl, dl.code { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; }
  .faces, .faces.large { grid-template-columns: repeat(2, 1fr); } }
@media print { body { background: #fff; } section, .tile { break-inside: avoid; } }
"""


def _text(text: str) -> str:
    """Escaped text; what stands in backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def page(title: str, lead: str, *pieces: str, footer: str = "") -> str:
    """A whole document from a title, a line below it, and pieces of HTML."""
    return (
        "<!DOCTYPE html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}</style></head>\n<body><main>\n"
        f'<h1>{escape(title)}</h1>\n<p class="lead">{escape(lead)}</p>\n'
        + "\n".join(pieces)
        + f"\n<footer>{_text(footer)}</footer>\n</main></body></html>\n"
    )


def section(title: str, *pieces: str) -> str:
    """A card with a heading."""
    return f"<section><h2>{escape(title)}</h2>\n" + "\n".join(pieces) + "</section>"


def heading(text: str) -> str:
    """A heading within a section."""
    return f"<h3>{escape(text)}</h3>"


def paragraph(text: str, *, soft: bool = False) -> str:
    """Running text; soft text stands back."""
    return f'<p class="{"soft" if soft else "text"}">{_text(text)}</p>'


def note(text: str) -> str:
    """Something the reader must not miss."""
    return f'<p class="note">{_text(text)}</p>'


def tiles(numbers: Iterable[tuple[str, str]]) -> str:
    """Large numbers with what they are: (number, meaning) pairs."""
    inner = "".join(
        f'<div class="tile"><b>{escape(number)}</b><span>{escape(meaning)}</span></div>'
        for number, meaning in numbers
    )
    return f'<div class="tiles">{inner}</div>'


def facts(pairs: Iterable[tuple[str, str]], *, code: bool = False) -> str:
    """Names and values, one below the other; the names may be commands."""
    inner = "".join(f"<dt>{escape(name)}</dt><dd>{_text(value)}</dd>" for name, value in pairs)
    return f'<dl class="{"code" if code else "text"}">{inner}</dl>'


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, own: int | None = None) -> str:
    """Rows of text; the first column is left-aligned, the row number ``own`` is marked."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        f'<tr class="{"own" if i == own else "row"}">'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row)
        + "</tr>"
        for i, row in enumerate(rows)
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def tag(text: str, good: bool) -> str:
    """A coloured word: green for accepted, red for rejected."""
    return f'<span class="tag {"good" if good else "bad"}">{escape(text)}</span>'


def face(image: ImageArray, accepted: bool, title: str, lines: Sequence[str]) -> str:
    """A picture in a green or red frame with its decision and some lines of text."""
    decision = tag("accepted" if accepted else "rejected", accepted)
    text = "<br>".join([f"<b>{escape(title)}</b>", decision, *(escape(line) for line in lines)])
    picture = f'<img src="{image_uri(image)}" alt="{escape(title)}">'
    return f'<div class="face {"good" if accepted else "bad"}">{picture}<div>{text}</div></div>'


def faces(pieces: Iterable[str], *, large: bool = False) -> str:
    """Pictures made by `face`, side by side as the screen allows."""
    return f'<div class="faces {"large" if large else "small"}">{"".join(pieces)}</div>'


def strip(spans: Iterable[tuple[int, str]], *, left: float = 0.0, right: float = 0.0) -> str:
    """A timeline: (length, "good" | "bad" | "none") spans from left to right.

    ``left`` and ``right`` are margins in shares of the width, to stand above the axis of a chart.
    """
    inner = "".join(f'<i class="{escape(kind)}" style="flex:{int(length)}"></i>' for length, kind in spans)
    return f'<div class="strip" style="margin:.5rem {right:.1%} .25rem {left:.1%}">{inner}</div>'


def columns(*pieces: str) -> str:
    """Pieces side by side where there is room, else below each other."""
    return '<div class="side">' + "".join(f"<div>{piece}</div>" for piece in pieces) + "</div>"


def link(target: str, text: str) -> str:
    """A link to a file beside the page."""
    return f'<a href="{escape(target)}">{escape(text)}</a>'


def links(intro: str, targets: Iterable[tuple[str, str]]) -> str:
    """One line of links: (file, text) pairs after some words."""
    return f'<p class="soft">{escape(intro)} {" · ".join(link(*pair) for pair in targets)}</p>'


def movie(data: bytes, kind: str, text: str) -> str:
    """An animated picture, embedded; ``kind`` is its MIME type."""
    return f'<img class="movie" src="{data_uri(data, kind)}" alt="{escape(text)}">'


def charts(*pieces: str) -> str:
    """Figures side by side where there is room."""
    return f'<div class="charts">{"".join(pieces)}</div>'


def chart(figure: Figure, name: str, caption: str) -> str:
    """A matplotlib figure as inline SVG whose colours follow the page's light or dark style.

    ``name`` must be unique in the page.
    """
    return f"<figure>{figure_svg(figure, name)}<figcaption>{escape(caption)}</figcaption></figure>"


def figure_svg(figure: Figure, name: str) -> str:
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
    # without a fill of their own letters are black, also on a dark page
    text = re.sub(r'<text style="(?![^"]*fill)', '<text style="fill: var(--ink); ', text)
    return text.replace("'DejaVu Sans', ", "")


def image_uri(image: ImageArray, *, quality: int = 82) -> str:
    """An RGB array as a data URI (WebP, which every browser since 2020 shows)."""
    stream = io.BytesIO()
    PIL.Image.fromarray(image).save(stream, "WEBP", quality=quality)
    return data_uri(stream.getvalue(), "image/webp")


def data_uri(data: bytes, kind: str) -> str:
    """Bytes as a data URI of a MIME type."""
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
