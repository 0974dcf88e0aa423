"""The application: routes, what they share, and the page."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from importlib import resources

from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from facereject import __version__
from facereject.faces import FaceRejector
from facereject.pipeline.live import warm_up
from facereject.serve import downloads
from facereject.serve._openapi import openapi
from facereject.serve.bodies import read_text, uploaded
from facereject.serve.guard import Guard
from facereject.serve.limits import ServeLimits
from facereject.serve.live_socket import LiveClient, refuse_socket
from facereject.serve.models import ModelShelf, wish_of
from facereject.serve.pictures import score_picture
from facereject.serve.pool import Gate, WorkPool
from facereject.serve.refusals import Refusal, answer_failure, answer_refusal, json_response
from facereject.serve.videos import VideoStream, lines_of

_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass
class ServeCounts:
    """What a server has done; nothing else is ever noted about its clients."""

    pictures: int = 0
    videos: int = 0
    live_frames: int = 0
    refused: int = 0


def make_app(
    shelf: ModelShelf,
    *,
    host: str | None = None,
    token: str | None = None,
    workers: int | None = None,
    limits: ServeLimits | None = None,
    counts: ServeCounts | None = None,
) -> ASGIApp:
    """The page and the API as an ASGI application.

    Parameters
    ----------
    shelf : ModelShelf
    host, token : str or None
        See `Guard`.
    workers : int or None
        Threads that judge faces; None takes one per core.
    limits : ServeLimits or None
    counts : ServeCounts or None
        Kept up to date.
    """
    service = _Service(
        shelf,
        WorkPool(os.cpu_count() or 1 if workers is None else workers),
        limits or ServeLimits(),
        counts or ServeCounts(),
    )
    routes = [
        Route("/api/score", service.score, methods=["POST"]),
        Route("/api/video", service.video, methods=["POST"]),
        Route("/api/decide", service.decide, methods=["POST"]),
        Route("/api/table", service.table, methods=["POST"]),
        Route("/api/model", service.model),
        Route("/api/docs", _docs),
        WebSocketRoute("/api/live", service.live),
        *(Route(path, _file(content, kind)) for path, content, kind in _page_files()),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={Refusal: service.refused, Exception: answer_failure},
        lifespan=service.lifespan,
    )
    return Guard(app, host=host, token=token)


class _Service:
    """The routes of the API."""

    def __init__(self, shelf: ModelShelf, pool: WorkPool, limits: ServeLimits, counts: ServeCounts) -> None:
        self._shelf, self._pool, self._limits, self._counts = shelf, pool, limits, counts
        self._pictures = Gate("pictures", limits.pictures, 1)
        self._videos = Gate("videos", limits.videos, 10)
        self._tables = Gate("tables", limits.tables, 1)
        self._live = Gate("live clients", limits.live, 10)
        self._questions = Gate("questions about models", limits.questions, 1)

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Threads get ready while the first client comes."""
        rejector = self._shelf.get(wish_of({}))
        getting_ready = asyncio.gather(
            *(self._pool.run(warm_up, rejector) for _ in range(self._pool.workers)), return_exceptions=True
        )
        try:
            yield
        finally:
            getting_ready.cancel()
            self._pool.close()

    async def refused(self, request: Request, error: Exception) -> Response:
        self._counts.refused += 1
        return await answer_refusal(request, error)

    async def score(self, request: Request) -> Response:
        limits, choose = self._limits, self._chosen(request.query_params)
        with self._pictures.place():
            async with uploaded(
                request, limits.picture_bytes, seconds=limits.body_s, silent_s=limits.silent_s
            ) as file:
                answer = await self._pool.run(
                    score_picture,
                    choose,
                    file.path,
                    max_pixels=limits.picture_pixels,
                    thumbnails=request.query_params.get("thumbnails") == "1",
                )
        self._counts.pictures += 1
        return json_response(answer)

    async def video(self, request: Request) -> Response:
        limits, choose = self._limits, self._chosen(request.query_params)
        async with AsyncExitStack() as stack:
            stack.enter_context(self._videos.place())
            file = await stack.enter_async_context(
                uploaded(request, limits.video_bytes, seconds=limits.video_body_s, silent_s=limits.silent_s)
            )
            video = await self._pool.run(
                VideoStream,
                choose,
                file.path,
                max_pixels=limits.frame_pixels,
                max_seconds=limits.video_s,
            )
            stack.callback(video.close)
            self._counts.videos += 1
            return HeldResponse(lines_of(video, self._pool), stack.pop_all(), limits.idle_s)

    async def decide(self, request: Request) -> Response:
        choose = self._chosen(request.query_params)
        with self._tables.place():
            body = await self._text(request)
            return json_response(await self._pool.run(downloads.decide, choose, body))

    async def table(self, request: Request) -> Response:
        kind = request.query_params.get("format", "csv")
        media_type, choose = downloads.media_type(kind), self._chosen(request.query_params)
        with self._tables.place():
            body = await self._text(request)
            made = await self._pool.run(downloads.table, choose, body, kind)
        headers = {"Content-Disposition": f'attachment; filename="faces.{kind}"'}
        return Response(made, headers=headers, media_type=media_type)

    async def model(self, request: Request) -> Response:
        wish, limits = wish_of(request.query_params), self._limits
        with self._questions.place():
            described = await self._pool.run(self._shelf.describe, wish)
        described["version"] = __version__
        described["formats"] = downloads.formats()
        described["limits"] = {
            "picture_bytes": limits.picture_bytes,
            "picture_pixels": limits.picture_pixels,
            "video_bytes": limits.video_bytes,
            "frame_bytes": limits.frame_bytes,
            "frame_pixels": limits.frame_pixels,
        }
        return json_response(described)

    async def live(self, socket: WebSocket) -> None:
        try:
            with self._live.place():
                await socket.accept()
                client = LiveClient(socket, self._shelf, self._pool, self._limits)
                try:
                    await client.run()
                finally:
                    self._counts.live_frames += client.frames
        except Refusal as refusal:
            self._counts.refused += 1
            await refuse_socket(socket, refusal)

    def _chosen(self, query: QueryParams) -> Callable[[], FaceRejector]:
        """How to get the rejector of a query; what makes no sense is refused before the body is read."""
        return functools.partial(self._shelf.get, wish_of(query))

    async def _text(self, request: Request) -> bytes:
        limits = self._limits
        return await read_text(request, limits.table_bytes, seconds=limits.body_s, silent_s=limits.silent_s)


