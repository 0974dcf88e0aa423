"""Formulas as MathML, made at build time: a page shows them without fetching a script from elsewhere."""

from __future__ import annotations

from typing import Any

import latex2mathml.converter
from docutils import nodes


def _inline(self: Any, node: Any) -> None:
    self.body.append(latex2mathml.converter.convert(node.astext(), display="inline"))
    raise nodes.SkipNode


def _block(self: Any, node: Any) -> None:
    formula = latex2mathml.converter.convert(node.astext(), display="block")
    self.body.append(self.starttag(node, "div", CLASS="math") + formula + "</div>")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
