"""Where the picture moves, and what that is good for while faces are followed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fake_world import SIZE, Someone, World, blank

from facereject.faces.face import Box
from facereject.tracking._motion import Motion, drift
from facereject.tracking.tracker import FaceTracker, Tracking


@pytest.fixture
def texture():
    rng = np.random.default_rng(0)
    return np.kron(rng.integers(0, 255, (60, 80), dtype=np.uint8), np.ones((4, 4), dtype=np.uint8))


@pytest.mark.parametrize("shift", [(0, 0), (8, 0), (-12, 4), (16, -20)])
def test_what_has_moved_is_found_again(texture, shift):
    moved = np.roll(texture, shift[::-1], axis=(0, 1))
    found = drift(Box(100, 90, 60, 60), texture, moved)
    np.testing.assert_allclose(found, shift, atol=3)


def test_what_is_not_there_any_more_has_not_moved(texture):
    other = np.random.default_rng(1).integers(0, 255, texture.shape, dtype=np.uint8)
    box = Box(100, 90, 60, 60)
    assert drift(box, texture, other) == (0, 0)
    assert drift(box, np.full_like(texture, 9), texture) == (0, 0)
    assert drift(box, texture, texture[:100, :100]) == (0, 0)
    assert drift(Box(5000, 90, 60, 60), texture, texture) == (0, 0)
    assert drift(Box(-70, 90, 60, 60), texture, texture) == (0, 0)


def test_the_busiest_place_is_where_something_moved():
    frame, motion = np.full((240, 320), 100, dtype=np.uint8), Motion()
    assert motion.update(frame) == 0
    assert motion.busiest([]) is None
    frame = frame.copy()
    frame[150:190, 200:240] = 180
    assert 0 < motion.update(frame) < 5
    assert motion.busiest([Box(190, 140, 60, 60)]) is None
    place = motion.busiest([])
    np.testing.assert_allclose(place.center, (220, 170), atol=12)
    # once looked at, it must move again
    assert motion.busiest([]) is None


def test_a_place_at_the_border_is_whole():
    frame, motion = np.full((240, 320), 100, dtype=np.uint8), Motion()
    motion.update(frame)
    frame = frame.copy()
    frame[:40, :40] = 180
    motion.update(frame)
    place = motion.busiest([])
    assert (place.x, place.y) == (0, 0)
    assert place.width == place.height > 60


def test_another_size_is_another_scene():
    motion = Motion()
    motion.update(np.zeros((240, 320), dtype=np.uint8))
    assert motion.update(np.zeros((320, 240), dtype=np.uint8)) == math.inf


def shown(*places):
    """A frame with a texture at each place."""
    frame = np.full((SIZE[1], SIZE[0], 3), 120, dtype=np.uint8)
    for x, y in places:
        pattern = np.random.default_rng(3).integers(0, 255, (12, 12), dtype=np.uint8)
        frame[y : y + 60, x : x + 60] = np.kron(pattern, np.ones((5, 5), dtype=np.uint8))[..., None]
    return frame


def test_somebody_new_who_moves_need_not_wait_for_the_whole_search():
    world = World(Someone(30, 80))
    tracker = FaceTracker(world, Tracking(detect_every=100))
    for _ in range(5):
        tracker.update(shown((30, 80)))
    world.faces.append(Someone(200, 120))
    seen = [len(tracker.update(shown((30, 80), (200 + 4 * step, 120)))) for step in range(3)]
    assert seen[-1] == 2
    assert tracker.searches == 1


def test_a_lost_face_is_looked_for_where_it_went():
    someone = Someone(40, 80)
    tracker = FaceTracker(World(someone), Tracking(detect_every=1000))
    tracker.update(shown((40, 80)))
    someone.seen, someone.uncertainty = False, 0.05
    for x in range(46, 150, 6):
        someone.box = someone.box._replace(x=float(x))
        assert tracker.update(shown((x, 80))) == []
    someone.seen, someone.uncertainty = True, -1.0
    (tracked,) = tracker.update(shown((148, 80)))
    assert tracked.track == 0
    assert tracked.face.box == someone.box
    assert tracker.searches == 1


def test_nothing_is_looked_for_in_a_picture_that_stands_still():
    tracker = FaceTracker(World(Someone(30, 80)), Tracking(detect_every=1000))
    for _ in range(50):
        tracker.update(blank())
    assert (tracker.searches, tracker.local_searches) == (1, 0)
