"""What must hold after any interruption: every input once in the table, every photograph in one place."""

from __future__ import annotations

import collections
import io
import os
import stat
from pathlib import Path

import numpy as np
import PIL.Image

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


def complaint(
    folder: Path, photos: dict[str, bytes], mode: str, suffix: str, keep_best: float | None = None
) -> str:
    """What is wrong with the result of a run that came to its end; empty if nothing is."""
    table = folder / f"t.{suffix}"
    if not table.is_file():
        return "the table is missing"
    rows = list(read_table(str(table)))
    names = collections.Counter(os.path.relpath(folder / row.source, folder / "photos") for row in rows)
    if set(names) != set(photos) or set(names.values()) != {1}:
        return f"the table has {sum(names.values())} rows of {len(names)} inputs, not {len(photos)}"
    judged = {os.path.relpath(folder / row.source, folder / "photos"): row for row in rows}
    for name, data in photos.items():
        level = _level(data)
        if level is not None and judged[name].uncertainty != -level:
            return f"{name} has the row of another file"
        places = [place for place in ("good", "bad") if (folder / place / name).exists()]
        if len(places) != 1 or (folder / places[0] / name).read_bytes() != data:
            return f"{name} is in {len(places)} folders, or changed"
        if judged[name].uncertainty is not None and judged[name].accepted != (places == ["good"]):
            return f"{name} is in the wrong folder"
        if (folder / places[0] / name).is_symlink() != (mode == "link"):
            return f"{name} is a link or should be one"
        if (folder / "photos" / name).exists() == (mode == "move"):
            return f"{name} is still, or no longer, where it was"
    if keep_best is not None:
        values = sorted(row.uncertainty for row in rows if row.uncertainty is not None)
        limit = values[max(0, round(keep_best * len(values)) - 1)]
        if any(row.accepted != (row.uncertainty <= limit) for row in rows if row.uncertainty is not None):
            return "the accepted faces are not the best ones"
    left = [path.name for path in folder.rglob("*") if "partial" in path.name]
    return f"left behind: {left[0]}" if left else ""


def _level(data: bytes) -> float | None:
    """The mean brightness of a picture; None if it is none."""
    try:
        with PIL.Image.open(io.BytesIO(data)) as image:
            return float(np.asarray(image.convert("RGB")).mean())
    except OSError:
        return None
