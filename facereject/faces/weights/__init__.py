"""Weight files of others: which there are, under which licence, where they lie, and how they are obtained.

None comes with this package, and none is fetched before somebody asks for it.
"""

from __future__ import annotations

from facereject.faces.weights.files import (
    STACKS,
    WEIGHTS,
    WeightFile,
    WeightsError,
    find_weights,
    weights_folder,
    weights_path,
)

__all__ = [
    "STACKS",
    "WEIGHTS",
    "WeightFile",
    "WeightsError",
    "find_weights",
    "weights_folder",
    "weights_path",
]
