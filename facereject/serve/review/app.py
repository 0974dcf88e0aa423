"""The application of a review: its routes, behind the guard of the server, always with a token."""

from __future__ import annotations

import asyncio
import json
import os
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from facereject.serve.bodies import read_text
from facereject.serve.guard import Guard
from facereject.serve.limits import ServeLimits
from facereject.serve.pages import page_routes
from facereject.serve.pool import Gate, WorkPool
from facereject.serve.responses import (
    HeldResponse,
    json_response,
    log_failure,
    respond_to_error,
    respond_to_failure,
    unusable,
)
from facereject.serve.review.annotations import AnnotationError, checked_points
from facereject.serve.review.decisions import checked_rule
from facereject.serve.review.duplicates import find_duplicates
from facereject.serve.review.export import FILES, ExportError, export
from facereject.serve.review.faces import ACCEPT, REJECT, UNDECIDED, RequestError
from facereject.serve.review.images import NoImageError
from facereject.serve.review.session import Progress, Session
from facereject.tables.errors import TableError

# the address of a view has the version of the table in it
_FOREVER = {"Cache-Control": "private, max-age=31536000, immutable"}

# crops in one response: what a screen shows
_MOST_CROPS = 64

# number of the face, status, length of what follows
_CROP_HEAD = struct.Struct("<III")


@dataclass
class _Making:
    """FaceImages that are being made, and how many requests wait for them."""

    task: asyncio.Task[dict[tuple[str, int], bytes]]
    waiting: int = 0


def make_review_app(
    session: Session, token: str, *, page: str = "review", workers: int | None = None
) -> ASGIApp:
    """The page of a review, or that of annotation, and what it asks for.

    Parameters
    ----------
    session : Session
    token : str
        What every request must carry, see `Guard`: on a shared computer others can reach the port.
    page : {"review", "annotate"}
    workers : int or None
        Threads that open images; None takes one per core.
    """
    service = _ReviewService(session, WorkPool(workers or os.cpu_count() or 1))
    routes = [
        Route("/api/review", service.describe),
        Route("/api/columns", service.columns),
        Route("/api/view/{version}/{number:int}", service.view),
        Route("/api/crops/{version}/{kind}", service.crops),
        Route("/api/face/{number:int}", service.face),
        Route("/api/landmarks/{number:int}", service.landmarks, methods=["POST"]),
        Route("/api/decide", service.decide, methods=["POST"]),
        Route("/api/rule", service.rule, methods=["POST"]),
        Route("/api/changes", service.changes),
        Route("/api/fit", service.fit),
        Route("/api/duplicates", service.duplicates, methods=["GET", "POST"]),
        Route("/api/export", service.export, methods=["GET", "POST"]),
        *(route for route in page_routes() if route.path != "/"),
        *page_routes("review", index=f"{page}.html"),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={HTTPException: respond_to_error, Exception: respond_to_failure},
        lifespan=service.lifespan,
    )
    return Guard(app, token=token)


