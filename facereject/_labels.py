"""Labels as positions in the sorted classes of training, and numbers read from the outputs of classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def locate_labels(labels: NDArray[Any], classes: NDArray[Any], name: str) -> NDArray[np.intp]:
    """Find the position of each label in the sorted ``classes``; −1 for unknown labels.

    Raises a ValueError if labels and classes are of different kinds: NumPy would silently find 1 and "1"
    different, and every label unknown.
    """
    if kind_of_labels(labels) != kind_of_labels(classes):
        raise ValueError(
            f"{name} holds labels of type {labels.dtype} ({kind_of_labels(labels)}), "
            f"but fit saw {classes.dtype} ({kind_of_labels(classes)})"
        )
    position = np.searchsorted(classes, labels).clip(max=classes.size - 1)
    return np.where(classes[position] == labels, position, -1).astype(np.intp)


def kind_of_labels(labels: NDArray[Any]) -> str:
    """Name the kind of labels: "strings", "numbers" or "a mixture of both"."""
    if labels.dtype.kind != "O":
        return "strings" if labels.dtype.kind in "STU" else "numbers"
    text = [isinstance(label, (str, bytes)) for label in labels.flat]
    if any(text):
        return "strings" if all(text) else "a mixture of both"
    return "numbers"


def top_and_gap(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Largest value of each row, and by how much it exceeds the second largest."""
    ordered = np.partition(values, values.shape[1] - 2, axis=1)
    return ordered[:, -1], ordered[:, -1] - ordered[:, -2]


def error_probability(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 − the largest, as the sum of the others: differences between almost certain ones survive."""
    ordered = np.partition(probabilities, probabilities.shape[1] - 1, axis=1)
    return np.asarray(ordered[:, :-1].sum(axis=1))


def disagreement(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 − Σ p²: the probability that two draws from p differ, precise also where it is small."""
    ordered = np.partition(probabilities, probabilities.shape[1] - 1, axis=1)
    wrong = ordered[:, :-1].sum(axis=1)
    return np.asarray(wrong * (2.0 - wrong) - (ordered[:, :-1] ** 2).sum(axis=1))
