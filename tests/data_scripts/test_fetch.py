"""Downloads against a server on this machine: resume, cut connections, refusals, checksums."""

from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from data_scripts.fetch import ChecksumError, FetchError, fetch

CONTENT = bytes(range(256)) * 2000


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.requests.append(dict(self.headers))
        status = server.answers.pop(0) if server.answers else 200
        if isinstance(status, int) and status >= 400:
            self.send_error(status)
            return
        wanted = self.headers.get("Range", "")
        start = (
            int(wanted[len("bytes=") : -1]) if wanted and self.headers.get("If-Range") == server.etag else 0
        )
        if start >= len(CONTENT):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header(
                "Content-Range", f"bytes {start + server.shift}-{len(CONTENT) - 1}/{len(CONTENT)}"
            )
        if server.etag:
            self.send_header("ETag", server.etag)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        body = CONTENT[start:]
        # "cut": the connection breaks in the middle of the body
        self.wfile.write(body[: len(body) // 2] if status == "cut" else body)
        if status == "cut":
            self.close_connection = True

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.answers, server.requests, server.etag, server.shift = [], [], '"one"', 0
    server.url = f"http://127.0.0.1:{server.server_port}/file.bin"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def get(server, path, sha256="", **options):
    options = {"pause": 0.01, "timeout": 5.0, "progress": lambda *state: None, **options}
    return fetch(server.url, path, sha256, **options)


def test_download(server, tmp_path):
    seen = []
    path = get(server, tmp_path / "new" / "file.bin", progress=lambda *state: seen.append(state))
    assert path.read_bytes() == CONTENT
    assert seen[-1] == ("file.bin", len(CONTENT), len(CONTENT))
    assert [p.name for p in path.parent.iterdir()] == ["file.bin"]
    get(server, path)
    assert len(server.requests) == 1


def test_cut_connections_are_continued(server, tmp_path):
    server.answers = ["cut", "cut", "cut"]
    assert get(server, tmp_path / "f").read_bytes() == CONTENT
    starts = [request.get("Range") for request in server.requests]
    half = len(CONTENT) // 2
    assert starts == [
        None,
        f"bytes={half}-",
        f"bytes={half + half // 2}-",
        f"bytes={half + half // 2 + half // 4}-",
    ]


@pytest.mark.parametrize("etag", ['"one"', ""])
def test_a_later_run_continues(server, tmp_path, etag):
    server.etag = etag
    server.answers = ["cut"]
    with pytest.raises(FetchError, match=r"ended after|IncompleteRead"):
        get(server, tmp_path / "f", attempts=1)
    assert not (tmp_path / "f").exists()
    assert (tmp_path / "f.part").stat().st_size == len(CONTENT) // 2
    assert get(server, tmp_path / "f").read_bytes() == CONTENT
    assert "Range" in server.requests[1]
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_parts_of_two_versions_are_not_joined(server, tmp_path):
    server.answers = ["cut"]
    with pytest.raises(FetchError):
        get(server, tmp_path / "f", attempts=1)
    (tmp_path / "f.part").write_bytes(b"old" * 1000)
    server.etag = '"two"'
    assert get(server, tmp_path / "f").read_bytes() == CONTENT


def test_another_part_than_asked_for(server, tmp_path):
    server.answers, server.shift = ["cut"], 1
    assert get(server, tmp_path / "f").read_bytes() == CONTENT
    assert len(server.requests) == 3


def test_a_part_that_is_too_long_is_dropped(server, tmp_path):
    (tmp_path / "f.part").write_bytes(CONTENT + b"more")
    (tmp_path / "f.part.tag").write_text(server.etag)
    assert get(server, tmp_path / "f").read_bytes() == CONTENT


def test_server_errors_are_repeated(server, tmp_path):
    server.answers = [503, 500]
    assert get(server, tmp_path / "f").read_bytes() == CONTENT


def test_refusal_is_not_repeated(server, tmp_path):
    server.answers = [404, 404]
    with pytest.raises(FetchError, match="404") as caught:
        get(server, tmp_path / "f")
    assert len(server.requests) == 1
    assert server.url in str(caught.value)
    assert str(tmp_path / "f") in str(caught.value)
    assert "by hand" in str(caught.value)


def test_checksum(server, tmp_path):
    with pytest.raises(ChecksumError, match="expected 00"):
        get(server, tmp_path / "f", "00")
    assert list(tmp_path.iterdir()) == []
    get(server, tmp_path / "f", hashlib.sha256(CONTENT).hexdigest())


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/closed", "http://no-such-host.invalid/file"])
def test_no_connection(tmp_path, url):
    with pytest.raises(FetchError, match="cannot download"):
        fetch(url, tmp_path / "f", attempts=2, pause=0.01, timeout=5.0)
