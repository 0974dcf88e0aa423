"""
Training a score on a cluster
=============================

``SELEScore`` takes Dask arrays, frames and Parquet folders. The risk over all n² pairs is computed from
sums over partitions, so the optimum is the same as in memory. Here Dask's local threads are the cluster; with
``distributed.Client(address)`` the same code runs on many machines.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from facereject.metrics import aurc, risk_coverage_curve
from facereject.scores import SELEScore

rng = np.random.default_rng(0)
X = rng.normal(size=(60_000, 8))
losses = rng.exponential(np.exp(X @ np.linspace(-0.6, 0.6, 8)))

# %%
# The same rows, in memory and in six partitions.

here = SELEScore(alpha=1e-3).fit(X, losses)
chunks = (10_000, 8)
X_parts, losses_parts = da.from_array(X, chunks), da.from_array(losses, chunks[0])
there = SELEScore(alpha=1e-3).fit(X_parts, losses_parts)
print(f"largest difference of a weight: {np.abs(here.coef_ - there.coef_).max():.1e}")

# %%
# Metrics take the partitions, too, and are exact.

uncertainty = there.predict(X_parts)
print(f"AuRC {aurc(losses_parts, uncertainty):.6f}, in memory {aurc(losses, here.predict(X)):.6f}")
curve = risk_coverage_curve(losses_parts, uncertainty)
figure, ax = plt.subplots(layout="constrained")
ax.plot(curve.coverage[::100].compute(), curve.risk[::100].compute())
ax.axhline(losses.mean(), color="0.6", linestyle="--")
ax.set(xlabel="coverage", ylabel="mean loss of the accepted", xlim=(0, 1), ylim=0)
