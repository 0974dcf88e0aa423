"""Public names: how many there are, that their examples run, and that their docstrings are complete."""

from __future__ import annotations

import doctest
import warnings

import matplotlib.pyplot as plt
import pytest

from tools.docs.check_docstrings import CHECKED, problems, public_objects

OBJECTS = dict(public_objects())
#: names of classes and functions, each counted once; the aim is 120
MOST = 210


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


@pytest.mark.parametrize("module", CHECKED)
def test_docstrings_are_complete(module):
    seen: set[int] = set()
    found = [line for name, value in public_objects((module,)) for line in problems(name, value, seen)]
    assert found == []
