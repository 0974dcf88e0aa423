"""What folders hold and patterns match: sorted names, hidden ones skipped, safe from loops of links."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator

from facereject._files import suffix_of
from facereject.faces.images.kinds import MEDIA_SUFFIXES


def list_folder(folder: str) -> tuple[list[str], list[str]]:
    """Names of the media files and of the subfolders, both sorted."""
    files, folders = [], []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            kind = _kind_of_entry(entry)
            if kind == "folder":
                folders.append(entry.name)
            elif kind == "file" and is_media(entry.name):
                files.append(entry.name)
    return sorted(files), sorted(folders)


def holds_media(top: str) -> bool:
    """Whether walking the folder gives anything; stops at the first hit, as it may be large."""
    waiting, seen = [top], set()
    while waiting:
        folder = waiting.pop()
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                for entry in entries:
                    kind = "" if entry.name.startswith(".") else _kind_of_entry(entry)
                    if kind == "file" and is_media(entry.name):
                        return True
                    if kind == "folder":
                        waiting.append(os.path.join(folder, entry.name))
        except OSError:
            # a subfolder that cannot be listed gets a row
            return True
    return False


def _kind_of_entry(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_dir():
            return "folder"
        # broken links and pipes are kept, to get a row that says so: nothing that waits is ever opened
        return "file"
    except OSError:
        # a link in a circle
        return "file"


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
        for below in _folders(folder):
            yield from _glob(os.path.join(glob.escape(below), rest))


def _folders(top: str) -> Iterator[str]:
    """The folder and all below it, each once."""
    waiting, seen = [top], set()
    while waiting:
        folder = waiting.pop()
        try:
            status = os.stat(folder or os.curdir)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            _, below = list_folder(folder or os.curdir)
        except OSError:
            continue
        yield folder
        waiting += [os.path.join(folder, name) for name in reversed(below)]
