"""
A guarantee for every group, and for other data
===============================================

A guarantee for the mean over all examples can fail in a group, and calibration data may differ from the data
in use. There are guarantees for both cases.
"""

import matplotlib.pyplot as plt
import numpy as np

from facereject.plotting import GroupDisplay, ShiftDisplay
from facereject.selection import density_ratio, guaranteed_risk, guaranteed_risk_per_group

rng = np.random.default_rng(0)
camera = rng.choice(["front", "back", "night"], p=[0.5, 0.35, 0.15], size=4000)
hard = np.select([camera == "front", camera == "back"], [0.15, 0.3], 0.5)
uncertainty = rng.random(4000)
losses = (rng.random(4000) < hard * uncertainty**2).astype(float)

# %%
# One threshold for all cameras has to be safe for the worst of them. If the camera of a new image is known,
# each camera can have its own threshold.

one = guaranteed_risk(losses=losses, uncertainty=uncertainty, max_risk=0.08, groups=camera)
each = guaranteed_risk_per_group(losses=losses, uncertainty=uncertainty, groups=camera, max_risk=0.08)
print(one.guarantee_.table, each.guarantee_.table, sep="\n\n")
GroupDisplay.from_guarantee(each.guarantee_)

# %%
# New data with more uncertain examples. A classifier that tells new inputs from old ones gives the weights.

new = np.sqrt(rng.random(3000))
weights = density_ratio(uncertainty[:, None], new[:, None], max_ratio=4)
figure, ax = plt.subplots(layout="constrained", figsize=(7, 4.5))
ShiftDisplay.from_predictions(losses, uncertainty, weights, max_risk=0.08, ax=ax)
