"""Following faces: stable numbers, the boxes of the detector, and nobody twice."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import skimage.data
from fake_world import Someone, World, blank

from facereject._options import OptionError
from facereject.faces import FaceDetector, FaceRejector
from facereject.faces.face import Box
from facereject.faces.geometry import overlap
from facereject.tracking.tracker import MEMORY, FaceTracker, Tracking
from facereject.tracking.tracks import match


@pytest.fixture
def follow():
    """Makes a tracker in a world."""

    def make(world, *, first_frame=0, **options):
        return FaceTracker(world, Tracking(**options), first_frame=first_frame)

    return make


def numbers(faces):
    return [tracked.track for tracked in faces]


def test_a_moving_face_keeps_its_number_and_the_box_of_the_detector(follow):
    someone = Someone(60, 80)
    tracker = follow(World(someone))
    for step in range(20):
        someone.box = someone.box._replace(x=60.0 + 8 * step)
        (tracked,) = tracker.update(blank())
        assert tracked.track == 0
        assert tracked.face.box == someone.box


def test_a_fast_face_is_expected_where_it_goes(follow):
    """25 pixels per frame and 60 wide: from the last place alone it would overlap by 0.41, from two by 1."""
    someone = Someone(20, 80)
    world = World(someone)
    expected = []
    plain = world.detect_next
    world.detect_next = lambda gray, faces, *steps: expected.append(faces) or plain(gray, faces, *steps)
    tracker = follow(world)
    for step in range(8):
        someone.box = someone.box._replace(x=20.0 + 25 * step)
        assert numbers(tracker.update(blank())) == [0]
        if step > 1:
            assert [each.box for each in expected[-1]] == [someone.box]


@pytest.mark.parametrize("others", [0, 1])
def test_a_new_face_waits_for_at_most_detect_every_frames(follow, others):
    world = World(*[Someone(30, 80)] * others)
    tracker = follow(world, detect_every=4)
    for _ in range(30):
        tracker.update(blank())
    world.faces.append(Someone(200, 80))
    shown = [len(tracker.update(blank())) for _ in range(4)]
    assert shown[-1] == others + 1


@pytest.mark.parametrize(
    ("every", "rate", "frames"), [(5, 30, 5), (5, 25, 5), (15, 60, 12), (5, 10, 2), (5, 2, 1), (3, 30, 3)]
)
def test_a_frame_is_searched_within_a_fifth_of_a_second(follow, every, rate, frames):
    world = World(Someone(30, 80))
    tracker = follow(world, detect_every=every)
    for number in range(2 * every):
        tracker.update(blank(), number / rate)
    assert world.asked[1:] == [(number, frames) for number in range(1, 2 * every)]


def test_searches_depend_on_the_number_of_the_frame_not_on_where_a_tracker_begins(follow):
    whole = World(Someone(100, 80))
    tracker = follow(whole)
    for _ in range(40):
        tracker.update(blank())
    for first in (7, 25):
        part = World(Someone(100, 80))
        tracker = follow(part, first_frame=first)
        for _ in range(first, 40):
            tracker.update(blank())
        assert part.asked == whole.asked[first:]


def test_a_face_that_is_gone_is_not_shown_and_returns_with_its_number(follow):
    someone = Someone(100, 80)
    tracker = follow(World(someone))
    tracker.update(blank())
    someone.seen = False
    assert tracker.update(blank()) == []
    someone.seen = True
    assert numbers(tracker.update(blank())) == [0]


def test_a_number_is_kept_for_a_while_and_never_given_again(follow):
    someone = Someone(100, 80)
    world = World(someone)
    tracker = follow(world)
    tracker.update(blank())
    for gap, number in ((MEMORY - 10, 0), (MEMORY + 10, 1), (MEMORY + 10, 2)):
        world.faces.clear()
        for _ in range(gap):
            assert tracker.update(blank()) == []
        world.faces.append(someone)
        seen = [tracker.update(blank()) for _ in range(5)][-1]
        assert numbers(seen) == [number]


def test_who_walks_behind_somebody_comes_out_with_the_same_number(follow):
    front, behind = Someone(130, 120), Someone(20, 60)
    tracker = follow(World(front, behind))
    for step in range(30):
        behind.box = behind.box._replace(x=20.0 + 8 * step)
        behind.seen = not 8 <= step <= 20
        faces = tracker.update(blank())
    assert numbers(faces) == [0, 1]


@pytest.mark.parametrize(("x", "y"), [(230.0, 170.0), (40.0, 165.0)])
def test_who_appears_far_away_at_once_is_somebody_new(follow, x, y):
    someone = Someone(40, 40)
    tracker = follow(World(someone))
    for _ in range(10):
        tracker.update(blank())
    someone.box = someone.box._replace(x=x, y=y)
    assert numbers(tracker.update(blank())) == [1]


def test_a_face_of_another_size_is_somebody_new(follow):
    world = World(Someone(100, 80, side=40))
    tracker = follow(world)
    tracker.update(blank())
    world.faces[:] = [Someone(150, 60, side=110)]
    assert numbers(tracker.update(blank())) == [1]


def test_two_faces_keep_their_numbers_by_place(follow):
    left, right = Someone(30, 80), Someone(200, 80)
    tracker = follow(World(left, right))
    tracker.update(blank())
    for step in range(30):
        left.box = left.box._replace(y=80.0 - step)
        right.box = right.box._replace(y=80.0 + step)
        faces = tracker.update(blank())
        assert numbers(faces) == [0, 1]
        assert faces[0].face.landmarks[:, 0].max() < faces[1].face.landmarks[:, 0].min()


def test_overlap_comes_before_distance():
    boxes = [Box(0, 0, 60, 60), Box(50, 0, 60, 60)]
    assert match(boxes, [Box(50, 5, 60, 60), Box(5, 0, 60, 60)]) == {0: 1, 1: 0}
    # the first has gone, the second has moved close to where that was
    assert match(boxes, [Box(28, 0, 60, 60)]) == {1: 0}
    assert match(boxes, []) == match([], boxes) == {}
    far = [Box(200, 0, 60, 60)]
    assert match(boxes[:1], far) == {}
    assert match(boxes[:1], far, [4.0]) == {0: 0}


def test_smoothing_is_an_exponential_mean_that_decisions_follow(follow):
    someone = Someone(100, 80, uncertainty=-1.0)
    tracker = follow(World(someone), smooth=0.5)
    assert tracker.update(blank(), 0.0)[0].face.uncertainty == -1.0
    someone.uncertainty = 0.5
    (after,) = tracker.update(blank(), 0.1)
    expected = np.exp(-0.2) * -1.0 + (1 - np.exp(-0.2)) * 0.5
    assert after.face.uncertainty == pytest.approx(expected)
    assert after.face.expected_error == pytest.approx(5 + 2 * expected)
    assert after.face.accepted
    for step in range(2, 30):
        (after,) = tracker.update(blank(), step / 10)
    assert after.face.uncertainty == pytest.approx(0.5, abs=0.02)
    assert not after.face.accepted
    assert after.face.reason.startswith("uncertain")


def test_another_rejector_decides_from_the_next_frame_on(follow):
    world, strict = World(Someone(100, 80)), World(Someone(100, 80, uncertainty=0.7))
    tracker = follow(world)
    assert tracker.update(blank())[0].face.accepted
    tracker.use(strict)
    assert not tracker.update(blank())[0].face.accepted


def scenes(size, n_frames=24):
    """The astronaut moves over a frame of this size; a second, smaller one comes after eight frames."""
    photo = skimage.data.astronaut()[:300, 60:400]
    small = cv2.resize(photo, None, fx=0.6, fy=0.6, interpolation=cv2.INTER_AREA)
    for step in range(n_frames):
        frame = np.full((size[1], size[0], 3), 90, np.uint8)
        y, x = 20 + step, 10 + 3 * step
        frame[y : y + 300, x : x + 340] = photo
        if step >= 8:
            frame[-len(small) :, -small.shape[1] :] = small
        yield frame


@pytest.mark.parametrize("size", [(720, 480), (1920, 1080)])
def test_faces_are_those_of_the_frame_as_a_photo(size):
    """From the fifth frame on in which they can be seen. Nearly all boxes are equal to the bit."""
    rejector = FaceRejector.pretrained()
    tracker, equal, all_faces = FaceTracker(rejector), 0, 0
    for number, frame in enumerate(scenes(size)):
        tracked, alone = tracker.update(frame), rejector(frame)
        if 8 <= number < 12:
            continue
        assert numbers(tracked) == ([0] if number < 8 else [0, 1])
        for each in tracked:
            (expected,) = [face for face in alone if overlap(face.box, each.face.box) > 0.9]
            all_faces += 1
            if each.face.box == expected.box:
                equal += 1
                assert each.face.uncertainty == expected.uncertainty
                np.testing.assert_array_equal(each.face.landmarks, expected.landmarks)
    assert equal >= 0.9 * all_faces


@pytest.mark.parametrize("options", [{}, {"every_frame": True}])
def test_a_plain_detector_gives_the_faces_of_photos(options):
    rejector = FaceRejector.pretrained(detector=FaceDetector())
    photo = skimage.data.astronaut()[:300, 60:400]
    tracker = FaceTracker(rejector, Tracking(**options))
    for shift in (0, 3, 6):
        frame = np.roll(photo, shift, axis=1)
        (expected,), (tracked,) = rejector(frame), tracker.update(frame)
        assert tracked.track == 0
        assert (tracked.face.box, tracked.face.uncertainty) == (expected.box, expected.uncertainty)
        assert tracked.face.detector_score == expected.detector_score


@pytest.mark.data
def test_videos_are_scored_as_photos(faces_dir):
    """A part of what tools/bench/tracking.py measures."""
    from facereject.sources.video import open_video

    rejector = FaceRejector.pretrained()
    tracker, agree, frames = FaceTracker(rejector), 0, 0
    with open_video(faces_dir / "video" / "want.mkv") as video:
        for frame in video:
            every = rejector(frame.image)
            needed = tracker.update(frame.image, frame.time_s)
            decisions = [
                bool(faces) and all(face.accepted for face in faces)
                for faces in (every, [t.face for t in needed])
            ]
            agree += decisions[0] == decisions[1]
            frames += 1
    assert agree >= 0.95 * frames


@pytest.mark.parametrize("options", [{"detect_every": 0}, {"smooth": -1}])
def test_wrong_options_are_named(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        Tracking(**options)
