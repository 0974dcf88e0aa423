"""Convex risks of a score vector: ``risk(scores) -> (value, gradient)``.

A risk knows losses or labels and never the features; ``facereject.solver.LinearObjective`` turns it into a
function of weights. Anything callable that way can take part; what a risk may offer besides is said by the
protocols ``ShapedRisk``, ``SmoothableRisk`` and ``CurvedRisk``.
"""

from facereject.risks._base import CurvedRisk, Risk, RiskFactory, ShapedRisk, SmoothableRisk
from facereject.risks.cross_entropy import CrossEntropy
from facereject.risks.hinge import BinaryHinge, MulticlassHinge
from facereject.risks.ordinal_hinge import OrdinalHinge
from facereject.risks.sele import SELE
from facereject.risks.squared_error import SquaredError

__all__ = [
    "SELE",
    "BinaryHinge",
    "CrossEntropy",
    "CurvedRisk",
    "MulticlassHinge",
    "OrdinalHinge",
    "Risk",
    "RiskFactory",
    "ShapedRisk",
    "SmoothableRisk",
    "SquaredError",
]
