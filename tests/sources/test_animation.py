"""Animated pictures are videos with the durations of their frames."""

from __future__ import annotations

import os

import numpy as np
import PIL.Image
import pytest

from facereject.sources.video import VideoError, open_video

# transparent in no format, and far apart also after compression
COLORS = [(250, 10, 10), (10, 250, 10), (10, 10, 250), (250, 250, 10)]


def pictures(size=(32, 24)):
    return [PIL.Image.new("RGB", size, color) for color in COLORS]


def save(path, duration, **options):
    first, *rest = pictures()
    first.save(path, save_all=True, append_images=rest, duration=duration, **options)


@pytest.mark.parametrize("name", ["a.gif", "a.webp", "a.png", "a.apng"])
def test_frames_and_their_times(tmp_path, name):
    save(tmp_path / name, [100, 250, 40, 60])
    with open_video(tmp_path / name) as video:
        assert video.size == (32, 24)
        assert video.frame_count_hint == 4
        assert video.fps == pytest.approx(10)
        frames = list(video)
        assert video.undecodable == 0
    assert [frame.index for frame in frames] == [0, 1, 2, 3]
    assert [frame.time_s for frame in frames] == [0, 0.1, 0.35, 0.39]
    for frame, color in zip(frames, COLORS, strict=True):
        assert frame.image.shape == (24, 32, 3)
        assert np.abs(frame.image.reshape(-1, 3).mean(axis=0) - color).max() < 12


def test_frames_that_ask_for_no_time_get_that_of_browsers(tmp_path):
    save(tmp_path / "a.gif", 0)
    with open_video(tmp_path / "a.gif") as video:
        assert [frame.time_s for frame in video] == pytest.approx([0, 0.1, 0.2, 0.3])


def test_frames_that_change_only_a_part_are_complete(tmp_path):
    first = PIL.Image.new("RGB", (32, 24), COLORS[0])
    second = first.copy()
    second.paste(COLORS[2], (0, 0, 8, 8))
    first.save(tmp_path / "a.gif", save_all=True, append_images=[second])
    with open_video(tmp_path / "a.gif") as video:
        image = list(video)[1].image
    assert image[2, 2].tolist() == list(COLORS[2])
    assert image[20, 20].tolist() == list(COLORS[0])


def test_transparent_parts_are_black(tmp_path):
    clear = [PIL.Image.new("RGBA", (8, 8), (200, 100, 50, alpha)) for alpha in (255, 0)]
    clear[0].save(tmp_path / "a.webp", save_all=True, append_images=clear[1:], lossless=True)
    with open_video(tmp_path / "a.webp") as video:
        assert [frame.image[0, 0].tolist() for frame in video] == [[200, 100, 50], [0, 0, 0]]


def test_a_truncated_animation_gives_what_it_has_and_counts_the_rest(tmp_path, rng):
    noise = [PIL.Image.fromarray(rng.integers(0, 256, (60, 80, 3), dtype=np.uint8)) for _ in range(6)]
    path = tmp_path / "a.png"
    noise[0].save(path, save_all=True, append_images=noise[1:])
    os.truncate(path, path.stat().st_size * 55 // 100)
    with open_video(path) as video:
        n_frames = len(list(video))
        assert n_frames == 3
        assert video.undecodable == 3


def test_a_truncated_gif_is_counted_as_far_as_it_goes(tmp_path, rng):
    noise = [PIL.Image.fromarray(rng.integers(0, 256, (60, 80, 3), dtype=np.uint8)) for _ in range(6)]
    path = tmp_path / "a.gif"
    noise[0].save(path, save_all=True, append_images=noise[1:])
    os.truncate(path, path.stat().st_size * 55 // 100)
    with open_video(path) as video:
        n_frames = len(list(video))
        assert 3 <= n_frames <= 4
        assert video.undecodable == 4 - n_frames


def test_frames_that_are_too_large_are_refused(tmp_path):
    save(tmp_path / "a.gif", 100)
    with pytest.raises(VideoError, match=r"a\.gif: frames of 32 x 24 pixels are more than the limit of 767"):
        open_video(tmp_path / "a.gif", max_pixels=767)
    open_video(tmp_path / "a.gif", max_pixels=768).close()
