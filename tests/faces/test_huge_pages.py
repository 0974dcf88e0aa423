"""Large memory pages for a model: asked for after many predictions, which they do not change."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest

from facereject.faces.landmarks import _huge_pages, dlib_trees
from facereject.faces.landmarks._huge_pages import GrownHeap, growing_heap

PAGE = 2 << 20


@pytest.fixture
def heap(monkeypatch):
    """Makes the heap end at one address, then at another."""

    def end_at(*ends):
        remaining = list(ends)
        monkeypatch.setattr(_huge_pages, "_heap_end", lambda: remaining.pop(0))

    return end_at


def test_only_whole_pages_of_what_was_added_are_made(heap):
    heap(3 * PAGE + 1, 7 * PAGE - 1)
    with growing_heap() as grown:
        pass
    assert grown.waiting == [4 * PAGE, 5 * PAGE]


@pytest.mark.parametrize("ends", [(None, 9 * PAGE), (PAGE, None), (9 * PAGE, PAGE), (PAGE, PAGE)])
def test_nothing_waits_where_no_growth_is_seen(heap, ends):
    heap(*ends)
    with growing_heap() as grown:
        pass
    assert grown.waiting == []


def test_a_system_that_refuses_is_not_asked_again(monkeypatch):
    asked = []

    def refuse(*arguments):
        asked.append(arguments)
        return -1

    class System:
        def __init__(self, name):
            self.madvise = refuse

    monkeypatch.setattr(ctypes, "CDLL", System)
    grown = GrownHeap()
    grown.waiting = [PAGE, 2 * PAGE]
    grown.make_one()
    grown.make_one()
    assert asked == [(2 * PAGE, PAGE, 14)]


def test_landmarks_are_the_same_in_large_pages(astronaut, astronaut_detection, monkeypatch):
    monkeypatch.setattr(dlib_trees, "_MANY", 3)
    dlib_trees._load.cache_clear()
    predictor = dlib_trees.LandmarkPredictor()
    memory = predictor._model._memory
    before = len(memory.waiting)
    answers = [predictor(astronaut, astronaut_detection.box) for _ in range(6)]
    for answer in answers[1:]:
        np.testing.assert_array_equal(answer, answers[0])
    if before:
        assert len(memory.waiting) < before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the heap of other systems is not known")
def test_the_end_of_the_heap_is_known_on_linux():
    end = _huge_pages._heap_end()
    assert end is None or end > 0
