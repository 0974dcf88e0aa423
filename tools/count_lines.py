"""Count the lines of code of the package: no blank lines, no comments, no docstrings.

python tools/count_lines.py            per folder, and in total
python tools/count_lines.py --files    per file
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "facereject"
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def count(text: str) -> int:
    """Count the lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            lines.difference_update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    # a string over several lines may have blank ones
    return sum(bool(line.strip()) for number, line in enumerate(text.splitlines(), 1) if number in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", action="store_true", help="one line per file")
    by_file = parser.parse_args().files
    counts: Counter[str] = Counter()
    for file in PACKAGE.rglob("*.py"):
        path = file.relative_to(PACKAGE)
        counts[path.as_posix() if by_file or len(path.parts) == 1 else path.parts[0] + "/"] += count(
            file.read_text(encoding="utf-8")
        )
    for name, lines in counts.most_common():
        print(f"{lines:7,} {name}")
    print(f"{counts.total():7,} in all")


if __name__ == "__main__":
    main()
