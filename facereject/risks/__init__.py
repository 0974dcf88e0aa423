"""Convex risks of a score vector: ``risk(scores) -> (value, gradient)``.

A risk knows losses or labels and never the features; ``facereject.solver.LinearObjective`` turns it into a
function of weights. Anything with the attributes of ``Risk`` can take part.
"""

from facereject.risks._base import Risk
from facereject.risks.cross_entropy import CrossEntropy
from facereject.risks.hinge import BinaryHinge, MulticlassHinge
from facereject.risks.ordinal_hinge import OrdinalHinge
from facereject.risks.sele import SELE
from facereject.risks.squared_error import SquaredError

__all__ = ["SELE", "BinaryHinge", "CrossEntropy", "MulticlassHinge", "OrdinalHinge", "Risk", "SquaredError"]
