"""Numbers in sentences, and words that pages, help texts and messages avoid."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterable
from pathlib import Path

import pytest
import typer.main

from facereject._cli import app
from facereject._words import counted, percent

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(page for page in (ROOT / "docs").rglob("*.md") if "gallery" not in page.parts),
]

#: words to avoid towards users, and what to say instead
AVOIDED = {
    r"judg(e|es|ed|ing|ement)": "score (an uncertainty), decide (accept or reject), assess (given landmarks)",
    r"photographs?": "photo, image",
    r"pictures?": "image, photo",
    r"(theory|practice) half": "reject option, faces",
    r"so many|as many as": "the name of the parameter; the same number",
    r"by heart|in vain|comes? along|came along": "leave it out, or say it directly",
    r"whatever|wherever|whoever": "any, everywhere, if somebody",
    r"(is|are) to come|to be had|at hand": "follows, can be had, present",
    r"of (its|their) own(?=[.,;:)\n]|$)": "separate, its own",
    r"goes by": "uses, depends on",
    r"costs? (itself|themselves)( alone)?|its life": "only it fails; crashes",
    r"made-up|made up for": "synthetic, compensated",
    r"for nothing|nothing comes of": "needlessly, fails",
    r"obtain(s|ed|ing)?": "get, download",
    r"refusals?": "error response",
    r"tall(y|ies)|vouch(ed|es)?": "counts, confirmed",
    r"wish(es)?|shelf|steadiness": "request, registry, segment filter",
    r"stretch(es)?": "segment",
    r"foreign": "which facereject did not create; of other sites",
    r"their unit less|percents": "percentages",
    r"stands? still": "is still, stops",
}

#: folders and modules of the package in which all text, comments included, does without these words
PARTS = sorted(
    path.name
    for path in (ROOT / "facereject").iterdir()
    if path.suffix == ".py" or (path / "__init__.py").is_file()
)

#: where an avoided word is right
ALLOWED = {
    # a method, a variable, an option, a script
    "for_judging", ".judge", "info['photographs']",
    "--pictures", "pictures.py", "readme_picture", "page_picture",
    "moving picture",
}  # fmt: skip


def avoided_in(text: str, words: Iterable[str] = AVOIDED) -> list[str]:
    """The avoided words of a text."""
    for allowed in ALLOWED:
        text = text.replace(allowed, "")
    # code is not prose
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    return [found[0] for each in words for found in re.finditer(rf"\b(?:{each})(?!\w)", text, flags=re.I)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_the_words_of_the_field(page):
    assert avoided_in(page.read_text(encoding="utf-8")) == []


def _commands(command, name=""):
    yield name, command
    for each, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, f"{name} {each}".strip())


@pytest.mark.parametrize(("name", "command"), list(_commands(typer.main.get_command(app))))
def test_help_uses_the_words_of_the_field(name, command):
    texts = [
        command.help or "",
        command.epilog or "",
        *(getattr(each, "help", "") or "" for each in command.params),
    ]
    assert avoided_in("\n".join(texts)) == []


def _messages(file: Path):
    """Sentences in the code that users may see: strings with a space that are not docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        if text and " " in node.value:
            yield node.value


@pytest.mark.parametrize("folder", ["_cli", "demo", "outputs", "pipeline", "reports", "sources", "tables"])
def test_messages_use_the_words_of_the_field(folder):
    files = (ROOT / "facereject" / folder).rglob("*.py")
    found = {file.name: avoided_in("\n".join(_messages(file))) for file in files}
    assert {name: words for name, words in found.items() if words} == {}


def _prose(file: Path) -> str:
    """Comments, docstrings and messages of a module; one line each."""
    with tokenize.open(file) as stream:
        tokens = list(tokenize.generate_tokens(stream.readline))
    kinds = (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
    parts = [each.string for each in tokens if each.type in kinds and " " in each.string]
    return "\n".join(" ".join(part.split()) for part in parts)


@pytest.mark.parametrize("part", PARTS)
def test_code_uses_the_words_of_the_field(part):
    path = ROOT / "facereject" / part
    # videos have pictures, and so do names of variables in docstrings
    words = [each for each in AVOIDED if not each.startswith(("pictures", "stretch"))]
    files = [path] if path.is_file() else path.rglob("*.py")
    found = {file.name: avoided_in(_prose(file), words) for file in files}
    assert {name: words for name, words in found.items() if words} == {}


def test_help_explains_every_column():
    from facereject.tables.columns import HEAD

    text = typer.main.get_command(app).commands["score"].help
    assert [name for name in HEAD if not re.search(rf"\b{name}\b", text)] == []


def test_one_and_many():
    assert [counted(n, "face") for n in (0, 1, 2, 2000)] == ["0 faces", "1 face", "2 faces", "2,000 faces"]
    assert [counted(n, "loss was", "losses were") for n in (1, 2)] == ["1 loss was", "2 losses were"]


@pytest.mark.parametrize(
    ("part", "digits", "text"),
    [
        (1000, 0, "100%"),
        (998, 0, ">99%"),
        (994, 0, "99%"),
        (998, 1, "99.8%"),
        (999.9, 1, ">99.9%"),
        (5, 0, "<1%"),
        (6, 0, "1%"),
        (0.1, 1, "<0.1%"),
        (0, 0, "0%"),
    ],
)
def test_all_and_nothing_are_said_of_nothing_else(part, digits, text):
    assert percent(part, 1000, digits) == text
