"""The logger of the package, silent unless the program that uses it asks for its messages."""

from __future__ import annotations

import logging

_ROOT = logging.getLogger("facereject")
_ROOT.addHandler(logging.NullHandler())


def logger(name: str) -> logging.Logger:
    """Logger of a module, by its ``__name__``."""
    return logging.getLogger(name)
