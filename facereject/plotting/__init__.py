"""Plots of results, by scikit-learn's Display convention: class methods compute, ``plot`` only draws.

``RiskCoverageDisplay.from_predictions`` and its siblings call the numeric function and draw at once; the
constructor takes numbers computed elsewhere and ``plot(ax=None)`` draws them. What was drawn is in attributes
that end with an underscore (``ax_``, ``figure_``, ``lines_``, ...). matplotlib is loaded by the first plot,
not by the import.

On axes that you pass the legend is beside them if the figure has a layout engine that makes room for it
(``plt.subplots(layout="constrained")``), otherwise inside.
"""

from facereject.plotting.critical_difference import CriticalDifferenceDisplay
from facereject.plotting.error_discard import ErrorDiscardDisplay
from facereject.plotting.expected_error import ExpectedErrorDisplay
from facereject.plotting.groups import GroupDisplay
from facereject.plotting.guarantees import GuaranteeDisplay, ShiftDisplay
from facereject.plotting.learning_curve import LearningCurveDisplay
from facereject.plotting.monitor import MonitorDisplay
from facereject.plotting.relative_improvement import RelativeImprovementDisplay
from facereject.plotting.risk_coverage import RiskCoverageDisplay

__all__ = [
    "CriticalDifferenceDisplay",
    "ErrorDiscardDisplay",
    "ExpectedErrorDisplay",
    "GroupDisplay",
    "GuaranteeDisplay",
    "LearningCurveDisplay",
    "MonitorDisplay",
    "RelativeImprovementDisplay",
    "RiskCoverageDisplay",
    "ShiftDisplay",
]
