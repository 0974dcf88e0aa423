"""Similarity fits, overlaps and the checks of points and boxes."""

from __future__ import annotations

import numpy as np
import pytest

from facereject.faces.face import Box
from facereject.faces.geometry import (
    bounding_box,
    check_box,
    check_landmarks,
    fit_similarity,
    overlap,
    transform_points,
)


def test_a_similarity_is_recovered_exactly(rng):
    points = rng.normal(size=(68, 2)) * 50
    angle, scale = 0.7, 2.5
    matrix = np.array(
        [
            [scale * np.cos(angle), -scale * np.sin(angle), 4],
            [scale * np.sin(angle), scale * np.cos(angle), -9],
        ]
    )
    np.testing.assert_allclose(fit_similarity(points, transform_points(matrix, points)), matrix, atol=1e-9)


def test_the_fit_is_least_squares(rng):
    source, target = rng.normal(size=(2, 68, 2))
    # brute force: the four numbers (a, b, tx, ty) solve a linear least-squares problem
    rows = np.zeros((136, 4))
    rows[0::2] = np.column_stack([source[:, 0], -source[:, 1], np.ones(68), np.zeros(68)])
    rows[1::2] = np.column_stack([source[:, 1], source[:, 0], np.zeros(68), np.ones(68)])
    a, b, x, y = np.linalg.lstsq(rows, target.ravel(), rcond=None)[0]
    np.testing.assert_allclose(fit_similarity(source, target), [[a, -b, x], [b, a, y]], atol=1e-9)


def test_overlap():
    box = Box(0, 0, 10, 10)
    assert overlap(box, box) == 1
    assert overlap(box, Box(10, 0, 10, 10)) == 0
    assert overlap(box, Box(5, 0, 10, 10)) == pytest.approx(1 / 3)
    assert bounding_box([[1, 2], [4, 8]]) == Box(1, 2, 3, 6)
    assert box.center == (5, 5)


@pytest.mark.parametrize(
    "points",
    [
        np.zeros((68, 2)),
        np.zeros((5, 2)),
        np.full((68, 2), np.nan),
        "abc",
        [[1, 2], [3]],
        np.eye(68, 2) * 1e300,
        np.eye(68, 2) * 1e-300,
        [[10**400]],
    ],
)
def test_bad_landmarks_are_refused_by_name(points):
    with pytest.raises(ValueError, match="where"):
        check_landmarks(points, "where")


@pytest.mark.parametrize(
    "box",
    [
        (1, 2, 3),
        (0, 0, 0, 5),
        (0, 0, np.nan, 5),
        None,
        "abcd",
        (0, 0, -1, 5),
        (0, 0, 1e300, 1e300),
        (-1e9, 0, 5, 5),
        (10**400, 0, 1, 1),
    ],
)
def test_bad_boxes_are_refused_by_name(box):
    with pytest.raises(ValueError, match="where"):
        check_box(box, "where")
