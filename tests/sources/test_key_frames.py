"""Parts of long videos: cut at key frames, every frame in one part, damage counted once."""

from __future__ import annotations

import pytest
from video_files import damage_packets, encode, number_of, packets_of, picture, write_video

from facereject.faces.images import MAX_PIXELS
from facereject.sources.video import open_video
from facereject.sources.video_parts import WARM_UP, find_parts

N_FRAMES = 300


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    images = [picture(i) for i in range(N_FRAMES)]
    for name in ("f.mp4", "f.mkv", "f.mov", "f.ts"):
        encode(folder / name, images, rate=30, g=25, bf=2, crf=12)
    encode(folder / "f.avi", images, rate=30, codec="mpeg4", g=25, b=4_000_000)
    return folder


def read(path, segment=None):
    with open_video(path, segment=segment) as video:
        frames = [(frame.time_s, number_of(frame.image)) for frame in video]
        return frames, video.undecodable, video.begin_s


@pytest.mark.parametrize("name", ["f.mp4", "f.mkv", "f.mov", "f.avi"])
def test_the_parts_together_are_the_video(videos, name):
    whole, _, _ = read(videos / name)
    parts = find_parts(str(videos / name), part_frames=75, warm_up=40)
    assert len(parts) == 4
    keys = {pts for *_, pts, is_key in packets_of(videos / name) if is_key}
    assert all(part.start in keys for part in parts)
    joined, numbers = [], []
    for part in parts:
        frames, undecodable, begin_s = read(videos / name, part)
        own = [frame for frame in frames if frame[0] >= begin_s]
        numbers.append(part.number)
        # before it comes a run-up, which the part before has, too
        assert frames == whole[part.number : len(joined) + len(own)]
        assert len(frames) - len(own) == (40 if joined else 0)
        # as even as key frames every 25 frames allow
        assert abs(len(own) - 75) <= 25
        assert undecodable == 0
        joined += own
    assert joined == whole
    assert numbers[0] == 0


def test_only_long_videos_are_cut(videos):
    path = str(videos / "f.mp4")
    assert find_parts(path, part_frames=N_FRAMES // 2 + 1) == []
    assert len(find_parts(path, part_frames=N_FRAMES // 2)) == 4
    assert len(find_parts(path, part_frames=74)) == 8
    assert find_parts(path) == []


def test_videos_that_cannot_be_searched_are_left_whole(videos, tmp_path):
    assert find_parts(str(videos / "f.ts"), part_frames=70) == []
    encode(tmp_path / "one_key.mp4", [picture(i) for i in range(60)], g=1000)
    assert find_parts(str(tmp_path / "one_key.mp4"), part_frames=20) == []


@pytest.mark.parametrize("broken", [[60], [80, 81], [0], [75], [299], [110, 149, 150, 151, 290]])
def test_damaged_frames_are_counted_once(videos, tmp_path, broken):
    path = tmp_path / "f.mp4"
    path.write_bytes((videos / "f.mp4").read_bytes())
    damage_packets(path, broken)
    whole, undecodable, _ = read(path)
    assert len(whole) + undecodable == N_FRAMES
    assert undecodable >= len(broken)
    joined, total = [], 0
    for part in find_parts(str(path), part_frames=70, warm_up=40):
        frames, failed, begin_s = read(path, part)
        joined += [frame for frame in frames if frame[0] >= begin_s]
        total += failed
    assert [time_s for time_s, _ in joined] == [time_s for time_s, _ in whole]
    assert total == undecodable


def test_a_part_that_is_damaged_as_a_whole_has_no_frames(videos, tmp_path):
    path = tmp_path / "f.mp4"
    path.write_bytes((videos / "f.mp4").read_bytes())
    parts = find_parts(str(path), part_frames=100, warm_up=0)
    damage_packets(path, range(150, 300))
    frames, undecodable, _ = read(path, parts[-1])
    assert (frames, undecodable) == ([], sum(pts >= parts[-1].start for _, _, pts, _ in packets_of(path)))
    assert undecodable >= 50


def test_frames_missing_at_the_end_belong_to_the_last_part(tmp_path):
    path = write_video(tmp_path / "f.avi", 90)
    data = path.read_bytes()
    # the index at the end goes, too, but seeking needs none where every frame is a key frame
    path.write_bytes(data[: 3 * len(data) // 4])
    whole, undecodable, _ = read(path)
    assert len(whole) + undecodable == 90
    parts = find_parts(str(path), part_frames=20, warm_up=5)
    assert len(parts) == 4
    counts = [read(path, part) for part in parts]
    assert [failed for _, failed, _ in counts] == [0, 0, 0, undecodable]
    assert sum(time_s >= begin_s for frames, _, begin_s in counts for time_s, _ in frames) == len(whole)


def test_the_limit_of_pixels_holds_for_parts(videos):
    with pytest.raises(ValueError, match="more than the limit"):
        find_parts(str(videos / "f.mp4"), part_frames=70, max_pixels=100)
    assert find_parts(str(videos / "f.mp4"), part_frames=70, max_pixels=MAX_PIXELS)


def test_the_run_up_covers_what_the_tracker_remembers():
    from facereject.tracking.tracker import DETECT_EVERY, MEMORY

    assert max(DETECT_EVERY, MEMORY) <= WARM_UP
