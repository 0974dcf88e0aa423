"""
A reject option for a regressor
===============================

``SelectivePredictor`` wraps any classifier or regressor. One training set serves predictor, score and rule.
The loss is the absolute error of a forest on synthetic data whose noise depends on the input.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestRegressor

from facereject import BoundedCoverage, SelectivePredictor

rng = np.random.default_rng(0)


def noise(x):
    return 0.1 + 1.2 * np.exp(-0.5 * ((x - 6) / 1.2) ** 2)


def examples(n):
    x = rng.uniform(0, 10, size=n)
    return x[:, None], np.sin(x) + noise(x) * rng.normal(size=n)


X, y = examples(1500)
forest = RandomForestRegressor(100, min_samples_leaf=5, random_state=0)
model = SelectivePredictor(forest, rejection=BoundedCoverage(0.7), random_state=0).fit(X, y)

# %%
# New examples from the same distribution: those in the noisy region are rejected.

X_new, y_new = examples(600)
accepted = model.accept(X_new)
errors = np.abs(model.predict(X_new) - y_new)
print(f"accepted: {accepted.mean():.0%}, mean error {errors[accepted].mean():.2f}")
print(f"rejected: {1 - accepted.mean():.0%}, mean error {errors[~accepted].mean():.2f}")

figure, ax = plt.subplots(layout="constrained")
for chosen, color, label in ((accepted, "tab:green", "accepted"), (~accepted, "tab:red", "rejected")):
    ax.plot(X_new[chosen, 0], y_new[chosen], ".", color=color, label=label)
grid = np.linspace(0, 10, 400)[:, None]
ax.plot(grid, model.predict(grid), color="black", label="forest")
ax.set(xlabel="x", ylabel="y")
ax.legend()

# %%
# ``expected_error`` is the mean loss to expect at this uncertainty, in the unit of y.

figure, ax = plt.subplots(layout="constrained")
ax.plot(grid, model.expected_error(grid), label="expected error")
ax.plot(grid, np.sqrt(2 / np.pi) * noise(grid), "--", label="mean of the noise")
ax.set(xlabel="x", ylabel="absolute error", ylim=0)
ax.legend()
