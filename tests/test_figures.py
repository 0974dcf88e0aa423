"""Figures in README and the pages are those of the model cards and results."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("figures", ROOT / "tools" / "docs" / "figures.py")
figures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(figures)


@pytest.mark.parametrize(("page", "statement"), figures.STATEMENTS)
def test_a_page_has_the_figures_of_the_card(page, statement):
    text = (ROOT / page).read_text(encoding="utf-8")
    matches, renewed = figures.check(statement, text, figures.figures())
    assert matches == 1
    assert renewed == text, "run: python tools/docs/figures.py --write"


def test_numbers_alone_are_replaced():
    values = {"a": 1.25, "b": 70}
    text = "It is 0.9,\nor 1,234 % in the end."
    assert figures.check("is {a:.1f}, or {b} % in", text, values) == (1, "It is 1.2,\nor 70 % in the end.")
    assert figures.check("was {a:.1f}", text, values) == (0, text)
