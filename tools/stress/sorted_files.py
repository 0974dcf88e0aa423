"""What must hold after any interruption: every input once in the table, every photograph in one place."""

from __future__ import annotations

import collections
import os
import stat
from pathlib import Path

from facereject.tables.formats import read_table

MODES = ("copy", "link", "move")
SUFFIXES = ("csv", "jsonl", "parquet")


def contents(folder: Path) -> set[bytes]:
    """What the regular files below a folder hold."""
    found = set()
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            if stat.S_ISREG(path.lstat().st_mode):
                found.add(path.read_bytes())
    return found


def complaint(folder: Path, photos: dict[str, bytes], mode: str, suffix: str) -> str:
    """What is wrong with the result of a run that came to its end; empty if nothing is."""
    table = folder / f"t.{suffix}"
    if not table.is_file():
        return "the table is missing"
    sources = collections.Counter(row.source for row in read_table(str(table)))
    if set(sources) != {f"photos/{name}" for name in photos} or set(sources.values()) != {1}:
        return f"the table has {sum(sources.values())} rows of {len(sources)} inputs, not {len(photos)}"
    for name, data in photos.items():
        places = [folder / place / name for place in ("good", "bad") if (folder / place / name).exists()]
        if len(places) != 1 or places[0].read_bytes() != data:
            return f"{name} is in {len(places)} folders, or changed"
        if places[0].is_symlink() != (mode == "link"):
            return f"{name} is a link or should be one"
        if (folder / "photos" / name).exists() == (mode == "move"):
            return f"{name} is still, or no longer, where it was"
    left = [path.name for path in folder.rglob("*") if "partial" in path.name]
    return f"left behind: {left[0]}" if left else ""
