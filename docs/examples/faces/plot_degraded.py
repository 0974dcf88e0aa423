"""
What the expected error sees
============================

One photo, degraded step by step. The expected error of dlib's landmarks grows with the distance by which they
really move, although the model is not told how the image was degraded.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import astronaut

from facereject import FaceRejector
from facereject.faces.training.degrade import degrade
from facereject.losses import landmark_nme
from facereject.outputs._drawing.faces import draw_faces

rejector = FaceRejector.pretrained()
photo = astronaut()
(clean,) = rejector(photo)
print(clean)

# %%
# The landmarks of the clean photo, transformed with the image, replace the annotation. The expected error
# also contains dlib's error on clean faces, about 2 %, so its curve begins higher.

kinds = {"blur": 0, "motion": 2, "noise": 1, "low_resolution": 3}
severities = np.linspace(0, 1, 6)
figure, axes = plt.subplots(2, 2, layout="constrained", sharex=True, sharey=True, figsize=(8, 6))
for ax, (kind, seed) in zip(axes.flat, kinds.items(), strict=True):
    expected, moved = [], []
    for severity in severities:
        worse = degrade(photo, clean.landmarks, kind, severity, random_state=seed)
        face = rejector.assess_box(worse.image, clean.box)
        expected.append(face.expected_error)
        moved.append(landmark_nme(worse.landmarks, face.landmarks))
    ax.plot(severities, expected, "o-", label="expected error")
    ax.plot(severities, moved, "s--", color="0.5", label="distance from the clean landmarks")
    ax.set_title(kind.replace("_", " "))
axes[0, 0].legend()
figure.supxlabel("severity")
figure.supylabel("percent of the eye distance")

# %%
# What is drawn on images and videos: landmarks, decision and expected error.

figure, axes = plt.subplots(1, 3, layout="constrained", figsize=(9, 3.4))
for ax, (kind, severity, seed) in zip(
    axes, [("noise", 0.2, 1), ("rotation", 0.9, 1), ("haze", 0.9, 2)], strict=True
):
    image = degrade(photo, clean.landmarks, kind, severity, random_state=seed).image
    ax.imshow(draw_faces(image, rejector(image))[20:260, 100:340])
    ax.set_title(f"{kind} {severity}")
    ax.axis("off")