class HeldResponse(StreamingResponse):
    """Lines of JSON, and what they need until the last one is sent or the client is gone.

    Parameters
    ----------
    lines : async generator of bytes
    held : AsyncExitStack
        Closed at the end, however that comes.
    patience_s : float
        A client that does not read for so long is gone.
    """

    def __init__(self, lines: AsyncGenerator[bytes, None], held: AsyncExitStack, patience_s: float) -> None:
        super().__init__(lines, media_type="application/x-ndjson")
        self._lines, self._held, self._patience_s = lines, held, patience_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            await asyncio.wait_for(send(message), self._patience_s)

        async with self._held, aclosing(self._lines):
            await super().__call__(scope, receive, send_in_time)


async def _docs(request: Request) -> Response:
    return json_response(openapi())


def _file(content: bytes, kind: str) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:
        return Response(content, media_type=kind)

    return endpoint


def _page_files() -> list[tuple[str, bytes, str]]:
    """The files of the page with their addresses, read now: no request ever leads to the disk."""
    folder = resources.files("facereject.serve") / "page"
    found = []
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        kind = _MEDIA_TYPES.get(os.path.splitext(item.name)[1])
        if kind is not None:
            path = "/" if item.name == "index.html" else f"/{item.name}"
            found.append((path, item.read_bytes(), kind))
    return found
