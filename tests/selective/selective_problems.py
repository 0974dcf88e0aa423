"""Small problems and cheap parts for the tests of SelectivePredictor."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from facereject.scores import (
    SELEScore,
)
from facereject.selective import SelectivePredictor


def classes(n, seed=0, d=4):
    """Three classes, the first feature of which tells them apart; harder where the last one is large."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, d))
    X[:, 0] = 2.0 * y + np.exp(0.7 * X[:, -1]) * rng.normal(size=n)
    return X, y


def numbers(n, seed=0):
    """y = a + noise that grows with b."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.exp(X[:, 1]) * rng.normal(size=n)


def quick(predictor=None, score=None, **settings):
    """With cheap parts by default."""
    predictor = LogisticRegression() if predictor is None else predictor
    return SelectivePredictor(predictor, SELEScore() if score is None else score, **settings)
