"""facereject serve: the page in a browser, and the API."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import logging
import os
import secrets
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from facereject._cli._choices import PartsChoice, ServeTarget
from facereject._cli._panels import Given, command
from facereject._cli._shared import ModelOption, QuietOption, option, say, stop
from facereject._words import counted

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp

    from facereject.faces import FaceRejector


def _checked_port(port: int | None) -> int | None:
    """Refuse a port that cannot exist before anything is loaded or scored."""
    if port is not None and not 0 <= port <= 65535:
        stop(f"--port {port}: a port is a number from 0 to 65535")
    return port


PortOption = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="N",
        callback=_checked_port,
        help="Port; 0 takes a free one. Default: 8420, or a free one if it is in use.",
    ),
]
BrowserOption = Annotated[
    bool, typer.Option("--browser/--no-browser", help="Open the page in the browser, or not.")
]


@command(lambda: (ServeTarget, PartsChoice))
def serve(
    given: Given,
    host: str | None = option(
        None,
        metavar="ADDRESS",
        help="Listen on this address, so that other computers can connect with a token. There is no TLS.",
    ),
    port: PortOption = None,
    browser: BrowserOption = True,
    workers: int | None = option(None, metavar="N", help="Threads for all clients together."),
    model: ModelOption = "default",
    quiet: QuietOption = False,
) -> None:
    """Score a camera, photos and videos in the browser; JSON API.

    The browser sends images to this server only, and the server keeps none of them. Without --host they stay
    on this computer.

    The API is described at /api/docs; docs/serve.md has examples.

    [bold]Examples[/bold]
    facereject serve                           [dim]opens the page in the browser[/dim]
    facereject serve --model thorough --port 9000 --no-browser
    facereject serve --host 0.0.0.0            [dim]for other computers; prints a token[/dim]

    [bold]Exit codes[/bold]: 0 stopped by Ctrl-C or SIGTERM, 1 the port cannot be used, 2 wrong usage
    """
    target, parts = given.make(ServeTarget).chosen(), given.make(PartsChoice)
    if workers is not None and workers < 1:
        stop(f"--workers must be at least 1; got {workers}")
    check_installed()
    from facereject.faces.models.card import MODEL_NOTES
    from facereject.serve.app import ServeCounts, make_app
    from facereject.serve.models import ModelRegistry
    from facereject.serve.server import is_private

    with listening(host, port) as listener:
        rejector = parts.load_parts(model, target=target)
        token = None if host is None else secrets.token_urlsafe(24)
        counts = ServeCounts()
        models = ModelRegistry(_name_of(model), rejector, _others(parts), MODEL_NOTES)
        app = make_app(models, host=host, token=token, workers=workers, counts=counts)
        lines = ["facereject is at {address}"]
        if host in ("0.0.0.0", "::"):
            lines.append("From other computers, use the name or address of this one instead of 127.0.0.1.")
        if is_private(listener):
            lines.append("Images stay on this computer. Ctrl-C stops the server.")
        else:
            lines.append(
                "Warning: there is no encryption (TLS). Images and the token that other computers send "
                "can be read on the network. Use it on networks you trust, or over a tunnel. Images are "
                "not kept. Ctrl-C stops the server."
            )
        run_page(app, listener, token, lines, browser)
    if not quiet:
        say(
            f"Stopped. Scored {counted(counts.images, 'image')}, {counted(counts.videos, 'video')} and "
            f"{counted(counts.live_frames, 'live frame')}; {counted(counts.errors, 'error response')}."
        )


def check_installed() -> None:
    """Stop with a sentence if a package of the server is missing."""
    for name in ("starlette", "uvicorn", "python_multipart", "websockets"):
        if importlib.util.find_spec(name) is None:
            stop(
                f"{name} is not installed, which the page needs: "
                "pip install starlette uvicorn python-multipart websockets"
            )


@contextlib.contextmanager
def listening(host: str | None, port: int | None) -> Iterator[socket.socket]:
    """A listening socket, by default for this computer alone."""
    from facereject.serve.server import HOST, AddressError, bind

    try:
        listener = bind(HOST if host is None else host, port)
    except AddressError as error:
        stop(str(error), 1)
    with listener:
        yield listener


def run_page(
    app: ASGIApp, listener: socket.socket, token: str | None, lines: Sequence[str], browser: bool
) -> None:
    """Serve until Ctrl-C or SIGTERM; when requests are answered, show lines with the ``{address}``."""
    from facereject.serve.server import address_of, run_server

    address = address_of(listener, token)

    def ready() -> None:
        for line in lines:
            say(line.format(address=address))
        if browser:
            threading.Thread(target=_open_browser, args=[address], daemon=True).start()

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.getLogger("facereject").addHandler(handler)
    with contextlib.suppress(KeyboardInterrupt):
        run_server(app, listener, on_ready=ready)


def _name_of(model: str) -> str:
    """A name for the model picker; of a file only its stem, as clients need not know its folder."""
    from facereject.faces.models.storage import pretrained_models

    return model if model in pretrained_models() else Path(model).stem


def _others(parts: PartsChoice) -> dict[str, Callable[[], FaceRejector]]:
    """The models installed with the package, with the same detector and landmark predictor."""
    from facereject._cli._choices import chosen_detector, chosen_landmarks
    from facereject.faces import FaceRejector
    from facereject.faces.models.storage import pretrained_models

    def load(name: str) -> FaceRejector:
        predictor = chosen_landmarks(parts.landmarks)
        return FaceRejector.pretrained(name, detector=chosen_detector(parts.detector), predictor=predictor)

    return {name: functools.partial(load, name) for name in pretrained_models()}


def _open_browser(address: str) -> None:
    import webbrowser

    # without a screen a browser for terminals would take this one
    has_screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if has_screen or sys.platform in ("win32", "darwin"):
        webbrowser.open(address)
