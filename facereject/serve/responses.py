"""What the server sends: faces and frames as JSON, error responses; and the log of its own failures."""

from __future__ import annotations

import base64
import json
import traceback
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from facereject._log import logger
from facereject.faces import Face

_LOG = logger(__name__)

# lines of code in a log entry, the innermost ones
_LOGGED_LINES = 6


def too_large(limit: int) -> HTTPException:
    """The body has more bytes than allowed."""
    return HTTPException(413, f"more than the limit of {limit:,} bytes; send less, or use `facereject score`")


def unusable(detail: str) -> HTTPException:
    """The request was read but makes no sense, or its image cannot be read."""
    return HTTPException(422, detail)


def busy(what: str, retry_after_s: int) -> HTTPException:
    """Too many requests of a kind at the same time."""
    detail = f"too many {what} at the same time; try again in {retry_after_s} s"
    return HTTPException(503, detail, {"Retry-After": str(retry_after_s)})


def encode(value: Any) -> bytes:
    """JSON of plain values; NaN and infinity are an error, as JSON has neither."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A response of JSON."""
    return Response(encode(value), status, headers, "application/json")


def error_response(error: HTTPException) -> Response:
    """``{"error": "a sentence"}`` with the status of the error."""
    # the body of the request may not have been read, so no other request can follow it
    headers = {"Connection": "close", **(error.headers or {})}
    return json_response({"error": error.detail}, error.status_code, headers)


class HeldResponse(StreamingResponse):
    """A streamed response, and what it needs until its end is sent or the client has gone.

    Parameters
    ----------
    parts : async generator of bytes
    held : AsyncExitStack
        Closed at the end in any case.
    headers, media_type
        As in Starlette.
    """

    def __init__(
        self,
        parts: AsyncGenerator[bytes, None],
        held: AsyncExitStack,
        *,
        headers: Mapping[str, str] | None = None,
        media_type: str,
    ) -> None:
        super().__init__(parts, headers=headers, media_type=media_type)
        self._parts, self._held = parts, held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._held, aclosing(self._parts):
            await super().__call__(scope, receive, send)


async def respond_to_error(request: Request, error: Exception) -> Response:
    """Handle `HTTPException`."""
    assert isinstance(error, HTTPException)
    return error_response(error)


async def respond_to_failure(request: Request, error: Exception) -> Response:
    """Handle an exception that nobody expected: logged here, not explained to the client."""
    log_failure(f"{request.method} {request.url.path}", error)
    return error_response(HTTPException(500, "the server failed on this request; the next one may work"))


def log_failure(what: str, error: BaseException) -> None:
    """Log an unexpected exception by its class and the lines of code it passed, and its causes likewise.

    Messages of exceptions are left out: they may contain names of files, and the log must not.
    """
    causes = []
    cause: BaseException | None = error
    while cause is not None:
        number = f" {cause.errno}" if isinstance(cause, OSError) else ""
        lines = traceback.extract_tb(cause.__traceback__)[-_LOGGED_LINES:]
        passed = ", ".join(f"{Path(line.filename).name}:{line.lineno} {line.name}" for line in lines)
        causes.append(f"{type(cause).__name__}{number} ({passed})")
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    _LOG.error("%s failed: %s", what, "; caused by ".join(causes))


def face_response(face: Face, *, thumbnail: bool = False) -> dict[str, Any]:
    """A face: `Face.to_dict`, its track, the reason as a sentence and what to do about it."""
    response = {
        **face.to_dict(),
        "track": face.track,
        "explanation": face.explanation,
        "hint": face.hint,
        "likely_cause": face.likely_cause,
    }
    if thumbnail and face.thumbnail:
        response["thumbnail"] = base64.b64encode(face.thumbnail).decode("ascii")
    return response


def frame_response(faces: Sequence[Face], *, thumbnails: bool = False) -> dict[str, Any]:
    """An image or frame: whether all of its faces are accepted, else the reason, and the faces."""
    rejected = [face.reason for face in faces if not face.accepted] if faces else ["no_face"]
    return {
        "accepted": not rejected,
        "reason": rejected[0] if rejected else "",
        "faces": [face_response(face, thumbnail=thumbnails) for face in faces],
    }
