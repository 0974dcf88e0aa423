"""
A risk of your own
==================

The solver minimises any convex risk of the scores. Here the uncertainty is a quantile: nine in ten
predictions like this one have a smaller error (the pinball risk at 0.9).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

from facereject.losses import absolute_error
from facereject.scores import LinearRiskScore, cross_fit


def quantile(losses, sample_weight):
    """Value and subgradient of the pinball risk; the weights sum to 1."""

    def risk(scores):
        slope = np.where(losses > scores, 0.9, -0.1)
        return sample_weight @ (slope * (losses - scores)), -sample_weight * slope

    return risk


# %%
# Two columns: the first predicts y, the second how noisy y is. ``LinearRiskScoreCV`` would choose alpha
# by the AuRC, which depends on the order alone; for a quantile in the right unit alpha must be small.

rng = np.random.default_rng(0)
X = rng.uniform(0, 1, size=(4000, 2))
y = X[:, 0] + (0.1 + 0.5 * X[:, 1]) * rng.normal(size=4000)
fitted = cross_fit(
    Ridge(), LinearRiskScore(quantile, alpha=1e-4), X[:2000], y[:2000], absolute_error, random_state=0
)
print(f"certified gap {fitted.score.gap_:.4f}")

# %%
# On new examples, the share of errors below the predicted quantile, and the quantile beside the errors.

uncertainty = fitted.uncertainty(X[2000:])
errors = np.abs(fitted.estimator.predict(X[2000:]) - y[2000:])
print(f"{(errors <= uncertainty).mean():.1%} of the errors are below")

figure, ax = plt.subplots(layout="constrained")
ax.plot(X[2000:, 1], errors, ".", color="0.7", label="errors")
order = np.argsort(X[2000:, 1])
ax.plot(X[2000:, 1][order], uncertainty[order], color="tab:red", label="predicted 0.9 quantile")
ax.plot([0, 1], [1.645 * 0.1, 1.645 * 0.6], "k--", label="true 0.9 quantile")
ax.set(xlabel="second column", ylabel="absolute error", ylim=(0, 2))
ax.legend()
