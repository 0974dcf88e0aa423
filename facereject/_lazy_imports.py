"""Lazy imports: ``__getattr__`` of a package whose names are imported on first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_imports(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make ``__getattr__`` and ``__dir__`` of a package that imports its names on first use.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    homes : mapping of str to str
        Module of each name, relative to the package.

    Returns
    -------
    functions : tuple (__getattr__, __dir__)
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)

    return get, lambda: sorted(sys.modules[package].__all__)
