"""Memory pages of 2 MB for a large model: scattered reads of it find their addresses sooner (Linux only)."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator

_PAGE = 2 << 20

# of Linux's <asm-generic/mman-common.h>: make large pages now (6.1 and later), or when there is time
_MADV_COLLAPSE, _MADV_HUGEPAGE = 25, 14


@contextlib.contextmanager
def large_pages() -> Iterator[None]:
    """Ask for large pages for the memory that the block allocates; it works without them, too, but slower."""
    before = _written_memory()
    yield
    for start, end in _written_memory():
        # neighbouring memory of equal kind is listed as one region, which may have grown at either end
        for old_start, old_end in before:
            if start < old_end and old_start < end:
                _advise(start, old_start)
                start = old_end
        _advise(start, end)


def _written_memory() -> list[tuple[int, int]]:
    """Start and end of this process's private writable memory that is of no file, in ascending order."""
    regions = []
    with contextlib.suppress(OSError, ValueError), open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            span, mode, _, _, inode, *name = line.split()
            if mode.startswith("rw") and inode == "0" and name in ([], ["[heap]"]):
                start, end = (int(address, 16) for address in span.split("-"))
                regions.append((start, end))
    return regions


def _advise(start: int, end: int) -> None:
    start, end = -(-start // _PAGE) * _PAGE, end // _PAGE * _PAGE
    if start >= end or not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError, AttributeError):
        madvise = ctypes.CDLL(None).madvise
        span = ctypes.c_void_p(start), ctypes.c_size_t(end - start)
        if madvise(*span, _MADV_COLLAPSE) != 0:
            madvise(*span, _MADV_HUGEPAGE)
