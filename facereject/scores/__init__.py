"""Uncertainty scores s(x): higher = less certain."""

from facereject.scores.regression import RegressionScore, RegressionScoreCV
from facereject.scores.sele import SELEScore, SELEScoreCV

__all__ = ["RegressionScore", "RegressionScoreCV", "SELEScore", "SELEScoreCV"]
