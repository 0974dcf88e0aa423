"""
Is the expected error what it says?
===================================

An uncertainty has an order and no unit. ``expected_error`` gives it one: the mean loss at this uncertainty,
estimated on out-of-fold predictions. A calibrated value is right on average in every group of predictions.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from facereject import SelectivePredictor
from facereject.losses import zero_one_loss

X, y = make_classification(
    6000, 20, n_informative=5, n_redundant=15, n_classes=3, n_clusters_per_class=1, flip_y=0.1, random_state=1
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = SelectivePredictor(GaussianNB(), cv=5, random_state=0)
model.fit(X_train, y_train)

# %%
# Test examples in ten groups of equal size, beside the predictor's own probability: naive Bayes treats
# dependent columns as independent and is overconfident.

losses = zero_one_loss(y_test, model.predict(X_test))
claims = {
    "expected error": model.expected_error(X_test),
    "1 − maximum probability": 1 - model.predict_proba(X_test).max(axis=1),
}
figure, ax = plt.subplots(layout="constrained")
ax.plot([0, 0.7], [0, 0.7], color="0.6", label="as claimed")
for name, claim in claims.items():
    groups = np.array_split(np.argsort(claim, kind="stable"), 10)
    claimed = np.array([claim[group].mean() for group in groups])
    measured = np.array([losses[group].mean() for group in groups])
    ax.plot(claimed, measured, "o-", label=name)
    print(f"{name:24} mean distance from the truth {np.abs(claimed - measured).mean():.3f}")
ax.set(xlabel="claimed share of errors", ylabel="measured share of errors")
ax.legend()
