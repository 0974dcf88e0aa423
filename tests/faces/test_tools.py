"""The tools behind the shipped models: copies of a photograph are found, file names follow the content."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import PIL.Image
import pytest

from facereject.faces import FaceDataset, FaceSample

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def tools(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))


def test_copies_of_a_photograph_form_a_group(tools, astronaut, astronaut_landmarks, tmp_path, rng):
    import train_default_model

    smaller = cv2.resize(astronaut, None, fx=0.7, fy=0.7, interpolation=cv2.INTER_AREA)
    other = rng.integers(0, 256, astronaut.shape, dtype=np.uint8)
    samples = []
    for name, image, zoom in [("b", astronaut, 1), ("a", smaller, 0.7), ("c", other, 1)]:
        PIL.Image.fromarray(image).save(tmp_path / f"{name}.png")
        samples.append(FaceSample(tmp_path / f"{name}.png", astronaut_landmarks * zoom, name))
    assert train_default_model.group_copies(FaceDataset(samples)) == {"a": "a", "b": "a", "c": "c"}


def test_predictors_are_named_by_what_they_are_trained_from(tools, astronaut, astronaut_landmarks, tmp_path):
    import honest_predictors

    path = tmp_path / "a.bmp"
    PIL.Image.fromarray(astronaut).save(path)
    face = FaceSample(path, astronaut_landmarks, "a")
    names = [honest_predictors.digest([face], seed) for seed in (0, 0, 1)]
    names.append(honest_predictors.digest([FaceSample(path, astronaut_landmarks + 1, "a")], 0))
    PIL.Image.fromarray(astronaut // 2).save(path)
    names.append(honest_predictors.digest([face], 0))
    assert names[0] == names[1]
    assert len(set(names)) == 4
