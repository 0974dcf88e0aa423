"""Degradations: seeded, in range, and with landmarks that follow the picture exactly."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from facereject.faces.face import Box
from facereject.faces.geometry import overlap
from facereject.faces.training.degrade import DEGRADATIONS, degrade, jitter_box, random_degradation

KINDS = sorted(DEGRADATIONS)
MOVING = ("rotation", "cut", "small")


@pytest.mark.parametrize("color", ["gray", "rgb"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_at_every_severity(kind, color, astronaut, astronaut_landmarks):
    image = astronaut if color == "rgb" else astronaut[:, :, 0]
    before = image.copy()
    for severity in (0.0, 0.5, 1.0):
        result = degrade(image, astronaut_landmarks, kind, severity, random_state=3)
        assert result.image.dtype == np.uint8
        assert result.image.shape[2:] == image.shape[2:]
        assert result.landmarks.shape == (68, 2)
        assert result.steps == ((kind, severity),)
        again = degrade(image, astronaut_landmarks, kind, severity, random_state=3)
        np.testing.assert_array_equal(result.image, again.image)
        if kind not in MOVING:
            assert result.image.shape == image.shape
            np.testing.assert_array_equal(result.landmarks, astronaut_landmarks)
    np.testing.assert_array_equal(image, before)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in (*MOVING, "occlusion")])
def test_more_severity_changes_more(kind, astronaut, astronaut_landmarks):
    changes = [
        np.abs(
            degrade(astronaut, astronaut_landmarks, kind, s, random_state=0).image - astronaut.astype(float)
        ).mean()
        for s in (0.0, 1.0)
    ]
    assert 0 < changes[0] < changes[1]


@pytest.mark.parametrize("kind", MOVING)
@pytest.mark.parametrize("seed", range(6))
def test_landmarks_follow_the_pixels(kind, seed, astronaut_landmarks):
    """Bright dots painted on the landmarks are found where the moved landmarks say."""
    image = np.zeros((512, 512), np.uint8)
    chosen = np.array([0, 8, 16, 30, 36, 45])
    for x, y in astronaut_landmarks[chosen]:
        cv2.circle(image, (int(x), int(y)), 3, 255, -1)
    result = degrade(image, astronaut_landmarks, kind, 0.3, random_state=seed)
    height, width = result.image.shape
    seen = 0
    for x, y in result.landmarks[chosen]:
        if 4 <= x < width - 4 and 4 <= y < height - 4:
            patch = result.image[round(y) - 4 : round(y) + 5, round(x) - 4 : round(x) + 5].astype(float)
            rows, columns = np.mgrid[-4:5, -4:5]
            offset = (
                round(x) + (patch * columns).sum() / patch.sum() - x,
                round(y) + (patch * rows).sum() / patch.sum() - y,
            )
            assert np.hypot(*offset) < 0.5
            seen += 1
    assert seen >= 3


def test_cutting_removes_part_of_the_face(astronaut, astronaut_landmarks):
    result = degrade(astronaut, astronaut_landmarks, "cut", 1.0, random_state=1)
    height, width = result.image.shape[:2]
    outside = (result.landmarks < 0).any(axis=1) | (result.landmarks >= [width, height]).any(axis=1)
    assert 5 < outside.sum() < 60


def test_random_degradation_is_seeded_and_varied(astronaut, astronaut_landmarks):
    gray = astronaut[:, :, 1]
    results = [random_degradation(gray, astronaut_landmarks, random_state=seed) for seed in range(60)]
    again = random_degradation(gray, astronaut_landmarks, random_state=7)
    np.testing.assert_array_equal(again.image, results[7].image)
    assert again.steps == results[7].steps
    assert {kind for result in results for kind, _ in result.steps} == set(KINDS)
    assert {len(result.steps) for result in results} == {1, 2, 3}
    assert all(0 <= severity <= 1 for result in results for _, severity in result.steps)


def test_box_jitter():
    box = Box(100, 100, 80, 80)
    assert jitter_box(box, 0.0, random_state=0) == pytest.approx(box)
    jittered = [jitter_box(box, 1.0, random_state=seed) for seed in range(50)]
    assert all(0.3 < overlap(box, other) < 1 for other in jittered)
    assert jittered[3] == jitter_box(box, 1.0, random_state=3)


@pytest.mark.parametrize(
    ("kind", "severity", "word"),
    [("fog", 0.5, "kind"), ("blur", 2, "severity"), ("blur", np.nan, "severity")],
)
def test_refusals(kind, severity, word, astronaut, astronaut_landmarks):
    with pytest.raises(ValueError, match=word):
        degrade(astronaut, astronaut_landmarks, kind, severity)
