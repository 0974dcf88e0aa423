"""Plots of results, by scikit-learn's Display convention: class methods compute, ``plot`` only draws.

``RiskCoverageDisplay.from_predictions`` and its siblings call the numeric function and draw at once; the
constructor takes numbers computed elsewhere and ``plot(ax=None)`` draws them. What was drawn is in attributes
that end with an underscore (``ax_``, ``figure_``, ``lines_``, ...). matplotlib is loaded by the first plot,
not by the import.

On axes that you pass the legend is beside them if the figure has a layout engine that makes room for it
(``plt.subplots(layout="constrained")``), otherwise inside.
"""

from facereject.plotting._critical_difference import CriticalDifferenceDisplay
from facereject.plotting._error_discard import ErrorDiscardDisplay
from facereject.plotting._expected_error import ExpectedErrorDisplay as ExpectedErrorDisplay
from facereject.plotting._groups import GroupDisplay
from facereject.plotting._guarantees import GuaranteeDisplay, ShiftDisplay
from facereject.plotting._learning_curve import LearningCurveDisplay as LearningCurveDisplay
from facereject.plotting._monitor import MonitorDisplay
from facereject.plotting._relative_improvement import RelativeImprovementDisplay as RelativeImprovementDisplay
from facereject.plotting._risk_coverage import RiskCoverageDisplay

__all__ = [
    "CriticalDifferenceDisplay",
    "ErrorDiscardDisplay",
    "GroupDisplay",
    "GuaranteeDisplay",
    "MonitorDisplay",
    "RiskCoverageDisplay",
    "ShiftDisplay",
]
