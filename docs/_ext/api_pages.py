"""The reference: one page per public module, written from the modules themselves before Sphinx reads.

Public is what ``__all__`` of the package, of its modules and of its folders lists. A name has one page, in
the first module that lists it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import facereject

# in the order in which a reader meets them
GROUPS = {
    "Reject option": [
        "losses", "metrics", "risks", "solver", "predictors", "scores", "selection", "selective",
        "comparison", "plotting", "predictions",
    ],
    "Faces": ["faces"],
    "Images, videos, files": ["sources", "tracking", "outputs", "tables", "pipeline", "parallel"],
    "Reports and pages": ["reports", "serve", "demo"],
}  # fmt: skip


#: modules of an extra that the environment of the documentation lacks; the guide describes them
NEEDS_EXTRA = ("facereject.torch",)


class Page(NamedTuple):
    module: str
    names: tuple[str, ...]
    constants: tuple[str, ...]
    summary: str


def public_modules() -> list[str]:
    """Names of the modules and folders of the package that list public names."""
    names = [f"facereject.{info.name}" for info in pkgutil.iter_modules(facereject.__path__)]
    public = [name for name in names if not name.startswith("facereject._") and name not in NEEDS_EXTRA]
    return [name for name in public if hasattr(importlib.import_module(name), "__all__")]


def public_names(module: ModuleType) -> list[str]:
    """The names in ``__all__``, without ``__version__``."""
    return [name for name in module.__all__ if not name.startswith("_")]


@functools.cache
def pages() -> list[Page]:
    """One page per module that shows something not yet shown."""
    shown: set[int] = set()
    made = []
    # the top level repeats names of its folders: they are described there, and listed on the first page
    for name in public_modules():
        module = importlib.import_module(name)
        names, constants = [], []
        for each in public_names(module):
            value = getattr(module, each)
            if id(value) not in shown:
                shown.add(id(value))
                (names if inspect.isclass(value) or inspect.isfunction(value) else constants).append(each)
        if names or constants:
            summary = (inspect.getdoc(module) or "").strip().split("\n\n")[0].replace("\n", " ")
            made.append(Page(name, tuple(sorted(names, key=str.lower)), tuple(sorted(constants)), summary))
    return made


@functools.cache
def homes() -> dict[int, str]:
    """Full documented name of every object, by its identity."""
    return {
        id(getattr(importlib.import_module(page.module), name)): f"{page.module}.{name}"
        for page in pages()
        for name in page.names
    }


def _autosummary(names: Iterable[str]) -> str:
    listed = "\n".join(f"   {name}" for name in names)
    return f".. autosummary::\n   :nosignatures:\n\n{listed}\n"


def _toctree(entries: Iterable[str]) -> str:
    listed = "\n".join(f"   {entry}" for entry in entries)
    return f".. toctree::\n   :hidden:\n\n{listed}\n"


def name_text(module: str, name: str) -> str:
    """The page of one class or function."""
    value = getattr(importlib.import_module(module), name)
    directive = "autofunction"
    if inspect.isclass(value):
        directive = "autoexception" if issubclass(value, Exception) else "autoclass"
    # a method that comes from a private parent is a method of the class
    options = "   :members:\n   :inherited-members:\n" if directive == "autoclass" else ""
    return f"{_title(name)}\n.. currentmodule:: {module}\n\n.. {directive}:: {name}\n{options}"


def _constants(page: Page) -> str:
    """Constants with the ``#:`` comment above them: their values are for programs."""
    folder = Path(str(importlib.import_module(page.module).__file__)).parent
    sources = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))
    lines = []
    for name in page.constants:
        comment = re.search(rf"((?:^#: .*\n)+)^{name}\b", sources, re.M)
        words = comment[1].replace("#: ", "").replace("\n", " ").strip() if comment else ""
        lines.append(f".. py:data:: {page.module}.{name}\n\n   {words}\n")
    return "\n".join(lines)


