"""A fitted score as JSON and arrays, and back: only classes of `facereject.scores`, and no code runs.

Trees of LightGBM become tables of nodes, so that LightGBM is not needed to use them, nor trusted to read
them.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject._trees import TreeScore
from facereject._validation import FloatArray

_PACKAGE = "facereject.scores."


class StoredTrees:
    """Trees that were those of a ``lightgbm.Booster``."""

    def __init__(self, trees: TreeScore) -> None:
        self.trees = trees

    def predict(self, table: FloatArray, **options: Any) -> FloatArray:
        """The sum of the trees for each row."""
        return self.trees(np.asarray(table, dtype=np.float32))


def encode(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """The value as plain JSON; arrays are added to ``arrays`` and referred to by name."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        name = f"array-{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, np.ndarray) and value.dtype.kind in "US":
        return {"texts": value.tolist()}
    fields = (
        value._asdict() if hasattr(value, "_asdict") else vars(value) if hasattr(value, "__dict__") else None
    )
    kind = type(value)
    if fields is not None and kind.__module__.startswith(_PACKAGE):
        return {
            "class": f"{kind.__module__.removeprefix(_PACKAGE)}:{kind.__name__}",
            "fields": {name: encode(field, arrays) for name, field in fields.items()},
        }
    if isinstance(value, (tuple, list)):
        return {"sequence": [encode(item, arrays) for item in value]}
    if isinstance(value, StoredTrees) or hasattr(value, "dump_model"):
        trees = value.trees if isinstance(value, StoredTrees) else TreeScore.from_lightgbm(value)
        names = {part: f"array-{len(arrays) + k}" for k, part in enumerate(TreeScore.specs)}
        arrays.update({names[part]: array for part, array in trees.arrays().items()})
        return {"trees": names, "n_features": trees.n_features}
    raise TypeError(f"a score that holds a {kind.__name__} cannot be stored")


def decode(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The inverse of `encode`; KeyError, TypeError, ValueError or AttributeError for anything else."""
    if not isinstance(value, dict):
        return value
    if "number" in value:
        return float(value["number"])
    if "array" in value:
        return arrays[value["array"]]
    if "texts" in value:
        return np.array([str(text) for text in value["texts"]])
    if "sequence" in value:
        return tuple(decode(item, arrays) for item in value["sequence"])
    if "trees" in value:
        parts = {part: arrays[name] for part, name in value["trees"].items()}
        for part, (dtype, _) in TreeScore.specs.items():
            if parts[part].dtype != dtype or parts[part].ndim != 1:
                raise ValueError(f"{part!r} of the trees must be {dtype}")
        return StoredTrees(TreeScore.from_tables(parts, int(value["n_features"])))
    module, _, name = value["class"].partition(":")
    # names of modules and classes, nothing that an import could do more with
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise ValueError(f"{value['class']!r} is no score")
    kind = getattr(importlib.import_module(_PACKAGE + module), name)
    if not isinstance(kind, type) or kind.__module__ != _PACKAGE + module:
        raise ValueError(f"{value['class']!r} is no score")
    fields = {str(key): decode(field, arrays) for key, field in value["fields"].items()}
    if issubclass(kind, tuple):
        return kind(**fields)
    made = object.__new__(kind)
    vars(made).update(fields)
    return made
