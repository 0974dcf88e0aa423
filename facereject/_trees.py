"""Sums of regression trees as plain arrays."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# rows that are done at once: their table of splits stays in the cache of the processor
_ROWS = 128

# leaves are bits of one of these numbers; signed, as -1 has all bits at any size
_WORDS: tuple[type[np.signedinteger[Any]], ...] = (np.int8, np.int16)

# far more than training makes; a file beyond would only cost memory and time
_MAX_TREES, _MAX_NODES, _MAX_DEPTH = 10_000, 1_000_000, 64


class _Columns(Protocol):
    """What a stored score is read for."""

    @property
    def n_features(self) -> int: ...


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class TreeScore:
    """Sum of regression trees, all in one table of nodes.

    Node k of the table goes to ``left[k]`` if features[feature[k]] <= threshold[k] and to ``right[k]``
    otherwise; a leaf has feature -1 and the value ``threshold[k]``. ``roots`` lists where each tree starts.
    Children come after their parent, so a walk always ends.
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: FloatArray
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    n_features: int

    kind = "trees"
    specs = {  # noqa: RUF012
        "roots": ("int32", (None,)),
        "feature": ("int32", (None,)),
        "threshold": ("float64", (None,)),
        "left": ("int32", (None,)),
        "right": ("int32", (None,)),
    }

    def __call__(self, features: NDArray[np.float32]) -> FloatArray:
        """The sum of the trees for each row; NaN goes to the right."""
        reached = self._walk if self._splits is None else self._splits
        parts = [
            # one row after the other in memory, so that sums do not depend on how many rows there are
            np.add.reduce(np.ascontiguousarray(reached(features[start : start + _ROWS]).T), axis=1)
            for start in range(0, len(features), _ROWS)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])

    @functools.cached_property
    def _splits(self) -> _Splits | None:
        """The splits as one table; None if there are trees with too many leaves for that."""
        return _split_table(self)

    @functools.cached_property
    def _walk(self) -> _Walk:
        """Node by node, for trees of any size."""
        return _Walk(self, self._depth())

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in self.specs}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], features: _Columns) -> TreeScore:
        return cls.from_tables(arrays, features.n_features)

    @classmethod
    def from_tables(cls, arrays: dict[str, NDArray[Any]], n_features: int) -> TreeScore:
        """The inverse of `arrays`, for rows of ``n_features`` values; ValueError for invalid trees."""
        tables: dict[str, Any] = {name: arrays[name] for name in cls.specs}
        tree = cls(**tables, n_features=n_features)
        nodes = len(tree.feature)
        if not len(tree.roots) or {len(tree.threshold), len(tree.left), len(tree.right)} != {nodes}:
            raise ValueError("the tables of the trees have different lengths")
        inner = np.flatnonzero(tree.feature >= 0)
        children = np.concatenate([tree.left[inner], tree.right[inner]])
        # children after their parent: a hostile file cannot make the walk endless or leave the table
        sound = (children > np.concatenate([inner, inner])).all() and (children < nodes).all()
        starts = (tree.roots >= 0).all() and (tree.roots < nodes).all()
        if not (sound and starts and tree.feature.max(initial=-1) < n_features):
            raise ValueError("the trees point outside their tables")
        if nodes > _MAX_NODES or len(tree.roots) > _MAX_TREES or tree._depth() > _MAX_DEPTH:
            raise ValueError(
                f"more than {_MAX_TREES:,} trees or {_MAX_NODES:,} nodes, or deeper than {_MAX_DEPTH} levels"
            )
        return tree

    def _depth(self) -> int:
        """How many steps the longest walk takes, as far as `_MAX_DEPTH` + 1."""
        # no np.unique: it imports numpy.ma, which takes a fifteenth of the time of scoring one photo
        reached = np.zeros(len(self.feature), dtype=bool)
        reached[self.roots] = True
        for depth in range(_MAX_DEPTH + 1):
            level = np.flatnonzero(reached & (self.feature >= 0))
            if not len(level):
                return depth
            reached[:] = False
            reached[self.left[level]] = reached[self.right[level]] = True
        return _MAX_DEPTH + 1

    @classmethod
    def constant(cls, value: float, n_features: int) -> TreeScore:
        """One tree of a single leaf: where there is nothing to be told apart."""
        none = np.zeros(1, dtype=np.int32)
        return cls(none, none - 1, np.array([value]), none, none, n_features)

    @classmethod
    def joined(cls, parts: Sequence[tuple[TreeScore, float]]) -> TreeScore:
        """All trees of several sums as one sum, each sum times its factor."""
        tables: dict[str, list[NDArray[Any]]] = {name: [] for name in cls.specs}
        nodes = 0
        for part, factor in parts:
            leaf = part.feature < 0
            for name in ("roots", "left", "right"):
                tables[name].append(getattr(part, name) + np.int32(nodes))
            tables["feature"].append(part.feature)
            tables["threshold"].append(np.where(leaf, factor * part.threshold, part.threshold))
            nodes += len(part.feature)
        arrays = {name: np.concatenate(values) for name, values in tables.items()}
        return cls.from_tables(arrays, parts[0][0].n_features)

    @classmethod
    def from_lightgbm(cls, booster: Any) -> TreeScore:
        """Copy the trees of a fitted ``lightgbm.Booster`` with numeric splits."""
        table: dict[str, list[Any]] = {name: [] for name in ("feature", "threshold", "left", "right")}

        def add(node: dict[str, Any]) -> int:
            position = len(table["feature"])
            for column in table.values():
                column.append(0)
            if "split_feature" not in node:
                table["feature"][position], table["threshold"][position] = -1, node["leaf_value"]
                return position
            table["feature"][position] = node["split_feature"]
            table["threshold"][position] = node["threshold"]
            table["left"][position] = add(node["left_child"])
            table["right"][position] = add(node["right_child"])
            return position

        model = booster.dump_model()
        roots = [add(tree["tree_structure"]) for tree in model["tree_info"]]
        return cls(
            np.array(roots, dtype=np.int32),
            np.array(table["feature"], dtype=np.int32),
            np.array(table["threshold"], dtype=np.float64),
            np.array(table["left"], dtype=np.int32),
            np.array(table["right"], dtype=np.int32),
            n_features=len(model["feature_names"]),
        )


class _Walk:
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


class _Splits:
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


def _split_table(nodes: TreeScore) -> _Splits | None:
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
    return _Splits(
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