class _ReviewService:
    """The routes."""

    def __init__(self, session: Session, pool: WorkPool) -> None:
        self._session, self._pool = session, pool
        self._places = Gate("crops", 16, 1)
        self._making: dict[tuple[Any, ...], _Making] = {}
        self._jobs = {"export": Progress(), "duplicates": Progress()}
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Threads end with the server."""
        try:
            yield
        finally:
            self._pool.close()

    async def describe(self, request: Request) -> Response:
        return json_response(await self._pool.run(self._session.describe))

    async def columns(self, request: Request) -> Response:
        data = await self._pool.run(self._session.packed)
        return Response(data, media_type="application/octet-stream")

    async def view(self, request: Request) -> Response:
        number = self._number(request)
        self._check_version(request)
        with self._places.place(), _as_responses():
            data = await self._make("view", number)
        return Response(data, headers=_FOREVER, media_type="image/jpeg")

    async def crops(self, request: Request) -> Response:
        """Many crops in one response, each as soon as it is made."""
        self._check_version(request)
        kind, listed = request.path_params["kind"], request.query_params.get("faces", "").split(",")
        numbers = [int(each) for each in listed[:_MOST_CROPS] if each.isdecimal() and len(each) < 10]
        if kind not in ("crop", "plain") or len(numbers) != len(listed):
            raise unusable(f"crops are asked for by at most {_MOST_CROPS} numbers of faces")
        if max(numbers) >= len(self._session.faces):
            raise HTTPException(404, "there is no such face")
        async with AsyncExitStack() as stack:
            stack.enter_context(self._places.place())
            parts = self._crops(kind, numbers)
            return HeldResponse(parts, stack.pop_all(), media_type="application/octet-stream")

    async def _crops(self, kind: str, numbers: list[int]) -> AsyncGenerator[bytes, None]:
        tasks = [asyncio.ensure_future(self._crop(kind, number)) for number in numbers]
        try:
            for task in asyncio.as_completed(tasks):
                yield await task
        finally:
            for each in tasks:
                each.cancel()

    async def _crop(self, kind: str, number: int) -> bytes:
        """Number of the face, status, length; then the JPEG, or why there is none."""
        try:
            status, data = 200, await self._make(kind, number)
        except NoImageError as error:
            status, data = 404, str(error).encode()
        except Exception as error:
            # the other crops of the response can still be shown
            log_failure("a crop", error)
            status, data = 500, b"The server failed on this face; its log says where."
        return _CROP_HEAD.pack(number, status, len(data)) + data

    async def _make(self, kind: str, number: int) -> bytes:
        """Make a crop or view; requests for the same file share one thread, cancelled when all have gone."""
        images = self._session.images
        data = images.kept(kind, number)
        if data is not None:
            return data
        key = (kind, *images.unit(number)) if kind != "view" else (kind, number)
        making = self._making.get(key)
        if making is None:
            task = asyncio.ensure_future(self._pool.run(images.make, kind, number))
            making = self._making[key] = _Making(task)
            task.add_done_callback(lambda _: self._making.pop(key, None))
        making.waiting += 1
        try:
            made = await asyncio.shield(making.task)
        except NoImageError:
            made = {}
        finally:
            making.waiting -= 1
            if not making.waiting:
                making.task.cancel()
        if (kind, number) not in made:
            # a frame that is not among those shown, or another face of the image cannot be shown
            made = await self._pool.run(images.make, kind, number)
        images.keep(made)
        return made[kind, number]

    def _check_version(self, request: Request) -> None:
        if request.path_params["version"] != self._session.version:
            raise HTTPException(404, "the table has changed; reload the page")

    async def face(self, request: Request) -> Response:
        return json_response(self._session.face(self._number(request)))

    async def landmarks(self, request: Request) -> Response:
        number, values = self._number(request), await self._json(request)
        annotated, points = self._session.annotated, values.get("points")
        with _as_responses():
            if points is None:
                revision = await self._pool.run(annotated.remove, number)
            else:
                checked = checked_points(points, self._session.faces.n_points)
                revision = await self._pool.run(annotated.save, number, checked)
        return json_response({"revision": revision, **self._session.face(number)})

    async def decide(self, request: Request) -> Response:
        values = await self._json(request)
        numbers, decision = values.get("numbers"), values.get("decision")
        n = len(self._session.faces)
        fine = isinstance(numbers, list) and all(type(each) is int and 0 <= each < n for each in numbers)
        if not fine or decision not in (UNDECIDED, ACCEPT, REJECT):
            raise unusable('decisions are {"numbers": [face, ...], "decision": 0, 1 or 2}')
        with _as_responses():
            revision = await self._pool.run(self._session.decisions.decide, numbers, decision)
        return json_response({"revision": revision})

    async def rule(self, request: Request) -> Response:
        values = await self._json(request)
        with _as_responses():
            rule = checked_rule(values, self._session.faces.keys)
            revision = await self._pool.run(self._session.decisions.set_rule, rule)
        return json_response({"revision": revision})

    async def changes(self, request: Request) -> Response:
        since = request.query_params.get("since", "0")
        if not (since.isdecimal() and len(since) < 16):
            raise unusable("since must be a number")
        return json_response(self._session.decisions.changes(int(since)))

    async def fit(self, request: Request) -> Response:
        found = await self._pool.run(self._session.fit)
        return json_response(None if found is None else found._asdict())

    async def duplicates(self, request: Request) -> Response:
        return self._job("duplicates", request.method, find_duplicates)

    async def export(self, request: Request) -> Response:
        if request.method == "GET":
            return self._job("export", "GET", export)
        files = (await self._json(request)).get("files")
        if files not in FILES:
            raise unusable(f"files must be one of {', '.join(FILES)}")
        if self._jobs["export"].running:
            raise HTTPException(409, "An export is running already.")
        return self._job("export", "POST", export, files)

    def _job(self, name: str, method: str, work: Callable[..., None], *args: Any) -> Response:
        """How far some work is; POST starts it, unless it is running."""
        if method == "POST" and not self._jobs[name].running:
            progress = self._jobs[name] = Progress(running=True)
            task = asyncio.ensure_future(self._finish(progress, work, *args))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return json_response(asdict(self._jobs[name]))

    async def _finish(self, progress: Progress, work: Callable[..., None], *args: Any) -> None:
        """Work that goes on after the response."""
        try:
            await self._pool.run(work, self._session, progress, *args)
        except (ExportError, TableError) as error:
            progress.error = str(error)
        except OSError as error:
            name = f"{error.filename}: " if error.filename else ""
            progress.error = f"{name}{error.strerror or error}. Nothing was lost; try again."
        except Exception as error:
            log_failure("review", error)
            progress.error = "The server failed; its log says where."
        finally:
            progress.running = False

    def _number(self, request: Request) -> int:
        number = int(request.path_params["number"])
        if number >= len(self._session.faces):
            raise HTTPException(404, "there is no such face")
        return number

    async def _json(self, request: Request) -> dict[str, Any]:
        body = await read_text(request, ServeLimits(), 16 << 20)
        try:
            values = json.loads(body)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            raise unusable("the body must be a JSON object")
        return values


@contextmanager
def _as_responses() -> Iterator[None]:
    """Errors whose message is for the user become error responses."""
    try:
        yield
    except NoImageError as error:
        raise HTTPException(404, str(error)) from None
    except AnnotationError as error:
        raise HTTPException(409, str(error)) from None
    except (TableError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise HTTPException(507, f"This cannot be saved: {reason}") from None
    except RequestError as error:
        raise unusable(str(error)) from None
