"""Weight files of others: which there are, under which licence, where they are, and how they are downloaded.

None is part of this package. YuNet's is downloaded when it is first needed, the others when somebody asks.
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
from facereject.faces.weights.obtain import WeightsDownloadWarning, ensured_weights

__all__ = [
    "STACKS",
    "WEIGHTS",
    "WeightFile",
    "WeightsDownloadWarning",
    "WeightsError",
    "ensured_weights",
    "find_weights",
    "weights_folder",
    "weights_path",
]
