"""Sums of regression trees as plain arrays."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject.faces.features.recipe import FaceFeatures
from facereject.faces.models._tree_leaves import Splits, Walk, split_table

FloatArray = NDArray[np.float64]

# rows that are done at once: their table of splits stays in the cache of the processor
_ROWS = 128

# far more than training makes; a file beyond would only cost memory and time
_MAX_TREES, _MAX_NODES, _MAX_DEPTH = 10_000, 1_000_000, 64


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
    def _splits(self) -> Splits | None:
        """The splits as one table; None if there are trees with too many leaves for that."""
        return split_table(self)

    @functools.cached_property
    def _walk(self) -> Walk:
        """Node by node, for trees of any size."""
        return Walk(self, self._depth())

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in self.specs}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], features: FaceFeatures) -> TreeScore:
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