def _title(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n"


def page_text(page: Page) -> str:
    """The page of one module: its own words, then its names."""
    return (
        f"{_title(page.module)}\n.. automodule:: {page.module}\n   :no-members:\n\n"
        f".. currentmodule:: {page.module}\n\n{_autosummary(page.names)}\n{_constants(page)}\n"
        f"{_toctree(f'generated/{page.module}.{name}' for name in page.names)}"
    )


def index_text(made: list[Page]) -> str:
    where = homes()
    top = [where[id(getattr(facereject, name))] for name in public_names(facereject)]
    parts = [
        _title("Reference"),
        "Every public name, by module: what ``__all__`` lists there. Nothing else is part of the interface.",
        "Estimators are those of scikit-learn: they also have ``get_params``, ``set_params`` and, where they",
        "take sample weights, the methods for metadata routing, which are not repeated here.\n",
        "The most used names can be imported from ``facereject`` itself:\n",
        _autosummary(top),
    ]
    placed = {name for names in GROUPS.values() for name in names}
    rest = sorted({page.module.split(".")[1] for page in made} - placed)
    for title, roots in {**GROUPS, "Further": rest}.items():
        members = [page for page in made if page.module.split(".")[1] in roots]
        members.sort(key=lambda page: (roots.index(page.module.split(".")[1]), page.module))
        if members:
            rows = "\n".join(f"   * - :doc:`{page.module}`\n     - {page.summary}" for page in members)
            parts += [
                _title(title, "-"),
                f".. list-table::\n   :widths: 35 65\n\n{rows}\n",
                _toctree(page.module for page in members),
            ]
    return "\n".join(parts)


def write(app: Any, config: Any) -> None:
    folder = Path(app.srcdir) / "reference"
    (folder / "generated").mkdir(parents=True, exist_ok=True)
    made = pages()
    texts = {f"{page.module}.rst": page_text(page) for page in made}
    texts |= {
        f"generated/{page.module}.{name}.rst": name_text(page.module, name)
        for page in made
        for name in page.names
    }
    texts["index.rst"] = index_text(made)
    for path in folder.rglob("*.rst"):
        if path.relative_to(folder).as_posix() not in texts:
            path.unlink()
    for name, text in texts.items():
        path = folder / name
        # unchanged files keep their time, so that a second build is quick
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def skip(app: Any, what: str, name: str, value: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what Python and scikit-learn add to every class."""
    if name.startswith("_"):
        return True
    function = inspect.unwrap(getattr(value, "fget", None) or getattr(value, "__func__", value))
    home = getattr(function, "__module__", None)
    if callable(function) and isinstance(home, str) and not home.startswith("facereject"):
        return True
    return None


def resolve(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Links by another path (``facereject.aurc``, a module without a page) lead to the page that there is.

    Names in single backticks that lead nowhere stay words; a role that promises a link (``:func:``) does not.
    """
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"].lstrip("~.")
    module = node.get("py:module") or "facereject"
    domain = env.get_domain("py")
    for name in (target, f"{module}.{target}"):
        documented = _documented(name)
        if documented in domain.objects:
            return domain.resolve_xref(
                env, node["refdoc"], app.builder, "obj", documented, node.deepcopy(), contnode
            )
    return contnode if node["reftype"] == "obj" else None


def _documented(name: str) -> str:
    """The name under which something is described; the package of a module that has no page."""
    if not name.startswith("facereject"):
        return ""
    path, _, last = name.rpartition(".")
    with contextlib.suppress(ImportError, AttributeError, KeyError, ValueError):
        return homes()[id(getattr(importlib.import_module(path), last))]
    parent = name
    while parent and not any(page.module == parent for page in pages()):
        parent = parent.rpartition(".")[0]
    return parent


def setup(app: Any) -> dict[str, bool]:
    app.setup_extension("sphinx.ext.autodoc")
    # before Sphinx looks for its pages
    app.connect("config-inited", write)
    app.connect("autodoc-skip-member", skip)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
