"""How the head is turned: against faces drawn with known angles, and photographs turned by known ones."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
import skimage.data

from facereject.faces import FaceRejector, Pose, load_rgb
from facereject.faces.landmarks.point_set import MEAN_SHAPE, PoseLimits, generic_face, pose_of


@pytest.fixture(scope="module")
def rejector():
    return FaceRejector.pretrained()


@pytest.fixture(scope="module")
def photo():
    return skimage.data.astronaut()[:300, 60:400]


def turned(yaw, pitch, roll):
    """The generic face after the turns that the docstring of `Pose` describes, one after the other."""
    points = generic_face()
    x, y, z = points[:, 0], points[:, 1], points[:, 2]
    a = math.radians(pitch)  # up: the chin (y > 0) comes nearer, z becomes smaller
    y, z = y * math.cos(a) + z * math.sin(a), z * math.cos(a) - y * math.sin(a)
    a = math.radians(yaw)  # to the right: the tip of the nose (z < 0) goes to larger x
    x, z = x * math.cos(a) - z * math.sin(a), z * math.cos(a) + x * math.sin(a)
    a = math.radians(roll)  # clockwise: what was on the right (x > 0) goes down
    x, y = x * math.cos(a) - y * math.sin(a), y * math.cos(a) + x * math.sin(a)
    return np.column_stack([x, y, z])


def shown(points, distance=6.0, width=120.0, place=(300.0, 200.0)):
    """As a camera at some distance sees it."""
    return distance * width * points[:, :2] / (points[:, 2:] + distance) + place


@pytest.mark.parametrize("yaw", [-45, -20, 0, 10, 35])
@pytest.mark.parametrize("pitch", [-25, 0, 15])
@pytest.mark.parametrize("roll", [-40, 0, 170])
def test_known_angles_are_found(yaw, pitch, roll):
    found = pose_of(shown(turned(yaw, pitch, roll)))
    np.testing.assert_allclose(found, (yaw, pitch, roll), atol=0.6)


@pytest.mark.parametrize("distance", [3.5, 12.0, 100.0])
def test_the_distance_of_the_camera_matters_little(distance):
    found = pose_of(shown(turned(25, -10, 5), distance))
    np.testing.assert_allclose(found, (25, -10, 5), atol=4)


def test_size_and_place_do_not_matter():
    points = shown(turned(20, 10, -5))
    expected = pose_of(points)
    np.testing.assert_allclose(pose_of(7 * points + (-5000, 300)), expected, atol=0.02)


def test_noise_of_the_landmarks_moves_angles_by_degrees_only():
    noise = np.random.default_rng(0)
    points = shown(turned(15, 5, 10))
    found = np.array([pose_of(points + noise.normal(0, 1.5, points.shape)) for _ in range(50)])
    assert np.abs(found - (15, 5, 10)).mean() < 3


@pytest.mark.parametrize("points", [MEAN_SHAPE[:5], np.zeros((68, 2)), np.full((68, 2), np.nan)])
def test_what_gives_no_pose(points):
    assert pose_of(points) is None


def test_turning_a_photograph_turns_the_roll_alone(rejector, photo):
    (face,) = rejector(photo)
    middle = np.array(face.box.center)
    for degrees in (-20, -10, 15):
        # OpenCV's angles are anti-clockwise
        matrix = cv2.getRotationMatrix2D(tuple(middle), -degrees, 1.0)
        picture = cv2.warpAffine(photo, matrix, photo.shape[1::-1], borderMode=cv2.BORDER_REPLICATE)
        other = rejector.assess_box(picture, face.box)
        change = np.subtract(other.pose, face.pose)
        assert abs(change[2] - degrees) < 3
        assert np.abs(change[:2]).max() < 5


@pytest.mark.data
def test_mirrored_photographs_have_yaw_and_roll_of_the_other_sign(rejector, faces_dir):
    turned_far = 0
    for path in sorted((faces_dir / "300w" / "afw").glob("*.jpg"))[:40]:
        photo = load_rgb(path)
        face = max(rejector(photo), key=lambda face: face.box.width, default=None)
        if face is None or not face.accepted or abs(face.pose.yaw) < 12:
            continue
        x, y, width, height = face.box
        box = (photo.shape[1] - x - width, y, width, height)
        mirrored = rejector.assess_box(np.ascontiguousarray(photo[:, ::-1]), box)
        np.testing.assert_allclose(mirrored.pose, np.array(face.pose) * (-1, 1, -1), atol=8)
        turned_far += 1
    assert turned_far >= 5


def test_limits_reject_what_is_turned_further(rejector, photo):
    (face,) = rejector(photo)
    roll = abs(face.pose.roll)
    (within,) = rejector.with_pose_limits(max_roll=roll + 1, max_yaw=90)(photo)
    (beyond,) = rejector.with_pose_limits(max_roll=roll - 1)(photo)
    assert (face.accepted, within.accepted, beyond.accepted) == (True, True, False)
    assert (within.reason, beyond.reason) == ("", "turned")
    assert "turned" in beyond.explanation
    assert beyond.uncertainty == face.uncertainty


def test_a_change_of_the_target_keeps_the_limits(rejector):
    limited = rejector.with_pose_limits(max_pitch=20)
    assert limited.with_target(coverage=0.5).pose_limits == PoseLimits(max_pitch=20)
    assert rejector.pose_limits == PoseLimits()


def test_limits_are_not_lost_in_a_file(rejector, tmp_path):
    with pytest.raises(ValueError, match="pose limits"):
        rejector.with_pose_limits(max_yaw=20).save(tmp_path / "model.safetensors")


@pytest.mark.parametrize("limit", [-1, 181, float("nan")])
def test_wrong_limits_are_named(rejector, limit):
    with pytest.raises(ValueError, match="max_roll"):
        rejector.with_pose_limits(max_roll=limit)


def test_an_unknown_pose_is_only_fine_without_limits():
    assert PoseLimits().allow(None)
    assert not PoseLimits(max_yaw=30).allow(None)
    assert PoseLimits(max_yaw=30).allow(Pose(-30, 80, 80))
    assert not PoseLimits(max_yaw=30).allow(Pose(-30.1, 0, 0))
