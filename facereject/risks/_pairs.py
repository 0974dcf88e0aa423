"""Sums of the softplus kernel over all pairs of scores, in linear time.

For scores s, losses ℓ ≥ 0 and weights b ≥ 0, and with a = b ℓ, this module computes

    value      V   = Σᵢ Σⱼ aᵢ bⱼ softplus(sⱼ − sᵢ),          softplus(t) = log(1 + exp t)
    gradient   V_k = b_k Σᵢ aᵢ σ(s_k − sᵢ) − a_k Σⱼ bⱼ σ(sⱼ − s_k)
    curvature  H_k = b_k Σᵢ aᵢ σ'(s_k − sᵢ) + a_k Σⱼ bⱼ σ'(sⱼ − s_k)

The score axis is cut into cells of width ``CELL_WIDTH``. The points of a crowded cell are replaced by
``N_NODES`` Chebyshev nodes spanning exactly those points: every kernel above is analytic in the strip
|Im t| < π, so interpolation on so short an interval is good to a few 1e-14. A sparse cell keeps its own
points as nodes. The sum over pairs of nodes is then done directly where cells are closer than
``FAR_GAP``, and in closed form beyond, where softplus is linear on one side and exponential on the other
to double precision.

Two details keep the *relative* accuracy of the gradient when most of it cancels:

* Between neighbouring cells σ(t) = 1/2 + tanh(t/2)/2 is summed as its two parts. The constant part of V_k
  is b_k/2 Σᵢ bᵢ (ℓᵢ − ℓ_k), formed from losses shifted by one of those in the cell. Nearly constant scores
  and losses, as at the first steps of every training run, would otherwise leave only rounding errors.
* A node is stored as (centre of its cell, offset), so that differences inside a tight cluster far from
  zero are exact.

What remains is the rounding of the pairs themselves: a gradient in which *every* pair cancels (scores within
1e-5 of log ℓ), or one weight a hundred million times the others, is good to about 1e-8. Nearer to the
cancelling point the relative error grows as the gradient vanishes; the absolute one stays at rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from facereject._validation import FloatArray
from facereject.risks import _cells
from facereject.risks._cells import Cells, CellSummary, Field, IntArray, evaluate, locate, merge, summarise
from facereject.risks._nodes import N_NODES

# exp(-37) is below half a unit in the last place of 1.0
FAR_GAP = 37.0

_ANGLES = (np.arange(N_NODES) + 0.5) * np.pi / N_NODES
_NODES = np.cos(_ANGLES)
# values at the nodes -> Chebyshev coefficients; its transpose turns moments Σ a T_q(x) into node weights
_TO_COEFFICIENTS = 2.0 / N_NODES * np.cos(np.outer(np.arange(N_NODES), _ANGLES))
_TO_COEFFICIENTS[0] /= 2.0


class PairSum(NamedTuple):
    """Value, gradient and (on request) diagonal curvature of the pair sum."""

    value: float
    gradient: FloatArray
    curvature: FloatArray | None


class PairPotentials(NamedTuple):
    """The value of the pair sum, and per part the fields of its gradient and its curvature."""

    value: float
    gradient: list[Field]
    curvature: list[Field]


class _Nodes(NamedTuple):
    """Nodes in place of the points, sorted by cell; cell c has nodes start[c]:start[c + 1]."""

    start: IntArray  # (C + 1,)
    cell: IntArray  # (M,)
    offset: FloatArray  # (M,) position relative to the centre of the cell
    a: FloatArray  # (M,)
    b: FloatArray  # (M,)


def pair_sum(
    scores: FloatArray, losses: FloatArray, weights: FloatArray, *, curvature: bool = False
) -> PairSum:
    """Compute the sums of the module docstring."""
    part, occupied = locate(scores, losses, weights)
    cells = merge([occupied])
    potentials = pair_potentials(cells, [summarise(part, occupied, cells)], curvature=curvature)
    gradient = evaluate(part, potentials.gradient[0], -1.0)
    if not curvature:
        return PairSum(potentials.value, gradient, None)
    bend = evaluate(part, potentials.curvature[0], 1.0)
    # interpolation may leave -1e-17 where the truth is a tiny positive number
    return PairSum(potentials.value, gradient, np.maximum(bend, 0.0))


def pair_potentials(cells: Cells, parts: Sequence[CellSummary], *, curvature: bool = False) -> PairPotentials:
    """Sum over all pairs of cells, given the summaries of all parts."""
    nodes, nodes_of_parts = _make_nodes(cells, parts)
    last = _window_ends(cells)
    value, potentials = _cells.kernels.sum_over_nodes(cells.grid, cells.centre, last, *nodes, curvature)
    value += _add_far_field(cells, nodes, last, potentials)
    constants = _near_totals(cells, parts)
    crowded = np.flatnonzero(cells.crowded)
    of_crowded = nodes.start[crowded][:, None] + np.arange(N_NODES)

    def fields(pair: FloatArray, constants: FloatArray) -> list[Field]:
        coefficients = np.zeros((2, cells.grid.size, N_NODES))
        coefficients[:, crowded] = pair[:, of_crowded] @ _TO_COEFFICIENTS.T
        return [
            Field(
                cells.take(part.at), coefficients[:, part.at], pair[0, own], pair[1, own],
                constants[:, part.at],
            )
            for part, own in zip(parts, nodes_of_parts, strict=True)
        ]  # fmt: skip

    bent = fields(potentials[2:], np.zeros_like(constants)) if curvature else []
    return PairPotentials(value, fields(potentials[:2], constants), bent)


def _make_nodes(cells: Cells, parts: Sequence[CellSummary]) -> tuple[_Nodes, list[IntArray]]:
    """Make the nodes of all cells; also return for each part which of them are its own points."""
    size = np.where(cells.crowded, N_NODES, cells.population)
    start = np.concatenate([[0], np.cumsum(size)])
    cell = np.repeat(np.arange(size.size), size)
    offset, node_a, node_b = np.empty((3, start[-1]))

    crowded = np.flatnonzero(cells.crowded)
    moments = np.zeros((2, cells.grid.size, N_NODES))
    for part in parts:
        moments[:, part.at[cells.crowded[part.at]]] += part.moments
    of_crowded = start[crowded][:, None] + np.arange(N_NODES)
    offset[of_crowded] = cells.radius[crowded][:, None] * _NODES
    node_a[of_crowded] = moments[0][crowded] @ _TO_COEFFICIENTS
    node_b[of_crowded] = moments[1][crowded] @ _TO_COEFFICIENTS

    order = np.argsort(np.concatenate([part.point_cell for part in parts]), kind="stable")
    of_alone = np.flatnonzero(~cells.crowded[cell])
    place = np.empty(order.size, np.intp)
    place[order] = of_alone
    nodes_of_parts = np.split(place, np.cumsum([part.offset.size for part in parts])[:-1])
    for part, own in zip(parts, nodes_of_parts, strict=True):
        offset[own], node_a[own], node_b[own] = part.offset, part.a, part.b
    return _Nodes(start, cell, offset, node_a, node_b), nodes_of_parts


def _window_ends(cells: Cells) -> IntArray:
    """Find for each cell the first cell to its right with a gap above FAR_GAP."""
    return np.searchsorted(cells.centre - cells.radius, cells.centre + cells.radius + FAR_GAP, side="right")


def _near_totals(cells: Cells, parts: Sequence[CellSummary]) -> FloatArray:
    """Compute Σ b (ℓ − reference of the cell) and Σ b over each cell and its touching neighbours."""
    totals = np.zeros((2, cells.grid.size))
    for part in parts:
        totals[:, part.at] += part.totals
    shifted, mass = totals
    touching = np.diff(cells.grid) <= 1.0
    step = np.diff(cells.reference)
    near_shifted, near_mass = shifted.copy(), mass.copy()
    near_shifted[:-1] += np.where(touching, shifted[1:] + step * mass[1:], 0.0)
    near_shifted[1:] += np.where(touching, shifted[:-1] - step * mass[:-1], 0.0)
    near_mass[:-1] += np.where(touching, mass[1:], 0.0)
    near_mass[1:] += np.where(touching, mass[:-1], 0.0)
    return np.stack([near_shifted, near_mass])


def _add_far_field(cells: Cells, nodes: _Nodes, last: IntArray, potentials: FloatArray) -> float:
    """Add the pairs of cells more than FAR_GAP apart to ``potentials`` in place; return their value.

    With d > FAR_GAP, σ(d) = softplus'(d) = 1, softplus(d) = d and σ(−d) = softplus(−d) = exp(−d). Sums run
    from the far end inwards and add non-negative numbers only, so nothing cancels.
    """
    n_cells = cells.grid.size
    if last[0] == n_cells:
        return 0.0
    right = np.flatnonzero(last < n_cells)  # cells with a far field on their right ...
    right_from = last[right]  # ... which begins with this cell
    first = np.searchsorted(last, np.arange(n_cells), side="right")
    left = np.flatnonzero(first > 0)
    left_to = first[left] - 1

    def per_cell(weights: FloatArray) -> FloatArray:
        return np.add.reduceat(weights, nodes.start[:-1])

    total_a, total_b = per_cell(nodes.a), per_cell(nodes.b)
    mean_a, mean_b = per_cell(nodes.a * nodes.offset), per_cell(nodes.b * nodes.offset)
    gap = np.diff(cells.centre)

    # softplus(d) = d: sum over the far right of b (s - centre), as the total b beyond each gap times that gap
    tail_b = np.cumsum(total_b[::-1])[::-1]
    moment_b = np.cumsum(mean_b[::-1])[::-1]
    moment_b[:-1] += np.cumsum((gap * tail_b[1:])[::-1])[::-1]
    reach = moment_b[right_from] + (cells.centre[right_from] - cells.centre[right]) * tail_b[right_from]
    value = float(total_a[right] @ reach - mean_a[right] @ tail_b[right_from])

    # exp(-d): logarithms carry the sums over any distance without underflow on the way
    with np.errstate(divide="ignore"):
        shrink_a = np.log(np.maximum(per_cell(nodes.a * np.exp(-nodes.offset)), 0.0))
        grow_b = np.log(np.maximum(per_cell(nodes.b * np.exp(nodes.offset)), 0.0))
    from_right = np.logaddexp.accumulate((shrink_a - cells.centre)[::-1])[::-1]
    from_left = np.logaddexp.accumulate(grow_b + cells.centre)

    far_a, far_b = np.zeros(n_cells), np.zeros(n_cells)
    fading_a, fading_b = np.zeros(n_cells), np.zeros(n_cells)
    far_a[left] = np.cumsum(total_a)[left_to]
    far_b[right] = tail_b[right_from]
    fading_a[right] = np.exp(from_right[right_from] + cells.centre[right])
    fading_b[left] = np.exp(from_left[left_to] - cells.centre[left])
    value += float(per_cell(nodes.a * np.exp(-nodes.offset)) @ fading_b)
    potentials[0] += far_a[nodes.cell] + fading_a[nodes.cell] * np.exp(nodes.offset)
    potentials[1] += far_b[nodes.cell] + fading_b[nodes.cell] * np.exp(-nodes.offset)
    return value
