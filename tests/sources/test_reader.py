"""Videos: every decodable frame in order, at the time the container says, upright; failures are counted."""

from __future__ import annotations

import os
import subprocess
import sys

import cv2
import numpy as np
import PIL.Image
import pytest
from video_files import (
    RATE,
    damage_frames,
    display_matrix,
    durations,
    edit_mp4,
    number_of,
    picture,
    quarter_turn,
    shown,
    write_video,
)

from facereject.sources.frame import SteadyClock
from facereject.sources.video import VideoError, open_video, prefetch

FORMATS = [("f.avi", "MJPG"), ("f.mp4", "mp4v"), ("f.mkv", "MJPG"), ("f.mov", "mp4v"), ("f.mkv", "mp4v")]


def read(path, **options):
    with open_video(path, **options) as video:
        frames = list(video)
        return frames, video.undecodable


@pytest.mark.parametrize(("name", "code"), FORMATS)
def test_frames_in_order_with_their_times(tmp_path, name, code):
    path = write_video(tmp_path / name, 30, code=code)
    with open_video(path) as video:
        assert video.fps == pytest.approx(RATE, rel=1e-5)
        assert video.size == (160, 120)
        assert video.frame_count_hint == 30
        frames = list(video)
        assert video.undecodable == 0
    assert [frame.index for frame in frames] == list(range(30))
    assert [number_of(frame.image) for frame in frames] == list(range(30))
    # Matroska counts milliseconds
    assert [frame.time_s for frame in frames] == pytest.approx([i / RATE for i in range(30)], abs=6e-4)
    assert frames[0].image.dtype == np.uint8
    assert frames[0].image.flags.c_contiguous


