"""Uncertainty scores s(x): higher = less certain.

Learned: ``SELEScore``, ``RegressionScore``, ``TrueClassProbabilityScore`` and, for a risk of your own,
``LinearRiskScore``, linear, whose ...CV variants pick alpha; ``BoostedSELEScore`` and
``BoostedRegressionScore``, sums of trees. Read from a predictor: ``PlugInRisk``, ``MaxClassProbability``,
``MarginScore``, ``GapScore``; from saved outputs of a network: ``PostHocScore``. ``cross_fit`` trains a
predictor and its score on the same examples.
"""

from facereject.scores._boosted import BoostedRegressionScore, BoostedSELEScore
from facereject.scores._confidence import ConfidenceScore
from facereject.scores._cross_fitting import cross_fit
from facereject.scores._linear_risk import LinearRiskScore, LinearRiskScoreCV
from facereject.scores._margin import GapScore, MarginScore
from facereject.scores._plugin import MaxClassProbability, PlugInRisk
from facereject.scores._post_hoc import PostHocScore
from facereject.scores._regression import RegressionScore, RegressionScoreCV
from facereject.scores._sele import SELEScore, SELEScoreCV
from facereject.scores._tcp import TrueClassProbabilityScore, TrueClassProbabilityScoreCV

__all__ = [
    "BoostedRegressionScore",
    "BoostedSELEScore",
    "ConfidenceScore",
    "GapScore",
    "LinearRiskScore",
    "LinearRiskScoreCV",
    "MarginScore",
    "MaxClassProbability",
    "PlugInRisk",
    "PostHocScore",
    "RegressionScore",
    "RegressionScoreCV",
    "SELEScore",
    "SELEScoreCV",
    "TrueClassProbabilityScore",
    "TrueClassProbabilityScoreCV",
    "cross_fit",
]
