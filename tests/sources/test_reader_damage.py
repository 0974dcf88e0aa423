"""Videos that are damaged, cut off, empty or none: frames that can be decoded are, the rest is counted."""

from __future__ import annotations

import builtins
import os

import pytest
from video_files import RATE, damage_frames, damage_packets, encode, number_of, picture, write_video

from facereject.sources.video import VideoError, open_video


def read(path):
    with open_video(path) as video:
        frames = list(video)
        return frames, video.undecodable


@pytest.mark.parametrize("name", ["f.avi", "f.mkv"])
@pytest.mark.parametrize("broken", [[10, 11, 12], [0, 1], [5], [3, 9, 20]])
def test_reading_goes_on_behind_damaged_frames(tmp_path, name, broken):
    path = write_video(tmp_path / name, 30)
    damage_frames(path, broken)
    frames, undecodable = read(path)
    assert [number_of(frame.image) for frame in frames] == [i for i in range(30) if i not in broken]
    assert [frame.index for frame in frames] == list(range(30 - len(broken)))
    assert undecodable == len(broken)


def test_times_behind_damaged_frames_are_still_those_of_the_container(tmp_path):
    path = write_video(tmp_path / "f.avi", 30)
    damage_frames(path, [10, 11, 12])
    frames, _ = read(path)
    assert frames[10].time_s == pytest.approx(13 / RATE, abs=1e-4)


def test_damaged_frames_at_the_end_are_counted(tmp_path):
    path = write_video(tmp_path / "f.avi", 30)
    damage_frames(path, [28, 29])
    frames, undecodable = read(path)
    assert (len(frames), undecodable) == (28, 2)


@pytest.mark.parametrize("broken", [[20], [5, 6], [59], [58, 59], [30], list(range(24, 36))])
def test_damage_in_a_video_whose_frames_lean_on_each_other_is_counted_exactly(tmp_path, broken):
    path = encode(tmp_path / "f.mp4", [picture(i) for i in range(60)], g=12, bf=2, sc_threshold=0)
    damage_packets(path, broken)
    frames, undecodable = read(path)
    assert undecodable == len(broken)
    assert len(frames) == 60 - len(broken)


def test_frames_without_their_key_frame_give_no_error_and_are_counted_all_the_same(tmp_path):
    path = encode(tmp_path / "f.mp4", [picture(i) for i in range(60)], g=12, bf=0, sc_threshold=0)
    damage_packets(path, [0])
    frames, undecodable = read(path)
    assert undecodable >= 1
    assert len(frames) + undecodable == 60
    # the clock does not start with the first frame that can be shown
    assert frames[-1].time_s == pytest.approx(59 / 25)


def test_a_video_with_no_intact_frame(tmp_path):
    path = write_video(tmp_path / "f.avi", 5)
    damage_frames(path, range(5))
    with pytest.raises(VideoError, match=r"f\.avi: no frame of the video can be decoded"):
        open_video(path)


@pytest.mark.parametrize("name", ["f.avi", "f.mkv"])
def test_a_truncated_video_gives_what_it_has_and_counts_the_rest(tmp_path, name):
    path = write_video(tmp_path / name, 90)
    os.truncate(path, path.stat().st_size // 3)
    frames, undecodable = read(path)
    assert 25 <= len(frames) <= 31
    assert [number_of(frame.image) for frame in frames] == [i % 32 for i in range(len(frames))]
    # Matroska only tells the length
    assert abs(len(frames) + undecodable - 90) <= (0 if name == "f.avi" else 1)


def test_a_table_that_counts_more_frames_than_fit_in_the_file_is_not_believed(tmp_path):
    path = write_video(tmp_path / "f.avi", 10)
    data = bytearray(path.read_bytes())
    length = data.index(b"strh") + 8 + 32
    data[length : length + 4] = (2**24).to_bytes(4, "little")
    path.write_bytes(data)
    with open_video(path) as video:
        assert video.frame_count_hint is None
        assert len(list(video)) == 10
        assert video.undecodable == 0


def test_an_mp4_cut_before_its_index_is_refused(tmp_path):
    path = write_video(tmp_path / "f.mp4", 30, code="mp4v")
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(VideoError, match=r"f\.mp4: not a video in a format that can be read"):
        open_video(path)


@pytest.mark.parametrize(("name", "code"), [("f.avi", "MJPG"), ("f.mp4", "mp4v"), ("f.mkv", "MJPG")])
def test_a_video_without_frames(tmp_path, name, code):
    write_video(tmp_path / name, 0, code=code)
    with pytest.raises(VideoError, match=rf"{name}: .*frame"):
        open_video(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("f.mp4", b"", "the file is empty"),
        ("f.gif", b"", "the file is empty"),
        ("f.mp4", b"words, words, words\n" * 100, "not a video in a format that can be read"),
        ("f.avi", b"RIFF" + bytes(100), "not a video in a format that can be read"),
        ("f.gif", b"GIF89a" + bytes(100), "not a video in a format that can be read"),
        ("f.txt", b"words, words, words\n" * 100, "not a video in a format that can be read"),
    ],
)
def test_files_that_are_no_videos(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(VideoError) as caught:
        open_video(tmp_path / name)
    assert str(caught.value).startswith(f"{tmp_path / name}: {words}")


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(VideoError, match=r"f\.mp4: no such file"):
        open_video(tmp_path / "f.mp4")
    with pytest.raises(VideoError, match=r"cannot be read \(is a directory"):
        open_video(tmp_path)


def test_a_file_without_permission(tmp_path, monkeypatch):
    def refuse(path, *args, **options):
        raise PermissionError(13, "Permission denied", str(path))

    path = write_video(tmp_path / "f.avi", 2)
    monkeypatch.setattr(builtins, "open", refuse)
    with pytest.raises(VideoError, match=r"f\.avi: the file may not be read \(permission denied\)"):
        open_video(path)
