"""The card's table of clean faces by data set, on made-up faces."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from facereject.metrics import aurc
from tools.train import model_card_sets


@pytest.fixture
def sets():
    return model_card_sets


def cells_of(text):
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]
    return {(row[0], row[1]): row[2:] for row in rows}


@pytest.fixture
def faces(sets, rng):
    """Ninety faces of two data sets, two to a photograph; their errors, and how to judge them."""
    samples = [SimpleNamespace(photo=f"{'helen' if i < 30 else 'lfpw'}/{i // 2}.jpg") for i in range(90)]
    losses = rng.gamma(3, 1, 90)
    detector = rng.normal(size=90)

    def judged(noise):
        return sets.Clean(losses, detector, losses + noise * rng.normal(size=90), np.arange(90))

    return samples, {sample.photo: sample.photo for sample in samples}, judged


def test_a_better_order_is_better_on_every_data_set(sets, faces):
    samples, group, judged = faces
    plain, thorough = judged(4.0), judged(0.0)
    cells = cells_of(sets.data_set_table({"set aside": (samples, plain, thorough)}, group, 60))
    assert [key[1] for key in cells] == ["all", "helen", "lfpw"]
    for (_, name), (n, before, after, more, area) in cells.items():
        rows = {"all": slice(None), "helen": slice(30), "lfpw": slice(30, None)}[name]
        assert int(n) == len(range(90)[rows])
        assert after == "100%"
        assert before == f"{plain.rows(rows).share:.0%}"
        expected = aurc(plain.losses[rows], plain.losses[rows]) - aurc(
            plain.losses[rows], plain.uncertainty[rows]
        )
        value, low, _, high = area.replace("−", "-").replace("(", "").replace(")", "").split()
        assert float(value) == pytest.approx(expected, abs=6e-4)
        assert float(low) < float(value) < float(high) < 0
        assert more.startswith("+")


def test_equal_models_do_not_differ(sets, faces):
    samples, group, judged = faces
    one = judged(2.0)
    for cells in cells_of(sets.data_set_table({"fit part": (samples, one, one)}, group, 10)).values():
        assert cells[3:] == ["+0.0 (+0.0 to +0.0)", "+0.000 (+0.000 to +0.000)"]


def test_other_faces_are_not_compared(sets, faces):
    samples, group, judged = faces
    one = judged(1.0)
    with pytest.raises(ValueError, match="same faces"):
        sets.data_set_table({"fit part": (samples, one, one.rows(np.arange(89)))}, group, 10)
