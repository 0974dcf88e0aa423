"""POST /api/score: the faces of a picture are those of the library; what is no picture gets a sentence."""

from __future__ import annotations

import base64
import io
import struct
import zlib

import numpy as np
import PIL.Image
import pytest
from serving import jpeg, pixels, running
from starlette.exceptions import HTTPException

from facereject.serve.limits import ServeLimits
from facereject.serve.scoring import decode_jpeg


def test_the_faces_are_those_of_the_library(server, rejector, photo_jpeg):
    answer = server.client.post("/api/score", content=photo_jpeg).json()
    (face,) = rejector(pixels(photo_jpeg))
    (found,) = answer["faces"]
    assert (answer["width"], answer["height"], answer["accepted"], answer["reason"]) == (320, 240, True, "")
    for name, value in face.to_dict().items():
        assert found[name] == value, name
    assert (found["track"], found["explanation"], found["hint"]) == (None, "", "")
    assert "thumbnail" not in found


def test_a_form_gives_the_same_as_a_body(server, photo_jpeg):
    body = server.client.post("/api/score", content=photo_jpeg).json()
    form = server.client.post("/api/score", files={"file": ("../../etc/x.jpg", photo_jpeg)}).json()
    assert form["faces"] == body["faces"]


def test_a_thumbnail_is_a_small_jpeg(server, photo_jpeg):
    answer = server.client.post("/api/score?thumbnails=1", content=photo_jpeg).json()
    picture = PIL.Image.open(io.BytesIO(base64.b64decode(answer["faces"][0]["thumbnail"])))
    assert picture.format == "JPEG"
    assert max(picture.size) == 128


def test_no_face_is_no_error(server):
    answer = server.client.post("/api/score", content=jpeg(np.zeros((200, 200, 3), np.uint8)))
    assert answer.status_code == 200
    assert (answer.json()["faces"], answer.json()["accepted"], answer.json()["reason"]) == (
        [],
        False,
        "no_face",
    )


@pytest.mark.parametrize(
    ("query", "accepted"),
    [("expected_error=1", False), ("coverage=1", True), ("threshold=-1000", False), ("max_error=100", True)],
)
def test_the_target_decides(server, photo_jpeg, query, accepted):
    answer = server.client.post(f"/api/score?{query}", content=photo_jpeg).json()
    (face,) = answer["faces"]
    assert (answer["accepted"], face["accepted"]) == (accepted, accepted)
    assert face["reason"] == ("" if accepted else "uncertain")


def test_another_model(server, photo_jpeg):
    ours, other = (
        server.client.post(f"/api/score?model={name}", content=photo_jpeg).json()["faces"][0]["uncertainty"]
        for name in ("first", "thorough")
    )
    assert ours != other


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("model=../../etc/passwd", "model must be one of first, thorough"),
        ("expected_error=nan", "expected_error must be a number"),
        ("coverage=2", "coverage"),
        ("coverage=0.5&cost=3", "at most one of"),
    ],
)
def test_a_query_that_makes_no_sense(server, photo_jpeg, query, words):
    answer = server.client.post(f"/api/score?{query}", content=photo_jpeg)
    assert answer.status_code == 422
    assert words in answer.json()["error"]


def png_bomb(side: int) -> bytes:
    """A PNG that claims a huge side, with some kilobytes of data."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    rows = zlib.compress(bytes(1 << 22))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "empty"),
        (b"hello", "not an image in a format"),
        (b"\xff\xd8\xff\xe0" + bytes(100), "not an image in a format"),
        (png_bomb(30_000), "30000 x 30000 pixels are more than the limit"),
        (b"%!PS\n(%stdin) run", "not an image in a format"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not an image in a format"),
    ],
    ids=["empty", "text", "cut", "bomb", "postscript", "svg"],
)
def test_what_is_no_picture(server, body, words):
    answer = server.client.post("/api/score", content=body)
    assert answer.status_code == 422
    sentence = answer.json()["error"]
    assert words in sentence
    # where the server keeps it is nobody's business
    assert "/" not in sentence


def test_a_video_is_sent_elsewhere(server, clip):
    answer = server.client.post("/api/score", content=clip.read_bytes())
    assert answer.status_code == 415
    assert "/api/video" in answer.json()["error"]


def test_a_cut_picture(server, photo_jpeg):
    answer = server.client.post("/api/score", content=photo_jpeg[: len(photo_jpeg) // 2])
    assert answer.status_code == 422
    assert "truncated" in answer.json()["error"]


def test_pixels_are_limited(rejector, photo_jpeg):
    with running(rejector, limits=ServeLimits(image_pixels=320 * 240 - 1)) as server:
        answer = server.client.post("/api/score", content=photo_jpeg)
    assert answer.status_code == 422
    assert "more than the limit of 76,799" in answer.json()["error"]


def test_a_live_frame_of_many_scans_is_refused():
    stream = io.BytesIO()
    PIL.Image.new("L", (64, 64), 120).save(stream, "JPEG", progressive=True)
    data = stream.getvalue()
    scan = data[data.rindex(b"\xff\xda") : -2]
    assert decode_jpeg(data[:-2] + 400 * scan + data[-2:], 10**6).shape == (64, 64, 3)
    with pytest.raises(HTTPException, match="more than 500 scans"):
        decode_jpeg(data[:-2] + 1000 * scan + data[-2:], 10**6)
