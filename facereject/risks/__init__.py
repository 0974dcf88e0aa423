"""Convex risks of a score vector: ``risk(scores) -> (value, gradient)``.

A risk knows losses or labels and never the features; ``facereject.solver.LinearObjective`` turns it into a
function of weights. Any callable of this form is a risk. It can also have

``score_shape``
    (n,) or (n, K), the shape of the scores it takes: a wrong number of scores is reported at once.
``smoothed(scores, tau)``
    A smooth function above a risk with kinks, as in `MulticlassHinge`: the solver needs fewer steps.
``with_curvature(scores)``
    Second derivatives, as in `SELE`: what boosted trees need.
"""

from facereject.risks._base import Risk as Risk
from facereject.risks._cross_entropy import CrossEntropy
from facereject.risks._hinge import BinaryHinge, MulticlassHinge
from facereject.risks._ordinal_hinge import OrdinalHinge
from facereject.risks._sele import SELE
from facereject.risks._squared_error import SquaredError

__all__ = [
    "SELE",
    "BinaryHinge",
    "CrossEntropy",
    "MulticlassHinge",
    "OrdinalHinge",
    "SquaredError",
]
