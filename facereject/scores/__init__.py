"""Uncertainty scores s(x): higher = less certain.

Learned: ``SELEScore``, ``RegressionScore``, ``TrueClassProbabilityScore`` and, for a risk of your own,
``LinearRiskScore``, linear, whose ...CV variants pick alpha; ``BoostedSELEScore`` and
``BoostedRegressionScore``, sums of trees. Read from a predictor: ``PlugInRisk``, ``MaxClassProbability``,
``MarginScore``, ``GapScore``. ``cross_fit`` trains a predictor and its score on the same examples.
"""

from facereject.scores._lightgbm import LightGBMNotAvailableError
from facereject.scores.boosted import BoostedRegressionScore, BoostedSELEScore
from facereject.scores.confidence import ConfidenceScore
from facereject.scores.cross_fitting import CrossFit, cross_fit
from facereject.scores.linear_risk import LinearRiskScore, LinearRiskScoreCV
from facereject.scores.margin import GapScore, MarginScore
from facereject.scores.neighbours import NeighbourIndex
from facereject.scores.plugin import MaxClassProbability, PlugInRisk
from facereject.scores.regression import RegressionScore, RegressionScoreCV
from facereject.scores.sele import SELEScore, SELEScoreCV
from facereject.scores.tcp import TrueClassProbabilityScore, TrueClassProbabilityScoreCV

__all__ = [
    "BoostedRegressionScore",
    "BoostedSELEScore",
    "ConfidenceScore",
    "CrossFit",
    "GapScore",
    "LightGBMNotAvailableError",
    "LinearRiskScore",
    "LinearRiskScoreCV",
    "MarginScore",
    "MaxClassProbability",
    "NeighbourIndex",
    "PlugInRisk",
    "RegressionScore",
    "RegressionScoreCV",
    "SELEScore",
    "SELEScoreCV",
    "TrueClassProbabilityScore",
    "TrueClassProbabilityScoreCV",
    "cross_fit",
]
