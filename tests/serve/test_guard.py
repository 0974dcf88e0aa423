"""Who is answered: names in Host, pages of other sites, tokens; and what browsers are told."""

from __future__ import annotations

import re

import httpx
import pytest
from serving import running
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST:1", "[::1]:9", "localhost."])
def test_own_names_are_answered(server, host):
    # the port is free: a tunnel may change it
    assert server.client.get("/api/model", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "192.168.0.7", "0.0.0.0", "", "[::2]"]
    + ["[::1].evil.example", "[::1]evil.example", "[::1", "::1]", "[localhost]", "localhost:80.evil.example"],
)
@pytest.mark.parametrize("path", ["/", "/api/model", "/api/docs"])
def test_other_names_are_not(server, host, path):
    answer = server.client.get(path, headers={"Host": host})
    assert answer.status_code == 421
    assert answer.json()["error"]


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://localhost:1", "file://", "http://127.0.0.1.evil.example"]
    + ["http://[::1", "http://[", "http://[::1]x", "//", "http://127.0.0.1:99999999999999999999"],
)
def test_pages_of_other_sites_may_not_ask(server, photo_jpeg, origin):
    headers = {"Origin": origin, "Content-Type": "text/plain"}
    assert server.client.post("/api/score", content=photo_jpeg, headers=headers).status_code == 403
    assert server.client.get("/api/model", headers=headers).status_code == 403
    with pytest.raises(InvalidStatus) as refused:
        connect(server.socket_address, origin=origin)
    assert refused.value.response.status_code == 403


def test_the_page_itself_may(server, photo_jpeg):
    origin = server.address.rstrip("/")
    answer = server.client.post("/api/score", content=photo_jpeg, headers={"Origin": origin})
    assert answer.status_code == 200
    with connect(server.socket_address, origin=origin) as socket:
        socket.send(photo_jpeg)
        assert '"accepted":true' in socket.recv(30)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_requests_that_a_browser_marks_as_foreign(server, site):
    foreign = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    assert server.client.get("/api/model", headers=foreign).status_code == 403
    assert server.client.get("/", headers=foreign).status_code == 403
    visit = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert server.client.get("/", headers=visit).status_code == 200
    assert server.client.get("/api/model", headers=visit).status_code == 403
    frame = {**visit, "Sec-Fetch-Dest": "iframe"}
    assert server.client.get("/", headers=frame).status_code == 403


@pytest.mark.parametrize("path", ["/", "/api/model", "/nothing"])
def test_every_answer_binds_the_browser(server, path):
    headers = server.client.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in policy
    assert not re.search(r"https?:|\*", policy)
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert "server" not in headers


@pytest.fixture(scope="module")
def guarded(rejector):
    with running(rejector, host="127.0.0.1", token="open-sesame-1") as found:
        yield found


def test_without_the_token_nothing_is_answered(guarded, photo_jpeg):
    for path in ("/", "/api/model", "/api/docs", "/nothing"):
        answer = httpx.get(guarded.address.rstrip("/") + path)
        assert answer.status_code == 401
        assert "token" in answer.json()["error"]
    with pytest.raises(InvalidStatus) as refused:
        connect(guarded.socket_address)
    assert refused.value.response.status_code == 401


@pytest.mark.parametrize("token", ["", "open", "open-sesame-2", "é"])
def test_a_wrong_token(guarded, token):
    assert httpx.get(guarded.address, params={"token": token}).status_code == 401
    bearer = {"Authorization": f"Bearer {token}x".encode("latin-1")}
    assert httpx.get(guarded.address, headers=bearer).status_code == 401


def test_the_token_opens_the_page_and_a_cookie_its_rest(guarded):
    with httpx.Client(base_url=guarded.address) as client:
        first = client.get("/", params={"token": "open-sesame-1"})
        assert first.status_code == 200
        cookie = first.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert client.get("/api/model").status_code == 200


def test_programs_send_the_token_as_a_header(guarded):
    headers = {"Authorization": "Bearer open-sesame-1"}
    assert httpx.get(guarded.address + "api/model", headers=headers).status_code == 200
    with connect(guarded.socket_address, additional_headers=headers):
        pass


def test_with_a_token_numeric_addresses_are_answered_but_no_foreign_names(guarded):
    token = {"Authorization": "Bearer open-sesame-1"}
    address = guarded.address + "api/model"
    assert httpx.get(address, headers={**token, "Host": "192.168.0.7:80"}).status_code == 200
    assert httpx.get(address, headers={**token, "Host": "evil.example"}).status_code == 421


def test_a_token_does_not_help_pages_of_other_sites(guarded):
    headers = {"Authorization": "Bearer open-sesame-1", "Origin": "https://evil.example"}
    assert httpx.get(guarded.address + "api/model", headers=headers).status_code == 403


def test_a_failure_tells_nothing_but_is_logged(rejector, monkeypatch, photo_jpeg, caplog):
    from facereject.serve import app

    def fail(*args, **options):
        raise RuntimeError("secret /path") from KeyError("secret")

    monkeypatch.setattr(app, "score_image", fail)
    with running(rejector) as server, caplog.at_level("DEBUG", logger="facereject"):
        answer = server.client.post("/api/score", content=photo_jpeg)
    assert answer.status_code == 500
    assert "secret" not in answer.text
    # the log has the cause and the place, but no message, which may hold a name
    (entry,) = [
        record.getMessage() for record in caplog.records if record.name == "facereject.serve.responses"
    ]
    assert entry.startswith("POST /api/score failed: RuntimeError (")
    assert "test_guard.py" in entry
    assert "caused by" in entry
    assert "KeyError" in entry
    assert "secret" not in entry
