"""What must hold after any interruption: every input once in the table, every photo in one place."""

from __future__ import annotations

import collections
import io
import os
import stat
from pathlib import Path

import numpy as np
import PIL.Image

from facereject.tables.reading import read_table

MODES = ("copy", "link", "move")
SUFFIXES = ("csv", "jsonl", "parquet", "sqlite")


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
    frames = list(read_table(str(table)))
    names = collections.Counter(os.path.relpath(folder / frame.source, folder / "photos") for frame in frames)
    if set(names) != set(photos) or set(names.values()) != {1}:
        return f"the table has {sum(names.values())} rows of {len(names)} inputs, not {len(photos)}"
    found = {os.path.relpath(folder / frame.source, folder / "photos"): frame.faces for frame in frames}
    for name, data in photos.items():
        level = _level(data)
        if level is not None and [face.uncertainty for face in found[name]] != [-level]:
            return f"{name} has the row of another file"
        places = [place for place in ("good", "bad") if (folder / place / name).exists()]
        if len(places) != 1 or (folder / places[0] / name).read_bytes() != data:
            return f"{name} is in {len(places)} folders, or changed"
        if any(face.accepted != (places == ["good"]) for face in found[name]):
            return f"{name} is in the wrong folder"
        if (folder / places[0] / name).is_symlink() != (mode == "link"):
            return f"{name} is a link or should be one"
        if (folder / "photos" / name).exists() == (mode == "move"):
            return f"{name} is still, or no longer, where it was"
    if keep_best is not None:
        faces = [face for frame in frames for face in frame.faces]
        values = sorted(face.uncertainty for face in faces)
        limit = values[max(0, round(keep_best * len(values)) - 1)]
        if any(face.accepted != (face.uncertainty <= limit) for face in faces):
            return "the accepted faces are not the best ones"
    left = [path.name for path in folder.rglob("*") if "partial" in path.name]
    return f"left behind: {left[0]}" if left else ""


def _level(data: bytes) -> float | None:
    """The mean brightness of an image; None if the file is not an image."""
    try:
        with PIL.Image.open(io.BytesIO(data)) as image:
            return float(np.asarray(image.convert("RGB")).mean())
    except OSError:
        return None
