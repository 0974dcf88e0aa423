"""Selection functions c: the three rejection models, their exact solutions, thresholds with a guarantee."""

from .errors import InfeasibleTargetError, NoValidThresholdError
from .exact import convert, optimal_selection
from .guarantees import guaranteed_coverage, guaranteed_risk
from .models import BoundedCoverage, BoundedImprovement, CostBased, RejectionModel
from .selector import Certificate, Selector

__all__ = [
    "BoundedCoverage",
    "BoundedImprovement",
    "Certificate",
    "CostBased",
    "InfeasibleTargetError",
    "NoValidThresholdError",
    "RejectionModel",
    "Selector",
    "convert",
    "guaranteed_coverage",
    "guaranteed_risk",
    "optimal_selection",
]
