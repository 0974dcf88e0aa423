"""Points in cells: the contribution of a part of the points to the pair sums of ``_pairs``.

The points can be in several parts, for instance one per worker of a cluster. What moves between a part and
the sum over the cells grows with the number of occupied cells, not with the number of points:

    locate      part → the cells it occupies, with the range of its scores in each
    merge       those of all parts → cells that span the points of all parts
    summarise   part, cells → Chebyshev moments of the crowded cells, the points themselves of sparse ones
    Field       the sums over all cells at the points of a part, as functions of the score
    evaluate    part, field → the combination of both sums at every point
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray
from facereject.risks._nodes import CELL_WIDTH, N_NODES

try:  # numba is an optional extra; both modules compute the same sums
    from facereject.risks import _kernels_numba as kernels
except ImportError:
    from facereject.risks import _kernels_numpy as kernels  # type: ignore[no-redef]

__all__ = [
    "CellSummary",
    "Cells",
    "Field",
    "IntArray",
    "Occupied",
    "Part",
    "evaluate",
    "kernels",
    "locate",
    "merge",
    "summarise",
]

IntArray = NDArray[np.intp]


class Part(NamedTuple):
    """Some of the points, each with its cell, counted among those that the part occupies."""

    scores: FloatArray  # (n,)
    losses: FloatArray  # (n,)
    weights: FloatArray  # (n,)
    cell: NDArray[np.int32]  # (n,)


class Occupied(NamedTuple):
    """The cells that a part occupies, from left to right."""

    grid: FloatArray  # (c,) position on the grid: neighbours differ by 1
    population: IntArray  # (c,)
    low: FloatArray  # (c,) smallest score of the part in the cell
    high: FloatArray  # (c,) largest
    reference: FloatArray  # (c,) one of the losses


class Cells(NamedTuple):
    """The cells that all parts together occupy, from left to right."""

    grid: FloatArray  # (C,)
    centre: FloatArray  # (C,)
    radius: FloatArray  # (C,)
    crowded: NDArray[np.bool_]  # (C,) True where Chebyshev nodes stand for the points
    population: IntArray  # (C,)
    reference: FloatArray  # (C,)

    def take(self, at: IntArray) -> Cells:
        """Select some of the cells."""
        return Cells(
            self.grid[at], self.centre[at], self.radius[at], self.crowded[at], self.population[at],
            self.reference[at],
        )  # fmt: skip


class CellSummary(NamedTuple):
    """The contribution of a part to the cells it occupies."""

    at: IntArray  # (c,) these cells among those of all parts
    totals: FloatArray  # (2, c) Σ b (ℓ − reference of the cell) and Σ b
    moments: FloatArray  # (2, crowded ones of c, N_NODES) Σ a T_q(x) and Σ b T_q(x)
    point_cell: IntArray  # (m,) points in sparse cells, from left to right: their cells, as in ``at``
    offset: FloatArray  # (m,) their scores relative to the centre of the cell
    a: FloatArray  # (m,)
    b: FloatArray  # (m,)


class Field(NamedTuple):
    """Two functions of the score: Chebyshev coefficients in crowded cells, values at the points of others."""

    cells: Cells  # those of the part
    coefficients: FloatArray  # (2, c, N_NODES)
    first: FloatArray  # (m,)
    second: FloatArray  # (m,)
    constants: FloatArray  # (2, c)


def locate(scores: FloatArray, losses: FloatArray, weights: FloatArray) -> tuple[Part, Occupied]:
    """Sort the points of a part into cells of width ``CELL_WIDTH``."""
    if scores.size == 0:
        none = np.empty(0)
        part = Part(scores, losses, weights, np.empty(0, np.int32))
        return part, Occupied(none, np.empty(0, np.intp), none, none, none)
    leftmost = np.floor(scores.min() / CELL_WIDTH)
    extent = np.floor(scores.max() / CELL_WIDTH) - leftmost + 1.0
    if extent < 4 * scores.size + 1024:
        cell, count = kernels.locate(scores, leftmost, int(extent))
        occupied = np.flatnonzero(count)
        if occupied.size < count.size:
            cell = (np.cumsum(count > 0) - 1).astype(cell.dtype)[cell]
        grid, count = occupied + leftmost, count[occupied]
    else:  # a few clusters far apart: a table of all cells between them would be too large
        grid, cell, count = np.unique(np.floor(scores / CELL_WIDTH), return_inverse=True, return_counts=True)
        cell = cell.astype(np.int32)
    low, high = kernels.cell_bounds(cell, scores, grid.size)
    reference = np.empty(grid.size)
    reference[cell] = losses
    return Part(scores, losses, weights, cell), Occupied(grid, count, low, high, reference)


def merge(parts: Sequence[Occupied]) -> Cells:
    """Merge the cells of all parts; each spans the points in it."""
    if len(parts) == 1:
        (only,) = parts
        return _span(only.grid, only.low, only.high, only.population, only.reference)
    grid, at = np.unique(np.concatenate([part.grid for part in parts]), return_inverse=True)
    low, high = np.full(grid.size, np.inf), np.full(grid.size, -np.inf)
    np.minimum.at(low, at, np.concatenate([part.low for part in parts]))
    np.maximum.at(high, at, np.concatenate([part.high for part in parts]))
    population = np.zeros(grid.size, np.intp)
    np.add.at(population, at, np.concatenate([part.population for part in parts]))
    reference = np.empty(grid.size)
    reference[at] = np.concatenate([part.reference for part in parts])
    return _span(grid, low, high, population, reference)


def _span(
    grid: FloatArray, low: FloatArray, high: FloatArray, population: IntArray, reference: FloatArray
) -> Cells:
    radius = 0.5 * (high - low)
    return Cells(grid, low + radius, radius, population > N_NODES, population, reference)


def summarise(part: Part, occupied: Occupied, cells: Cells) -> CellSummary:
    """Replace the points of crowded cells by their moments; ``cells`` are those of all parts."""
    at = np.searchsorted(cells.grid, occupied.grid)
    own = cells.take(at)
    moments = np.empty((2, 0, N_NODES))
    if own.crowded.any():
        moments = kernels.moments(
            part.scores, part.losses, part.weights, part.cell, own.centre, own.radius, own.crowded
        )[:, own.crowded]
    totals = kernels.totals(part.losses, part.weights, part.cell, own.reference)
    alone = _alone(part, own)
    cell, b = part.cell[alone], part.weights[alone]
    offset = part.scores[alone] - own.centre[cell]
    return CellSummary(at, totals, moments, at[cell], offset, part.losses[alone] * b, b)


def evaluate(part: Part, field: Field, sign: float) -> FloatArray:
    """Compute b (first + sign·ℓ·second + (constants[0] − (ℓ − reference)·constants[1])/2) at every point."""
    cells = field.cells
    alone = _alone(part, cells)
    node_of_point = np.full(part.scores.size, -1, dtype=np.int32)
    node_of_point[alone] = np.arange(alone.size)
    return np.asarray(
        kernels.combine_at_points(
            part.scores, part.losses, part.weights, part.cell, cells.centre, cells.radius, node_of_point,
            field.coefficients, field.first, field.second, sign, cells.reference, field.constants,
        )
    )  # fmt: skip


def _alone(part: Part, cells: Cells) -> IntArray:
    """Find the points in sparse cells, by cell and then in the order of the part."""
    if cells.crowded.all():
        return np.empty(0, np.intp)
    alone = np.flatnonzero(~cells.crowded[part.cell])
    return alone[np.argsort(part.cell[alone], kind="stable")]
