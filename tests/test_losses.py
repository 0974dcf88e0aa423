"""Losses against cases worked by hand, and the messages for input they cannot judge."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from facereject.losses import absolute_error, landmark_nme, landmark_scale, zero_one_loss


@pytest.fixture
def face(rng):
    """A face in a box of 90 x 40 pixels with its outer eye corners (54, 8) apart."""
    points = rng.uniform(20, 30, size=(68, 2))
    points[0], points[1] = (0, 0), (90, 40)
    points[36:42], points[42:48] = (28, 25), (52, 25)
    # Each corner is off the other five points of its eye, so that corners and centres give different lengths:
    # the centres are at (28 - 18/6, 25 - 4/6) and (52 + 12/6, 25 + 4/6).
    points[36], points[45] = (10, 21), (64, 29)
    return points


def slow_nme(truth, predicted, length):
    total = 0.0
    for (x, y), (u, v) in zip(truth, predicted, strict=True):
        total += math.sqrt((x - u) ** 2 + (y - v) ** 2)
    return 100 * total / (68 * length)


@pytest.mark.parametrize(
    ("y", "y_pred"),
    [
        ([1, 2, 3], [1, 3, 3]),
        (["cat", "dog", "eel"], ["cat", "a longer name", "eel"]),
        ([True, False, True], [True, True, True]),
        ([1.0, 2.0, 3.0], [1, 0, 3]),
        (pd.Series(["a", "b", "c"], index=[7, 8, 9]), np.array(["a", "c", "c"])),
        (np.array([1, 2.5, True], dtype=object), [1, 2, 1]),
        (pd.Categorical(["a", "b", "c"]), ["a", "a", "c"]),
        (np.array(["a", 1, "c"], dtype=object), np.array(["a", 2, "c"], dtype=object)),
    ],
)
def test_zero_one_loss(y, y_pred):
    losses = zero_one_loss(y, y_pred)
    assert losses.dtype == np.float64
    assert losses.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("y", "y_pred", "message"),
    [
        ([1, 2], [1], "y has 2, y_pred has 1"),
        ([], [], "y must hold at least 1"),
        ([1], [], "y_pred must hold at least 1"),
        ([[1, 2]], [1, 2], "y must be one-dimensional"),
        ([1, 2], 1, "y_pred must be one-dimensional"),
        ([1, np.nan], [1, 2], r"y must hold labels, but y\[1\] is nan"),
        ([1, 2], [1, np.inf], r"y_pred must hold labels, but y_pred\[1\] is inf"),
        (["a", "b"], np.array(["a", None]), r"y_pred must hold labels, but y_pred\[1\] is None"),
        (np.array(["a", np.nan], dtype=object), ["a", "b"], r"y must hold labels, but y\[1\] is nan"),
        (pd.array(["a", pd.NA]), ["a", "b"], r"y must hold labels, but y\[1\] is"),
        (["1", "2"], [1, 2], "y holds strings but y_pred holds numbers"),
        ([1, 2], np.array(["1", "2"], dtype=object), "y holds numbers but y_pred holds strings"),
        (np.array([b"a"]), ["a"], "y holds bytes but y_pred holds strings"),
    ],
)
def test_zero_one_loss_rejects(y, y_pred, message):
    with pytest.raises(ValueError, match=message):
        zero_one_loss(y, y_pred)


def test_absolute_error():
    assert absolute_error([1, -2.5, 3], [4, 1, 3]).tolist() == [3, 3.5, 0]


def test_absolute_error_of_unsigned_integers_does_not_wrap():
    assert absolute_error(np.array([1], dtype=np.uint8), np.array([3], dtype=np.uint8)).tolist() == [2]


@pytest.mark.parametrize(
    ("y", "y_pred", "message"),
    [
        ([1, np.nan], [1, 2], r"y must be finite, but y\[1\] is nan"),
        ([1, 2], [np.inf, 2], r"y_pred must be finite"),
        ([1, 2], [1], "y has 2, y_pred has 1"),
        ([], [], "y must hold at least 1"),
        (["a"], [1], "y must hold numbers"),
    ],
)
def test_absolute_error_rejects(y, y_pred, message):
    with pytest.raises(ValueError, match=message):
        absolute_error(y, y_pred)


def test_nme_of_a_shift_is_its_length_over_the_normalizer(face):
    """Every point off by (3, 4), that is 5 pixels."""
    moved = face + [3, 4]
    eyes = math.hypot(54, 8)
    assert landmark_nme(face, moved) == pytest.approx(100 * 5 / eyes)
    centres = math.hypot(54 - 25, 8 / 6)
    assert landmark_nme(face, moved, "pupils") == pytest.approx(100 * 5 / centres)
    assert landmark_nme(face, moved, "box") == pytest.approx(100 * 5 / 60)
    assert landmark_nme(face, moved, 20) == pytest.approx(25)


def test_nme_of_one_point_counts_a_68th(face):
    moved = face.copy()
    moved[10, 0] += 17
    assert landmark_nme(face, moved, 100.0) == pytest.approx(17 / 68)


def test_nme_normalizes_by_the_truth(face):
    """The predicted eyes are twice as far apart; the true distance is what counts."""
    assert landmark_nme(face, 2 * face) == pytest.approx(slow_nme(face, 2 * face, math.hypot(54, 8)))
    assert landmark_nme(2 * face, face) == pytest.approx(slow_nme(face, 2 * face, 2 * math.hypot(54, 8)))


def test_nme_of_many_faces_is_that_of_each(face, rng):
    faces = face * rng.uniform(0.5, 2, size=(7, 1, 1)) + rng.normal(size=(7, 1, 2))
    predicted = faces + rng.normal(size=faces.shape)
    for normalizer in ("outer_eyes", "pupils", "box"):
        losses = landmark_nme(faces, predicted, normalizer)
        assert losses.shape == (7,)
        one_by_one = [landmark_nme(t, p, normalizer) for t, p in zip(faces, predicted, strict=True)]
        np.testing.assert_allclose(losses, one_by_one)
        # percent of a length of the same face: neither position nor scale of the image matters
        np.testing.assert_allclose(landmark_nme(3 * faces + 9, 3 * predicted + 9, normalizer), losses)
    lengths = rng.uniform(10, 20, size=7)
    expected = [slow_nme(t, p, d) for t, p, d in zip(faces, predicted, lengths, strict=True)]
    np.testing.assert_allclose(landmark_nme(faces, predicted, lengths), expected)


def test_nme_returns_one_number_for_one_face(face):
    assert isinstance(landmark_nme(face, face), float)
    assert landmark_nme(face, face) == 0.0
    assert landmark_nme(face, face, [3.0]) == 0.0
    assert landmark_nme(face[None], face[None]).shape == (1,)


def test_nme_of_unsigned_integers_does_not_wrap():
    truth = np.zeros((68, 2), dtype=np.uint8)
    assert landmark_nme(truth, truth + np.uint8([0, 2]), 100) == pytest.approx(2)
    assert landmark_nme(truth + np.uint8([0, 2]), truth, 100) == pytest.approx(2)


def test_nme_names_the_face_without_a_length(face):
    faces = np.stack([face, face, face])
    faces[1, 45] = faces[1, 36]
    with pytest.raises(ValueError, match=r"the 'outer_eyes' normalizer of landmarks\[1\] is 0.0 pixels"):
        landmark_nme(faces, faces)
    faces[2, 36:48] = 7
    with pytest.raises(ValueError, match=r"the 'pupils' normalizer of landmarks\[2\] is 0.0 pixels"):
        landmark_nme(faces, faces, "pupils")
    faces[0, :, 1] = 3
    with pytest.raises(ValueError, match=r"the 'box' normalizer of landmarks\[0\] is 0.0 pixels"):
        landmark_nme(faces, faces, "box")
    with pytest.raises(ValueError, match=r"normalizer\[2\] is -1.0 pixels"):
        landmark_nme(faces, faces, [1, 1, -1])


@pytest.mark.parametrize(
    ("normalizer", "message"),
    [
        ("eyes", "normalizer must be 'outer_eyes', 'pupils', 'box', 'points:i,j' or .* lengths, got 'eyes'"),
        ([1.0, 2.0], r"normalizer has 2 value\(s\) for 1 face"),
        (np.nan, "normalizer must be finite"),
        ([[1.0]], "normalizer must be one-dimensional"),
        (None, "normalizer must"),
        (0.0, r"normalizer\[0\] is 0.0 pixels"),
    ],
)
def test_nme_rejects_normalizers(face, normalizer, message):
    with pytest.raises(ValueError, match=message):
        landmark_nme(face, face, normalizer)


def test_nme_rejects_malformed_landmarks(face):
    with pytest.raises(ValueError, match=r"^landmarks "):
        landmark_nme(face[:67], face[:67])
    with pytest.raises(ValueError, match=r"^landmarks_pred "):
        landmark_nme(face, face[:, 0])
    with pytest.raises(
        ValueError, match=r"landmarks has shape \(68, 2\) but landmarks_pred has shape \(1, 68, 2\)"
    ):
        landmark_nme(face, face[None])
    with pytest.raises(ValueError, match=r"^landmarks "):
        landmark_nme(np.empty((0, 68, 2)), np.empty((0, 68, 2)))
    with pytest.raises(ValueError, match=r"^landmarks "):
        landmark_nme("face", face)
    broken = face.copy()
    broken[5, 1] = np.nan
    with pytest.raises(ValueError, match=r"^landmarks_pred "):
        landmark_nme(face, broken)


def test_other_points_have_rules_of_their_own(rng):
    truth, predicted = rng.uniform(0, 50, size=(2, 4, 5, 2))
    for rule, lengths in {
        "points:0,3": [math.dist(face[0], face[3]) for face in truth],
        "box": [math.sqrt(math.prod(np.ptp(face, axis=0))) for face in truth],
    }.items():
        np.testing.assert_allclose(landmark_scale(truth, rule), lengths)
        assert landmark_scale(truth[0], rule) == pytest.approx(lengths[0])
        for face, other, length, error in zip(
            truth, predicted, lengths, landmark_nme(truth, predicted, rule), strict=True
        ):
            off = [math.dist(a, b) for a, b in zip(face, other, strict=True)]
            assert error == pytest.approx(100 * sum(off) / (5 * length))


def test_points_37_and_46_are_the_outer_eyes(face):
    assert landmark_scale(face, "points:36,45") == landmark_scale(face, "outer_eyes")


@pytest.mark.parametrize(
    "rule", ["points:0,5", "points:2,2", "points:1", "points:1,2,3", "points:-1,2", "Box"]
)
def test_rules_that_name_no_two_points(rule):
    with pytest.raises(ValueError, match="normalizer"):
        landmark_nme(np.eye(5, 2), np.eye(5, 2), rule)


def test_rules_of_300w_need_its_points():
    with pytest.raises(ValueError, match=r"\(68, 2\), got \(5, 2\); 'box' and 'points:i,j'"):
        landmark_nme(np.eye(5, 2), np.eye(5, 2))
    with pytest.raises(ValueError, match=r"shape \(n, k, 2\) or \(k, 2\), got \(5, 3\)"):
        landmark_nme(np.eye(5, 3), np.eye(5, 3), "box")
