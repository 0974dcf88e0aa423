"""The tools behind the shipped models: copies of a photograph are found."""

from __future__ import annotations

import cv2
import numpy as np
import PIL.Image

from facereject.faces import FaceDataset, FaceSample
from tools.train import photo_copies


def test_copies_of_a_photograph_form_a_group(astronaut, astronaut_landmarks, tmp_path, rng):
    smaller = cv2.resize(astronaut, None, fx=0.7, fy=0.7, interpolation=cv2.INTER_AREA)
    other = rng.integers(0, 256, astronaut.shape, dtype=np.uint8)
    samples = []
    for name, image, zoom in [("b", astronaut, 1), ("a", smaller, 0.7), ("c", other, 1)]:
        PIL.Image.fromarray(image).save(tmp_path / f"{name}.png")
        samples.append(FaceSample(tmp_path / f"{name}.png", astronaut_landmarks * zoom, name))
    assert photo_copies.group_copies(FaceDataset(samples)) == {"a": "a", "b": "a", "c": "c"}
