"""Steady landmarks: still faces stand still, moving ones are followed, uncertain points lean on others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fake_world import Someone, World, blank

from facereject.faces import Face
from facereject.faces.face import Box
from facereject.faces.landmarks.point_set import MEAN_SHAPE
from facereject.tracking.smoothing import LandmarkSmoother, certainty_of
from facereject.tracking.tracker import FaceTracker, Tracking

WIDTH = 150.0
N_FRAMES = 120
MOUTH = list(range(48, 68))


def face(points, errors=None, expected_error=2.5):
    return Face(Box(0, 0, 1, 1), 1.0, points, 0.0, expected_error, True, landmark_errors=errors)


def turned(points, degrees, factor, shift):
    a = math.radians(degrees)
    turn = factor * np.array([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]])
    return points @ turn.T + shift


def still(t):
    return WIDTH * MEAN_SHAPE + 300


def moving(t):
    """To and fro, nearer and farther, tilting."""
    shift = (300 + 60 * math.sin(3 * t), 250 + 30 * math.sin(2.4 * t))
    return turned(WIDTH * MEAN_SHAPE, 12 * math.sin(2.8 * t), 1 + 0.15 * math.sin(1.9 * t), shift)


def talking(t):
    points = WIDTH * MEAN_SHAPE + 300
    lower = [55, 56, 57, 58, 59, 65, 66, 67]
    points[lower, 1] += 0.05 * WIDTH * (1 - math.cos(2 * math.pi * 2 * t))
    return points


def run(path, noise=1.0, errors=None, seed=0):
    """True, seen and steadied points of a face, (frames, 68, 2) each, at 30 frames per second."""
    rng = np.random.default_rng(seed)
    smoother = LandmarkSmoother(MEAN_SHAPE)
    true = np.array([path(i / 30) for i in range(N_FRAMES)])
    scale = noise if errors is None else noise * errors[:, None]
    seen = true + scale * rng.normal(size=true.shape)
    steady = np.array([smoother(face(points, errors), i / 30) for i, points in enumerate(seen)])
    return true, seen, steady


def jitter(points):
    return np.linalg.norm(np.diff(points[10:], axis=0), axis=2).mean()


def error(points, true):
    return np.linalg.norm(points - true, axis=2)[10:].mean()


def lag(true, steady):
    """Frames by which the points come late: what is missing, in units of the velocity."""
    velocity = np.gradient(true, axis=0)[10:-3]
    return float(((true - steady)[10:-3] * velocity).sum() / (velocity**2).sum())


def test_a_still_face_jitters_less_than_half_as_much():
    true, seen, steady = run(still)
    assert jitter(steady) < 0.4 * jitter(seen)
    assert error(steady, true) < 0.6 * error(seen, true)


def test_a_moving_face_is_followed_with_less_than_a_frame_of_lag():
    true, seen, steady = run(moving)
    assert abs(lag(true, steady)) < 0.5
    assert error(steady, true) < 1.1 * error(seen, true)
    # a plain mean that calms as much comes too late
    plain = seen.copy()
    for i in range(1, len(plain)):
        plain[i] = plain[i - 1] + 0.3 * (seen[i] - plain[i - 1])
    assert lag(true, plain) > 1.5
    assert error(plain, true) > 2 * error(steady, true)


def test_a_talking_mouth_is_followed_with_at_most_a_frame_of_lag():
    true, _, steady = run(talking, noise=0.3)
    assert abs(lag(true, steady)) < 1


def test_certain_points_move_and_uncertain_ones_lean_on_the_past():
    errors = np.full(68, 1.0)
    errors[MOUTH] = 15.0
    _, seen, steady = run(still, noise=0.5, errors=errors)
    others = [i for i in range(68) if i not in MOUTH]
    calm = {
        name: jitter(steady[:, part]) / jitter(seen[:, part])
        for name, part in (("mouth", MOUTH), ("others", others))
    }
    assert calm["mouth"] < 0.5 * calm["others"]
    # noise of the mouth does not spread
    sure = run(still, noise=0.5, errors=np.full(68, 1.0))
    assert jitter(steady[:, others]) < 1.5 * jitter(sure[2][:, others])


def test_an_uncertain_point_goes_along_with_its_neighbours():
    smoother = LandmarkSmoother(MEAN_SHAPE)
    points = WIDTH * MEAN_SHAPE + 300
    errors = np.full(68, 1.0)
    errors[57] = 60.0
    for i in range(30):
        smoother(face(points, errors), i / 30)
    moved = points.copy()
    lower = [55, 56, 57, 58, 59, 65, 66, 67]
    moved[lower, 1] += 8
    moved[57] = points[57]  # it has been missed
    for i in range(30, 60):
        found = smoother(face(moved, errors), i / 30)
    assert found[57, 1] - points[57, 1] > 4


def test_after_a_gap_the_past_says_nothing():
    smoother = LandmarkSmoother(MEAN_SHAPE)
    first = WIDTH * MEAN_SHAPE + 300
    smoother(face(first), 0.0)
    np.testing.assert_array_equal(smoother(face(first + 50), 3.0), first + 50)
    # nor does it when the clock goes back
    np.testing.assert_array_equal(smoother(face(first), 1.0), first)


def test_a_head_that_turns_over_takes_the_shorter_way():
    smoother = LandmarkSmoother(MEAN_SHAPE)
    for i, degrees in enumerate(range(170, 200, 2)):
        points = turned(WIDTH * MEAN_SHAPE, degrees, 1.0, 300)
        found = smoother(face(points), i / 30)
    assert np.linalg.norm(found - points, axis=1).max() < 8


def test_without_landmarks_there_is_nothing_to_steady():
    smoother = LandmarkSmoother(MEAN_SHAPE)
    nothing = np.full((68, 2), np.nan)
    assert np.isnan(smoother(face(nothing), 0.0)).all()
    points = WIDTH * MEAN_SHAPE
    np.testing.assert_array_equal(smoother(face(points), 1 / 30), points)


@pytest.mark.parametrize(("errors", "expected"), [(None, math.nan), (None, 6.0), (np.full(68, np.nan), 1.0)])
def test_an_unknown_error_counts_half(errors, expected):
    points = WIDTH * MEAN_SHAPE
    np.testing.assert_allclose(certainty_of(face(points, errors, expected)), 0.5)


def test_the_tracker_steadies_what_it_shows_and_judges_what_it_sees():
    rng = np.random.default_rng(0)
    found = {}
    for smooth in (False, True):
        someone = Someone(100, 80)
        tracker = FaceTracker(World(someone), Tracking(smooth_landmarks=smooth))
        shown = []
        for i in range(40):
            someone.box = someone.box._replace(x=100 + float(rng.normal(0, 0.3)))
            someone.uncertainty = -1.0 - 0.01 * i
            (tracked,) = tracker.update(blank(), i / 30)
            shown.append(tracked.face.landmarks)
            assert tracked.face.uncertainty == someone.uncertainty
        found[smooth] = jitter(np.array(shown))
    assert found[True] < 0.5 * found[False]
