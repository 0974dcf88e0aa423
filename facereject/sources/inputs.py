"""Which files a command works on: files, folders, patterns and @lists become a lazy stream of inputs.

What a file is follows from its suffix, in upper or lower case: `IMAGE_SUFFIXES` are images, `VIDEO_SUFFIXES`
videos, and `ANIMATION_SUFFIXES` either, decided by whether the file holds more than one frame. In folders all
other files are skipped. A file with another suffix that is named explicitly is recognised by its content; if
that tells nothing it counts as an image, so that it gets a row that says that it is unreadable.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from facereject._files import Identities, InputError, display_name, suffix_of
from facereject.faces.images import MEDIA_SUFFIXES, kind_of_file
from facereject.sources._video.decoder import FrameRange
from facereject.sources.landmark_files._found import FoundFace


class VideoPart(NamedTuple):
    """One of the parts that a long video is cut into.

    Attributes
    ----------
    number, count : int
        Which part, from 0, of how many.
    segment : FrameRange
        Its frames.
    cuts : str
        Identifies all parts together.
    """

    number: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    segment: FrameRange
    cuts: str


class Input(NamedTuple):
    """One file to work on.

    Attributes
    ----------
    path : str
        As the operating system takes it; bytes that are no UTF-8 are surrogate escapes (`os.fsdecode`).
    kind : str
        "image" or "video".
    part : VideoPart or None
        What of a long video is meant; None is all of it.
    faces : list of FoundFace or None
        What another tool found on it; None to find the faces here.
    problem : str
        Why there is no file, of which another tool has told; empty if there is one.
    """

    path: str
    kind: str
    part: VideoPart | None = None
    faces: list[FoundFace] | None = None
    problem: str = ""


def expand_inputs(paths: Sequence[str]) -> Iterator[Input]:
    """The files that ``paths`` name, each once, in a stable order.

    Parameters
    ----------
    paths : sequence of str
        Files; folders (all their images and videos, files sorted by name before the subfolders, hidden names
        skipped, links followed); patterns with ``*``, ``?``, ``[…]`` and ``**`` (an existing file of that
        very name goes first); ``@files.txt``, a list of files and folders, one per line (see `read_list`).

    Returns
    -------
    iterator of Input
        Folders are listed one at a time, while iterating. What cannot be read in a folder or does not exist
        in a list is passed on like a file and gets its own row.

    Raises
    ------
    InputError
        At once, before anything is returned: a path does not exist, may not be read or is neither file nor
        folder; a folder or a pattern without any image or video; a list without an existing entry.
    """
    check_inputs(paths)
    return walk_inputs(paths)


def check_inputs(paths: Sequence[str]) -> None:
    """Raise the InputError of `expand_inputs`; folders and lists are read up to the first hit."""
    if not paths:
        raise InputError("no input given: name files, folders, patterns or @lists")
    for path in paths:
        _check(path)


def walk_inputs(paths: Sequence[str]) -> Iterator[Input]:
    """As `expand_inputs`, for paths that have been checked."""
    return _Expansion().expand(paths)


def read_list(path: str) -> Iterator[str]:
    """The entries of a list of files: one path per line, relative to the current folder.

    Line ends may be those of any system. Empty lines and lines that start with ``#`` are skipped (write
    ``./#name`` for such a file); everything else, spaces too, belongs to the name. The text is UTF-8; bytes
    that are not are kept, as file names may hold them.
    """
    try:
        with open(path, "rb") as lines:
            for number, line in enumerate(lines):
                if number == 0:
                    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
                        raise InputError(f"@{display_name(path)}: the list is UTF-16 text; save it as UTF-8")
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if b"\0" in line:
                    raise InputError(
                        f"@{display_name(path)}: the list is not text; write one file name per line"
                    )
                entry = line.rstrip(b"\r\n")
                if entry.strip() and not entry.startswith(b"#"):
                    yield os.fsdecode(entry)
    except OSError as error:
        raise InputError(f"@{display_name(path)}: the list cannot be read ({_why(error)})") from None


def _check(path: str) -> None:
    name = display_name(path) or "''"
    if path.startswith("@"):
        if os.path.lexists(path) and not os.path.lexists(path[1:]):
            raise InputError(f"{name}: names a list of files; for a file of that name write ./{name}")
        entries = read_list(path[1:])
        first = next(entries, None)
        if first is None:
            raise InputError(f"{name}: the list is empty; write one file name per line")
        if not (os.path.lexists(first) or any(map(os.path.lexists, entries))):
            raise InputError(
                f"{name}: none of its entries exists, the first is {display_name(first)!r}; "
                "they must be relative to the current folder, or absolute"
            )
    elif os.path.lexists(path):
        _check_existing(path)
    elif glob.has_magic(path):
        if next(matches(path), None) is None:
            raise InputError(f"{name}: no image or video matches this pattern")
    else:
        raise InputError(f"{name}: no such file or folder; check the spelling")


def _check_existing(path: str) -> None:
    name = display_name(path)
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({_why(error)})") from None
    if stat.S_ISDIR(mode):
        try:
            os.scandir(path).close()
        except OSError as error:
            raise InputError(f"{name}: the folder cannot be listed ({_why(error)})") from None
        if not holds_media(path):
            raise InputError(f"{name}: the folder holds no images or videos (hidden files are not looked at)")
    elif stat.S_ISCHR(mode):
        raise InputError(f"{name}: this is a device; for a camera use: facereject webcam --camera {name}")
    elif not stat.S_ISREG(mode):
        raise InputError(f"{name}: neither a file nor a folder; save the data to a file first")
    elif not os.access(path, os.R_OK):
        raise InputError(f"{name}: the file may not be read (permission denied); change its permissions")


class _Expansion:
    """One pass over the arguments; knows which folders and single files it has already given.

    A folder that was walked has given all its media files, so only files named one by one are remembered,
    each by a digest of 16 bytes.
    """

    def __init__(self) -> None:
        self._walked: set[tuple[int, int]] = set()
        self._single: set[bytes] = set()
        self._identity = Identities()

    def expand(self, paths: Sequence[str]) -> Iterator[Input]:
        for path in paths:
            if path.startswith("@"):
                for entry in read_list(path[1:]):
                    yield from self._path(entry)
            elif os.path.lexists(path) or not glob.has_magic(path):
                yield from self._path(path)
            else:
                for match in sorted(matches(path)):
                    yield from self._path(match)

    def walk(self, top: str) -> Iterator[Input]:
        """The media files of a folder and its subfolders; every folder once, however links lead to it."""
        for folder, files in walk_folders(top, self._walked):
            if files is None:
                # it gets a row like a file that cannot be read
                yield Input(folder, "image")
                continue
            for name in files:
                path = os.path.join(folder, name)
                if not self._single or self._key(path) not in self._single:
                    yield Input(path, kind_of_file(path))

    def _path(self, path: str) -> Iterator[Input]:
        if os.path.isdir(path):
            yield from self.walk(path)
        elif not self._given(path):
            self._single.add(self._key(path))
            yield Input(path, kind_of_file(path))

    def _given(self, path: str) -> bool:
        if self._walked and is_media(os.path.basename(path)):
            try:
                status = os.stat(os.path.dirname(path) or os.curdir)
            except (OSError, ValueError):
                return False
            if (status.st_dev, status.st_ino) in self._walked and os.path.lexists(path):
                return True
        return self._key(path) in self._single

    def _key(self, path: str) -> bytes:
        return hashlib.blake2b(os.fsencode(self._identity(path)), digest_size=16).digest()


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


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
