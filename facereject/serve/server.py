"""Serving: a bound socket, a quiet server, a clean stop."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from facereject.serve.bodies import remove_abandoned
from facereject.serve.limits import ServeLimits

#: where the server listens unless told otherwise
HOST, PORT = "127.0.0.1", 8420

# seconds that requests have to end when the server stops
_GRACE_S = 2


class AddressError(ValueError):
    """The server cannot listen there; the message says why."""


def bind(host: str = HOST, port: int | None = None) -> socket.socket:
    """A listening socket.

    Parameters
    ----------
    host : str
        Name or address of an interface.
    port : int or None
        0 takes a free one; None takes `PORT`, or a free one if that is in use.

    Raises
    ------
    AddressError
    """
    if port is not None and not 0 <= port <= 65535:
        raise AddressError(f"--port {port}: a port is a number from 0 to 65535")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError):
        raise AddressError(f"--host {host}: this machine has no such name or address") from None
    choices = [PORT, 0] if port is None else [port]
    for choice in choices:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address[0], choice, *address[2:]))
            listener.listen(128)
        except OSError as error:
            listener.close()
            if choice != choices[-1]:
                continue
            reason = (error.strerror or str(error)).lower()
            raise AddressError(f"{host}, port {choice}: cannot listen there ({reason})") from None
        return listener
    raise AssertionError("a choice is left")


def is_private(listener: socket.socket) -> bool:
    """Whether only this computer can reach the server."""
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback


def address_of(listener: socket.socket, token: str | None = None) -> str:
    """The address of the page on a listening socket, for a browser on this machine."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1"
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/" + (f"?token={token}" if token else "")


def run_server(
    app: ASGIApp,
    listener: socket.socket,
    *,
    limits: ServeLimits | None = None,
    on_ready: Callable[[], None] | None = None,
) -> None:
    """Serve until the process is interrupted; KeyboardInterrupt, or what SIGTERM raises, comes out of here.

    Parameters
    ----------
    app : ASGI application
        See `facereject.serve.app.make_app`.
    listener : socket
        See `bind`.
    limits : ServeLimits or None
        Those of the application.
    on_ready : callable or None
        Called when requests are answered.
    """
    remove_abandoned()
    make_server(app, limits=limits, on_ready=on_ready).run([listener])


def make_server(
    app: ASGIApp, *, limits: ServeLimits | None = None, on_ready: Callable[[], None] | None = None
) -> uvicorn.Server:
    """The server of `run_server`, for who runs it in a thread."""
    limits = limits or ServeLimits()
    # without a handler Python would print what it says about broken forms
    logging.getLogger("python_multipart").addHandler(logging.NullHandler())
    config = uvicorn.Config(
        app,
        http=_protocol(limits),
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=limits.connections,
        timeout_graceful_shutdown=_GRACE_S,
        ws_max_size=limits.frame_bytes,
        # images are compressed already
        ws_per_message_deflate=False,
    )
    return _QuietServer(config, on_ready)


class _QuietServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._on_ready is not None and not self.should_exit:
            self._on_ready()


def _protocol(limits: ServeLimits) -> type[H11Protocol]:
    """HTTP that closes connections of clients that send no whole request, or do not read the response.

    Both would count against the limit of connections, and the response would stay in memory.
    """

    class TimedProtocol(H11Protocol):
        # of the time for the next request, and of the time for reading what was sent
        _request_timer: asyncio.TimerHandle | None = None
        _read_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            # writing pauses as soon as the system takes no more
            transport.set_write_buffer_limits(0)
            self._request_timer = self.loop.call_later(limits.silent_s, self._hang_up)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            _cancel(self._request_timer)
            self._request_timer = self.loop.call_later(limits.silent_s, self._hang_up)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._read_timer = self.loop.call_later(limits.idle_s, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            _cancel(self._read_timer)

        def connection_lost(self, exc: Exception | None) -> None:
            _cancel(self._request_timer)
            _cancel(self._read_timer)
            super().connection_lost(exc)

        def _hang_up(self) -> None:
            waiting = self.cycle is None or self.cycle.response_complete
            # an open WebSocket has another protocol
            if waiting and self.transport.get_protocol() is self:
                self.transport.close()

    return TimedProtocol


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
