"""Following faces: stable numbers, few searches, and no face that is not there."""

from __future__ import annotations

import math

import numpy as np
import pytest
import skimage.data
from fake_world import DOUBTFUL, GOOD, Hesitant, Someone, World, blank

from facereject._options import OptionError
from facereject.faces import FaceRejector
from facereject.tracking.tracker import DETECT_EVERY, MEMORY, FaceTracker, Tracking


@pytest.fixture
def follow():
    """Makes a tracker in a world."""

    def make(world, *, first_frame=0, **options):
        return FaceTracker(world, Tracking(**options), first_frame=first_frame)

    return make


def numbers(faces):
    return [tracked.track for tracked in faces]


def test_a_certain_face_is_followed_by_its_landmarks_alone(follow):
    someone = Someone(100, 80)
    tracker = follow(World(someone), detect_every=10)
    for step in range(10):
        someone.box = someone.box._replace(x=100.0 + 2 * step)
        (tracked,) = tracker.update(blank())
        assert tracked.track == 0
        assert tracked.detected == (step == 0)
        assert np.isnan(tracked.face.detector_score) == (step > 0)
        assert abs(tracked.face.landmarks[:, 0].mean() - someone.box.center[0]) < 1
    assert (tracker.searches, tracker.local_searches) == (1, 0)


def test_the_box_of_the_next_frame_is_like_the_box_of_the_detector(follow):
    tracker = follow(World(Someone(100, 80)))
    first = tracker.update(blank())[0].face.box
    for _ in range(20):
        (tracked,) = tracker.update(blank())
        np.testing.assert_allclose(tracked.face.box, first, atol=1e-6)


def test_a_doubtful_face_is_confirmed_by_a_search_around_it(follow):
    someone = Someone(100, 80, uncertainty=DOUBTFUL)
    tracker = follow(World(someone), detect_every=50)
    for _ in range(20):
        assert numbers(tracker.update(blank())) == [0]
    assert tracker.searches == 1
    assert tracker.local_searches == 19


def test_a_doubtful_face_that_the_detector_does_not_confirm_is_lost_and_found_again(follow):
    someone = Someone(100, 80)
    tracker = follow(World(someone), detect_every=200)
    tracker.update(blank())
    someone.uncertainty, someone.seen = DOUBTFUL, False
    assert tracker.update(blank()) == []
    someone.uncertainty, someone.seen = GOOD, True
    assert numbers(tracker.update(blank())) == [0]


def test_a_certain_face_stays_although_the_detector_misses_it(follow):
    someone = Someone(100, 80)
    tracker = follow(World(someone), detect_every=3)
    tracker.update(blank())
    someone.seen = False
    assert all(numbers(tracker.update(blank())) == [0] for _ in range(10))


@pytest.mark.parametrize("others", [0, 1])
def test_a_new_face_waits_for_at_most_so_many_frames(follow, others):
    world = World(*[Someone(30, 80)] * others)
    tracker = follow(world, detect_every=7)
    for _ in range(30):
        tracker.update(blank())
    world.faces.append(Someone(200, 80))
    shown = [len(tracker.update(blank())) for _ in range(7)]
    assert shown[-1] == others + 1


def test_without_a_face_the_detector_rests(follow):
    tracker = follow(World(), detect_every=25)
    for _ in range(200):
        assert tracker.update(blank()) == []
    # every 13 frames: twice as often as with a face in view
    assert tracker.searches == 16
    assert tracker.local_searches == 0


def test_a_face_that_is_gone_at_once_is_searched_for_in_the_same_frame(follow):
    someone = Someone(40, 40)
    tracker = follow(World(someone), detect_every=100)
    for _ in range(10):
        tracker.update(blank())
    someone.box = someone.box._replace(x=200.0, y=150.0)
    (tracked,) = tracker.update(blank())
    assert tracked.face.box == someone.box
    assert tracked.track == 1


