"""Predictors and losses that misbehave: the error names the part, the fold and the rows, and its cause."""

import numpy as np
import pytest
from selective_problems import classes
from sklearn.linear_model import LogisticRegression

from facereject.losses import zero_one_loss
from facereject.scores import SELEScore
from facereject.selective import SelectivePredictor


class Short(LogisticRegression):
    """Loses the last rows."""

    def __init__(self, method="predict"):
        super().__init__()
        self.method = method

    def predict(self, X):
        return super().predict(X)[: -3 if self.method == "predict" else None]

    def predict_proba(self, X):
        return super().predict_proba(X)[: -3 if self.method == "predict_proba" else None]


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_too_few_rows(method):
    X, y = classes(90)
    with pytest.raises(ValueError, match="fold 1 of 3, rows") as caught:
        SelectivePredictor(Short(method), cv=3).fit(X, y)
    assert f"Short.{method} must return one row per row of X (30), got shape (27" in str(caught.value)
    model = SelectivePredictor(LogisticRegression(), cv=3).fit(X, y)
    model.estimator_.__class__ = Short
    model.estimator_.method = method
    with pytest.raises(ValueError, match=f"Short.{method} must return one row per row"):
        model.uncertainty(X)


class NowAndThen(LogisticRegression):
    """Fails at the call it is told to."""

    def __init__(self, method="fit", calls=None):
        super().__init__()
        self.method = method
        self.calls = calls

    def __sklearn_clone__(self):
        return NowAndThen(self.method, self.calls)

    def _count(self, method):
        if method == self.method:
            self.calls.append(method)
            if len(self.calls) == 2:
                raise OSError("the network is down")

    def fit(self, X, y):
        self._count("fit")
        return super().fit(X, y)

    def predict(self, X):
        self._count("predict")
        return super().predict(X)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("fit", "NowAndThen.fit failed without fold 2 of 3, rows 0, 1, 2"),
        ("predict", "NowAndThen, asked for predictions, failed in fold 2 of 3, rows 20, 21"),
    ],
)
def test_a_predictor_that_fails_now_and_then(method, message):
    X, y = classes(60)
    folds = [(np.delete(np.arange(60), rows), rows) for rows in np.split(np.arange(60), 3)]
    with pytest.raises(OSError, match=message) as caught:
        SelectivePredictor(NowAndThen(method, []), SELEScore(), cv=folds).fit(X, y)
    assert "the network is down" in str(caught.value)
    assert isinstance(caught.value.__cause__, OSError)


class OddError(Exception):
    """Cannot be made of a sentence."""

    def __init__(self, code, place):
        super().__init__(code, place)


def test_a_loss_that_raises():
    X, y = classes(60)

    def fussy(labels, predictions):
        if len(labels) == 60 or (labels == 5).any():
            raise OddError(7, "here")
        return zero_one_loss(labels, predictions)

    y[41] = 5
    folds = [(np.delete(np.arange(60), rows), rows) for rows in np.split(np.arange(60), 3)]
    with pytest.raises(RuntimeError, match="the loss fussy failed in fold 3 of 3, rows 40, 41") as caught:
        SelectivePredictor(LogisticRegression(), loss=fussy, cv=folds).fit(X, y)
    assert isinstance(caught.value.__cause__, OddError)

    def whole(labels, predictions):
        if len(labels) == 60:
            raise ValueError("too many at once")
        return zero_one_loss(labels, predictions)

    with pytest.raises(ValueError, match=r"the loss whole failed on all examples, rows 0, .*: too many"):
        SelectivePredictor(LogisticRegression(), loss=whole, cv=folds).fit(X, y)
