"""The formats of other tools: one reader each, recognised by content unless the user names the format."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from facereject.sources.landmark_files import coco, deeplabcut, mediapipe, openface, own_table, pts
from facereject.sources.landmark_files.found import FoundFace, LandmarkFileError, named_after, opening

#: readers by the name of their format, in the order in which they are asked; a reader is a module with
#: ``SUFFIXES``, ``knows(path, beginning)`` and ``read(path)``
READERS: dict[str, ModuleType] = {
    "facereject": own_table,
    "openface": openface,
    "deeplabcut": deeplabcut,
    "coco": coco,
    "mediapipe": mediapipe,
    "pts": pts,
}


def read_landmarks(path: str | os.PathLike[str], format: str | None = None) -> Iterator[FoundFace]:
    """The faces of a file, or of all files of a folder with its sub-folders, in the order of their names.

    A file of a folder that cannot be read is a face with a ``problem``, so that it does not cost the others.

    Parameters
    ----------
    path : path
    format : str or None
        A name of `READERS`; None goes by content.

    Raises
    ------
    LandmarkFileError
        There is nothing to read, the one file is damaged, or its format is not known.
    """
    if format is not None and format not in READERS:
        raise LandmarkFileError(f"format must be one of {', '.join(READERS)}; got {format!r}")
    name = os.fspath(path)
    folder = os.path.isdir(name)
    if folder:
        wanted = _suffixes(format)
        found = (file for file in Path(name).rglob("*") if file.suffix.lower() in wanted)
        files = sorted(str(file) for file in found if file.is_file())
        if not files:
            raise LandmarkFileError(
                f"{name}: no file of landmarks in this folder ({', '.join(sorted(wanted))})"
            )
    elif os.path.isfile(name):
        files = [name]
    else:
        raise LandmarkFileError(f"{name}: no such file or folder")
    for file in files:
        try:
            reader = READERS[format] if format is not None else _reader_of(file)
            yield from reader.read(file)
        except LandmarkFileError as error:
            if not folder:
                raise
            yield FoundFace(named_after(file), None, problem=str(error))


def _suffixes(format: str | None) -> set[str]:
    readers = READERS.values() if format is None else [READERS[format]]
    return {suffix for reader in readers for suffix in reader.SUFFIXES}


def _reader_of(path: str) -> ModuleType:
    beginning = opening(path)
    for reader in READERS.values():
        if reader.knows(path, beginning):
            return reader
    raise LandmarkFileError(
        f"{path}: in no format that is known; name it with --format: {', '.join(READERS)}"
    )
