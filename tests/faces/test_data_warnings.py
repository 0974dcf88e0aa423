"""Warnings name few photographs, photographs of 300-W under the published predictor, and seen photographs."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from facereject.faces import FaceSample
from facereject.faces.evaluation.data_warnings import PUBLISHED_PREDICTOR, data_warnings, photo_digests


@pytest.fixture
def samples(tmp_path):
    def make(folder, count):
        (tmp_path / folder).mkdir()
        paths = [tmp_path / folder / f"{i}.jpg" for i in range(count)]
        for i, path in enumerate(paths):
            path.write_bytes(f"{folder}{i}".encode())
        return [FaceSample(path, np.zeros((68, 2)), str(path)) for path in paths]

    return make


def test_the_default_predictor_is_the_published_one(predictor):
    assert predictor.fingerprint == PUBLISHED_PREDICTOR


def test_data_warnings(samples):
    published, own = SimpleNamespace(fingerprint=PUBLISHED_PREDICTOR), SimpleNamespace(fingerprint="other")
    many, few = samples("holiday", 300), samples("helen", 30)
    assert data_warnings(many, published) == []
    assert [text[:19] for text in data_warnings(few, own)] == ["only 30 photos; wit"]
    leaked = data_warnings([*many, *few], published)
    assert len(leaked) == 1
    assert "30 of 330 faces are from 300-W" in leaked[0]
    info = {"photo_digests": photo_digests(many[:5])}
    (seen,) = data_warnings(many, published, info)
    assert seen.startswith("5 of 300 photos were used to train this model")
    assert data_warnings(many[5:], published, info) == []
    # two crops of one photo are one photo
    crops = [dataclasses.replace(sample, photo=f"photo {i // 2}") for i, sample in enumerate(many)]
    (seen,) = data_warnings(crops, own, {"photo_digests": photo_digests(crops[:4])})[1:]
    assert seen.startswith("2 of 150 photos were used")


def test_digests_are_of_the_content(samples, tmp_path):
    few = samples("a", 3)
    assert len(photo_digests([*few, *few])) == 3
    few[0].image_path.write_bytes(few[1].image_path.read_bytes())
    few[2].image_path.unlink()
    assert len(photo_digests(few)) == 1
