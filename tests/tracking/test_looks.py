"""Looks at parts of a frame: where a face nearly was, and where one should be again."""

from __future__ import annotations

import pytest
from fake_world import DOUBTFUL, Hesitant, Someone, blank

from facereject.tracking.tracker import FaceTracker, Tracking


def numbers(faces):
    return [tracked.track for tracked in faces]


def test_a_face_that_was_nearly_found_is_seen_as_soon_as_it_is_one():
    left, right = Someone(30, 80), Someone(200, 80)
    world = Hesitant(left, right)
    tracker = FaceTracker(world, Tracking(detect_every=100))
    world.scores[right] = -0.1
    for _ in range(5):
        assert numbers(tracker.update(blank())) == [0]
    world.scores[right] = 0.1
    assert numbers(tracker.update(blank())) == [0, 1]
    assert tracker.searches == 1


def test_a_margin_that_is_none_is_refused():
    world = Hesitant(Someone(30, 80))
    world.margin = 0.0
    with pytest.raises(ValueError, match=r"margin of .* must be positive, got 0"):
        FaceTracker(world).update(blank())


class Recalling(Hesitant):
    """A world whose detector finds faces of earlier frames again in a way of its own."""

    def __init__(self, *faces):
        super().__init__(*faces)
        self.recalled, self.searched = [], 0

    def candidates(self, gray, box=None):
        self.searched += box is not None
        return super().candidates(gray, box)

    def again(self, gray, box, found):
        self.recalled.append(found.box)
        return super().candidates(gray, box)


def test_a_detector_that_recalls_a_face_is_told_how_it_found_it_last():
    someone = Someone(100, 80, uncertainty=DOUBTFUL)
    world = Recalling(someone)
    tracker = FaceTracker(world, Tracking(detect_every=50))
    for step in range(10):
        someone.box = someone.box._replace(x=100.0 + 3 * step)
        (tracked,) = tracker.update(blank())
        assert tracked.face.box == someone.box
    assert world.recalled == [someone.box._replace(x=100.0 + 3 * step) for step in range(9)]
    assert world.searched == 0
    assert tracker.local_searches == 9


def test_a_lost_face_is_recalled_where_it_was():
    someone = Someone(100, 80, uncertainty=DOUBTFUL)
    world = Recalling(someone)
    tracker = FaceTracker(world, Tracking(detect_every=50))
    tracker.update(blank())
    world.faces.clear()
    assert [tracker.update(blank()) for _ in range(3)] == [[], [], []]
    world.faces.append(someone)
    assert numbers(tracker.update(blank())) == [0]
    assert world.searched == 0
