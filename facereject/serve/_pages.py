"""The files of the pages, read when the server starts: no request ever leads to the disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def page_routes(folder: str = "", *, index: str = "index.html") -> list[Route]:
    """Routes of the files in a folder of the pages; ``index`` is at /, other pages of HTML are left out."""
    found = []
    for item in sorted(
        (resources.files("facereject.serve") / "page" / folder).iterdir(), key=lambda i: i.name
    ):
        suffix = os.path.splitext(item.name)[1]
        if suffix not in MEDIA_TYPES or (suffix == ".html" and item.name != index):
            continue
        path = "/" if suffix == ".html" else f"/{folder}{'/' if folder else ''}{item.name}"
        found.append(Route(path, fixed(item.read_bytes(), MEDIA_TYPES[suffix])))
    return found


def fixed(content: bytes, kind: str) -> Callable[[Request], Response]:
    """An endpoint that always gives the same."""

    def endpoint(request: Request) -> Response:
        return Response(content, media_type=kind)

    return endpoint
