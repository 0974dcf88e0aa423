"""
A threshold with a guarantee, and why the bound is not monotone
===============================================================

A threshold tuned on a sample meets its target on that sample. ``guaranteed_risk`` chooses one that meets it
on new data, with probability 0.95 over the calibration sample. Taking the largest threshold whose bound is
small enough would not be valid, because the bound falls and rises again.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import beta

from facereject.metrics import risk_coverage_curve
from facereject.plotting import GuaranteeDisplay
from facereject.selection import BoundedImprovement, guaranteed_risk

rng = np.random.default_rng(3)
uncertainty = rng.random(1500)
losses = (rng.random(1500) < 0.3 * uncertainty**2).astype(float)

# %%
# The true risk of accepting all u ≤ t is 0.1 t²: it rises. The risk on the sample varies, and the 95 %
# upper bound for a threshold fixed in advance (Clopper and Pearson) is high at both ends: with few accepted
# because there is little evidence, with many because the risk is high.

curve = risk_coverage_curve(losses, uncertainty)
accepted = np.arange(1, 1501)
wrong = np.rint(curve.risk * accepted)
bound = beta.ppf(0.95, wrong + 1, accepted - wrong)

figure, ax = plt.subplots(layout="constrained")
ax.plot(curve.coverage, 0.1 * curve.coverage**2, "k--", label="true risk")
ax.plot(curve.coverage, curve.risk, label="risk on the sample")
ax.plot(curve.coverage, bound, label="upper bound at one threshold")
ax.axhline(0.05, color="0.7")
ax.set(xlabel="coverage", ylabel="risk", ylim=(0, 0.12))
ax.legend()

# %%
# So the search starts where the bound is already low and goes towards less certain examples until a test
# fails. Thresholds beyond the failure are not tested. That keeps the probability of a wrong guarantee at
# 0.05.

selector = guaranteed_risk(losses=losses, uncertainty=uncertainty, max_risk=0.05)
tuned = BoundedImprovement(0.05).fit(losses=losses, uncertainty=uncertainty)
print(selector.guarantee_.statement)
for name, rule in (("guaranteed", selector), ("tuned", tuned)):
    threshold = min(rule.threshold_, 1.0)
    print(f"{name:10} threshold and true coverage {threshold:.3f}, true risk {0.1 * threshold**2:.4f}")
GuaranteeDisplay.from_predictions(losses, uncertainty, 0.05)
