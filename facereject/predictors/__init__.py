"""Linear predictors h(x) as scikit-learn classifiers: logistic regression, SVM and ordinal SVM."""

from facereject.predictors.logistic import LogisticClassifier, LogisticClassifierCV
from facereject.predictors.svm import SVMClassifier, SVMClassifierCV
from facereject.predictors.svor import OrdinalSVM, OrdinalSVMCV

__all__ = [
    "LogisticClassifier",
    "LogisticClassifierCV",
    "OrdinalSVM",
    "OrdinalSVMCV",
    "SVMClassifier",
    "SVMClassifierCV",
]
