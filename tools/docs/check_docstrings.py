"""Check the docstrings of public names by numpydoc's rules; part of ``make lint``.

    python tools/docs/check_docstrings.py            every public module
    python tools/docs/check_docstrings.py faces      one of them

Public is what the reference shows (docs/_ext/api_pages.py); their number is printed. Every public class and
function needs a summary in one line, descriptions of all parameters, returns, an example and a See Also; its
public methods the same without example and See Also.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import inspect
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from numpydoc.validate import validate

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_ext")]

from api_pages import pages  # noqa: E402

_LAYOUT = {"GL03", "GL05", "GL06", "GL07", "GL08", "GL10", "SS01", "SS03", "SS04", "SS05", "SS06"}
_METHOD = _LAYOUT | {"PR01", "PR02", "PR03", "PR05", "PR07", "PR10", "RT01", "YD01"}
_PUBLIC = _METHOD | {"EX01", "SA01", "SA04"}


def public_objects(modules: Collection[str] = ()) -> Iterator[tuple[str, Any]]:
    """Every public class and function by its full name; of all modules by default."""
    for page in pages():
        if not modules or page.module.split(".")[1] in modules:
            for name in page.names:
                yield f"{page.module}.{name}", getattr(importlib.import_module(page.module), name)


def methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that the package itself defines, without overrides of described ones."""
    for name in dir(cls):
        if sum(name in vars(base) and base.__module__.startswith("facereject") for base in cls.__mro__) > 1:
            continue
        value = inspect.getattr_static(cls, name)
        function = getattr(value, "fget", None) or getattr(value, "__func__", value)
        if str(function.__doc__).startswith("Deprecated name"):
            continue
        own = str(getattr(function, "__module__", "")).startswith("facereject")
        if own and (inspect.isroutine(value) or isinstance(value, property)) and not name.startswith("_"):
            yield name, value


def problems(name: str, value: Any, seen: set[int]) -> Iterator[str]:
    """What numpydoc finds wrong with a public object and its methods."""
    plain = inspect.isclass(value) and issubclass(value, Exception)
    # nobody constructs a protocol, and results of functions describe their fields as attributes
    result = dataclasses.is_dataclass(value) or (inspect.isclass(value) and issubclass(value, tuple))
    described = result and "    Attributes\n    ---" in (value.__doc__ or "")
    checks = _PUBLIC - {"PR01"} if described or getattr(value, "_is_protocol", False) else _PUBLIC
    yield from _failures(name, _LAYOUT if plain else checks)
    for method, function in methods(value) if inspect.isclass(value) and not plain else ():
        # a method that several classes inherit is reported once
        if id(function) not in seen:
            seen.add(id(function))
            yield from _failures(f"{name}.{method}", _LAYOUT if isinstance(function, property) else _METHOD)


def _failures(name: str, checks: set[str]) -> list[str]:
    return [f"{name}: {code} {text}" for code, text in validate(name)["errors"] if code in checks]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="*", help="default: all")
    chosen = list(public_objects(parser.parse_args().modules))
    seen: set[int] = set()
    found = [line for name, value in chosen for line in problems(name, value, seen)]
    if found:
        sys.exit("\n".join([*found, f"{len(found)} problems"]))
    print(f"{len(chosen)} public classes and functions")


if __name__ == "__main__":
    main()
