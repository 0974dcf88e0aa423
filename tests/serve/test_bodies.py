"""Bodies: too large, too slow, broken, with names that look like paths; no trace of them stays."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from serving import running

from facereject.serve import bodies
from facereject.serve.limits import ServeLimits


@pytest.fixture(scope="module")
def small(rejector):
    """A server with narrow limits."""
    limits = ServeLimits(image_bytes=100_000, video_bytes=100_000, table_bytes=1000, silent_s=0.4, body_s=1.0)
    with running(rejector, limits=limits) as found:
        yield found


@pytest.mark.parametrize("path", ["/api/score", "/api/video", "/api/table", "/api/decide"])
def test_a_body_that_is_announced_as_too_large_is_not_read(small, path):
    with socket.create_connection(("127.0.0.1", small.port)) as connection:
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999999999999\r\n\r\n"
        connection.sendall(head.encode())
        answer = connection.recv(4096)
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_body_that_does_not_tell_its_length_is_counted(small):
    def without_end():
        while True:
            yield bytes(10_000)

    answer = small.client.post("/api/score", content=without_end())
    assert answer.status_code == 413
    assert "100,000 bytes" in answer.json()["error"]


def test_a_form_is_counted_too(small):
    answer = small.client.post("/api/score", files={"file": ("a.jpg", bytes(120_000))})
    assert answer.status_code == 413


@pytest.mark.parametrize("first", [b"", b"12345"])
def test_a_slow_client_is_sent_away(small, first):
    with socket.create_connection(("127.0.0.1", small.port)) as connection:
        head = b"POST /api/score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n"
        connection.sendall(head + first)
        connection.settimeout(10)
        assert connection.recv(4096).startswith(b"HTTP/1.1 408 ")


def test_a_client_that_drips_is_sent_away(small):
    with socket.create_connection(("127.0.0.1", small.port)) as connection:
        connection.sendall(b"POST /api/score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n")
        connection.setblocking(False)
        end, answer = time.monotonic() + 20, b""
        while not answer and time.monotonic() < end:
            try:
                connection.sendall(b"x")
                time.sleep(0.1)
                answer = connection.recv(4096)
            except BlockingIOError:
                pass
    assert answer.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
def test_a_connection_without_a_request_is_closed(small, said):
    with socket.create_connection(("127.0.0.1", small.port)) as connection:
        connection.sendall(said)
        connection.settimeout(10)
        assert connection.recv(4096) == b""


def test_a_connection_on_which_the_next_request_does_not_come_is_closed(small):
    with socket.create_connection(("127.0.0.1", small.port)) as connection:
        connection.sendall(b"GET /icon.svg HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        connection.settimeout(10)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"G")
        while connection.recv(1 << 16):
            pass


def test_a_response_that_is_not_read_is_given_up(rejector):
    frames = [{"frame": k, "time_s": k / 30, "faces": []} for k in range(60_000)]
    body = json.dumps({"inputs": [{"source": "a.mp4", "frames": frames}]}).encode()
    limits = ServeLimits(idle_s=0.5, tables=1)
    with running(rejector, limits=limits) as server, socket.socket() as connection:
        # before it is connected, so that the system announces a small window
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        head = f"POST /api/table HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        end = time.monotonic() + 30
        while server.client.post("/api/table", json={"inputs": []}).status_code == 503:
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.mark.parametrize(
    "length", ["9" * 400, "9" * 5000, "-1", "+5", "1e3", "0x10", "\xb2"], ids=lambda length: length[:5]
)
def test_a_length_that_is_no_number(small, length):
    with socket.create_connection(("127.0.0.1", small.port)) as connection:
        head = f"POST /api/decide HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n"
        connection.sendall(head.encode("latin-1"))
        connection.settimeout(10)
        assert connection.recv(4096)[9:12] in (b"400", b"413")


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("multipart/form-data", b"x", 400),
        ("multipart/form-data; boundary=b", b"--b\r\nbroken", 422),
        ("multipart/form-data; boundary=b", b"--b--\r\n", 422),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nno file\r\n--b--\r\n',
            422,
        ),
    ],
    ids=["no boundary", "no end", "empty", "a field"],
)
def test_a_broken_form(small, kind, body, status):
    answer = small.client.post("/api/score", content=body, headers={"Content-Type": kind})
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]


@pytest.mark.parametrize("name", ["/etc/passwd", "../../x", "C:\\x.jpg", "a\0b.jpg", "file://x", "x" * 5000])
def test_names_that_look_like_paths_mean_nothing(small, name):
    answer = small.client.post("/api/score", files={"file": (name, b"no picture")})
    assert answer.status_code in (400, 422)
    assert "passwd" not in answer.text


def test_a_full_disk_is_told(small, monkeypatch):
    @contextmanager
    def full():
        # whatever is written there is too much
        with open("/dev/full", "r+b", buffering=0) as file:
            yield bodies.PrivateFile(file, "/dev/full")

    monkeypatch.setattr(bodies, "private_file", full)
    answer = small.client.post("/api/score", content=b"something")
    assert answer.status_code == 507
    assert "no space left" in answer.json()["error"]


def test_a_private_file_can_be_opened_by_its_path_and_is_gone():
    with bodies.private_file() as private:
        private.file.write(b"secret")
        private.file.flush()
        assert Path(private.path).read_bytes() == b"secret"
    assert not os.path.exists(private.path)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the system does not show files by number")
def test_a_private_file_has_no_name(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with bodies.private_file() as private:
        private.file.write(b"secret")
        # a process that dies now leaves nothing: no folder holds the file
        assert list(tmp_path.iterdir()) == []


def test_elsewhere_the_folder_is_private_and_removed(monkeypatch, tmp_path):
    monkeypatch.setattr(bodies, "_BY_NUMBER", str(tmp_path / "missing"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with bodies.private_file() as private:
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o77 == 0
        assert Path(private.path).parent == folder
    assert list(tmp_path.iterdir()) == []


def test_folders_of_killed_servers_are_removed_after_a_day(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("facereject-serve-old", "facereject-serve-new", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "upload").write_bytes(b"x")
    long_ago = time.time() - 90_000
    for name in ("facereject-serve-old", "other"):
        os.utime(tmp_path / name, (long_ago, long_ago))
    bodies.remove_abandoned()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["facereject-serve-new", "other"]
