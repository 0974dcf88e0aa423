"""What a risk is, and the checks all risks share."""

from __future__ import annotations

import numbers
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray, check_vector

LabelArray = NDArray[np.intp]


@runtime_checkable
class Risk(Protocol):
    """A convex function of the scores of all examples.

    Attributes
    ----------
    score_shape : tuple of int
        ``(n,)`` for one score per example, ``(n, K)`` for K of them.
    shares_weights : bool
        True when the K scores of an example differ only by thresholds: ⟨w, x⟩ − b_k. False when each has a
        weight vector of its own. Meaningless for one score.

    Notes
    -----
    A risk with kinks may also have ``relaxed(scores, tau) -> (value, gradient, cut)``: a smooth convex value
    not below the risk, which comes down to it as tau goes to 0; its gradient; and the value at ``scores`` of
    the linear function with that gradient which nowhere exceeds the risk. The solver then steps on the smooth
    value and bounds the exact one; see ``MulticlassHinge``.
    """

    score_shape: tuple[int, ...]
    shares_weights: bool

    def __call__(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient (a subgradient where there are several), the latter of the shape of scores."""
        ...


class ClassRisk:
    """Base of the risks of one score per class.

    Parameters
    ----------
    labels : array-like of int, shape (n,)
        Class of each example, 0 … n_classes − 1.
    n_classes : int
    sample_weight : array-like of shape (n,), optional
    """

    shares_weights = False

    def __init__(self, labels: Any, n_classes: int, sample_weight: Any = None):
        self.labels = check_labels(labels, n_classes)
        self.weights = check_weights(sample_weight, self.labels.size)
        self.score_shape: tuple[int, ...] = (self.labels.size, n_classes)
        self._rows = np.arange(self.labels.size)

    def _lead(self, scores: FloatArray) -> FloatArray:
        """How far each class is ahead of the label: s_y − s_{yᵢ}."""
        scores = check_scores(scores, self.score_shape)
        return scores - scores[self._rows, self.labels][:, None]


def check_scores(scores: Any, shape: tuple[int, ...]) -> FloatArray:
    """Scores as float64 of the expected shape."""
    array = np.asarray(scores, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"scores must have shape {shape}, got {array.shape}")
    return array


def check_weights(sample_weight: Any, n: int) -> FloatArray:
    """Sample weights scaled to sum to one; None means equal weights."""
    if sample_weight is None:
        return np.full(n, 1.0 / n)
    weights = check_vector(sample_weight, "sample_weight", non_negative=True)
    if weights.size != n:
        raise ValueError(f"sample_weight must hold one value per example ({n}), got {weights.size}")
    largest = weights.max()
    if largest <= 0:
        raise ValueError("sample_weight must not be zero for every example")
    weights = weights / largest  # their sum may overflow
    return weights / weights.sum()


def check_labels(labels: Any, n_classes: int) -> LabelArray:
    """Labels as integers 0 … n_classes − 1."""
    array = np.asarray(labels)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"labels must be a non-empty one-dimensional array, got shape {array.shape}")
    if not isinstance(n_classes, numbers.Integral) or n_classes < 2:
        raise ValueError(f"n_classes must be an integer of at least 2, got {n_classes}")
    if array.dtype.kind not in "buif" or not np.array_equal(array.astype(np.intp), array):
        raise ValueError("labels must be integers 0 … n_classes − 1")
    integers = array.astype(np.intp)
    if integers.min() < 0 or integers.max() >= n_classes:
        raise ValueError(
            f"labels must lie in 0 … {n_classes - 1}, got values from {integers.min()} to {integers.max()}"
        )
    return integers
