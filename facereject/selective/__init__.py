"""A predictor h, its uncertainty score s and a selection rule c as one estimator."""

from facereject.selective._estimator import SelectivePredictor, neg_aurc

__all__ = ["SelectivePredictor", "neg_aurc"]
