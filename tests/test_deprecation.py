"""The deprecation helper: what it says, whom it blames, and that no old name outlives its version."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import pytest

import facereject
from facereject._deprecation import warn_deprecated

PACKAGE = Path(facereject.__file__).parent


def version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split("."))


def test_old_name_replacement_and_version_are_named():
    with pytest.warns(FutureWarning) as caught:
        warn_deprecated("fit(C=)", replacement="fit(alpha=)", removed_in="9.9")
    message = str(caught[0].message)
    assert all(word in message for word in ("fit(C=)", "fit(alpha=)", "9.9"))


def test_the_caller_of_the_old_name_is_blamed():
    def old_function():
        warn_deprecated("old_function", replacement="new_function", removed_in="9.9")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        old_function()
    source = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert caught[0].filename == __file__
    assert source[caught[0].lineno - 1].strip() == "old_function()"


def test_no_old_name_is_left_beyond_its_version():
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "warn_deprecated":
                (removed_in,) = [ast.literal_eval(k.value) for k in node.keywords if k.arg == "removed_in"]
                assert version(facereject.__version__) < version(removed_in), f"{file}:{node.lineno}"
