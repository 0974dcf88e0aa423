"""Several files read as one: archives published in parts, name.zip.001, name.zip.002, …"""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from data_scripts.registry import DataError


def parts_of(first: Path) -> list[Path]:
    """All parts of an archive from its first, name.zip.001; a gap in the numbers is an error."""
    stem = first.name.removesuffix(".001")
    found = sorted(path for path in first.parent.glob(f"{stem}.[0-9][0-9][0-9]") if path.is_file())
    expected = [first.with_name(f"{stem}.{i:03d}") for i in range(1, len(found) + 1)]
    if found != expected:
        missing = next(path for path in expected if path not in found)
        raise DataError(f"{missing.name} is missing in {first.parent}: all parts are needed")
    return found


class JoinedFiles(io.RawIOBase):
    """The bytes of several files, one after the other, for reading and seeking."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._files = [io.FileIO(path) for path in paths]
        sizes = [path.stat().st_size for path in paths]
        self._ends = list(accumulate(sizes))
        self._starts = [end - size for end, size in zip(self._ends, sizes, strict=True)]
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._ends[-1]}[whence]
        if base + offset < 0:
            raise OSError("seek before the start")
        self._position = base + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        for file, start, end in zip(self._files, self._starts, self._ends, strict=True):
            if start <= self._position < end:
                file.seek(self._position - start)
                count = file.readinto(memoryview(buffer)[: end - self._position])
                self._position += count
                return count
        return 0

    def close(self) -> None:
        for file in self._files:
            file.close()
        super().close()
