"""Linear predictors h(x) for scikit-learn: logistic regression, SVM, ordinal SVM, and any convex risk."""

from facereject.predictors._linear_risk import LinearRiskPredictor, LinearRiskPredictorCV
from facereject.predictors._logistic import LogisticClassifier, LogisticClassifierCV
from facereject.predictors._svm import SVMClassifier, SVMClassifierCV
from facereject.predictors._svor import OrdinalSVM, OrdinalSVMCV

__all__ = [
    "LinearRiskPredictor",
    "LinearRiskPredictorCV",
    "LogisticClassifier",
    "LogisticClassifierCV",
    "OrdinalSVM",
    "OrdinalSVMCV",
    "SVMClassifier",
    "SVMClassifierCV",
]