def test_searches_for_a_face_that_stays_away_become_rare(follow):
    world = World(Someone(40, 40))
    tracker = follow(world, detect_every=64)
    for _ in range(10):
        tracker.update(blank())
    world.faces.clear()
    for _ in range(128):
        assert tracker.update(blank()) == []
    assert tracker.searches <= 8
    # its place is remembered for a while, and looked at
    assert 10 < tracker.local_searches <= MEMORY


def test_another_scene_is_searched_at_once_and_keeps_no_stale_box(follow):
    world = World(Someone(40, 40))
    tracker = follow(world, detect_every=100)
    for _ in range(3):
        tracker.update(blank(40))
    world.faces[:] = [Someone(200, 120)]
    (tracked,) = tracker.update(blank(200))
    assert tracked.face.box == world.faces[0].box
    world.faces.clear()
    assert tracker.update(blank(40)) == []


def test_a_number_is_kept_for_a_while_and_never_given_again(follow):
    someone = Someone(100, 80)
    world = World(someone)
    tracker = follow(world, detect_every=5)
    tracker.update(blank())
    for gap, number in ((MEMORY - 10, 0), (MEMORY + 10, 1), (MEMORY + 10, 2)):
        world.faces.clear()
        for _ in range(gap):
            assert tracker.update(blank()) == []
        world.faces.append(someone)
        seen = [tracker.update(blank()) for _ in range(5)][-1]
        assert numbers(seen) == [number]


def test_two_faces_keep_their_numbers_by_place(follow):
    left, right = Someone(30, 80), Someone(200, 80)
    tracker = follow(World(left, right), detect_every=4)
    tracker.update(blank())
    for step in range(30):
        left.box = left.box._replace(y=80.0 - step)
        right.box = right.box._replace(y=80.0 + step)
        faces = tracker.update(blank())
        assert numbers(faces) == [0, 1]
        assert faces[0].face.landmarks[:, 0].max() < faces[1].face.landmarks[:, 0].min()


def test_two_tracks_on_one_face_become_one(follow):
    front, behind = Someone(100, 80), Someone(160, 80)
    world = World(front, behind)
    tracker = follow(world, detect_every=50)
    assert numbers(tracker.update(blank())) == [0, 1]
    for x in (150.0, 140.0, 130.0, 120.0, 110.0):
        behind.box = behind.box._replace(x=x)
        faces = tracker.update(blank())
    assert numbers(faces) == [0]


def test_a_face_that_leaves_the_picture_ends_its_track(follow):
    someone = Someone(250, 80)
    world = World(someone)
    tracker = follow(world, detect_every=5)
    for step in range(12):
        someone.box = someone.box._replace(x=250.0 + 8 * step)
        tracker.update(blank())
    assert tracker.update(blank()) == []
    someone.box = someone.box._replace(x=250.0)
    seen = [tracker.update(blank()) for _ in range(5)][-1]
    assert numbers(seen) == [1]


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


def test_every_frame_gives_what_the_rejector_gives():
    rejector = FaceRejector.pretrained()
    photo = skimage.data.astronaut()[:300, 60:400]
    tracker = FaceTracker(rejector, Tracking(every_frame=True))
    for shift in (0, 3, 6):
        frame = np.roll(photo, shift, axis=1)
        (expected,), (tracked,) = rejector(frame), tracker.update(frame)
        assert tracked.track == 0
        assert (tracked.face.box, tracked.face.uncertainty) == (expected.box, expected.uncertainty)
        assert tracked.face.detector_score == expected.detector_score
    assert tracker.searches == 3


