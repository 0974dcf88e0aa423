"""What the solver asks of an objective: the part that every one has, and what some offer besides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from facereject._validation import FloatArray
from facereject.risks import Risk
from facereject.risks._base import check_answer

#: (v, curvature, alpha) -> an approximation of (∇²R + alpha)⁻¹ v, see ``Preconditioned``.
Preconditioner = Callable[[FloatArray, float, float], FloatArray]


@runtime_checkable
class Objective(Protocol):
    """R(w) = risk(scores(w)) with scores that are linear in w; see ``LinearObjective``.

    The scores are kept apart from w because a line search needs no product with X: along a line in w they
    move along a line too.
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
        """Scores of all examples, linear in ``w``."""
        ...

    def pull_back(self, gradient: FloatArray, /) -> FloatArray:
        """The gradient in w that belongs to a gradient in the scores: the adjoint of ``scores``."""
        ...


@runtime_checkable
class Preconditioned(Objective, Protocol):
    """An objective that knows roughly how it bends."""

    def preconditioner(self) -> Preconditioner | None:
        """A first guess of the inverse Hessian for quasi-Newton steps; None where it would not pay.

        ``curvature`` is the mean second derivative of the risk in a score along the last step.
        """
        ...


@runtime_checkable
class Rounded(Objective, Protocol):
    """An objective whose products are rounded to less than double precision."""

    @property
    def precision(self) -> float:
        """Unit of rounding of ``scores`` and ``pull_back``; cuts are lowered by what it may have added."""
        ...


class PlainObjective:
    """A function of w as a risk of scores, the scores being w itself."""

    def __init__(self, function: Callable[[FloatArray], tuple[float, FloatArray]], n_weights: int):
        self._function = function
        self.n_weights = n_weights

    def risk(self, scores: FloatArray, /) -> tuple[float, FloatArray]:
        """The function; it may change its argument, or use one array for all its answers."""
        value, subgradient = check_answer(self._function(scores.copy()), scores.shape)
        return value, subgradient.copy()

    def scores(self, w: FloatArray, /) -> FloatArray:
        """``w`` itself."""
        return w

    def pull_back(self, gradient: FloatArray, /) -> FloatArray:
        """``gradient`` itself."""
        return gradient
