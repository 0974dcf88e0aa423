"""Selection functions c: the three rejection models, their exact solutions, thresholds with a guarantee.

Names are imported on first use: a threshold is applied without scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from facereject._lazy import lazy_imports

if TYPE_CHECKING:
    from facereject.selection.errors import InfeasibleTargetError
    from facereject.selection.exact import convert, optimal_selection
    from facereject.selection.groups import guaranteed_risk_per_group
    from facereject.selection.guarantees import guaranteed_coverage, guaranteed_risk
    from facereject.selection.models import BoundedCoverage, BoundedImprovement, CostBased
    from facereject.selection.monitor import CoverageMonitor, RiskMonitor
    from facereject.selection.selector import Selector
    from facereject.selection.shift import density_ratio, two_sample_test
    from facereject.selection.start import suggest_start

_HOME = {
    "errors": ("InfeasibleTargetError", "NoValidThresholdError"),
    "exact": ("convert", "optimal_selection"),
    "groups": ("guaranteed_risk_per_group",),
    "guarantees": ("guaranteed_coverage", "guaranteed_risk"),
    "models": ("BoundedCoverage", "BoundedImprovement", "CostBased"),
    "monitor": ("CoverageMonitor", "RiskMonitor"),
    "selector": ("Guarantee", "Selector"),
    "shift": ("TwoSampleTest", "density_ratio", "two_sample_test"),
    "start": ("suggest_start",),
}

__all__ = [
    "BoundedCoverage",
    "BoundedImprovement",
    "CostBased",
    "CoverageMonitor",
    "InfeasibleTargetError",
    "RiskMonitor",
    "Selector",
    "convert",
    "density_ratio",
    "guaranteed_coverage",
    "guaranteed_risk",
    "guaranteed_risk_per_group",
    "optimal_selection",
    "suggest_start",
    "two_sample_test",
]

__getattr__, __dir__ = lazy_imports(__name__, _HOME)
