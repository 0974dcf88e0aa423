"""A predictor h, its uncertainty score s and a selection rule c as one estimator: ``SelectivePredictor``."""

from facereject.selective.estimator import SelectivePredictor

__all__ = ["SelectivePredictor"]
