"""
Choosing a target: risk, coverage or cost
=========================================

One score, three questions. "At most 2 % of the accepted may be wrong." "At least 80 % must be accepted." "A
rejection costs as much as a tenth of an error." Each is a point on the same risk-coverage curve.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from facereject.losses import zero_one_loss
from facereject.metrics import risk_coverage_curve
from facereject.selection import BoundedCoverage, BoundedImprovement, CostBased, convert

X, y = make_classification(6000, 20, n_informative=8, flip_y=0.02, class_sep=0.9, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = LogisticRegression(max_iter=1000).fit(X_train, y_train)
losses = zero_one_loss(y_test, model.predict(X_test))
uncertainty = 1 - model.predict_proba(X_test).max(axis=1)

# %%
# A rejection model is a setting; ``fit`` returns the rule that is best for it on this sample.

targets = {
    "risk at most 2 %": BoundedImprovement(risk=0.02),
    "coverage at least 80 %": BoundedCoverage(coverage=0.8),
    "a rejection costs 0.1": CostBased(cost=0.1),
}
curve = risk_coverage_curve(losses, uncertainty)
figure, ax = plt.subplots(layout="constrained")
ax.plot(curve.coverage, 100 * curve.risk, color="0.4")
for (name, target), mark in zip(targets.items(), "osD", strict=True):
    rule = target.fit(losses=losses, uncertainty=uncertainty)
    ax.plot(rule.coverage_, 100 * rule.selective_risk_, mark, markersize=9, label=name)
    print(f"{name:24} coverage {rule.coverage_:.2f}, risk {rule.selective_risk_:.3f}")
ax.set(xlabel="coverage", ylabel="wrong among the accepted, percent", xlim=(0, 1), ylim=0)
ax.legend()

# %%
# The three models have the same solutions, so one setting can be expressed as another. What cost
# would lead to the rule that keeps the risk at 2 %?

print(convert(targets["risk at most 2 %"], CostBased, losses, uncertainty))
print(convert(targets["risk at most 2 %"], BoundedCoverage, losses, uncertainty))
