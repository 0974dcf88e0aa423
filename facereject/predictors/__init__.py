"""Linear predictors h(x) for scikit-learn: logistic regression, SVM, ordinal SVM, and any convex risk."""

from facereject.predictors.linear_risk import LinearRiskPredictor, LinearRiskPredictorCV
from facereject.predictors.logistic import LogisticClassifier, LogisticClassifierCV
from facereject.predictors.svm import SVMClassifier, SVMClassifierCV
from facereject.predictors.svor import OrdinalSVM, OrdinalSVMCV

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
