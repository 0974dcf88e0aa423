"""Selection functions c: the three rejection models, their exact solutions, thresholds with a guarantee.

Names are imported on first use: a threshold is applied without scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from facereject._lazy import lazy_imports

if TYPE_CHECKING:
    from facereject.selection.errors import InfeasibleTargetError, NoValidThresholdError
    from facereject.selection.exact import convert, optimal_selection
    from facereject.selection.groups import guaranteed_risk_per_group
    from facereject.selection.guarantees import guaranteed_coverage, guaranteed_risk
    from facereject.selection.models import BoundedCoverage, BoundedImprovement, CostBased
    from facereject.selection.monitor import CoverageMonitor, RiskMonitor
    from facereject.selection.selector import Selector
    from facereject.selection.shift import density_ratio, two_sample_test
    from facereject.selection.start import suggest_start

_HOME = {
    "BoundedCoverage": "models",
    "BoundedImprovement": "models",
    "CostBased": "models",
    "CoverageMonitor": "monitor",
    "Guarantee": "selector",
    "InfeasibleTargetError": "errors",
    "NoValidThresholdError": "errors",
    "RiskMonitor": "monitor",
    "Selector": "selector",
    "TwoSampleTest": "shift",
    "convert": "exact",
    "density_ratio": "shift",
    "guaranteed_coverage": "guarantees",
    "guaranteed_risk": "guarantees",
    "guaranteed_risk_per_group": "groups",
    "optimal_selection": "exact",
    "suggest_start": "start",
    "two_sample_test": "shift",
}

__all__ = [
    "BoundedCoverage",
    "BoundedImprovement",
    "CostBased",
    "CoverageMonitor",
    "InfeasibleTargetError",
    "NoValidThresholdError",
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
