"""Photographs that are in a data set more than once, cut or scaled differently, under different names."""

from __future__ import annotations

import numpy as np

from facereject.faces import FaceDataset, LandmarkHOG
from facereject.faces.images import to_gray

# correlation of two aligned faces above which their photographs count as one; different photographs of one
# person on one occasion come close to it, and grouping those as well does no harm
SAME_PHOTO = 0.94


def group_copies(samples: FaceDataset) -> dict[str, str]:
    """Name of a group for every photograph: photographs with a near-identical face share one.

    300-W holds photographs more than once. Their faces, brought to one pose by the annotation and to 36 x 36
    pixels, correlate by nearly 1.
    """
    hog = LandmarkHOG(24, 2, 0.0)
    chips = np.array([hog.chip(to_gray(s.load()), s.landmarks)[0].ravel() for s in samples], dtype=np.float32)
    chips -= chips.mean(axis=1, keepdims=True)
    chips /= np.linalg.norm(chips, axis=1, keepdims=True) + 1e-6
    parent = {photo: photo for photo in samples.photos}

    def root(photo: str) -> str:
        while parent[photo] != photo:
            photo = parent[photo]
        return photo

    for i, j in np.argwhere(np.triu(chips @ chips.T > SAME_PHOTO, 1)):
        a, b = sorted((root(samples[int(i)].photo), root(samples[int(j)].photo)))
        parent[b] = a
    return {photo: root(photo) for photo in parent}
