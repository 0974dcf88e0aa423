"""Numbers read from the outputs of a classifier: probabilities, logits or decision values of all classes."""

from __future__ import annotations

import numpy as np

from facereject._validation import FloatArray


def top_and_gap(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Largest value of each row, and by how much it exceeds the second largest."""
    ordered = np.partition(values, values.shape[1] - 2, axis=1)
    return ordered[:, -1], ordered[:, -1] - ordered[:, -2]


def error_probability(probabilities: FloatArray) -> FloatArray:
    """1 − the largest, as the sum of the others: differences between almost certain ones survive."""
    ordered = np.partition(probabilities, probabilities.shape[1] - 1, axis=1)
    return np.asarray(ordered[:, :-1].sum(axis=1))
