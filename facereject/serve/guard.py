"""Who may ask: Host and Origin, the token, and the headers that bind the browser.

A page of another site must not reach this server through the browser of its user. Names in the Host header
are checked because another site can make its own name lead to 127.0.0.1 (DNS rebinding); Origin and
Sec-Fetch-Site because browsers let any page send requests and open sockets, only not read most answers.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from facereject.serve.responses import error_response

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

# an address of IPv6 in brackets, or a name or address without colons; and a port
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:]+))(?::\d*)?")

_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob: data:",
        "media-src 'self' blob: mediastream:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)

_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(self), microphone=(), geolocation=()",
}


class Guard:
    """ASGI middleware that lets pass what the page itself and programs of the user send.

    Parameters
    ----------
    app : ASGI application
    host : str or None
        The address the server is bound to; None is the loopback interface, where only its own names are
        answered. Otherwise numeric addresses, which no other site can own, and the names of this machine.
    token : str or None
        What every request must carry: in the query (``token``), as ``Authorization: Bearer``, or in the
        cookie that the page gets with the first of these.
    """

    def __init__(self, app: ASGIApp, *, host: str | None = None, token: str | None = None) -> None:
        self._app, self._token = app, token
        self._any_address = host is not None
        own = () if host is None else (host.lower(), socket.gethostname().lower(), f"{_short_name()}.local")
        self._names = LOOPBACK_NAMES | set(own)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        known = self._known(scope, headers)
        cookie = ""
        if self._token is not None and known == "query" and scope["path"] == "/":
            cookie = f"{_cookie_name(scope)}={self._token}; HttpOnly; SameSite=Strict; Path=/"

        async def send_bound(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                bound = MutableHeaders(scope=message)
                bound.update(_HEADERS)
                # crops of a review are kept by the browser, everything else is not
                bound.setdefault("Cache-Control", "no-store")
                if cookie:
                    bound.append("Set-Cookie", cookie)
            await send(message)

        error = self._error(scope, headers, known)
        if error is None:
            await self._app(scope, receive, send_bound)
        elif scope["type"] == "websocket" and "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008, "reason": error.detail[:120]})
        else:
            await error_response(error)(scope, receive, send_bound)

    def _error(self, scope: Scope, headers: Headers, known: str) -> HTTPException | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_ours(_name_of(hosts[0])):
            return HTTPException(421, "this server has another name; use the address that it printed")
        host = hosts[0].lower()
        for origin in headers.getlist("origin"):
            if origin.lower() not in (f"http://{host}", f"https://{host}"):
                return HTTPException(403, "pages of other sites may not use this server")
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not _is_visit(scope, headers):
            return HTTPException(403, "pages of other sites may not use this server")
        if not known:
            return HTTPException(
                401,
                "the token is missing or wrong: open the address that the server has printed, or send the "
                "header Authorization: Bearer TOKEN",
                {"WWW-Authenticate": "Bearer"},
            )
        return None

    def _is_ours(self, name: str) -> bool:
        if name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return self._any_address

    def _known(self, scope: Scope, headers: Headers) -> str:
        """Where the token is: "query", "header", "cookie"; "free" where none is needed, else empty."""
        if self._token is None:
            return "free"
        sent = HTTPConnection(scope)
        way, _, bearer = headers.get("authorization", "").partition(" ")
        given = {
            "query": sent.query_params.get("token", ""),
            "header": bearer if way.lower() == "bearer" else "",
            "cookie": sent.cookies.get(_cookie_name(scope), ""),
        }
        token = self._token.encode()
        return next((name for name, value in given.items() if hmac.compare_digest(value.encode(), token)), "")


def _name_of(host: str) -> str:
    """The name or address in a Host header, without its port, which a tunnel may change; empty if broken."""
    parts = _HOST.fullmatch(host.strip().lower())
    return (parts[1] or parts[2].removesuffix(".")) if parts else ""


def _is_visit(scope: Scope, headers: Headers) -> bool:
    """Whether a link to the page is followed, which only opens it."""
    return (
        scope["type"] == "http"
        and scope["method"] == "GET"
        and scope["path"] == "/"
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


def _cookie_name(scope: Scope) -> str:
    # browsers send cookies to all ports of a host
    server = scope.get("server") or ("", 0)
    return f"facereject-{server[1]}"


def _short_name() -> str:
    return socket.gethostname().lower().partition(".")[0]
