"""docs/plugins.md: its examples run as they stand, one after the other."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import skimage.data

sys.path.insert(0, str(Path(__file__).parent / "cli"))

from annotated_faces import write_faces

from facereject.faces import FaceRejector
from facereject.faces.detectors import DETECTORS
from facereject.faces.landmarks import LANDMARKS

DOCUMENT = Path(__file__).parents[1] / "docs" / "plugins.md"


@pytest.fixture(scope="module")
def blocks():
    return re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(encoding="utf-8"), re.S | re.M)


def test_the_examples_run(blocks, tmp_path, monkeypatch):
    write_faces(tmp_path, 12)
    monkeypatch.chdir(tmp_path)
    # what the examples register is gone afterwards
    for registry in (DETECTORS, LANDMARKS):
        monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    assert len(blocks) == 3
    names: dict[str, object] = {}
    detector, landmarks, mesh = (compile(block, DOCUMENT.name, "exec") for block in blocks)
    exec(detector, names)
    (face, *_) = names["rejector"](skimage.data.astronaut())
    assert np.isfinite(face.uncertainty)
    exec(landmarks, names)
    again = FaceRejector.load("mouth.safetensors")
    assert again.n_points == 20
    (face, *_) = again(skimage.data.astronaut())
    assert face.landmarks.shape == (20, 2)
    exec(mesh, names)
    (face, *_) = names["rejector"](skimage.data.astronaut())
    assert face.landmarks.shape == (135, 2)
