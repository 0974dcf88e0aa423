"""Public names: how many there are, that their examples run, and that their docstrings are complete."""

from __future__ import annotations

import doctest
import warnings

import matplotlib.pyplot as plt
import pytest

from tools.docs.check_docstrings import problems, public_objects

OBJECTS = dict(public_objects())
#: names of classes and functions, each counted once, without those of `facereject.torch`; the aim is 120
MOST = 140


def test_the_public_interface_is_small():
    assert len(OBJECTS) <= MOST


@pytest.mark.parametrize("name", OBJECTS)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    finder = doctest.DocTestFinder(recurse=False)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for test in finder.find(OBJECTS[name], name, globs={}):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            runner.run(test)
    plt.close("all")
    assert runner.summarize(verbose=False).failed == 0


def test_docstrings_are_complete():
    seen: set[int] = set()
    assert [line for name, value in OBJECTS.items() for line in problems(name, value, seen)] == []
