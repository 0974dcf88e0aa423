"""facereject serve as a process: how it starts, says where it is, and stops."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys

import httpx
import pytest
from websockets.sync.client import connect


def start(*options: str, **environment: str) -> tuple[subprocess.Popen[str], str]:
    """A server that is ready, and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "facereject", "serve", "--no-browser", "--port", "0", *options],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200", **environment},
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    address = re.search(r"http://\S+", line)
    assert address, line + process.stderr.read()
    return process, address[0]


@pytest.mark.parametrize(
    ("number", "options"),
    [(signal.SIGINT, ()), (signal.SIGTERM, ("--host", "127.0.0.1"))],
    ids=["INT", "TERM"],
)
def test_it_starts_serves_and_stops(number, options):
    process, address = start(*options)
    try:
        base, _, token = address.partition("?token=")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # a token where an address was given, and long enough not to be guessed
        assert bool(token) == bool(options)
        assert not token or len(token) >= 32
        with httpx.Client(base_url=base, timeout=60) as client:
            assert client.get("/api/model", headers=headers).json()["models"][0] == "default"
            assert client.get("/api/model").status_code == (401 if token else 200)
        socket_address = base.replace("http", "ws") + "api/live"
        with connect(socket_address, additional_headers=headers, open_timeout=60):
            process.send_signal(number)
            _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
        assert "Stopped. Scored 0 images, 0 videos and 0 live frames" in said
        assert "Traceback" not in said
    finally:
        process.kill()


def test_other_computers_mean_a_warning_and_broken_forms_no_output():
    process, address = start("--host", "0.0.0.0")
    try:
        base, _, token = address.partition("?token=")
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "multipart/form-data; boundary=b"}
        broken = (
            b'--b\r\nContent-Disposition: form-data; name="f"; filename="anna.jpg"\r\n\r\nx\r\n--b--\r\nmore'
        )
        answer = httpx.post(base + "api/score", headers=headers, content=broken, timeout=60)
        assert answer.status_code == 422
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        # `communicate` would leave out what was read ahead
        said = process.stderr.read()
        told = " ".join(said.split())
        assert "no encryption (TLS)" in told
        assert "stay on this computer" not in told
        assert len(said.splitlines()) == 3, said
    finally:
        process.kill()


def test_a_port_in_use_is_told(run):
    with socket.create_server(("127.0.0.1", 0)) as other:
        result = run("serve", "--no-browser", "--port", str(other.getsockname()[1]))
    assert result.exit_code == 1
    assert "cannot listen there (address already in use)" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--port", "99999"), "a port is a number from 0 to 65535"),
        (("--port", "-1"), "--port -1: a port is a number from 0 to 65535"),
        (("--host", "no such.name."), "no such name or address"),
        (("--workers", "0"), "--workers must be at least 1"),
        (("--coverage", "0.5", "--cost", "3"), "exclude each other"),
        (("--port", "0", "--model", "missing.safetensors"), "no such file"),
    ],
)
def test_wrong_options_are_told(run, options, words):
    result = run("serve", "--no-browser", *options)
    assert result.exit_code in (1, 2)
    assert words in result.stderr


def test_without_the_extra_it_says_what_to_install(run, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("facereject.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette", None)
    monkeypatch.setitem(sys.modules, "starlette.requests", None)
    result = run("serve", "--no-browser")
    assert result.exit_code == 2
    assert "pip install starlette uvicorn" in result.stderr
