"""Which leaf of every tree a row reaches: all splits at once, or node by node."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from facereject.faces.models.trees import TreeScore

FloatArray = NDArray[np.float64]

# leaves are bits of one of these numbers; signed, as -1 has all bits at any size
_WORDS: tuple[type[np.signedinteger[Any]], ...] = (np.int8, np.int16)


class Walk:
    """All trees of all rows step down together; leaves lead to themselves.

    Parameters
    ----------
    nodes : TreeScore
    depth : int
        How many steps the longest walk takes.
    """

    def __init__(self, nodes: TreeScore, depth: int) -> None:
        own = np.arange(len(nodes.feature))
        leaf = nodes.feature < 0
        # right, then left
        children = np.stack([np.where(leaf, own, nodes.right), np.where(leaf, own, nodes.left)], axis=1)
        self._children = children.ravel().astype(np.intp)
        self._feature = np.maximum(nodes.feature, 0).astype(np.intp)
        self._roots, self._threshold, self._depth = nodes.roots, nodes.threshold, depth

    def __call__(self, features: NDArray[np.float32]) -> FloatArray:
        """The value of the leaf that each row reaches, shape (trees, rows)."""
        values = np.ascontiguousarray(features).ravel()
        start = np.arange(len(features)) * features.shape[1]
        node = np.broadcast_to(self._roots[:, None], (len(self._roots), len(features)))
        for _ in range(self._depth):
            below = values.take(self._feature.take(node) + start) <= self._threshold.take(node)
            node = self._children.take(2 * node + below)
        return np.asarray(self._threshold.take(node))


class Splits:
    """All splits of all trees are decided at once, and the leaf follows from them by bits.

    Every leaf of a tree is a bit, the leftmost one the lowest. A split that sends a row to the right rules
    out the leaves to its left; of the leaves that remain, the lowest is the one the row reaches (QuickScorer,
    Lucchese et al., SIGIR 2015).

    Parameters
    ----------
    feature : ndarray of shape (k t,), int
        Split i of tree j is at i t + j; t trees have at most k splits each.
    threshold : ndarray of shape (k t,), float32
    left : ndarray of shape (k t,), int8 or int16
        All bits but those of the leaves to the left of the split.
    values : ndarray of shape (t, l)
        Of the leaves.
    """

    def __init__(
        self,
        feature: NDArray[np.intp],
        threshold: NDArray[np.float32],
        left: NDArray[np.signedinteger[Any]],
        values: FloatArray,
    ) -> None:
        self._feature, self._threshold, self._left = feature, threshold[:, None], left[:, None]
        self._values, self._trees = values.ravel(), len(values)
        self._first = np.arange(self._trees)[:, None] * values.shape[1]

    def __call__(self, features: NDArray[np.float32]) -> FloatArray:
        """The value of the leaf that each row reaches, shape (trees, rows)."""
        seen = np.ascontiguousarray(features.T).take(self._feature, axis=0)
        # all bits where a row goes to the left; several times as fast as np.where
        possible = np.negative((seen <= self._threshold).view(np.int8)).astype(self._left.dtype, copy=False)
        possible |= self._left
        left = np.bitwise_and.reduce(possible.reshape(-1, self._trees, len(features)), axis=0)
        leaf = _lowest_bit(left.dtype.itemsize).take(left)
        return np.asarray(self._values.take(leaf + self._first))


@functools.lru_cache(maxsize=2)
def _lowest_bit(size: int) -> NDArray[np.intp]:
    """The position of the lowest set bit of every number of ``size`` bytes; negative: from the end."""
    numbers = np.arange(1 << (8 * size))
    return np.asarray(np.rint(np.log2(np.maximum(numbers & -numbers, 1))), dtype=np.intp)


def split_table(nodes: TreeScore) -> Splits | None:
    """The splits of all trees; None if a tree has more leaves than a word has bits."""
    most = np.iinfo(_WORDS[-1]).bits
    # plain lists: one number of an array at a time takes ten times as long
    feature, left, right = nodes.feature.tolist(), nodes.left.tolist(), nodes.right.tolist()
    found = []
    for root in nodes.roots.tolist():
        tree = _tree(feature, left, right, root, most)
        if tree is None:
            return None
        found.append(tree)
    n_leaves = max(len(leaves) for _, leaves in found)
    word = next(word for word in _WORDS if np.iinfo(word).bits >= n_leaves)
    shape = (max(n_leaves - 1, 1), len(found))
    # a split that is not there rules nothing out; its threshold is that of a node like any other
    node, kept = np.zeros(shape, dtype=np.intp), np.full(shape, -1, dtype=word)
    leaf = np.zeros((len(found), n_leaves), dtype=np.intp)
    for j, (splits, leaves) in enumerate(found):
        leaf[j, : len(leaves)] = leaves
        for i, (place, first, middle) in enumerate(splits):
            # leaves to the left of a split are never all of them, so the number fits into the word
            node[i, j], kept[i, j] = place, ~((1 << middle) - (1 << first))
    split = node.ravel()
    return Splits(
        np.maximum(nodes.feature[split], 0).astype(np.intp),
        _round_down(nodes.threshold[split]),
        kept.ravel(),
        nodes.threshold[leaf],
    )


def _tree(
    feature: list[int], left: list[int], right: list[int], root: int, most: int
) -> tuple[list[tuple[int, int, int]], list[int]] | None:
    """Splits (node, first leaf below it, first leaf to its right) and leaves, from left to right.

    None if there are more than ``most`` leaves.
    """
    splits: list[tuple[int, int, int]] = []
    leaves: list[int] = []

    def visit(node: int) -> bool:
        if feature[node] < 0:
            leaves.append(node)
            return len(leaves) <= most
        first = len(leaves)
        if not visit(left[node]):
            return False
        splits.append((node, first, len(leaves)))
        return visit(right[node])

    return (splits, leaves) if visit(root) else None


def _round_down(values: FloatArray) -> NDArray[np.float32]:
    """The largest float32 that are not larger: a float32 is at most the one if it is at most the other."""
    with np.errstate(over="ignore"):
        near = values.astype(np.float32)
    return np.where(near > values, np.nextafter(near, np.float32(-np.inf)), near)
