"""POST /api/video: a line per frame as the library scores it; cancelled when the client goes."""

from __future__ import annotations

import json
import struct
import threading
import time
from pathlib import Path

import av
import httpx
import numpy as np
import pytest
from serving import jpeg, running

from facereject import scored_video
from facereject.serve.limits import ServeLimits


def lines_of(answer) -> list[dict]:
    return [json.loads(line) for line in answer.text.splitlines()]


def test_the_frames_are_those_of_the_library(server, rejector, clip):
    answer = server.client.post("/api/video", content=clip.read_bytes())
    assert answer.headers["Content-Type"].startswith("application/x-ndjson")
    head, *frames, last = lines_of(answer)
    expected = list(scored_video(rejector, clip))
    assert head == {"width": 320, "height": 240, "fps": 10.0, "frames": 12}
    assert [frame["frame"] for frame in frames] == list(range(12))
    assert [frame["time_s"] for frame in frames] == [frame.time_s for frame in expected]
    for frame, truth in zip(frames, expected, strict=True):
        found = [{name: face[name] for name in truth.faces[0].to_dict()} for face in frame["faces"]]
        assert found == [face.to_dict() for face in truth.faces]
        assert [face["track"] for face in frame["faces"]] == [face.track for face in truth.faces]
    assert [frame["reason"] for frame in frames[8:]] == ["no_face"] * 4
    accepted = sum(frame["accepted"] for frame in frames)
    assert 0 < accepted <= 8
    assert last == {"done": True, "frames": 12, "accepted_frames": accepted, "undecodable": 0}


def test_a_form_gives_the_same(server, clip):
    body = server.client.post("/api/video", content=clip.read_bytes())
    form = server.client.post("/api/video", files={"file": ("x", clip.read_bytes())})
    assert body.text == form.text


def test_the_target_decides(server, clip):
    answer = server.client.post("/api/video?threshold=-1000", content=clip.read_bytes())
    assert lines_of(answer)[-1]["accepted_frames"] == 0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"hello", "not a video"),
        (b"#EXTM3U\nhttp://127.0.0.1/x.ts\n", "not a video"),
        (b"ffconcat version 1.0\nfile /etc/passwd\n", "not a video"),
        (b"\x1a\x45\xdf\xa3" + bytes(100), "not a video"),
    ],
)
def test_what_is_no_video(server, body, words):
    answer = server.client.post("/api/video", content=body)
    assert answer.status_code == 422
    assert words in answer.json()["error"]
    assert "/proc" not in answer.text


def test_a_picture_is_sent_elsewhere(server, photo_jpeg):
    answer = server.client.post("/api/video", content=photo_jpeg)
    assert answer.status_code == 422
    assert "/api/score" in answer.json()["error"]


def test_a_damaged_video_is_told_in_the_counts(server, clip):
    data = clip.read_bytes()
    answer = server.client.post("/api/video", content=data[:40] + data[60:])
    # the index no longer fits the data: refused, or fewer frames and the rest counted
    if answer.status_code == 200:
        last = lines_of(answer)[-1]
        assert last.get("error") or last["undecodable"] > 0
    else:
        assert answer.status_code == 422


def test_frames_are_limited(rejector, clip):
    with running(rejector, limits=ServeLimits(frame_pixels=320 * 240 - 1)) as server:
        answer = server.client.post("/api/video", content=clip.read_bytes())
    assert answer.status_code == 422
    assert "320 x 240" in answer.json()["error"]


def test_time_is_limited(rejector, clip):
    with running(rejector, limits=ServeLimits(video_s=0.0)) as server:
        *frames, last = lines_of(server.client.post("/api/video", content=clip.read_bytes()))
    assert "given up after 0 s" in last["error"]
    assert len(frames) < 12


def tiny_packets(clip_path: Path, count: int) -> bytes:
    """An AVI file whose packets hold two bytes each, which no decoder takes for an image."""
    with av.open(str(clip_path), "w") as container:
        stream = container.add_stream("mjpeg", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuvj420p"
        container.mux(stream.encode(av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8))))
        container.mux(stream.encode(None))
    data = clip_path.read_bytes()
    start = data.index(b"movi")
    packets = b"00dc\x02\0\0\0xy" * count
    body = data[12 : start - 8] + b"LIST" + struct.pack("<I", len(packets) + 4) + b"movi" + packets
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"AVI " + body


def test_a_video_without_frames_is_given_up(rejector, tmp_path):
    data = tiny_packets(tmp_path / "clip.avi", 600_000)
    with running(rejector, limits=ServeLimits(stall_s=0.3)) as server:
        answer = server.client.post("/api/video", content=data)
    assert answer.status_code == 422
    assert "no frame could be decoded for 0.3 s" in answer.json()["error"]


def test_a_client_that_goes_stops_the_search_for_a_frame(rejector, tmp_path):
    data = tiny_packets(tmp_path / "clip.avi", 600_000)
    limits = ServeLimits(stall_s=600, videos=1)
    with running(rejector, limits=limits, workers=1) as server:
        with pytest.raises(httpx.ReadTimeout):
            server.client.post("/api/video", content=data, timeout=httpx.Timeout(30, read=0.3))
        # the only worker is free again, and so is the place of the video
        photo = jpeg(np.zeros((50, 50, 3), np.uint8))
        assert server.client.post("/api/score", content=photo).status_code == 200
        assert server.client.post("/api/video", content=b"hello").status_code == 422


class Waiting:
    """A rejector whose pictures wait until they are let go."""

    def __init__(self, rejector) -> None:
        self._rejector, self.go = rejector, threading.Event()
        self.begun = 0

    def __getattr__(self, name):
        return getattr(self._rejector, name)

    def assess_detections(self, image, found):
        self.begun += 1
        assert self.go.wait(30)
        return self._rejector.assess_detections(image, found)

    def __call__(self, image):
        return self._rejector(image)


def test_a_failure_ends_the_lines_with_an_error(rejector, clip):
    waiting = Waiting(rejector)
    waiting.go = None
    with running(waiting) as server:
        *_, last = lines_of(server.client.post("/api/video", content=clip.read_bytes()))
    assert last == {"error": "the server failed on this video"}


def test_a_client_that_goes_frees_its_place(rejector, clip):
    waiting = Waiting(rejector)
    with running(waiting, limits=ServeLimits(videos=1)) as server:
        with server.client.stream("POST", "/api/video", content=clip.read_bytes()) as answer:
            lines = answer.iter_lines()
            assert next(lines)
            busy = server.client.post("/api/video", content=clip.read_bytes())
            assert busy.status_code == 503
            assert int(busy.headers["Retry-After"]) > 0
        waiting.go.set()
        end = time.monotonic() + 20
        while (free := server.client.post("/api/video", content=clip.read_bytes())).status_code == 503:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert lines_of(free)[-1]["frames"] == 12
    # the first video was given up, not scored to its end
    assert waiting.begun < 2 * 8
