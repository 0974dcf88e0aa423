"""Advice to Linux about memory changes no memory, and is given for what a block allocates only."""

import mmap
import sys

import pytest

from facereject.faces.landmarks import large_pages as module
from facereject.faces.landmarks.large_pages import _advise, large_pages

SIZE = 8 << 20


def _filled() -> mmap.mmap:
    memory = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.write(bytes(range(256)) * (SIZE // 256))
    return memory


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux tells its mappings in /proc")


@linux
def test_memory_allocated_in_the_block_is_advised_and_kept(monkeypatch):
    spans = []

    def record(start, end):
        spans.append(max(end - start, 0))
        _advise(start, end)

    monkeypatch.setattr(module, "_advise", record)
    before = _filled()
    with large_pages():
        inside = _filled()
    # what the interpreter allocates meanwhile is little
    assert SIZE <= sum(spans) < 2 * SIZE
    for memory in (before, inside):
        memory.seek(0)
        assert memory.read() == bytes(range(256)) * (SIZE // 256)


@linux
def test_nothing_allocated_is_nothing_advised(monkeypatch):
    spans = []
    monkeypatch.setattr(module, "_advise", lambda start, end: spans.append(max(end - start, 0)))
    with large_pages():
        pass
    assert sum(spans) < SIZE


def test_without_a_list_of_mappings_nothing_happens(monkeypatch):
    def missing(*_, **__):
        raise FileNotFoundError

    advised = []
    monkeypatch.setattr(module, "_advise", lambda *span: advised.append(span))
    monkeypatch.setattr("builtins.open", missing)
    with large_pages():
        filled = bytearray(SIZE)
    assert filled
    assert advised == []


def test_an_error_in_the_block_is_raised():
    with pytest.raises(RuntimeError, match="damaged"), large_pages():
        raise RuntimeError("damaged")
