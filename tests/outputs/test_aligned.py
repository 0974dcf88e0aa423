"""Aligned crops, sharpness and the contact sheet."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
import skimage.data

from facereject.faces import FaceRejector
from facereject.faces.landmarks.point_set import MEAN_SHAPE
from facereject.outputs._drawing.crops import aligned_crop, sharpness
from facereject.outputs._drawing.faces import GREEN, RED
from facereject.outputs._drawing.text import text_mask
from facereject.outputs.contact_sheet import SheetFace, contact_sheet


@pytest.fixture(scope="module")
def photo():
    return skimage.data.astronaut()[:300, 60:400]


@pytest.fixture(scope="module")
def points(photo):
    return FaceRejector.pretrained()(photo)[0].landmarks


def test_a_crop_does_not_depend_on_how_the_face_lies_in_the_picture(photo, points):
    straight = aligned_crop(photo, points, 128)
    assert straight.shape == (128, 128, 3)
    matrix = cv2.getRotationMatrix2D((170, 150), 25, 0.8)
    turned = cv2.warpAffine(photo, matrix, (400, 360), borderValue=(128, 128, 128))
    moved = aligned_crop(turned, points @ matrix[:, :2].T + matrix[:, 2], 128)
    middle = slice(24, 104)
    assert np.abs(moved[middle, middle].astype(int) - straight[middle, middle]).mean() < 8


def test_the_eyes_are_where_they_always_are(photo, points):
    marked = np.zeros_like(photo)
    for eye in (points[36:42].mean(axis=0), points[42:48].mean(axis=0)):
        cv2.circle(marked, tuple(np.rint(eye).astype(int).tolist()), 3, (255, 255, 255), -1)
    crop = aligned_crop(marked, points, 200)[..., 0] > 100
    y, x = np.nonzero(crop)
    left, right = x[x < 100].mean(), x[x >= 100].mean()
    assert abs((left + right) / 2 - 100) < 5
    assert abs(y[x < 100].mean() - y[x >= 100].mean()) < 4
    expected = 0.62 * 200 * (MEAN_SHAPE[42:48, 0].mean() - MEAN_SHAPE[36:42, 0].mean())
    assert right - left == pytest.approx(expected, rel=0.15)


def test_a_large_face_is_averaged_not_sampled():
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 255, (1000, 1000, 3), dtype=np.uint8)
    crop = aligned_crop(noise, MEAN_SHAPE * 800 + 500, 64)
    assert crop[16:48, 16:48].std() < 0.4 * noise.std()


def test_what_lies_outside_is_grey(photo):
    crop = aligned_crop(photo, MEAN_SHAPE * 100 - 500, 64)
    assert (crop == 128).all()


def test_blur_takes_sharpness(photo, points):
    found = [sharpness(aligned_crop(cv2.GaussianBlur(photo, (0, 0), s), points, 128)) for s in (0.3, 1.5, 4)]
    assert found[0] > 1.5 * found[1] > 2 * found[2]
    # light and contrast alone do not
    dim = (photo * 0.5 + 20).astype(np.uint8)
    assert sharpness(aligned_crop(dim, points, 128)) == pytest.approx(
        sharpness(aligned_crop(photo, points, 128)), rel=0.15
    )
    assert sharpness(np.full((64, 64, 3), 7, dtype=np.uint8)) == 0


def test_a_sheet_shows_the_most_certain_first():
    levels = {0.5: 200, -1.0: 40, math.inf: 250, -0.2: 120, math.nan: 10}
    faces = [
        SheetFace(np.full((50, 50, 3), level, dtype=np.uint8), uncertainty, 3.0, uncertainty < 0)
        for uncertainty, level in levels.items()
    ]
    sheet = contact_sheet(faces, cell=60, width=2)
    line = text_mask("", 10).shape[0]
    middles = [sheet[6 + (66 + line) * (i // 2) + 20, 6 + 66 * (i % 2) + 30, 0] for i in range(5)]
    assert middles[:3] == [40, 120, 200]
    assert tuple(sheet[6, 6]) == GREEN
    assert tuple(sheet[6 + 66 + line, 6]) == RED


def test_an_empty_sheet_is_refused():
    with pytest.raises(ValueError, match="empty"):
        contact_sheet([])
