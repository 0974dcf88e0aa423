"""What folders hold and patterns match: sorted names, hidden ones skipped, safe from loops of links."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator

from facereject._files import suffix_of
from facereject.faces.images import MEDIA_SUFFIXES


def list_folder(folder: str) -> tuple[list[str], list[str]]:
    """Names of the media files and of the subfolders, both sorted."""
    files, folders = [], []
    with os.scandir(folder) as entries:
        for entry in entries:
            if _is_folder(entry):
                folders.append(entry.name)
            elif is_media(entry.name):
                files.append(entry.name)
    return sorted(files), sorted(folder for folder in folders if not folder.startswith("."))


def walk_folders(top: str, seen: set[tuple[int, int]]) -> Iterator[tuple[str, list[str] | None]]:
    """A folder and all below it, each once, with its media files; None for one that cannot be listed.

    ``seen`` identifies folders that were visited before, which are left out, and is completed.
    """
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        try:
            status = os.stat(folder or os.curdir)
            if (status.st_dev, status.st_ino) in seen:
                continue
            files, folders = list_folder(folder or os.curdir)
        except OSError:
            yield folder, None
            continue
        seen.add((status.st_dev, status.st_ino))
        yield folder, files
        waiting += [os.path.join(folder, name) for name in reversed(folders)]


def holds_media(top: str) -> bool:
    """Whether walking the folder gives anything, also a subfolder that cannot be listed and gets a row."""
    with contextlib.suppress(OSError), os.scandir(top) as entries:
        # the first hit will do: the folder may be large
        if any(is_media(entry.name) and not _is_folder(entry) for entry in entries):
            return True
    return any(files is None or files for _, files in walk_folders(top, set()))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    # broken links and pipes count as files, to get a row that says so: nothing that blocks is ever opened
    try:
        return entry.is_dir()
    except OSError:
        # a link in a circle
        return False


def is_media(name: str) -> bool:
    """Whether a folder that is walked gives the file: not hidden, and of a suffix of images or videos."""
    return not name.startswith(".") and suffix_of(name) in MEDIA_SUFFIXES


def matches(pattern: str) -> Iterator[str]:
    """What matches a pattern: files of a media suffix, and folders that hold such files."""
    for match in _glob(pattern):
        if os.path.isdir(match):
            if holds_media(match):
                yield match
        elif suffix_of(match) in MEDIA_SUFFIXES:
            yield match


def _glob(pattern: str) -> Iterator[str]:
    parts = pattern.split(os.sep)
    if "**" not in parts:
        yield from glob.iglob(pattern)
        return
    # the ** of the glob module would follow loops of links
    at = parts.index("**")
    top, rest = os.sep.join(parts[:at]), os.sep.join(parts[at + 1 :])
    if not rest:
        # a folder that is named gives all below it
        yield from glob.iglob(top + os.sep if top or at else os.curdir)
        return
    for folder in glob.iglob(top + os.sep) if top or at else [""]:
        for below, files in walk_folders(folder, set()):
            if files is not None:
                yield from _glob(os.path.join(glob.escape(below), rest))
