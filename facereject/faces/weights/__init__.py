"""Third-party weight files: names, licences, locations, download.

None is part of this package. YuNet's is downloaded on first use, the others on request.
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
