"""
A score of your own
===================

Anything with ``fit(X, losses, predictions=None)`` and ``predict(X, predictions=None)`` is a score. This one
is the mean loss of the nearest training examples; it is compared with the default.
"""

from sklearn.base import BaseEstimator
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor

from facereject import SelectivePredictor
from facereject.losses import zero_one_loss
from facereject.plotting import RiskCoverageDisplay


class NeighbourLoss(BaseEstimator):
    """The mean loss of the k nearest examples."""

    def __init__(self, k=25):
        self.k = k

    def fit(self, X, losses, predictions=None):
        self.model_ = KNeighborsRegressor(self.k).fit(X, losses)
        return self

    def predict(self, X, predictions=None):
        return self.model_.predict(X)


# %%
# A linear classifier on two moons is wrong in two regions, which its own probability does not show.

X, y = make_moons(3000, noise=0.15, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
mine = SelectivePredictor(LogisticRegression(), NeighbourLoss(), random_state=0).fit(X_train, y_train)
default = SelectivePredictor(LogisticRegression(), random_state=0).fit(X_train, y_train)

losses = zero_one_loss(y_test, mine.predict(X_test))
uncertainty = {
    "maximum class probability": 1 - mine.predict_proba(X_test).max(axis=1),
    "the default score": default.uncertainty(X_test),
    "loss of the neighbours": mine.uncertainty(X_test),
}
RiskCoverageDisplay.from_predictions(losses, uncertainty, risk_label="share of errors")
