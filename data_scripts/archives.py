"""Find an original file by name in folders, also inside (nested) archives, and open it unpacked.

Nothing is written: members are read as streams, so names inside an archive cannot reach outside a folder.
"""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, cast

from data_scripts.lzw import unpack_lzw
from data_scripts.registry import DataError

ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz")
PACKED = ("", ".gz", ".bz2", ".Z")
MAX_DEPTH = 3
Opener = Callable[[], IO[bytes]]

DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile)


@contextmanager
def open_original(name: str, folders: Iterable[Path], prefer: Iterable[str] = ()) -> Iterator[IO[bytes]]:
    """Open the file ``name``, unpacked, for reading.

    A file may be there itself, packed (.gz, .bz2, .Z), or in an archive, which may be in an archive again.

    Parameters
    ----------
    folders : iterable of path
        Searched in this order, with sub-folders.
    prefer : iterable of str
        Names of the published archives; these are searched before others, since names such as train.csv
        are frequent.

    Raises
    ------
    FileNotFoundError
        It is nowhere.
    DataError
        An archive on the way is damaged.
    """
    chosen = {file.lower() for file in prefer}
    for folder in folders:
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        # the file itself first, then the published archive, then any other
        paths.sort(key=lambda path: (not _matches(path.name, name), path.name.lower() not in chosen))
        for path in paths:
            if not (_matches(path.name, name) or path.name.lower().endswith(ARCHIVES)):
                continue
            try:
                with open(path, "rb") as file, _search(path.name, file, name, MAX_DEPTH) as found:
                    if found is not None:
                        yield found
                        return
            except DAMAGED as error:
                # other archives in the folder are none of this table's business
                if path.name.lower() in chosen or _matches(path.name, name):
                    raise DataError(f"{path} is damaged ({error}): remove it and fetch it again") from None
    raise FileNotFoundError(name)


@contextmanager
def _search(label: str, file: IO[bytes], name: str, depth: int) -> Iterator[IO[bytes] | None]:
    if _matches(label, name):
        yield _unpacked(label, name, file)
        return
    if depth and label.lower().endswith(ARCHIVES):
        for inner_label, opener in _members(label, file, name):
            with opener() as inner, _search(inner_label, inner, name, depth - 1) as found:
                if found is not None:
                    yield found
                    return
    yield None


def _members(label: str, file: IO[bytes], name: str) -> Iterator[tuple[str, Opener]]:
    """(base name, function that opens it) of the members worth a look, wanted ones first."""
    if label.lower().endswith(".zip"):
        with zipfile.ZipFile(file) as archive:
            yield from _ranked(archive.namelist(), archive.open, name)
    else:
        with tarfile.open(fileobj=file) as tar:
            names = [info.name for info in tar if info.isfile()]
            # isfile() holds, so extractfile never answers None
            yield from _ranked(names, lambda path: cast(IO[bytes], tar.extractfile(path)), name)


def _ranked(paths: list[str], opener: Callable[[str], IO[bytes]], name: str) -> Iterator[tuple[str, Opener]]:
    labels = [(PurePosixPath(path).name, path) for path in paths]
    wanted = [entry for entry in labels if _matches(entry[0], name)]
    archives = [entry for entry in labels if entry[0].lower().endswith(ARCHIVES)]
    for label, path in wanted + archives:
        yield label, partial(opener, path)


def _matches(label: str, name: str) -> bool:
    return any(label.lower() == (name + packed).lower() for packed in PACKED)


def _unpacked(label: str, name: str, file: IO[bytes]) -> IO[bytes]:
    packed = label[len(name) :].lower()
    if packed == ".gz":
        return cast(IO[bytes], gzip.GzipFile(fileobj=file))
    if packed == ".bz2":
        return bz2.BZ2File(file)
    if packed == ".z":
        return io.BytesIO(unpack_lzw(file.read()))
    return file
