"""
Why is this face uncertain?
===========================

A rejected face has a likely cause, and a cause suggests what to do: more light, hold still, come closer.
``Face.cause`` names it, ``Face.hint`` says it in words. A small model guesses it; it is right more often than
not, and "unclear" if no cause is likely.
"""

import matplotlib.pyplot as plt
from skimage.data import astronaut

from facereject import FaceRejector
from facereject.faces.training.degrade import degrade

rejector = FaceRejector.pretrained()
photo = astronaut()
(clean,) = rejector(photo)

# %%
# Degraded on purpose, so that the true cause is known: it is before the arrow, the guess behind it.

kinds = [
    ("blur", 0.9, 0),
    ("motion", 1.0, 2),
    ("dark", 0.9, 0),
    ("bright", 0.9, 1),
    ("low_resolution", 1.0, 3),
    ("occlusion", 0.9, 27),
    ("rotation", 0.9, 1),
    ("noise", 1.0, 1),
]
figure, axes = plt.subplots(2, 4, layout="constrained", figsize=(11, 6))
for ax, (kind, severity, seed) in zip(axes.flat, kinds, strict=True):
    image = degrade(photo, clean.landmarks, kind, severity, random_state=seed).image
    face = rejector.assess_box(image, clean.box)
    print(f"{kind:15} {face.expected_error:5.1f} %  {face.cause or '-':15} {face.hint}")
    ax.imshow(image)
    ax.set(xlim=(140, 305), ylim=(215, 50), title=f"{kind} → {face.cause or 'accepted'}")
    ax.axis("off")
