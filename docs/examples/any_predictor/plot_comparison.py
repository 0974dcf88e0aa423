"""
Comparing scores over many data sets
====================================

One data set is not enough to compare scores. The Friedman test asks whether the average ranks of several
scores differ by more than chance, Nemenyi's critical difference which of them do.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from facereject.comparison import friedman
from facereject.losses import zero_one_loss
from facereject.metrics import aurc
from facereject.plotting import CriticalDifferenceDisplay
from facereject.scores import RegressionScoreCV, SELEScoreCV, cross_fit

ALPHAS = (1e-3, 1e-2, 1e-1, 1)
data = {loader.__name__: loader(return_X_y=True) for loader in (load_breast_cancer, load_wine, load_iris)}
for classes in (2, 3, 5):
    for flip in (0.02, 0.15):
        data[f"made-{classes}-{flip}"] = make_classification(
            800, 12, n_informative=6, n_classes=classes, flip_y=flip, random_state=classes
        )

# %%
# AuRC of three scores for logistic regression on the other half of each set. Noise makes the sets harder.

names = ["SELE", "REG", "probability"]
values = []
rng = np.random.default_rng(0)
for X, y in data.values():
    X = X + rng.normal(scale=X.std(axis=0), size=X.shape)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    fitted = cross_fit(model, SELEScoreCV(ALPHAS), X_train, y_train, zero_one_loss, cv=3, random_state=0)
    regression = fitted.with_score(RegressionScoreCV(ALPHAS), X_train)
    losses = zero_one_loss(y_test, fitted.estimator.predict(X_test))
    probability = 1 - fitted.estimator.predict_proba(X_test).max(axis=1)
    ranked = (fitted.uncertainty(X_test), regression.uncertainty(X_test), probability)
    values.append([aurc(losses, uncertainty) for uncertainty in ranked])

# %%
# The bar joins scores whose ranks do not differ significantly. With few, small sets these are all of them. On
# the paper's tables the same test separates the scores (``results/README.md`` in the repository).

result = friedman(np.array(values))
ranks = dict(zip(names, result.average_ranks.round(2).tolist(), strict=True))
print(f"Friedman p = {result.p_value:.3f}; average ranks {ranks}")
CriticalDifferenceDisplay.from_values(np.array(values), names)
