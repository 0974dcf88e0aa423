"""The inner loops of ``_pairs`` in plain NumPy: the reference, used where numba is not installed.

A point x in [−1, 1] of a crowded cell is described by its Chebyshev polynomials T_0 … T_{p−1}. No array
of n × p numbers is built: the recurrence T_q = 2x T_{q−1} − T_{q−2} carries two of them along.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import numpy as np

from facereject.risks._nodes import CELL_WIDTH, N_NODES

# pairs of nodes handled at once: bounds memory at a few times 2**18 numbers
_BLOCK_PAIRS = 2**18


def locate(scores: Any, leftmost: float, n_cells: int) -> tuple[Any, Any]:
    """Find the grid cell of each score, counted from ``leftmost``, and the number of scores per cell."""
    cell = (np.floor(scores / CELL_WIDTH) - leftmost).astype(np.int32)
    return cell, np.bincount(cell, minlength=n_cells)


def cell_bounds(cell: Any, scores: Any, n_cells: int) -> tuple[Any, Any]:
    """Find the smallest and largest score in each cell."""
    low, high = np.full(n_cells, np.inf), np.full(n_cells, -np.inf)
    np.minimum.at(low, cell, scores)
    np.maximum.at(high, cell, scores)
    return low, high


def totals(losses: Any, weights: Any, cell: Any, reference: Any) -> Any:
    """Compute Σ b (ℓ − reference of the cell) and Σ b over each cell."""
    shifted = np.bincount(cell, weights * (losses - reference[cell]), minlength=reference.size)
    return np.stack([shifted, np.bincount(cell, weights, minlength=reference.size)])


def moments(scores: Any, losses: Any, weights: Any, cell: Any, centre: Any, radius: Any, crowded: Any) -> Any:
    """Compute Σ a T_q(x) and Σ b T_q(x) over the points of each crowded cell."""
    inside = crowded[cell]
    cell, b = cell[inside], weights[inside]
    a = b * losses[inside]
    out = np.zeros((2, radius.size, N_NODES))
    for q, polynomial in enumerate(_chebyshev(scores[inside] - centre[cell], radius[cell])):
        out[0, :, q] = np.bincount(cell, a * polynomial, minlength=radius.size)
        out[1, :, q] = np.bincount(cell, b * polynomial, minlength=radius.size)
    return out


def combine_at_points(
    scores: Any, losses: Any, weights: Any, cell: Any, centre: Any, radius: Any, node_of_point: Any,
    coefficients: Any, first: Any, second: Any, sign: float, reference: Any, constants: Any,
) -> Any:  # fmt: skip
    """Compute b (first + sign·ℓ·second + (constants[0] − (ℓ − reference)·constants[1])/2) at every point.

    ``first`` and ``second`` are known at the nodes; a point is a node itself or lies in a crowded cell,
    whose interpolant is given by Chebyshev ``coefficients``.
    """
    values = np.empty((2, scores.size))
    alone = node_of_point >= 0
    values[0, alone] = first[node_of_point[alone]]
    values[1, alone] = second[node_of_point[alone]]
    inside = np.flatnonzero(~alone)
    sums = np.zeros((2, inside.size))
    own = cell[inside]
    for q, polynomial in enumerate(_chebyshev(scores[inside] - centre[own], radius[own])):
        sums += coefficients[:, own, q] * polynomial
    values[:, inside] = sums
    # the halves of the constant part may cancel exactly: they are subtracted before anything is added
    constant = 0.5 * (constants[0][cell] - (losses - reference[cell]) * constants[1][cell])
    return weights * ((values[0] + sign * losses * values[1]) + constant)


def sum_over_nodes(
    grid: Any, centre: Any, last: Any, start: Any, cell: Any, offset: Any, a: Any, b: Any, curvature: bool
) -> tuple[float, Any]:
    """Compute value and potentials from all pairs of nodes with cells within the window ``last``.

    Rows of the result: Σ a σ(t − τ) and Σ b σ(τ − t), with ±tanh/2 in place of σ between neighbouring cells;
    with ``curvature`` also Σ a σ'(t − τ) and Σ b σ'(t − τ).
    """
    n_nodes = offset.size
    potentials = np.zeros((4 if curvature else 2, n_nodes))
    first = np.searchsorted(last, np.arange(grid.size), side="right")
    value, top = 0.0, 0
    end = start[last[cell]]
    while top < n_nodes:
        left = start[first[cell[top]]]
        bottom = max(top + 1, _last_row(top, left, end))
        rows, columns = slice(top, bottom), slice(left, end[bottom - 1])
        row_cell, column_cell = cell[rows, None], cell[None, columns]
        distance = centre[row_cell] - centre[column_cell] + (offset[rows, None] - offset[None, columns])
        size = np.abs(distance)
        shrink = np.exp(-size)
        half = shrink / (1.0 + shrink)  # σ(−|d|)
        near = np.abs(grid[row_cell] - grid[column_cell]) <= 1.0
        tanh = np.copysign(0.5 * np.tanh(0.5 * size), distance)
        close = (column_cell < last[row_cell]) & (column_cell >= first[row_cell])
        up = np.where(near, tanh, np.where(distance >= 0, 1.0 - half, half)) * close
        down = np.where(near, -tanh, np.where(distance >= 0, half, 1.0 - half)) * close
        potentials[0, rows] = up @ a[columns]
        potentials[1, rows] = down @ b[columns]
        softplus = (np.maximum(-distance, 0.0) + np.log1p(shrink)) * close
        value += float(a[rows] @ (softplus @ b[columns]))
        if curvature:
            bend = half * (1.0 - half) * close
            potentials[2, rows] = bend @ a[columns]
            potentials[3, rows] = bend @ b[columns]
        top = bottom
    return value, potentials


def _last_row(top: int, left: int, end: Any) -> int:
    """Find the end of a block of rows from ``top`` with at most ``_BLOCK_PAIRS`` pairs.

    Windows widen from a sparse tail to a dense middle: the last row has the most columns, not the first.
    """

    def pairs(bottom: int) -> int:
        return int((bottom - top) * (end[bottom - 1] - left))

    return top + bisect_right(range(top + 1, end.size + 1), _BLOCK_PAIRS, key=pairs)


def _chebyshev(offset: Any, radius: Any) -> Iterator[Any]:
    # a cell of equal points has radius 0
    x = np.divide(offset, radius, out=np.zeros_like(offset), where=radius > 0)
    previous, current = np.ones_like(x), x
    yield previous
    for _ in range(N_NODES - 1):
        yield current
        previous, current = current, 2.0 * x * current - previous