def test_a_wandering_photo_is_judged_as_by_detecting_in_every_frame():
    rejector = FaceRejector.pretrained()
    photo = skimage.data.astronaut()[:300, 60:400]
    tracker = FaceTracker(rejector, Tracking(detect_every=30))
    for step in range(40):
        frame = np.roll(photo, (step // 4, 2 * step), axis=(0, 1))
        (expected,), (tracked,) = rejector(frame), tracker.update(frame)
        assert tracked.track == 0
        assert tracked.face.accepted == expected.accepted
        error = np.linalg.norm(tracked.face.landmarks - expected.landmarks, axis=1).mean()
        assert error < 0.03 * expected.box.width
    assert tracker.searches == 2


def test_searches_keep_the_beat_of_the_video_wherever_a_tracker_begins(follow):
    def searched(first, last=200):
        tracker = follow(World(Someone(100, 80)), detect_every=25, first_frame=first)
        found = set()
        for number in range(first, last):
            before = tracker.searches
            tracker.update(blank())
            if tracker.searches > before:
                found.add(number)
        return found

    whole = searched(0)
    assert whole == set(range(0, 200, 25))
    for first in (7, 25, 130):
        assert searched(first) == {number for number in whole if number >= first} | {first}


# less certain than three quarters of the calibration faces, and far from the threshold
WEAK = 0.9


@pytest.mark.parametrize(("score", "looks"), [(0.4, 20), (0.5, 10), (2.0, 4)])
def test_a_high_score_vouches_for_a_weak_face_for_some_frames(follow, score, looks):
    someone = Someone(100, 80, uncertainty=WEAK)
    world = Hesitant(someone)
    world.scores[someone] = score
    tracker = follow(world, detect_every=50)
    for _ in range(21):
        assert numbers(tracker.update(blank())) == [0]
    assert (tracker.searches, tracker.local_searches) == (1, looks)


def test_no_score_vouches_for_a_face_without_landmarks(follow):
    someone = Someone(100, 80, uncertainty=math.inf)
    world = Hesitant(someone)
    tracker = follow(world, detect_every=50)
    for _ in range(4):
        tracker.update(blank())
    # the detector is asked in every frame
    assert tracker.local_searches == 3


@pytest.mark.parametrize("uncertainty", [WEAK + 0.2, DOUBTFUL])
def test_no_score_vouches_for_a_face_that_changes_or_comes_close_to_the_threshold(follow, uncertainty):
    someone = Someone(100, 80, uncertainty=WEAK)
    world = Hesitant(someone)
    world.scores[someone] = 5.0
    tracker = follow(world, detect_every=50)
    for _ in range(3):
        tracker.update(blank())
    assert tracker.local_searches == 0
    someone.uncertainty = uncertainty
    assert tracker.update(blank())[0].detected
    assert tracker.local_searches == 1


def test_a_weak_face_that_the_detector_no_longer_finds_is_lost_when_nothing_vouches_for_it(follow):
    someone = Someone(100, 80, uncertainty=WEAK)
    world = Hesitant(someone)
    world.scores[someone] = 1.0
    tracker = follow(world, detect_every=50)
    assert numbers(tracker.update(blank())) == [0]
    world.scores[someone] = -0.5
    seen = [numbers(tracker.update(blank())) for _ in range(4)]
    assert seen == [[0], [0], [], []]


def test_no_box_is_judged_twice_in_a_frame(follow):
    # it becomes doubtful in a frame in which its landmarks were predicted from the same box
    someone = Someone(100, 80)
    world = World(someone)
    judged = []

    def assess(image, box):
        judged.append(box)
        return World.assess_box(world, image, box)

    world.assess_box = assess
    tracker = follow(world, detect_every=50)
    tracker.update(blank())
    someone.uncertainty = DOUBTFUL
    judged.clear()
    assert tracker.update(blank())[0].detected
    assert judged == [someone.box]


@pytest.mark.data
def test_videos_are_judged_as_by_detecting_in_every_frame(faces_dir):
    """A part of what tools/bench/media.py measures."""
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
    assert tracker.searches <= frames / DETECT_EVERY + 3


@pytest.mark.parametrize("options", [{"detect_every": 0}, {"smooth": -1}])
def test_wrong_options_are_named(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        Tracking(**options)
