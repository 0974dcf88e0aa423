"""Trained scores as plain arrays: what a model file stores, and how features become an uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class ScoreModel(Protocol):
    """Features (m, d) in, uncertainties (m,) out; and back to named arrays for a model file."""

    @property
    def kind(self) -> str: ...

    @property
    def n_features(self) -> int: ...

    def __call__(self, features: NDArray[np.float32]) -> FloatArray: ...

    def arrays(self) -> dict[str, NDArray[Any]]: ...


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class LinearScoreModel:
    """uncertainty = <coef, features> + intercept. Standardisation is folded into both."""

    coef: NDArray[np.float32]
    intercept: float

    kind = "linear"
    specs = {"coef": ("float32", (None,)), "intercept": ("float64", (1,))}  # noqa: RUF012

    @property
    def n_features(self) -> int:
        return len(self.coef)

    def __call__(self, features: NDArray[np.float32]) -> FloatArray:
        return (features @ self.coef).astype(np.float64) + self.intercept

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"coef": self.coef, "intercept": np.array([self.intercept])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], n_features: int) -> LinearScoreModel:
        if len(arrays["coef"]) != n_features:
            raise ValueError(f"coef has {len(arrays['coef'])} values, the features have {n_features}")
        return cls(arrays["coef"], float(arrays["intercept"][0]))


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
        rows = np.arange(len(features))[:, None]
        node = np.broadcast_to(self.roots, (len(features), len(self.roots))).copy()
        # all trees of all rows step down together; the loop runs as often as the deepest tree is deep
        while (inner := self.feature[node] >= 0).any():
            values = features[rows, np.maximum(self.feature[node], 0)]
            below = np.where(values <= self.threshold[node], self.left[node], self.right[node])
            node = np.where(inner, below, node)
        return np.asarray(self.threshold[node].sum(axis=1), dtype=np.float64)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in self.specs}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], n_features: int) -> TreeScore:
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
        if nodes > _MAX_NODES or len(tree.roots) > _MAX_TREES or not tree._is_flat():
            raise ValueError(
                f"more than {_MAX_TREES:,} trees or {_MAX_NODES:,} nodes, or deeper than {_MAX_DEPTH} levels"
            )
        return tree

    def _is_flat(self) -> bool:
        """Whether every walk ends within `_MAX_DEPTH` steps."""
        level = np.unique(self.roots)
        for _ in range(_MAX_DEPTH):
            level = level[self.feature[level] >= 0]
            level = np.unique(np.concatenate([self.left[level], self.right[level]]))
        return not len(level)

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


# far more than training makes; a file beyond would only cost memory and time
_MAX_TREES, _MAX_NODES, _MAX_DEPTH = 10_000, 1_000_000, 64
