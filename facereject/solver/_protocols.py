"""The protocols of objectives: what every one has, and what some have in addition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from facereject._validation import FloatArray
from facereject.risks import Risk
from facereject.risks._base import check_answer

#: (v, curvature, alpha) -> an approximation of (∇²R + alpha)⁻¹ v, see `Objective`.
Preconditioner = Callable[[FloatArray, float, float], FloatArray]


@runtime_checkable
class Objective(Protocol):
    """R(w) = risk(scores(w)) with scores that are linear in w; see ``LinearObjective``.

    Scores and weights are separate because a line search then needs no products with X: along a line in w the
    scores move along a line too.

    It may also have a method ``preconditioner()``, which makes a `Preconditioner` for quasi-Newton steps, or
    None where that would not pay; its ``curvature`` is the mean second derivative of the risk in a score
    along the last step. And a number ``precision``, the unit of rounding of ``scores`` and ``pull_back``
    where that is not double precision: cuts are lowered accordingly.
    """

    @property
    def n_weights(self) -> int:
        """Length of w."""
        ...

    @property
    def risk(self) -> Risk:
        """The risk of the scores."""
        ...

    def scores(self, w: FloatArray, /) -> FloatArray:
        """Compute the scores of all examples, linear in ``w``."""
        ...

    def pull_back(self, gradient: FloatArray, /) -> FloatArray:
        """Turn a gradient in the scores into one in w: the adjoint of ``scores``."""
        ...


class PlainObjective:
    """A function of w as an objective; the scores are w itself."""

    def __init__(self, function: Callable[[FloatArray], tuple[float, FloatArray]], n_weights: int):
        self._function = function
        self.n_weights = n_weights

    def risk(self, scores: FloatArray, /) -> tuple[float, FloatArray]:
        """Call the function, which may change its argument or reuse one array for its results."""
        value, subgradient = check_answer(self._function(scores.copy()), scores.shape)
        return value, subgradient.copy()

    def scores(self, w: FloatArray, /) -> FloatArray:
        """Return ``w``."""
        return w

    def pull_back(self, gradient: FloatArray, /) -> FloatArray:
        """Return ``gradient``."""
        return gradient
