"""Pair sums of points in several parts equal those of all points in one place."""

from __future__ import annotations

import numpy as np
import pytest

from facereject.risks._cells import evaluate, locate, merge, summarise
from facereject.risks._pairs import pair_potentials, pair_sum

N = 6000


def cases():
    rng = np.random.default_rng(0)
    normal = rng.normal(size=N)
    losses = rng.exponential(np.exp(0.5 * normal))
    return {
        "normal": (2 * normal, losses),
        "tied": (np.round(2 * normal), (losses > 1).astype(float)),
        "all tied": (np.full(N, 0.3), losses),
        "clustered": (rng.choice([-300.0, 0.0, 1e-3, 5.0, 1e5], N) + 1e-7 * normal, losses),
        "heavy-tailed": (rng.standard_cauchy(N) * 30, losses),
        "nearly constant": (3.7 + 1e-9 * normal, 1.0 + 1e-3 * losses),
    }


def splits():
    rng = np.random.default_rng(1)
    return {
        "one": [np.arange(N)],
        "two": np.array_split(rng.permutation(N), 2),
        "uneven, one empty, one of one point": np.split(rng.permutation(N), [0, 1, 40, 3000]),
        "ordered": None,
    }


def sum_in_parts(scores, losses, weights, split):
    located = [locate(scores[rows], losses[rows], weights[rows]) for rows in split]
    cells = merge([occupied for _, occupied in located])
    summaries = [summarise(part, occupied, cells) for part, occupied in located]
    potentials = pair_potentials(cells, summaries, curvature=True)
    gradient, curvature = np.empty((2, scores.size))
    for rows, (part, _), slope, bend in zip(
        split, located, potentials.gradient, potentials.curvature, strict=True
    ):
        gradient[rows], curvature[rows] = evaluate(part, slope, -1.0), evaluate(part, bend, 1.0)
    return potentials.value, gradient, curvature


@pytest.mark.parametrize("split", splits())
@pytest.mark.parametrize("case", cases())
def test_parts_equal_the_whole(case, split):
    scores, losses = cases()[case]
    rows = splits()[split]
    if rows is None:  # every part has a range of scores of its own
        rows = np.array_split(np.argsort(scores), 7)
    weights = np.random.default_rng(2).integers(0, 3, N) / N
    whole = pair_sum(scores, losses, weights, curvature=True)
    value, gradient, curvature = sum_in_parts(scores, losses, weights, rows)
    assert value == pytest.approx(whole.value, rel=1e-12)
    # a small part of the norm: most of a gradient may cancel
    assert np.linalg.norm(gradient - whole.gradient) <= 1e-10 * np.linalg.norm(whole.gradient)
    assert np.linalg.norm(curvature - whole.curvature) <= 1e-10 * np.linalg.norm(whole.curvature)


def test_what_a_part_tells_does_not_grow_with_it():
    rng = np.random.default_rng(3)

    def told(n):
        part, occupied = locate(rng.uniform(-6, 6, n), rng.exponential(size=n), np.ones(n))
        summary = summarise(part, occupied, merge([occupied]))
        return sum(array.nbytes for array in (*occupied, *summary))

    assert told(200_000) <= told(2000)
