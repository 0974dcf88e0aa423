"""
An expected error for every landmark
====================================

A hand over the mouth affects the mouth, not the eyes. ``Face.landmark_errors`` has the expected error of each
landmark, ``Face.visible`` says which are probably covered, and ``Face.region_errors`` has means by region.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import astronaut

from facereject import FaceRejector
from facereject.faces.training.degrade import degrade

rejector = FaceRejector.pretrained()
photo = astronaut()
(clean,) = rejector(photo)

# %%
# The same face with a shadow over half of it, covered in part, and blurred. Landmarks are coloured by
# expected error; crosses mark those that are probably covered.

pictures = {"clean": photo}
for kind, severity, seed in (("shadow", 0.6, 0), ("occlusion", 0.8, 27), ("blur", 0.7, 0)):
    pictures[kind] = degrade(photo, clean.landmarks, kind, severity, random_state=seed).image
faces = {name: rejector.assess_box(image, clean.box) for name, image in pictures.items()}

figure, axes = plt.subplots(1, 4, layout="constrained", figsize=(11, 3.4))
for ax, (name, face) in zip(axes, faces.items(), strict=True):
    ax.imshow(pictures[name])
    drawn = []
    for chosen, mark in ((face.visible, "o"), (~face.visible, "x")):
        x, y = face.landmarks[chosen].T
        drawn.append(
            ax.scatter(x, y, c=face.landmark_errors[chosen], s=14, marker=mark, vmin=0, vmax=10, cmap="turbo")
        )
    ax.set(xlim=(150, 295), ylim=(205, 60), title=f"{name}: {face.expected_error:.1f} %")
    ax.axis("off")
figure.colorbar(drawn[0], ax=axes, label="expected error, percent")

# %%
# By region. A rule on a region, such as "the eyes must be right", can keep a face whose mouth is covered
# (``facereject filter --region eyes``).

figure, ax = plt.subplots(layout="constrained", figsize=(8, 3.6))
width = 0.8 / len(faces)
regions = list(faces["clean"].region_errors)
for i, (name, face) in enumerate(faces.items()):
    ax.bar(np.arange(len(regions)) + (i - 1.5) * width, face.region_errors.values(), width, label=name)
ax.set_xticks(range(len(regions)), regions)
ax.set_ylabel("expected error, percent")
ax.legend()
