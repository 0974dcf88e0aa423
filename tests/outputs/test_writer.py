"""Videos that are written: whole or not there at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from fractions import Fraction

import av
import cv2
import numpy as np
import pytest
from video_files import number_of, picture

from facereject.outputs._video.encoding import CONTAINERS, exact_rate
from facereject.outputs._video.writer import CODECS, VideoWriteError, VideoWriter, fit
from facereject.sources.video import open_video

NTSC = 30000 / 1001


def frames_of(path):
    with open_video(path) as video:
        return video.rate, video.size, [frame.image for frame in video]


@pytest.mark.parametrize("suffix", sorted(CODECS))
def test_every_container_gives_back_the_frames_and_the_rate(tmp_path, suffix):
    path = tmp_path / f"video{suffix}"
    with VideoWriter(path, NTSC, (160, 120)) as video:
        for index in range(25):
            video.write(picture(index))
    rate, size, images = frames_of(path)
    assert rate == Fraction(30000, 1001)
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
    with VideoWriter(path, 25, (64, 48)) as video:
        video.write(picture(1, (64, 48)))
    older = path.read_bytes()

    def write():
        with VideoWriter(path, 25, (64, 48)) as video:
            video.write(picture(0, (64, 48)))
            raise error

    with pytest.raises(error):
        write()
    assert path.read_bytes() == older
    assert [file.name for file in tmp_path.iterdir()] == ["video.mp4"]


def test_without_a_frame_there_is_no_video(tmp_path):
    with VideoWriter(tmp_path / "video.mp4", 25, (64, 48)):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path):
    # in a process of its own, as a limit on the size of files stands for the full disk
    code = f"""
import resource, signal
from video_files import picture
from facereject.outputs._video.writer import VideoWriteError, VideoWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    with VideoWriter({str(tmp_path / "video.mp4")!r}, 25, (320, 240)) as video:
        for index in range(200):
            video.write(picture(index, (320, 240)))
except VideoWriteError as error:
    print(error)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([p for p in sys.path if p])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "video.mp4: cannot be written (File too large)" in done.stdout, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_frames_that_an_encoder_keeps_for_itself_are_an_error(tmp_path):
    class Greedy:
        def __init__(self, stream):
            self.stream, self.room = stream, 5

        def encode(self, frame):
            packets = self.stream.encode(frame)
            taken, self.room = packets[: self.room], self.room - len(packets[: self.room])
            return taken

    def write():
        with VideoWriter(tmp_path / "video.mp4", 25, (64, 48)) as video:
            video._stream = Greedy(video._stream)
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
        ("video.ogv", "choose one of these suffixes"),
        ("video", "choose one of these suffixes"),
        ("none/video.mp4", "there is no folder"),
        ("folder.mp4", "is a folder"),
    ],
)
def test_a_wrong_name_is_told_before_any_work(tmp_path, name, message):
    (tmp_path / "folder.mp4").mkdir()
    with pytest.raises(VideoWriteError, match=message):
        VideoWriter(tmp_path / name, 25, (64, 48))


def test_a_codec_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(CONTAINERS, ".mp4", CONTAINERS[".mp4"]._replace(video=("zzzz",)))
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


@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".m4v", ".mkv", ".webm"])
def test_browsers_play_it(tmp_path, suffix):
    with VideoWriter(tmp_path / f"v{suffix}", 25, (64, 48)) as video:
        for index in range(10):
            video.write(picture(index, (64, 48)))
    with av.open(str(tmp_path / f"v{suffix}")) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == ("vp9" if suffix == ".webm" else "h264")
        assert stream.pix_fmt == "yuv420p"
    if suffix in (".mp4", ".mov", ".m4v"):
        data = (tmp_path / f"v{suffix}").read_bytes()
        # the table of frames lies before the frames, so that playing starts while loading
        assert data.index(b"moov") < data.index(b"mdat")


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".webm"])
def test_frames_keep_times_of_their_own(tmp_path, suffix):
    times = np.round(np.cumsum([0.0] + [0.01, 0.1, 0.033, 0.5] * 5), 3)
    with VideoWriter(tmp_path / f"v{suffix}", 25, (160, 120)) as video:
        for index, time_s in enumerate(times):
            video.write(picture(index), float(time_s))
    with open_video(tmp_path / f"v{suffix}") as video:
        frames = list(video)
    np.testing.assert_allclose([frame.time_s for frame in frames], times, atol=1e-6)
    assert [number_of(frame.image) for frame in frames] == list(range(len(times)))


def test_times_that_a_container_has_rounded_are_exact_again(tmp_path):
    with VideoWriter(tmp_path / "v.mp4", NTSC, (64, 48)) as video:
        for index in range(60):
            video.write(picture(index, (64, 48)), round(index / NTSC, 3))
    with av.open(str(tmp_path / "v.mp4")) as container:
        stream = container.streams.video[0]
        assert stream.average_rate == Fraction(30000, 1001)
        stamps = [frame.pts * stream.time_base for frame in container.decode(stream)]
    assert stamps == [index * Fraction(1001, 30000) for index in range(60)]


@pytest.mark.parametrize(
    ("fps", "rate"),
    [
        (29.97, Fraction(30000, 1001)),
        (29.97002997, Fraction(30000, 1001)),
        (23.976, Fraction(24000, 1001)),
        (59.94, Fraction(60000, 1001)),
        (25.0, Fraction(25)),
        (30, Fraction(30)),
        (24, Fraction(24)),
        (12.5, Fraction(25, 2)),
        (Fraction(15, 2), Fraction(15, 2)),
    ],
)
def test_rates_are_the_fractions_that_are_meant(fps, rate):
    assert exact_rate(fps) == rate


