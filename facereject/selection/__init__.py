"""Selection functions c: the three rejection models, their exact solutions, thresholds with a guarantee."""

from facereject.selection.curves import evidence_curve, weighted_risk_curve
from facereject.selection.errors import InfeasibleTargetError, NoValidThresholdError
from facereject.selection.exact import convert, optimal_selection
from facereject.selection.groups import GroupSelector, guaranteed_risk_per_group
from facereject.selection.guarantees import guaranteed_coverage, guaranteed_risk
from facereject.selection.models import BoundedCoverage, BoundedImprovement, CostBased, RejectionModel
from facereject.selection.monitor import CoverageMonitor, RiskMonitor
from facereject.selection.selector import GroupSelection, Guarantee, Selector
from facereject.selection.shift import density_ratio
from facereject.selection.start import suggest_start

__all__ = [
    "BoundedCoverage",
    "BoundedImprovement",
    "CostBased",
    "CoverageMonitor",
    "GroupSelection",
    "GroupSelector",
    "Guarantee",
    "InfeasibleTargetError",
    "NoValidThresholdError",
    "RejectionModel",
    "RiskMonitor",
    "Selector",
    "convert",
    "density_ratio",
    "evidence_curve",
    "guaranteed_coverage",
    "guaranteed_risk",
    "guaranteed_risk_per_group",
    "optimal_selection",
    "suggest_start",
    "weighted_risk_curve",
]
