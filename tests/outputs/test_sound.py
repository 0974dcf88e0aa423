"""The sound of saved videos: kept, cut with the pictures, and in time with them."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest
from video_files import encode

from facereject.outputs._video.writer import VideoWriter
from facereject.sources.video import open_video

RATE = Fraction(30000, 1001)
SAMPLE_RATE = 44_100
#: the picture flashes and a tone sounds in the first frames of every second
PERIOD, LIT = 30, 5
N_FRAMES = 120
#: seconds by which a tone may miss its flash: one hears and sees less than a frame of 33 ms as one
TOLERANCE = 0.012


def flashing(n_frames=N_FRAMES):
    for index in range(n_frames):
        yield np.full((72, 96, 3), 230 if index % PERIOD < LIT else 20, dtype=np.uint8)


def tones(n_frames=N_FRAMES, start=0.0):
    times = np.arange(int(n_frames / RATE * SAMPLE_RATE)) / SAMPLE_RATE - start
    loud = np.floor(times * float(RATE)) % PERIOD < LIT
    return np.where(loud, 0.5 * np.sin(2 * np.pi * 1000 * times), 0.0)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "source.mp4"
    return encode(path, flashing(), rate=RATE, sound=("aac", SAMPLE_RATE, tones()), g=30, bf=2)


def onsets(path):
    """When the picture lights up and when the tone begins, in seconds, without those at the very start."""
    with av.open(str(path)) as container:
        frames = [
            (frame.time, frame.to_ndarray(format="gray").mean() > 120) for frame in container.decode(video=0)
        ]
    flashes = [
        time for (time, lit), (_, before) in zip(frames[1:], frames, strict=False) if lit and not before
    ]
    with av.open(str(path)) as container:
        if not container.streams.audio:
            return flashes, None
        stream = container.streams.audio[0]
        sound = np.zeros(20 * stream.rate, dtype=np.float32)
        mono = av.AudioResampler(format="fltp", layout="mono", rate=stream.rate)
        for frame in container.decode(stream):
            place = round(float(frame.pts * frame.time_base) * stream.rate)
            samples = mono.resample(frame)[0].to_ndarray()[0]
            samples, place = samples[max(0, -place) :], max(0, place)
            sound[place : place + len(samples)] = samples
    window = stream.rate // 200
    loud = np.convolve(sound**2, np.ones(window) / window, "same") > 0.01
    starts = np.flatnonzero(loud[1:] & ~loud[:-1]) / stream.rate
    return flashes, starts[starts > 0.1]


def save(source, target, *, keep=None, sound=True):
    with open_video(source) as video:
        times = [frame.time_s for frame in video]
    ends = [*times[1:], times[-1] + float(1 / RATE)]
    stretches, length = [], 0.0
    with open_video(source) as video, VideoWriter(target, video.rate, video.size) as writer:
        for frame in video:
            if keep is None:
                writer.write(frame.image, frame.time_s)
            elif frame.index in keep:
                writer.write(frame.image, length)
                length += ends[frame.index] - frame.time_s
                stretches.append((frame.time_s, ends[frame.index]))
        if sound:
            writer.keep_sound(str(source), video.start_s, None if keep is None else stretches)


def test_the_source_is_in_time_itself(source):
    flashes, starts = onsets(source)
    np.testing.assert_allclose(starts, flashes, atol=TOLERANCE)


@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".m4v", ".mkv", ".webm", ".avi"])
def test_the_whole_sound_stays_in_time(source, tmp_path, suffix):
    save(source, tmp_path / f"v{suffix}")
    flashes, starts = onsets(tmp_path / f"v{suffix}")
    np.testing.assert_allclose(flashes, [1.001, 2.002, 3.003], atol=1.5e-3)
    np.testing.assert_allclose(starts, flashes, atol=TOLERANCE)
    assert [file.name for file in tmp_path.iterdir()] == [f"v{suffix}"]


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".webm", ".avi"])
def test_the_sound_of_a_cut_video_is_cut_with_it(source, tmp_path, suffix):
    # frames 20 to 39, 50 to 64 and 85 to 99, so that two flashes are kept and one is not
    kept = [*range(20, 40), *range(50, 65), *range(85, 100)]
    save(source, tmp_path / f"v{suffix}", keep=kept)
    flashes, starts = onsets(tmp_path / f"v{suffix}")
    places = [kept.index(30), kept.index(60), kept.index(90)]
    np.testing.assert_allclose(flashes, [float(place / RATE) for place in places], atol=1.5e-3)
    np.testing.assert_allclose(starts, flashes, atol=TOLERANCE)


def test_many_cuts_do_not_add_up(source, tmp_path):
    kept = [index for index in range(N_FRAMES) if index % 3]
    save(source, tmp_path / "v.mp4", keep=kept)
    flashes, starts = onsets(tmp_path / "v.mp4")
    # a tone of which every third frame is cut out is one tone still
    first = [start for start in starts if min(abs(start - flash) for flash in flashes) < 0.05]
    assert len(flashes) == 3
    np.testing.assert_allclose(first, flashes, atol=TOLERANCE)


def test_what_the_container_takes_is_copied_and_not_encoded_again(source, tmp_path):
    def sound_of(path):
        with av.open(str(path)) as container:
            stream = container.streams.audio[0]
            return stream.codec_context.name, [
                bytes(packet) for packet in container.demux(stream) if packet.size
            ]

    save(source, tmp_path / "v.mp4")
    codec, packets = sound_of(tmp_path / "v.mp4")
    _, before = sound_of(source)
    assert codec == "aac"
    # what lies before the first frame is left out
    assert packets == before[-len(packets) :]
    assert len(before) - len(packets) <= 2
    save(source, tmp_path / "v.webm")
    assert sound_of(tmp_path / "v.webm")[0] == "opus"


def test_no_sound_is_asked_for_and_none_is_there(source, tmp_path):
    save(source, tmp_path / "v.mp4", sound=False)
    assert onsets(tmp_path / "v.mp4")[1] is None
    silent = encode(tmp_path / "silent.mp4", flashing(40), rate=RATE)
    save(silent, tmp_path / "w.mp4")
    assert onsets(tmp_path / "w.mp4")[1] is None


def test_sound_that_begins_later_than_the_pictures_stays_late(tmp_path):
    # Matroska with the tones of a source whose sound starts half a second late
    late = tones()
    late[: SAMPLE_RATE // 2] = 0
    source = encode(tmp_path / "s.mkv", flashing(), rate=RATE, sound=("aac", SAMPLE_RATE, late))
    save(source, tmp_path / "v.mp4", keep=range(10, 100))
    flashes, starts = onsets(tmp_path / "v.mp4")
    np.testing.assert_allclose(starts, flashes, atol=TOLERANCE)


def test_damaged_sound_leaves_the_pictures_alone(source, tmp_path):
    path = tmp_path / "damaged.mp4"
    path.write_bytes(source.read_bytes())
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux(audio=0) if packet.size]
    data = bytearray(path.read_bytes())
    for packet in packets[40:60]:
        data[packet.pos : packet.pos + packet.size] = b"\xff" * packet.size
    path.write_bytes(data)
    save(path, tmp_path / "v.mp4", keep=range(N_FRAMES))
    flashes, starts = onsets(tmp_path / "v.mp4")
    assert len(flashes) == 3
    assert any(abs(start - flashes[2]) < TOLERANCE for start in starts)
