"""Selection functions c: the three rejection models, their exact solutions, thresholds with a guarantee."""

from facereject.selection.errors import InfeasibleTargetError, NoValidThresholdError
from facereject.selection.exact import convert, optimal_selection
from facereject.selection.guarantees import guaranteed_coverage, guaranteed_risk
from facereject.selection.models import BoundedCoverage, BoundedImprovement, CostBased, RejectionModel
from facereject.selection.selector import Guarantee, Selector

__all__ = [
    "BoundedCoverage",
    "BoundedImprovement",
    "CostBased",
    "Guarantee",
    "InfeasibleTargetError",
    "NoValidThresholdError",
    "RejectionModel",
    "Selector",
    "convert",
    "guaranteed_coverage",
    "guaranteed_risk",
    "optimal_selection",
]
