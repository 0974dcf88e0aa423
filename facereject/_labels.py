"""Labels as positions in the sorted classes of training; −1 for a label that training did not see."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def locate_labels(labels: NDArray[Any], classes: NDArray[Any], name: str) -> NDArray[np.intp]:
    """Position of each label in the sorted ``classes``; −1 where it is not among them.

    Labels of another kind than the classes are refused: NumPy would compare 1 and "1" without a word and find
    every label unknown.
    """
    if kind_of_labels(labels) != kind_of_labels(classes):
        raise ValueError(
            f"{name} holds labels of type {labels.dtype} ({kind_of_labels(labels)}), "
            f"but fit saw {classes.dtype} ({kind_of_labels(classes)})"
        )
    position = np.searchsorted(classes, labels).clip(max=classes.size - 1)
    return np.where(classes[position] == labels, position, -1).astype(np.intp)


def kind_of_labels(labels: NDArray[Any]) -> str:
    """What the labels are: "strings", "numbers" or "a mixture of both"."""
    if labels.dtype.kind != "O":
        return "strings" if labels.dtype.kind in "STU" else "numbers"
    text = [isinstance(label, (str, bytes)) for label in labels.flat]
    if any(text):
        return "strings" if all(text) else "a mixture of both"
    return "numbers"
