"""Lazy imports: what is not used costs nothing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def lazy_imports(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make ``__getattr__`` and ``__dir__`` of a package that imports its names on first use.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    homes : mapping of str to sequence of str
        The names of each module, whose own name is relative to the package.

    Returns
    -------
    functions : tuple (__getattr__, __dir__)
    """

    def get(name: str) -> Any:
        for home, names in homes.items():
            if name in names:
                return getattr(importlib.import_module(f"{package}.{home}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted(sys.modules[package].__all__)
