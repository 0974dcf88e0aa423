"""The protocols of risks, and the checks that all risks share."""

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

    The scores have shape (n,), or (n, K) for K per example, and are read-only. The gradient, at a kink any
    subgradient, has the same shape and must be a new array, as the solver keeps it. Any function of this
    form is a `Risk`; no base class is needed.

    See Also
    --------
    SELE, CrossEntropy, BinaryHinge, MulticlassHinge, OrdinalHinge, SquaredError : The risks of the package.
    facereject.predictors.LinearRiskPredictor : Trains a linear predictor for a given risk.
    facereject.scores.LinearRiskScore : Trains an uncertainty score for a given risk.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.risks import Risk
    >>> def absolute(scores):
    ...     return np.abs(scores - 1).mean(), np.sign(scores - 1) / scores.size
    >>> isinstance(absolute, Risk)
    True
    """

    def __call__(self, scores: FloatArray, /) -> tuple[float, FloatArray]:
        """Compute value and gradient at ``scores``."""
        ...


@runtime_checkable
class ShapedRisk(Risk, Protocol):
    """A risk that declares the shape of its scores, so that a wrong number of them is reported at once."""

    @property
    def score_shape(self) -> tuple[int, ...]:
        """``(n,)`` for one score per example, ``(n, K)`` for K of them."""
        ...


@runtime_checkable
class SmoothableRisk(Risk, Protocol):
    """A risk with kinks that has smooth upper bounds; see ``MulticlassHinge``.

    The quasi-Newton method then steps on the smooth value and bounds the exact one.
    """

    def smoothed(self, scores: FloatArray, tau: float, /) -> tuple[float, FloatArray, float]:
        """Compute value, gradient and cut at the temperature ``tau`` > 0.

        The value belongs to a smooth convex function above the risk that converges to it as tau goes to 0.
        The cut is the value at ``scores`` of a linear function with the same gradient that is nowhere above
        the risk.
        """
        ...


class RiskFactory(Protocol):
    """Builds a risk from losses or labels; see ``LinearRiskScore``.

    A function of this form, or a class of risks such as ``SELE`` or ``CrossEntropy``.
    """

    def __call__(self, target: FloatArray, /, *, sample_weight: FloatArray) -> Risk:
        """Build the risk of examples with these losses or labels.

        ``sample_weight`` has one weight ≥ 0 per example, and their sum is 1.
        """
        ...


class ClassRisk:
    """Base of the risks with one score per class.

    Parameters
    ----------
    labels : array-like of int, shape (n,)
        Class of each example, 0 … n_classes − 1.
    n_classes : int, optional
        By default one more than the largest label.
    sample_weight : array-like of shape (n,), optional
        Weight ≥ 0 of each example; equal by default. Weights are scaled to sum to 1.
    """

    def __init__(self, labels: Any, n_classes: int | None = None, sample_weight: Any = None):
        self.labels, n_classes = check_labels(labels, n_classes)
        self.weights = check_weights(sample_weight, self.labels.size)
        self.score_shape: tuple[int, ...] = (self.labels.size, n_classes)
        self._rows = np.arange(self.labels.size)

    def _lead(self, scores: FloatArray) -> FloatArray:
        """Compute s_y − s_{yᵢ}: how far each class is ahead of the label."""
        scores = check_scores(scores, self.score_shape)
        return scores - scores[self._rows, self.labels][:, None]


def check_answer(answer: Any, shape: tuple[int, ...]) -> tuple[float, FloatArray]:
    """Check what a risk returned: a number, and an array of the shape of the scores."""
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
    """Convert scores to float64 and check their shape."""
    array = np.asarray(scores, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"scores must have shape {shape}, got {array.shape}")
    return array


def check_weights(sample_weight: Any, n: int) -> FloatArray:
    """Scale sample weights to sum to one; None means equal weights."""
    if sample_weight is None:
        return np.full(n, 1.0 / n)
    weights = check_vector(sample_weight, "sample_weight", non_negative=True)
    if weights.size != n:
        raise ValueError(f"sample_weight must hold one value per example ({n}), got {weights.size}")
    largest = weights.max()
    if largest <= 0:
        raise ValueError("sample_weight must not be zero for every example")
    weights = weights / largest  # the plain sum could overflow
    return np.asarray(weights / weights.sum())


def check_labels(labels: Any, n_classes: int | None) -> tuple[LabelArray, int]:
    """Check labels 0 … n_classes − 1; by default n_classes is one more than the largest label."""
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
