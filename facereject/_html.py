"""HTML from Python: elements whose text is escaped, so that no name or message becomes markup."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

_VOID = frozenset({"br", "img", "link", "meta"})


class HTML(str):
    """A piece of HTML; every other string is text."""

    __slots__ = ()

    def __str__(self) -> HTML:
        return self

    def __add__(self, other: str) -> HTML:
        return join(self, other)


Content: TypeAlias = str | Iterable["Content"]


def join(*content: Content) -> HTML:
    """Pieces of HTML as they are, text escaped, the items of lists one after the other."""
    return HTML("".join(_piece(item) for item in content))


def tag(name: str, /, *content: Content, **attributes: str | int | None) -> HTML:
    """An element of HTML.

    Parameters
    ----------
    name : str
    *content
        As in `join`.
    **attributes
        Values are escaped; None leaves the attribute out. A ``_`` at the end keeps the name from being a
        keyword of Python, others are hyphens.

    Examples
    --------
    >>> tag("p", "1 < 2, ", tag("b", "really"), class_="note")
    '<p class="note">1 &lt; 2, <b>really</b></p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return HTML(f"<{name}{given}>" + ("" if name in _VOID else f"{join(*content)}</{name}>"))


def with_code(text: str) -> HTML:
    """Text in which backticks mark code."""
    return HTML(re.sub(r"`([^`]+)`", r"<code>\1</code>", _piece(text)))


def document(title: str, head: Content, *body: Content) -> HTML:
    """A whole page that fits the screen of a phone."""
    first = [tag("meta", charset="utf-8"), tag("title", title)]
    phone = tag("meta", name="viewport", content="width=device-width, initial-scale=1")
    whole = tag("html", tag("head", *first, phone, head), "\n", tag("body", *body), lang="en")
    return HTML(f"<!DOCTYPE html>\n{whole}\n")


def facts_html(title: str, facts: Mapping[str, str], *, picture: str = "") -> str:
    """A table of names and values under a title, for notebooks, which bring no style sheet of ours.

    ``picture`` is HTML that is shown before it.
    """
    left = "text-align:left"
    rows = [
        tag("tr", tag("td", name, style=left), tag("td", value, style=left)) for name, value in facts.items()
    ]
    head = tag("thead", tag("tr", tag("th", title, colspan=2)))
    table = tag("table", head, tag("tbody", rows))
    return tag("div", HTML(picture), table, style="display:flex;gap:1em;align-items:flex-start")


def _piece(content: Content) -> str:
    if isinstance(content, HTML):
        return content
    return html.escape(content) if isinstance(content, str) else join(*content)
