"""The application: routes, what they share, and the page."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from facereject import __version__
from facereject.faces import FaceRejector
from facereject.pipeline.live import warm_up
from facereject.serve import tables
from facereject.serve.bodies import PrivateFile, private_file, read_text, uploaded
from facereject.serve.guard import Guard
from facereject.serve.limits import ServeLimits
from facereject.serve.live_socket import LiveClient, reject_socket
from facereject.serve.models import ModelRegistry, ModelRequest
from facereject.serve.pages import MEDIA_TYPES, docs_page, fixed, page_routes, read_openapi
from facereject.serve.pool import Gate, WorkPool
from facereject.serve.responses import HeldResponse, json_response, respond_to_error, respond_to_failure
from facereject.serve.scoring import VideoStream, lines_of, score_image

T = TypeVar("T")


@dataclass
class ServeCounts:
    """What a server has done, and how many requests ended with an error response."""

    images: int = 0
    videos: int = 0
    live_frames: int = 0
    errors: int = 0


def make_app(
    models: ModelRegistry,
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
    models : ModelRegistry
    host, token : str or None
        See `Guard`.
    workers : int or None
        Threads that score faces; None takes one per core.
    limits : ServeLimits or None
    counts : ServeCounts or None
        Kept up to date.
    """
    service = _Service(
        models,
        WorkPool(os.cpu_count() or 1 if workers is None else workers),
        limits or ServeLimits(),
        counts or ServeCounts(),
    )
    routes = [
        Route("/api/score", service.score, methods=["POST"]),
        Route("/api/video", service.video, methods=["POST"]),
        Route("/api/decide", service.decide, methods=["POST"]),
        Route("/api/domain", service.domain, methods=["POST"]),
        Route("/api/table", service.table, methods=["POST"]),
        Route("/api/model", service.model),
        WebSocketRoute("/api/live", service.live),
        Route("/api/docs", fixed(docs_page().encode(), MEDIA_TYPES[".html"])),
        Route("/api/openapi.json", fixed(read_openapi(), "application/json")),
        *page_routes(),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={HTTPException: service.respond_to_error, Exception: respond_to_failure},
        lifespan=service.lifespan,
    )
    return Guard(app, host=host, token=token)


class _Service:
    """The routes of the API."""

    def __init__(
        self, models: ModelRegistry, pool: WorkPool, limits: ServeLimits, counts: ServeCounts
    ) -> None:
        self._models, self._pool, self._limits, self._counts = models, pool, limits, counts
        self._images = Gate("images", limits.images, 1)
        self._videos = Gate("videos", limits.videos, 10)
        self._tables = Gate("tables", limits.tables, 1)
        self._live = Gate("live clients", limits.live, 10)
        self._questions = Gate("questions about models", limits.questions, 1)

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Threads get ready while the first client connects."""
        rejector = self._models.get(ModelRequest())
        getting_ready = asyncio.gather(
            *(self._pool.run(warm_up, rejector) for _ in range(self._pool.workers)), return_exceptions=True
        )
        try:
            yield
        finally:
            getting_ready.cancel()
            self._pool.close()

    async def respond_to_error(self, request: Request, error: Exception) -> Response:
        """Handle `HTTPException`."""
        self._counts.errors += 1
        return await respond_to_error(request, error)

    async def score(self, request: Request) -> Response:
        limits, choose = self._limits, self._chosen(request.query_params)
        with self._images.place():
            async with uploaded(request, limits, limits.image_bytes, limits.body_s) as file:
                response = await self._pool.run(
                    score_image,
                    choose,
                    file.path,
                    max_pixels=limits.image_pixels,
                    thumbnails=request.query_params.get("thumbnails") == "1",
                )
        self._counts.images += 1
        return json_response(response)

    async def video(self, request: Request) -> Response:
        limits, choose = self._limits, self._chosen(request.query_params)
        async with AsyncExitStack() as stack:
            stack.enter_context(self._videos.place())
            file = await stack.enter_async_context(
                uploaded(request, limits, limits.video_bytes, limits.video_body_s)
            )
            video = VideoStream(choose, file.path, limits)
            stack.callback(video.close)
            head = await _while_connected(request, self._pool.run(video.open, stop=video.stop))
            self._counts.videos += 1
            lines = lines_of(video, head, self._pool)
            return HeldResponse(lines, stack.pop_all(), media_type="application/x-ndjson")

    async def decide(self, request: Request) -> Response:
        return await self._about_faces(request, tables.decide, self._limits.decide_items)

    async def domain(self, request: Request) -> Response:
        return await self._about_faces(request, tables.check_domain, self._limits.table_items)

    async def _about_faces(self, request: Request, answer: Callable[..., bytes], max_items: int) -> Response:
        choose = self._chosen(request.query_params)
        with self._tables.place():
            body = await read_text(request, self._limits, self._limits.table_bytes)
            data = await self._pool.run(answer, choose, body, max_items=max_items)
        return Response(data, media_type="application/json")

    async def table(self, request: Request) -> Response:
        kind = request.query_params.get("format", "csv")
        media_type, choose = tables.media_type(kind), self._chosen(request.query_params)
        async with AsyncExitStack() as stack:
            stack.enter_context(self._tables.place())
            limits = self._limits
            body = await read_text(request, limits, limits.table_bytes)
            file = stack.enter_context(private_file())
            await self._pool.run(
                tables.write_table,
                *(choose, body, kind, file),
                max_items=limits.table_items,
                max_rows=limits.table_rows,
            )
            headers = {"Content-Disposition": f'attachment; filename="faces.{kind}"'}
            return HeldResponse(_chunks(file), stack.pop_all(), headers=headers, media_type=media_type)

    async def model(self, request: Request) -> Response:
        chosen, limits = ModelRequest.parse(request.query_params), self._limits
        with self._questions.place():
            described = await self._pool.run(self._models.describe, chosen)
        described["version"] = __version__
        described["formats"] = tables.formats()
        names = ("image_bytes", "image_pixels", "video_bytes", "frame_bytes", "frame_pixels")
        described["limits"] = {name: getattr(limits, name) for name in names}
        return json_response(described)

    async def live(self, socket: WebSocket) -> None:
        try:
            with self._live.place():
                await socket.accept()
                client = LiveClient(socket, self._models, self._pool, self._limits)
                try:
                    await client.run()
                finally:
                    self._counts.live_frames += client.frames
        except HTTPException as error:
            self._counts.errors += 1
            await reject_socket(socket, error)

    def _chosen(self, query: QueryParams) -> Callable[[], FaceRejector]:
        """How to get the rejector of a query; what makes no sense is refused before the body is read."""
        return functools.partial(self._models.get, ModelRequest.parse(query))


async def _chunks(file: PrivateFile) -> AsyncGenerator[bytes, None]:
    """The content of a file, read as the client reads it."""
    while chunk := file.file.read(1 << 16):
        yield chunk


async def _while_connected(request: Request, work: Awaitable[T]) -> T:
    """The result of some work, cancelled if the client goes; the body must have been read."""
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise HTTPException(400, "the client has gone")
    finally:
        for task in (working, gone):
            task.cancel()
        await asyncio.gather(working, gone, return_exceptions=True)
