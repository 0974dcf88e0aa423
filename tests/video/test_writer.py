"""Videos that are written: whole or not there at all."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from video_files import number_of, picture

from facereject.video.reader import open_video
from facereject.video.writer import CODECS, VideoWriteError, VideoWriter, fit

NTSC = 30000 / 1001


def frames_of(path):
    with open_video(path) as video:
        return video.fps, video.size, [frame.image for frame in video]


@pytest.mark.parametrize("suffix", sorted(CODECS))
def test_every_container_gives_back_the_frames_and_the_rate(tmp_path, suffix):
    path = tmp_path / f"video{suffix}"
    with VideoWriter(path, NTSC, (160, 120)) as video:
        for index in range(25):
            video.write(picture(index))
    rate, size, images = frames_of(path)
    assert rate == pytest.approx(NTSC, abs=0.001)
    assert size == (160, 120)
    assert [number_of(image) for image in images] == list(range(25))
    # RGB, not BGR
    assert np.abs(images[3].astype(int) - picture(3)).mean() < 12
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_name_of_any_alphabet_and_in_upper_case(tmp_path):
    path = tmp_path / "Gesichter ü 顔.MP4"
    with VideoWriter(path, 25, (64, 48)) as video:
        video.write(picture(1, (64, 48)))
    assert len(frames_of(path)[2]) == 1


def test_without_a_rate_the_usual_one(tmp_path):
    with VideoWriter(tmp_path / "a.mp4", 0.0, (64, 48)) as video:
        video.write(picture(1, (64, 48)))
    assert frames_of(tmp_path / "a.mp4")[0] == pytest.approx(25)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, GeneratorExit])
def test_after_an_exception_nothing_is_left_and_an_older_video_stays(tmp_path, error):
    path = tmp_path / "video.mp4"
    path.write_bytes(b"older")

    def write():
        with VideoWriter(path, 25, (64, 48)) as video:
            video.write(picture(0, (64, 48)))
            raise error

    with pytest.raises(error):
        write()
    assert path.read_bytes() == b"older"
    assert [file.name for file in tmp_path.iterdir()] == ["video.mp4"]


def test_without_a_frame_there_is_no_video(tmp_path):
    with VideoWriter(tmp_path / "video.mp4", 25, (64, 48)):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_video_cut_short_by_a_full_disk_is_an_error_and_leaves_nothing(tmp_path):
    class FullDisk:
        def __init__(self, writer):
            self.writer, self.room = writer, 5

        def write(self, image):
            # as OpenCV does: not a word
            self.room -= 1
            if self.room >= 0:
                self.writer.write(image)

        def release(self):
            self.writer.release()

    def write():
        with VideoWriter(tmp_path / "video.mp4", 25, (64, 48)) as video:
            video._video = FullDisk(video._video)
            for index in range(20):
                video.write(picture(index, (64, 48)))

    with pytest.raises(VideoWriteError, match=r"video.mp4: only 5 of 20 frames.*disk"):
        write()
    assert list(tmp_path.iterdir()) == []


def test_a_frame_that_cannot_be_encoded_is_an_error(tmp_path):
    def degrade():
        with VideoWriter(tmp_path / "video.mp4", 25, (64, 48)) as video:
            for _ in range(20):
                video.write(np.zeros((48, 64, 3), dtype=np.float64))

    with pytest.raises(VideoWriteError, match="could not be encoded"):
        degrade()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("video.webm", "choose one of these suffixes"),
        ("video", "choose one of these suffixes"),
        ("none/video.mp4", "does not exist"),
        ("folder.mp4", "is a folder"),
    ],
)
def test_a_wrong_name_is_told_before_any_work(tmp_path, name, message):
    (tmp_path / "folder.mp4").mkdir()
    with pytest.raises(VideoWriteError, match=message):
        VideoWriter(tmp_path / name, 25, (64, 48))


def test_a_codec_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(CODECS, ".mp4", "zzzz")
    with pytest.raises(VideoWriteError, match=r"zzzz.*another suffix"):
        VideoWriter(tmp_path / "video.mp4", 25, (64, 48))
    assert list(tmp_path.iterdir()) == []


def test_frames_of_another_size_are_fitted_and_odd_sides_trimmed(tmp_path):
    path = tmp_path / "video.avi"
    with VideoWriter(path, 25, (65, 49)) as video:
        for size in ((65, 49), (130, 98), (40, 49), (200, 20)):
            video.write(np.full((size[1], size[0], 3), 200, dtype=np.uint8))
    _, size, images = frames_of(path)
    assert size == (64, 48)
    assert len(images) == 4
    assert images[1].mean() == pytest.approx(200, abs=4)
    # bars where the shape differs
    assert images[2][:, :8].mean() < 20
    assert images[2][:, 32].mean() > 180
    assert images[3][:8].mean() < 20


def test_fit_keeps_what_fits():
    image = np.arange(48 * 64 * 3, dtype=np.uint32).astype(np.uint8).reshape(48, 64, 3)
    assert (fit(image, (64, 48)) == image).all()
    assert fit(cv2.resize(image, (65, 49)), (64, 48)).shape == (48, 64, 3)
