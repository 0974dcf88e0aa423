"""Numbers in sentences."""

from __future__ import annotations

import pytest

from facereject._words import counted, percent


def test_one_and_many():
    assert [counted(n, "face") for n in (0, 1, 2, 2000)] == ["0 faces", "1 face", "2 faces", "2,000 faces"]
    assert [counted(n, "loss was", "losses were") for n in (1, 2)] == ["1 loss was", "2 losses were"]


@pytest.mark.parametrize(
    ("part", "digits", "text"),
    [
        (1000, 0, "100%"),
        (998, 0, ">99%"),
        (994, 0, "99%"),
        (998, 1, "99.8%"),
        (999.9, 1, ">99.9%"),
        (5, 0, "<1%"),
        (6, 0, "1%"),
        (0.1, 1, "<0.1%"),
        (0, 0, "0%"),
    ],
)
def test_all_and_nothing_are_said_of_nothing_else(part, digits, text):
    assert percent(part, 1000, digits) == text