@pytest.mark.skipif(os.name != "posix", reason="there is no kill -9 elsewhere")
@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".mkv", ".webm", ".avi"])
def test_a_recording_whose_process_is_killed_can_be_played(tmp_path, suffix):
    code = f"""
import time
from video_files import picture
from facereject.outputs._video.writer import VideoWriter
video = VideoWriter({str(tmp_path / f"r{suffix}")!r}, 30, (160, 120), fragmented=True)
for index in range(100):
    video.write(picture(index))
while not video._waiting.empty():
    time.sleep(0.01)
video.write(picture(100))
while not video._waiting.empty():
    time.sleep(0.01)
print("written", flush=True)
time.sleep(600)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([p for p in sys.path if p])}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "written\n"
        process.send_signal(signal.SIGKILL)
    (left,) = tmp_path.iterdir()
    assert not left.name.startswith(".")
    assert left.suffix == suffix
    with open_video(left) as video:
        numbers = [number_of(frame.image) for frame in video]
    # no more than the last second is lost
    assert 70 <= len(numbers) <= 101
    assert numbers == [index % 32 for index in range(len(numbers))]


def test_a_recording_that_ends_well_is_an_ordinary_video(tmp_path):
    with VideoWriter(tmp_path / "r.mp4", 30, (160, 120), fragmented=True) as video:
        for index in range(70):
            video.write(picture(index))
    assert [file.name for file in tmp_path.iterdir()] == ["r.mp4"]
    with open_video(tmp_path / "r.mp4") as video:
        assert video.frame_count_hint == 70
        assert len(list(video)) == 70
    assert b"moof" not in (tmp_path / "r.mp4").read_bytes().split(b"mdat")[0]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems refuse such names")
@pytest.mark.parametrize("name", ["12:30.mp4", "concat:a|b.mkv", "100%d.mp4", os.fsdecode(b"caf\xe9.mp4")])
def test_odd_names(folder, name):
    with VideoWriter(name, 25, (64, 48)) as video:
        video.write(picture(1, (64, 48)))
    assert os.listdir() == [name]
    assert len(frames_of(name)[2]) == 1


@pytest.mark.parametrize("fragmented", [False, True])
def test_a_planted_link_is_not_followed(tmp_path, monkeypatch, fragmented):
    (tmp_path / "victim").write_text("precious")
    monkeypatch.setattr("secrets.token_hex", lambda n: "0" * 2 * n)
    for name in (".v.mp4.00000000.facereject-partial.mp4", "v.000000000000.partial.mp4"):
        (tmp_path / name).symlink_to(tmp_path / "victim")
    with pytest.raises(VideoWriteError, match="cannot be written"):
        VideoWriter(tmp_path / "v.mp4", 25, (64, 48), fragmented=fragmented)
    assert (tmp_path / "victim").read_text() == "precious"


@pytest.mark.parametrize("suffix", [".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi"])
def test_only_videos_made_here_are_replaced(tmp_path, suffix):
    path = tmp_path / f"v{suffix}"
    path.write_bytes(b"somebody's work")
    with pytest.raises(VideoWriteError, match="not made by facereject"):
        VideoWriter(path, 25, (64, 48))
    assert path.read_bytes() == b"somebody's work"
    for overwrite in (True, False):
        with VideoWriter(path, 25, (64, 48), overwrite=overwrite) as video:
            video.write(picture(1, (64, 48)))
    assert frames_of(path)[1] == (64, 48)


def test_a_video_of_another_tool_is_not_replaced(tmp_path):
    path = tmp_path / "v.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        frame = av.VideoFrame.from_ndarray(picture(1, (64, 48)), format="rgb24")
        container.mux([*stream.encode(frame), *stream.encode(None)])
    before = path.read_bytes()
    with pytest.raises(VideoWriteError, match="not made by facereject"):
        VideoWriter(path, 25, (64, 48))
    assert path.read_bytes() == before


def test_an_interrupt_while_a_frame_is_queued_loses_no_recording(tmp_path, monkeypatch):
    video = VideoWriter(tmp_path / "r.mp4", 30, (160, 120), fragmented=True)
    for index in range(10):
        video.write(picture(index))
    put = video._waiting.put

    def interrupted(item):
        monkeypatch.setattr(video._waiting, "put", put)
        raise KeyboardInterrupt

    monkeypatch.setattr(video._waiting, "put", interrupted)
    with pytest.raises(KeyboardInterrupt):
        video.write(picture(10))
    video.close()
    assert [number_of(image) for image in frames_of(tmp_path / "r.mp4")[2]] == list(range(10))


def test_an_interrupt_after_a_frame_was_queued_loses_no_recording(tmp_path, monkeypatch):
    video = VideoWriter(tmp_path / "r.mp4", 30, (160, 120), fragmented=True)
    put = video._waiting.put

    def interrupted(item):
        put(item)
        monkeypatch.setattr(video._waiting, "put", put)
        raise KeyboardInterrupt

    monkeypatch.setattr(video._waiting, "put", interrupted)
    with pytest.raises(KeyboardInterrupt):
        video.write(picture(0))
    video.close()
    assert len(frames_of(tmp_path / "r.mp4")[2]) == 1


def test_a_recording_that_plays_is_never_removed(tmp_path, monkeypatch):
    path = tmp_path / "r.mp4"
    video = VideoWriter(path, 30, (160, 120), fragmented=True)
    for index in range(90):
        video.write(picture(index))

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(VideoWriteError, match=r"No space left on device.*what was recorded is in") as caught:
        video.close()
    (left,) = tmp_path.iterdir()
    assert left.name in str(caught.value)
    assert len(frames_of(left)[2]) == 90
