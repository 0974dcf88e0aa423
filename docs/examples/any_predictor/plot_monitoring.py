"""
Watching for drift
==================

A guarantee holds for data like the calibration data. ``RiskMonitor`` raises an alarm when new labels
contradict it. The probability of ever raising a false alarm is at most delta, no matter how often you look.
"""

import numpy as np

from facereject.plotting import MonitorDisplay
from facereject.selection import CoverageMonitor, RiskMonitor

rng = np.random.default_rng(1)

# %%
# 3 % of the accepted predictions are wrong at first, where 5 % were allowed. After 800 labels a lens gets
# dirty: 12 % are wrong.

labels = np.concatenate([rng.random(800) < 0.03, rng.random(800) < 0.12]).astype(float)
monitor = RiskMonitor(max_risk=0.05)
for day in np.split(labels, 32):
    if monitor.update(losses=day):
        break
print(monitor.statement)
MonitorDisplay.from_monitor(monitor)

# %%
# Labels are expensive. The share of accepted predictions costs nothing to watch: if it falls, the data
# changed.

accepted = np.concatenate([rng.random(1500) < 0.93, rng.random(1500) < 0.85])
coverage = CoverageMonitor(min_coverage=0.9)
for hour in np.split(accepted, 60):
    if coverage.update(hour):
        break
print(coverage.statement)
MonitorDisplay.from_monitor(coverage)
