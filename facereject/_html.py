"""Small pieces of HTML for notebooks, which bring no style sheet of ours."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape


def facts_html(title: str, facts: Mapping[str, str], *, picture: str = "") -> str:
    """A table of names and values under a title; ``picture`` is HTML to stand before it."""
    rows = "".join(
        f'<tr><td style="text-align:left">{escape(name)}</td>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    head = f'<thead><tr><th colspan="2">{escape(title)}</th></tr></thead>'
    table = f"<table>{head}<tbody>{rows}</tbody></table>"
    return f'<div style="display:flex;gap:1em;align-items:flex-start">{picture}{table}</div>'
