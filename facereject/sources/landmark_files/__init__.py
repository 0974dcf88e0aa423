"""Landmarks in files: one reader per format, which is recognised by content unless the user names it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from facereject._files import suffix_of, valid_name
from facereject.sources.landmark_files import json_files, plain, pose_tools, text_files, xml_files
from facereject.sources.landmark_files._found import (
    DAMAGE,
    FoundFace,
    LandmarkFileError,
    named_after,
    opening,
)
from facereject.sources.landmark_files.plain import read_own_table
from facereject.tables.reading import points_in_table
from facereject.tables.writing import SUFFIXES as TABLE_SUFFIXES


class Reader(NamedTuple):
    """How files of one format are named, recognised by path and beginning, and read."""

    suffixes: tuple[str, ...]
    knows: Callable[[str, str], bool]
    read: Callable[[str], Iterator[FoundFace]]
    #: only tools write the format, never people
    predicted: bool = False


def _has(*words: str) -> Callable[[str, str], bool]:
    return lambda _, beginning: all(word in beginning for word in words)


_JSON, _XML = (".json",), (".xml",)

#: readers by the name of their format, in the order in which they are tried
READERS = {
    "facereject": Reader(TABLE_SUFFIXES, lambda path, _: bool(points_in_table(path)), read_own_table, True),
    "openface": Reader((".csv",), text_files.knows_openface, text_files.read_openface, True),
    "sleap": Reader(pose_tools.HDF5, pose_tools.knows_sleap, pose_tools.read_sleap),
    "deeplabcut": Reader((".csv", *pose_tools.HDF5), pose_tools.knows_deeplabcut, pose_tools.read_deeplabcut),
    "label-studio": Reader(_JSON, _has('"keypointlabels"'), json_files.read_label_studio),
    "fiftyone": Reader(_JSON, _has('"filepath"', '"samples"'), json_files.read_fiftyone),
    "coco": Reader(_JSON, json_files.knows_coco, json_files.read_coco),
    "mediapipe": Reader((*_JSON, ".jsonl"), json_files.knows_mediapipe, json_files.read_mediapipe, True),
    "pts": Reader((".pts", ".txt"), text_files.knows_pts, text_files.read_300w),
    "dlib": Reader(
        _XML, lambda _, start: "<image file=" in start or "<dataset" in start, xml_files.read_dlib
    ),
    "cvat": Reader(_XML, _has("<annotations>", "<version>"), xml_files.read_cvat),
    "wflw": Reader((".txt",), text_files.knows_wflw, text_files.read_wflw),
    "plain": Reader(plain.PLAIN_SUFFIXES, plain.knows_plain, plain.read_plain),
}

# characters of a header that are shown
_SHOWN = 120


def landmark_files(path: str | os.PathLike[str], format: str | None = None) -> list[str]:
    """The files that `read_landmarks` reads, in this order; it raises the same errors."""
    if format is not None and format not in READERS:
        raise LandmarkFileError(f"format must be one of {', '.join(READERS)}; got {format!r}")
    name = os.fspath(path)
    if os.path.isdir(name):
        readers = READERS.values() if format is None else [READERS[format]]
        wanted = {suffix for reader in readers for suffix in reader.suffixes}
        found = (file for file in Path(name).rglob("*") if file.suffix.lower() in wanted)
        files = sorted(str(file) for file in found if os.path.isfile(file))
        if not files:
            raise LandmarkFileError(
                f"{name}: no file of landmarks in this folder ({', '.join(sorted(wanted))}). "
                "`facereject annotate` places and saves them"
            )
    elif os.path.isfile(name):
        return [name]
    else:
        raise LandmarkFileError(f"{name}: no such file or folder")
    return files


def read_landmarks(path: str | os.PathLike[str], format: str | None = None) -> Iterator[FoundFace]:
    """The faces of a file, or of all files of a folder with its sub-folders, in the order of their names.

    In a folder, a file that cannot be read becomes a face with a ``problem``; the other files are still read.

    Parameters
    ----------
    path : path
    format : str or None
        A name of `READERS`; None: recognised by content.

    Raises
    ------
    LandmarkFileError
        There is nothing to read, the one file is damaged, or its format is unknown.
    """
    folder, files = os.path.isdir(path), landmark_files(path, format)
    for file in files:
        try:
            yield from _read(file, format)
        except LandmarkFileError as error:
            if not folder:
                raise
            yield FoundFace(named_after(file), None, problem=str(error), file=file)


def _read(path: str, format: str | None) -> Iterator[FoundFace]:
    try:
        format = _format_of(path) if format is None else format
        damaged: list[FoundFace] = []
        readable = False
        reader = READERS[format]
        for found in reader.read(path):
            image = valid_name(found.image)
            face = found._replace(image=image, file=path, predicted=reader.predicted)
            readable |= not face.problem
            if readable:
                yield from damaged
                damaged.clear()
                yield face
            else:
                damaged.append(face)
        if damaged:
            # no face at all can be read: the file itself is damaged
            raise LandmarkFileError(damaged[0].problem)
    except LandmarkFileError:
        raise
    except OSError as error:
        raise LandmarkFileError(f"{path}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError:
        raise LandmarkFileError(f"{path}: its text is not UTF-8; save it as UTF-8") from None
    except DAMAGE as error:
        kind = "" if format is None else f", or not in the format {format}"
        raise LandmarkFileError(f"{path}: damaged{kind} ({_in_short(error)})") from None


def _format_of(path: str) -> str:
    beginning = opening(path)
    if not beginning.strip():
        raise LandmarkFileError(f"{path}: the file is empty")
    for name, reader in READERS.items():
        if suffix_of(path) in reader.suffixes and reader.knows(path, beginning):
            return name
    header = ", ".join(plain.header_of(path, beginning)) or beginning.strip().partition("\n")[0]
    header = header if len(header) <= _SHOWN else f"{header[:_SHOWN]}…"
    raise LandmarkFileError(
        f"{path}: its layout is unknown. It begins with: {header}. The simplest that work are a table with "
        "the columns image, x0, y0, x1, y1, … and a .pts file per image. Formats that are read: "
        f"{', '.join(READERS)}"
    )


def _in_short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if text and type(error) is ValueError:
        # says what is wrong, other kinds only where
        return text[:_SHOWN]
    return f"{type(error).__name__}: {text[:_SHOWN]}" if text else type(error).__name__
