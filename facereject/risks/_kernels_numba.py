"""The inner loops of ``_pairs``, compiled by numba; the same functions as in ``_kernels_numpy``."""

from __future__ import annotations

from math import exp, expm1, fabs, floor, log1p
from typing import Any

import numpy as np
from numba import njit

from facereject.risks._nodes import CELL_WIDTH, N_NODES


@njit(cache=True)
def locate(scores: Any, leftmost: float, n_cells: int) -> tuple[Any, Any]:
    cell = np.empty(scores.size, np.int32)
    count = np.zeros(n_cells, np.int64)
    for i in range(scores.size):
        c = np.int32(floor(scores[i] / CELL_WIDTH) - leftmost)
        cell[i] = c
        count[c] += 1
    return cell, count


@njit(cache=True)
def cell_bounds(cell: Any, scores: Any, n_cells: int) -> tuple[Any, Any]:
    low = np.full(n_cells, np.inf)
    high = np.full(n_cells, -np.inf)
    for i in range(scores.size):
        c = cell[i]
        low[c] = min(low[c], scores[i])
        high[c] = max(high[c], scores[i])
    return low, high


@njit(cache=True)
def totals(losses: Any, weights: Any, cell: Any, reference: Any) -> Any:
    out = np.zeros((2, reference.size))
    for i in range(losses.size):
        out[0, cell[i]] += weights[i] * (losses[i] - reference[cell[i]])
        out[1, cell[i]] += weights[i]
    return out


@njit(cache=True)
def moments(scores: Any, losses: Any, weights: Any, cell: Any, centre: Any, radius: Any, crowded: Any) -> Any:
    out = np.zeros((2, radius.size, N_NODES))
    for i in range(scores.size):
        c = cell[i]
        if not crowded[c]:
            continue
        x = (scores[i] - centre[c]) / radius[c] if radius[c] > 0.0 else 0.0
        b = weights[i]
        a = b * losses[i]
        previous, current = 1.0, x
        for q in range(N_NODES):
            out[0, c, q] += a * previous
            out[1, c, q] += b * previous
            previous, current = current, 2.0 * x * current - previous
    return out


@njit(cache=True)
def combine_at_points(
    scores: Any, losses: Any, weights: Any, cell: Any, centre: Any, radius: Any, node_of_point: Any,
    coefficients: Any, first: Any, second: Any, sign: float, reference: Any, constants: Any,
) -> Any:  # fmt: skip
    out = np.empty(scores.size)
    for i in range(scores.size):
        c = cell[i]
        node = node_of_point[i]
        if node >= 0:
            at_first, at_second = first[node], second[node]
        else:
            x = (scores[i] - centre[c]) / radius[c] if radius[c] > 0.0 else 0.0
            previous, current = 1.0, x
            at_first, at_second = 0.0, 0.0
            for q in range(N_NODES):
                at_first += coefficients[0, c, q] * previous
                at_second += coefficients[1, c, q] * previous
                previous, current = current, 2.0 * x * current - previous
        constant = 0.5 * (constants[0, c] - (losses[i] - reference[c]) * constants[1, c])
        out[i] = weights[i] * ((at_first + sign * losses[i] * at_second) + constant)
    return out


@njit(cache=True)
def sum_over_nodes(
    grid: Any, centre: Any, last: Any, start: Any, cell: Any, offset: Any, a: Any, b: Any, curvature: bool
) -> tuple[float, Any]:
    n_nodes = offset.size
    potentials = np.zeros((4 if curvature else 2, n_nodes))
    value = 0.0
    for i in range(n_nodes):
        c = cell[i]
        from_a, from_b, bend_a, bend_b = 0.0, 0.0, 0.0, 0.0
        if curvature:
            bend_a, bend_b = 0.25 * a[i], 0.25 * b[i]
        own = log1p(1.0) * b[i]
        # every pair once: j > i covers the rest of the own cell and the cells to the right
        for j in range(i + 1, start[last[c]]):
            d = centre[cell[j]] - centre[c] + (offset[j] - offset[i])
            shrink = exp(-fabs(d))
            half = shrink / (1.0 + shrink)
            if grid[cell[j]] - grid[c] <= 1.0:
                part = -0.5 * expm1(-fabs(d)) / (1.0 + shrink)  # tanh(|d|/2)/2, exact for tiny d
                if d < 0.0:  # Chebyshev nodes run from right to left inside a cell
                    part = -part
                from_a -= a[j] * part
                from_b += b[j] * part
                potentials[0, j] += a[i] * part
                potentials[1, j] -= b[i] * part
            else:
                from_a += a[j] * half
                from_b += b[j] * (1.0 - half)
                potentials[0, j] += a[i] * (1.0 - half)
                potentials[1, j] += b[i] * half
            log_term = log1p(shrink)
            own += b[j] * (log_term + max(d, 0.0))
            value += a[j] * b[i] * (log_term + max(-d, 0.0))
            if curvature:
                bend = half * (1.0 - half)
                bend_a += a[j] * bend
                bend_b += b[j] * bend
                potentials[2, j] += a[i] * bend
                potentials[3, j] += b[i] * bend
        potentials[0, i] += from_a
        potentials[1, i] += from_b
        if curvature:
            potentials[2, i] += bend_a
            potentials[3, i] += bend_b
        value += a[i] * own
    return value, potentials
