"""
Judging landmarks of another tool
=================================

``FaceRejector.assess`` takes an image and 68 points from anywhere. Here points are moved on purpose: by
noise, the jaw alone, all of them beside the face.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import astronaut

from facereject import FaceRejector
from facereject.losses import landmark_nme

rejector = FaceRejector.pretrained()
photo = astronaut()
(face,) = rejector(photo)
good = face.landmarks
eyes = np.linalg.norm(good[36] - good[45])
rng = np.random.default_rng(0)

slipped = good.copy()
slipped[:17] += [0.25 * eyes, 0.15 * eyes]
candidates = {
    "as dlib placed them": good,
    "noise of 4 %": good + rng.normal(scale=0.04 * eyes, size=good.shape),
    "jaw slipped": slipped,
    "all moved by 20 %": good + [0.2 * eyes, 0],
}

# %%
# "True" is the distance from where dlib put them. Noise and a shift of all points are seen. That only the jaw
# slipped is underestimated: dlib does not make this mistake, so the model had no chance to learn it. A
# predictor with other habits deserves a model of its own.

figure, axes = plt.subplots(1, 4, layout="constrained", figsize=(10, 3.2))
for ax, (name, points) in zip(axes, candidates.items(), strict=True):
    judged = rejector.assess(photo, points)
    ax.imshow(photo[60:220, 140:300], extent=(140, 300, 220, 60))
    ax.plot(*points.T, ".", color="tab:green" if judged.accepted else "tab:red", markersize=4)
    true = landmark_nme(good, points)
    ax.set_title(f"{name}\nexpected {judged.expected_error:.1f} %, true {true:.1f} %", fontsize=9)
    ax.axis("off")
