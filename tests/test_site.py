"""The documentation site, without building it: pages, links, names and examples."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GENERATED = ("gallery", "reference")
PAGES = sorted(
    path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in (*GENERATED, "_ext")
)
EXAMPLES = sorted(DOCS.glob("examples/*/plot_*.py"))
#: groups of entry points, which look like names
GROUPS = {"facereject.detectors", "facereject.landmarks"}


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def target_exists(page: Path, link: str) -> bool:
    """Whether a link leads somewhere; pages that the build writes count by what they are made from."""
    path = (page.parent / link).resolve()
    inside = path.relative_to(DOCS) if path.is_relative_to(DOCS) else None
    if inside is not None and inside.parts[:1] == ("gallery",):
        return (
            inside.name == "index"
            or (DOCS / "examples" / Path(*inside.parts[1:])).with_suffix(".py").is_file()
        )
    if inside is not None and inside.parts[:1] == ("reference",):
        return inside.name == "index"
    return path.is_file() or path.with_suffix(".md").is_file()


def test_every_page_is_in_a_table_of_contents():
    seen, ahead = set(), [DOCS / "index.md"]
    while ahead:
        page = ahead.pop()
        seen.add(page)
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```", text_of(page), re.S | re.M):
            for entry in (line.strip() for line in block.splitlines()):
                if entry and not entry.startswith(":"):
                    assert target_exists(page, entry), f"{page.name}: {entry}"
                    path = (page.parent / f"{entry}.md").resolve()
                    ahead += [path] if path.is_file() and path not in seen else []
    assert set(PAGES) - seen == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_lead_somewhere(page):
    prose = re.sub(r"^```.*?^```", "", text_of(page), flags=re.S | re.M)
    for link in re.findall(r"\]\(([^)\s#:]+)(?:#[^)]*)?\)", prose):
        assert target_exists(page, link), link
    for link in re.findall(r"^:link: (\S+)$", text_of(page), flags=re.M):
        assert target_exists(page, link), link


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False


@pytest.mark.parametrize("page", [*PAGES, *EXAMPLES], ids=lambda page: str(page.relative_to(DOCS)))
def test_names_exist(page):
    names = set(re.findall(r"(?<![\w/.-])facereject(?:\.[A-Za-z_]\w*)+", text_of(page)))
    # needs PyTorch, which `make test` does without; `make test-torch` imports it
    names.discard("facereject.torch")
    assert [name for name in sorted(names - GROUPS) if not resolves(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_commands_name_scripts_that_exist(page):
    for path in set(re.findall(r"(?:tools|data_scripts|tests)/[\w/]+\.py", text_of(page))):
        assert (ROOT / path).is_file(), path


def test_the_gallery_has_examples_that_say_what_they_show():
    assert len(EXAMPLES) >= 12
    for path in EXAMPLES:
        words = ast.get_docstring(ast.parse(text_of(path)))
        title, rule, *_, last = words.splitlines()
        assert set(rule) == {"="}, path.name
        assert len(rule) == len(title), path.name
        assert last.endswith("."), path.name


@pytest.fixture(scope="module")
def api_pages():
    sys.path.insert(0, str(DOCS / "_ext"))
    yield importlib.import_module("api_pages")
    sys.path.remove(str(DOCS / "_ext"))


def test_the_reference_has_every_exported_name_and_nothing_private(api_pages):
    described = {name for page in api_pages.pages() for name in (*page.names, *page.constants)}
    for module in api_pages.public_modules():
        exported = getattr(importlib.import_module(module), "__all__", [])
        assert set(exported) - described == set(), module
    assert [name for page in api_pages.pages() for name in page.names if name.startswith("_")] == []
    assert not [page.module for page in api_pages.pages() if "._" in page.module]


def test_the_interface_stays_small(api_pages):
    names = [name for page in api_pages.pages() for name in (*page.names, *page.constants)]
    assert len(names) <= 120, sorted(names)


def test_the_reference_leaves_out_metadata_routing(api_pages):
    from facereject.scores import SELEScore

    def skipped(name):
        return bool(api_pages.skip(None, "class", name, getattr(SELEScore, name), False, None))

    routing = {
        name for name, _ in inspect.getmembers(SELEScore) if re.match(r"set_\w+_request|get_metadata", name)
    }
    assert routing
    assert all(map(skipped, routing | {"get_params"}))
    assert not skipped("fit")
    assert not skipped("predict")
