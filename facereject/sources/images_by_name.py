"""The images and videos of a folder by their names, as other tools write them."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable
from itertools import takewhile
from pathlib import PurePosixPath
from urllib.parse import unquote

from facereject._files import display_name
from facereject.faces.images import MEDIA_SUFFIXES
from facereject.sources.landmark_files._found import LandmarkFileError


class ImagesByName:
    """Images by name, with or without folders and suffix, plain or as part of a URL.

    A name never leads out of the folder.

    Parameters
    ----------
    root : path or None
        A folder, with its subfolders, or one file.
    files : iterable of str
        The files themselves, in place of a folder.
    """

    def __init__(self, root: str | os.PathLike[str] | None, files: Iterable[str] = ()) -> None:
        self._root = "" if root is None else os.fspath(root)
        if root is None:
            found = sorted(files)
        elif os.path.isfile(self._root):
            found = [self._root]
        elif os.path.isdir(self._root):
            walk = (os.path.join(folder, name) for folder, _, names in os.walk(self._root) for name in names)
            found = sorted(path for path in walk if os.path.splitext(path)[1].lower() in MEDIA_SUFFIXES)
        else:
            raise LandmarkFileError(f"{self._root}: no such folder of images")
        self.files = found
        self._by_name: dict[str, list[str]] = {}
        for path in found:
            for key in {os.path.basename(path), os.path.splitext(os.path.basename(path))[0]}:
                self._by_name.setdefault(key, []).append(path)
        # for names in other cases, and in the two ways of Unicode to write an accent
        self._by_alike: dict[str, list[str]] = {}
        for key, paths in self._by_name.items():
            self._by_alike.setdefault(_alike(key), []).extend(paths)

    def find(self, name: str) -> tuple[str | None, str]:
        """The file of a name, or None and why there is none."""
        path, problem = self._find(name)
        if path is None and "%" in name:
            path, problem = self._find(unquote(name))
        return path, problem

    def _find(self, name: str) -> tuple[str | None, str]:
        parts = PurePosixPath(name.replace("\\", "/")).parts
        last = parts[-1] if parts else ""
        bare, suffix = os.path.splitext(last)
        # what follows the dot in a name without suffix belongs to it
        names = [last, bare] if suffix.lower() in MEDIA_SUFFIXES else [last]
        exact = (self._by_name.get(key) for key in names)
        alike = (self._by_alike.get(_alike(key)) for key in names)
        found = next(filter(None, [*exact, *alike]), [])
        if not found:
            return None, f"no image of this name in {display_name(self._root)}"
        if len(found) > 1:
            found = _with_most_folders(found, parts)
        if len(found) > 1:
            other = display_name(found[0])
            return None, f"{len(found)} images of this name, such as {other}; name the folder, too"
        return found[0], ""


def _alike(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _with_most_folders(paths: list[str], parts: tuple[str, ...]) -> list[str]:
    """The paths that have the most folders in common with a name, counted from its end."""

    def shared(path: str) -> int:
        folders = PurePosixPath(path.replace(os.sep, "/")).parts[:-1]
        both = zip(reversed(folders), reversed(parts[:-1]), strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))

    best = max(map(shared, paths))
    return [path for path in paths if shared(path) == best]
