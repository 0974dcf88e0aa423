"""Names and kinds of files: what messages call a path, its suffix, and whether opening it may wait."""

from __future__ import annotations

import os


def display_name(path: str | os.PathLike[str]) -> str:
    r"""The path as valid UTF-8; bytes that are not become ``\xNN``, so that any tool reads the table."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def suffix_of(path: str) -> str:
    """The suffix in lower case, with its dot."""
    return os.path.splitext(path)[1].lower()


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether the path is a pipe, a device or the like, which opening may wait for."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
