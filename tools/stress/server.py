"""Hostile requests to `facereject serve`: responses of 400 to 422, never 500, and the server goes on."""

from __future__ import annotations

import json
import random
import socket
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import PIL.Image

from tools.stress.mutations import mutated
from tools.stress.trial import Trial

_HEADERS = [
    "Origin: http://[::1",
    "Origin: null",
    "Host: [::1].evil.example",
    "Host: [",
    "Content-Length: " + "9" * 5000,
    "Content-Length: -1",
    "Content-Type: multipart/form-data; boundary=b",
    "Content-Type: multipart/form-data",
    "Cookie: \xff=;;",
    "Authorization: Bearer \xff",
    "Transfer-Encoding: chunked",
    "Expect: 100-continue",
]
_NUMBERS = ["1e999", "9" * 400, "9" * 5000, "-0", "NaN", "true", "[]", "{}", "0x10", "%00", "+1"]


def hostile_requests(trial: Trial, folder: Path, count: int, rng: random.Random) -> None:
    """``count`` requests with odd headers, numbers and bodies."""
    picture = folder / "a.jpg"
    PIL.Image.fromarray(np.zeros((60, 60, 3), np.uint8)).save(picture)
    with _server() as port:
        for number in range(count):
            if not trial.goes_on():
                break
            request = _request(picture.read_bytes(), rng)
            status = _status(port, request)
            trial.check(status not in ("500", "502"), f"request {number} got {status}: {request[:200]!r}")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/model", timeout=60) as response:
            trial.check(response.status == 200, "the server no longer answers")


def _request(picture: bytes, rng: random.Random) -> bytes:
    path = rng.choice(
        ["/api/score", "/api/video", "/api/decide", "/api/table", "/api/model", "/", "/api/live"]
    )
    name = rng.choice(
        ["expected_error", "max_error", "coverage", "cost", "threshold", "model", "region", "format"]
    )
    query = f"?{name}={rng.choice(_NUMBERS)}" if rng.random() < 0.4 else ""
    body = _body(picture, rng)
    method = "GET" if path in ("/", "/api/model", "/api/live") else "POST"
    lines = [
        f"{method} {path}{query} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    if rng.random() < 0.5:
        odd = rng.choice(_HEADERS)
        lines = [line for line in lines if line.partition(":")[0] != odd.partition(":")[0]] + [odd]
    data = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
    return mutated(data, rng) if rng.random() < 0.2 else data


def _body(picture: bytes, rng: random.Random) -> bytes:
    kind = rng.randrange(4)
    if kind == 0:
        return mutated(picture, rng)
    if kind == 1:
        return b"--b\r\n" + mutated(
            b'Content-Disposition: form-data; name="f"; filename="x"\r\n\r\n' + picture, rng
        )
    frame = {"frame": 0, "time_s": None, "faces": []}
    text = json.dumps({"inputs": [{"source": "a", "frames": [frame] if kind == 2 else [[0.5, None]]}]})
    place = rng.choice(["0", "null", "0.5", '"a"', "[]"])
    return text.replace(place, rng.choice(_NUMBERS), 1).encode()


def _status(port: int, request: bytes) -> str:
    """The status of the response; empty if the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            return connection.recv(64)[9:12].decode("latin-1")
        except (ConnectionError, TimeoutError):
            return ""


@contextmanager
def _server() -> Iterator[int]:
    from facereject import FaceRejector
    from facereject.serve.app import make_app
    from facereject.serve.limits import ServeLimits
    from facereject.serve.models import ModelRegistry
    from facereject.serve.server import bind, make_server

    limits = ServeLimits(silent_s=2.0, body_s=2.0)
    app = make_app(ModelRegistry("default", FaceRejector.pretrained()), workers=2, limits=limits)
    ready = threading.Event()
    with bind("127.0.0.1", 0) as listener:
        server = make_server(app, limits=limits, on_ready=ready.set)
        thread = threading.Thread(target=server.run, args=[[listener]], daemon=True)
        thread.start()
        ready.wait(60)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(60)
