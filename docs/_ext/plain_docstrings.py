"""Docstrings are written to be read in the source; here they become what reStructuredText wants.

Formulas are indented below a sentence and shown as they are written. Names that end with an
underscore (``coverage_``) and absolute values (``|x|``) are no links and no substitutions.
"""

from __future__ import annotations

import re
from typing import Any

_CODE = re.compile(r"(``.*?``|`[^`]*`_?|\*\*.*?\*\*)")
_RULE = re.compile(r"^\s*[-=]{3,}\s*$")


def show_formulas(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Make literal blocks of the indented paragraphs above the first section (of a module: of all)."""
    made: list[str] = []
    in_block = False
    for number, line in enumerate(lines):
        if what != "module" and number + 1 < len(lines) and _RULE.match(lines[number + 1]):
            made += lines[number:]
            break
        indented = line.startswith("    ")
        if indented and not in_block and made and not made[-1].strip():
            previous = next((text for text in reversed(made) if text.strip()), "")
            if not previous.endswith("::") and not previous.startswith((" ", "*", "- ", ".. ")):
                made += [".. code-block:: text", ""]
            in_block = True
        elif line.strip() and not indented:
            in_block = False
        made.append(line)
    lines[:] = made


def escape(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Escape what only looks like mark-up, outside literals; runs after numpydoc."""
    literal: int | None = None
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if literal is None and not line.lstrip().startswith((">>>", "... ", "..", ":", "=")):
            parts = _CODE.split(line)
            parts[::2] = [re.sub(r"(?<=\w)_(?!\w)", r"\\_", part).replace("|", r"\|") for part in parts[::2]]
            lines[number] = "".join(parts)
        if line.rstrip().endswith("::") or line.lstrip().startswith(".. code-block::"):
            literal = indent


def setup(app: Any) -> dict[str, bool]:
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", show_formulas, priority=100)
    app.connect("autodoc-process-docstring", escape, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