def test_a_script_that_stops_reading_ends_without_a_word(tmp_path):
    path = write_video(tmp_path / "f.mp4", 30)
    code = f"""
from facereject.sources import open_video
with open_video({str(path)!r}) as video:
    for frame in video:
        break
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_colours_are_rgb(tmp_path):
    writer = cv2.VideoWriter(str(tmp_path / "f.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 25, (64, 48))
    writer.write(np.full((48, 64, 3), (20, 60, 220), np.uint8))
    writer.release()
    frames, _ = read(tmp_path / "f.avi")
    assert np.abs(frames[0].image.reshape(-1, 3).mean(axis=0) - (220, 60, 20)).max() < 6


def test_pixels_are_those_of_opencv(tmp_path):
    path = write_video(tmp_path / "f.avi", 3)
    capture = cv2.VideoCapture(str(path))
    for frame in read(path)[0]:
        np.testing.assert_array_equal(frame.image, capture.read()[1][:, :, ::-1])


def test_a_video_of_one_frame(tmp_path):
    frames, undecodable = read(write_video(tmp_path / "f.avi", 1))
    assert [(frame.index, frame.time_s) for frame in frames] == [(0, 0)]
    assert undecodable == 0


def test_times_of_a_variable_rate_are_those_of_the_container(tmp_path):
    path = write_video(tmp_path / "f.mp4", 12, code="mp4v", rate=25)
    ticks = 512
    runs = durations([(4, ticks), (4, 5 * ticks), (4, ticks)])
    edit_mp4(path, {"stts": runs, "elst": shown(length_ms=1120)})
    frames, undecodable = read(path)
    steps = [0.04] * 4 + [0.2] * 4 + [0.04] * 3
    assert [frame.time_s for frame in frames] == pytest.approx([0, *np.cumsum(steps)], abs=1e-5)
    assert [number_of(frame.image) for frame in frames] == list(range(12))
    assert undecodable == 0


def test_rotation_is_applied(tmp_path):
    path = write_video(tmp_path / "f.mp4", 3, code="mp4v")
    edit_mp4(path, {"tkhd": quarter_turn})
    with open_video(path) as video:
        assert video.size == (120, 160)
        frames = list(video)
    upright = np.rot90(picture(2), -1)
    assert frames[2].image.shape == upright.shape
    assert np.abs(frames[2].image.astype(int) - upright).mean() < 12


@pytest.mark.parametrize(
    ("matrix", "turned"),
    [
        ((1, 0, 0, 1), lambda image: image),
        ((0, 1, -1, 0), lambda image: np.rot90(image, -1)),
        ((-1, 0, 0, -1), lambda image: np.rot90(image, 2)),
        ((0, -1, 1, 0), np.rot90),
        ((-1, 0, 0, 1), lambda image: image[:, ::-1]),
        ((1, 0, 0, -1), lambda image: image[::-1]),
        ((0, 1, 1, 0), lambda image: image.transpose(1, 0, 2)),
        ((0, -1, -1, 0), lambda image: image[::-1, ::-1].transpose(1, 0, 2)),
    ],
)
def test_every_turn_and_mirror_image_is_applied(tmp_path, matrix, turned):
    path = write_video(tmp_path / "f.mp4", 2, code="mp4v")
    edit_mp4(path, {"tkhd": display_matrix(*matrix)})
    wanted = turned(picture(1))
    (_, frame), _ = read(path)
    assert frame.image.shape == wanted.shape
    assert frame.image.flags.c_contiguous
    assert np.abs(frame.image.astype(int) - wanted).mean() < 12


def test_frames_hidden_by_an_edit_list_are_not_missing(tmp_path):
    path = write_video(tmp_path / "f.mp4", 20, code="mp4v", rate=25)
    edit_mp4(path, {"elst": shown(first_tick=5 * 512)})
    frames, undecodable = read(path)
    assert [number_of(frame.image) for frame in frames] == list(range(5, 20))
    assert frames[0].time_s == 0
    assert undecodable == 0


def test_a_changing_resolution_is_given_as_it_is(tmp_path):
    sizes = [(160, 120)] * 3 + [(80, 60)] * 3 + [(320, 240)] * 3
    pictures = [cv2.imencode(".jpg", picture(i, size))[1].tobytes() for i, size in enumerate(sizes)]
    (tmp_path / "f.mjpeg").write_bytes(b"".join(pictures))
    frames, undecodable = read(tmp_path / "f.mjpeg")
    assert [frame.image.shape for frame in frames] == [(height, width, 3) for width, height in sizes]
    assert [number_of(frame.image) for frame in frames] == list(range(9))
    assert undecodable == 0
    assert np.abs(frames[7].image.astype(int) - picture(7, (320, 240))[:, :, ::-1]).mean() < 12


def test_stamps_that_go_back_or_stand_still_become_steps_of_the_rate():
    clock = SteadyClock(0.04)
    stamps = [0, 0.04, 0.08, 0.02, 0.06, 0.06, float("nan"), 0.5]
    assert [clock.time(stamp) for stamp in stamps] == [0, 0.04, 0.08, 0.12, 0.16, 0.2, 0.24, 0.74]


def test_frames_that_are_too_large_are_refused(tmp_path):
    path = write_video(tmp_path / "f.avi", 2)
    with pytest.raises(VideoError, match=r"frames of 160 x 120 pixels are more than the limit of 19,199"):
        open_video(path, max_pixels=160 * 120 - 1)
    assert len(read(path, max_pixels=160 * 120)[0]) == 2


@pytest.mark.skipif(os.name != "posix", reason="other systems refuse such names")
@pytest.mark.parametrize("name", ["12:30.avi", "concat:a|b.avi", "100%d.avi", "é ü.avi", "-f.avi"])
def test_odd_names(folder, name):
    os.rename(write_video(folder / "f.avi", 4), name)
    assert len(read(name)[0]) == 4


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems refuse such names")
def test_names_that_are_not_utf8(folder):
    name = os.fsdecode(b"caf\xe9\xe9.a\xe9i")
    for target in (os.fsdecode(b"caf\xe9.avi"), name):
        os.rename(write_video(folder / "f.avi", 4), target)
        assert len(read(target)[0]) == 4
    os.truncate(name, 0)
    with pytest.raises(VideoError) as caught:
        open_video(name)
    assert str(caught.value) == "caf\\xe9\\xe9.a\\xe9i: the file is empty"


def test_stderr_stays_clean(tmp_path, capfd):
    (tmp_path / "text.mp4").write_text("words\n" * 100)
    path = write_video(tmp_path / "f.avi", 10)
    damage_frames(path, [4])
    capfd.readouterr()
    with pytest.raises(VideoError):
        open_video(tmp_path / "text.mp4")
    assert read(path)[1] == 1
    assert capfd.readouterr() == ("", "")


def test_a_video_is_read_once_and_prefetched_all_the_same(tmp_path):
    path = write_video(tmp_path / "f.avi", 20)
    with open_video(path) as video:
        first = next(iter(video))
        rest = [frame.index for frame in prefetch(video, 3)]
        assert [first.index, *rest] == list(range(20))
        assert list(video) == []


def test_frames_that_somebody_keeps_are_not_written_over(tmp_path):
    path = write_video(tmp_path / "f.avi", 30)
    kept, parts = [], []
    with open_video(path) as video:
        for frame in video:
            if frame.index % 3 == 0:
                kept.append(frame.image)
            elif frame.index % 3 == 1:
                # a part keeps the whole
                parts.append(frame.image[: 120 // 2, : 160 // 2])
    assert [number_of(image) for image in kept] == list(range(0, 30, 3))
    assert [round(float(part.mean()) / 8) for part in parts] == list(range(1, 30, 3))


def test_closing_ends_the_frames_also_of_a_thread_that_reads_ahead(tmp_path):
    path = write_video(tmp_path / "f.avi", 60)
    video = open_video(path)
    ahead = prefetch(video, 2)
    assert next(ahead).index == 0
    video.close()
    assert len(list(ahead)) <= 4
    assert video.undecodable == 0
    video.close()


def test_a_single_picture_under_a_name_of_videos_is_a_video_of_one_frame(tmp_path):
    PIL.Image.fromarray(picture(3)).save(tmp_path / "f.gif")
    frames, _ = read(tmp_path / "f.gif")
    assert [(frame.index, frame.time_s) for frame in frames] == [(0, 0)]


@pytest.mark.data
def test_real_clips_lose_no_frame(faces_dir):
    clips = sorted((faces_dir / "video").glob("*.mkv"))
    assert clips
    for clip in clips:
        packets = cv2.VideoCapture(str(clip), cv2.CAP_FFMPEG, [cv2.CAP_PROP_FORMAT, -1])
        n_packets = 0
        while packets.grab():
            n_packets += 1
        frames, undecodable = read(clip)
        assert (len(frames), undecodable) == (n_packets, 0)
        times = np.array([frame.time_s for frame in frames])
        np.testing.assert_allclose(times, np.arange(n_packets) / 30, atol=2e-3)
