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
    """A convex function of the scores of all examples: ``risk(scores) -> (value, gradient)``.

    The scores have shape (n,), or (n, K) for K per example. The gradient (a subgradient where there are
    several) has the same shape and is an array of its own: the solver keeps it. The scores are read-only.

    A function will do. What a risk can do besides is declared by the protocols below; a risk takes part in
    one by having its members.
    """

    def __call__(self, scores: FloatArray, /) -> tuple[float, FloatArray]:
        """Value and gradient at ``scores``."""
        ...


@runtime_checkable
class ShapedRisk(Risk, Protocol):
    """A risk that says which scores it takes, so that a wrong number of them is found at once."""

    @property
    def score_shape(self) -> tuple[int, ...]:
        """``(n,)`` for one score per example, ``(n, K)`` for K of them."""
        ...


@runtime_checkable
class SmoothableRisk(Risk, Protocol):
    """A risk with kinks that comes with smooth functions above it; see ``MulticlassHinge``.

    The quasi-Newton method then steps on the smooth value and bounds the exact one.
    """

    def smoothed(self, scores: FloatArray, tau: float, /) -> tuple[float, FloatArray, float]:
        """Value, gradient and cut at the temperature ``tau`` > 0.

        The value belongs to a smooth convex function that is nowhere below the risk and comes down to it as
        tau goes to 0. The cut is the value at ``scores`` of the linear function with the same gradient that
        nowhere exceeds the risk.
        """
        ...


@runtime_checkable
class CurvedRisk(Risk, Protocol):
    """A risk that knows its second derivatives, which is what boosted trees need; see ``SELE``."""

    def with_curvature(self, scores: FloatArray, /) -> tuple[float, FloatArray, FloatArray]:
        """Value, gradient, and an estimate ≥ 0 of the second derivative in each score."""
        ...


class RiskFactory(Protocol):
    """Builds a risk from the losses or labels of the examples at hand; see ``LinearRiskScore``.

    A function of this form, or a class of risks such as ``SELE`` or ``CrossEntropy``.
    """

    def __call__(self, target: FloatArray, /, *, sample_weight: FloatArray) -> Risk:
        """The risk of examples with these losses or labels.

        ``sample_weight`` holds one weight ≥ 0 per example, and their sum is 1.
        """
        ...


class ClassRisk:
    """Base of the risks of one score per class.

    Parameters
    ----------
    labels : array-like of int, shape (n,)
        Class of each example, 0 … n_classes − 1.
    n_classes : int, optional
        By default one more than the largest label.
    sample_weight : array-like of shape (n,), optional
    """

    def __init__(self, labels: Any, n_classes: int | None = None, sample_weight: Any = None):
        self.labels, n_classes = check_labels(labels, n_classes)
        self.weights = check_weights(sample_weight, self.labels.size)
        self.score_shape: tuple[int, ...] = (self.labels.size, n_classes)
        self._rows = np.arange(self.labels.size)

    def _lead(self, scores: FloatArray) -> FloatArray:
        """How far each class is ahead of the label: s_y − s_{yᵢ}."""
        scores = check_scores(scores, self.score_shape)
        return scores - scores[self._rows, self.labels][:, None]


def check_answer(answer: Any, shape: tuple[int, ...]) -> tuple[float, FloatArray]:
    """Value and gradient as a risk returned them: a number and an array of the shape of the scores."""
    try:
        value, gradient = answer
        value = float(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"a risk must return a number and an array, (value, gradient); got {type(answer).__name__}"
        ) from None
    gradient = np.asarray(gradient, dtype=np.float64)
    if gradient.shape != shape:
        raise ValueError(f"the subgradient must have shape {shape}, got {gradient.shape}")
    return value, gradient


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
    return np.asarray(weights / weights.sum())


def check_labels(labels: Any, n_classes: int | None) -> tuple[LabelArray, int]:
    """Labels as integers 0 … n_classes − 1, and n_classes: one more than the largest label if not given."""
    array = np.asarray(labels)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"labels must be a non-empty one-dimensional array, got shape {array.shape}")
    if array.dtype.kind not in "buif" or not np.array_equal(array.astype(np.intp), array):
        raise ValueError("labels must be integers 0 … n_classes − 1")
    integers = array.astype(np.intp)
    if n_classes is None:
        n_classes = max(int(integers.max()) + 1, 2)
    if not isinstance(n_classes, numbers.Integral) or n_classes < 2:
        raise ValueError(f"n_classes must be an integer of at least 2, got {n_classes}")
    if integers.min() < 0 or integers.max() >= n_classes:
        raise ValueError(
            f"labels must lie in 0 … {n_classes - 1}, got values from {integers.min()} to {integers.max()}"
        )
    return integers, n_classes
