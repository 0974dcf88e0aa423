"""The body of a request, read within limits into a private file; file names from clients are not used."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import IO, NamedTuple

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from facereject.serve.limits import ServeLimits
from facereject.serve.responses import too_large, unusable

# here the system shows open files by number, also those without a name
_BY_NUMBER = "/proc/self/fd"

_PREFIX = "facereject-serve-"
_ABANDONED_S = 86_400.0

# bytes of a multipart body besides the file: boundaries, names, further fields
_AROUND = 1 << 16


class PrivateFile(NamedTuple):
    """A file that only this process sees, and a path under which the library can open it."""

    file: IO[bytes]
    path: str


@contextmanager
def private_file() -> Iterator[PrivateFile]:
    """A temporary file that is gone when the block ends.

    On Linux it has no name, so that even a killed process leaves nothing behind. Elsewhere it lies in a
    folder that only its owner can enter; see `remove_abandoned`.
    """
    if os.path.isdir(_BY_NUMBER):
        with tempfile.TemporaryFile() as file:
            yield PrivateFile(file, f"{_BY_NUMBER}/{file.fileno()}")
        return
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        path = os.path.join(folder, "upload")
        with open(path, "x+b") as file:
            yield PrivateFile(file, path)


def remove_abandoned() -> None:
    """Remove the folders of servers that were killed at least a day ago."""
    with os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
                if own and time.time() - status.st_mtime > _ABANDONED_S:
                    shutil.rmtree(entry.path, ignore_errors=True)


@asynccontextmanager
async def uploaded(
    request: Request, limits: ServeLimits, limit: int, seconds: float
) -> AsyncIterator[PrivateFile]:
    """The file that a request carries, as its body or as the one file of a multipart form.

    Parameters
    ----------
    request : Request
    limits : ServeLimits
        ``silent_s`` is the time within which the next part of it must have come.
    limit : int
        Bytes.
    seconds : float
        Within which all of it must have come.

    Raises
    ------
    HTTPException
        413 for more bytes, known from the header where it tells; 408 for a slow client; 400 and 422 for a
        form that is broken or holds no file.
    """
    is_form = request.headers.get("content-type", "").lower().startswith("multipart/form-data")
    bounded = _bounded(request, limit + (_AROUND if is_form else 0), limit, seconds, limits.silent_s)
    with private_file() as target:
        try:
            if is_form:
                await _copy_form_file(bounded, target.file, limit)
            else:
                async for chunk in bounded.stream():
                    target.file.write(chunk)
            target.file.flush()
        except ClientDisconnect:
            raise HTTPException(400, "the body ended early") from None
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise HTTPException(507, f"the upload cannot be stored ({reason})") from None
        target.file.seek(0, os.SEEK_END)
        if target.file.tell() == 0:
            raise unusable("the body is empty; send a file as the body or in a multipart form")
        yield target


async def read_text(request: Request, limits: ServeLimits, limit: int) -> bytes:
    """The whole body in memory, within the same limits."""
    chunks: list[bytes] = []
    try:
        async for chunk in _bounded(request, limit, limit, limits.body_s, limits.silent_s).stream():
            chunks.append(chunk)
    except ClientDisconnect:
        raise HTTPException(400, "the body ended early") from None
    return b"".join(chunks)


async def _copy_form_file(request: Request, target: IO[bytes], limit: int) -> None:
    try:
        form = await request.form(max_files=1, max_fields=8, max_part_size=_AROUND)
    except HTTPException as error:
        raise HTTPException(400, f"the multipart form cannot be read ({error.detail})") from None
    try:
        files = [value for _, value in form.multi_items() if isinstance(value, UploadFile)]
        if len(files) != 1:
            raise unusable("the multipart form must hold one file")
        while chunk := await files[0].read(1 << 20):
            if target.tell() + len(chunk) > limit:
                raise too_large(limit)
            target.write(chunk)
    finally:
        await form.close()


def _bounded(request: Request, most: int, limit: int, seconds: float, silent_s: float) -> Request:
    """The request, its body counted and timed while it is received."""
    announced = request.headers.get("content-length", "0")
    # Python takes seconds, then an exception, for an integer of thousands of digits
    if len(announced) > 20 or (announced.isdecimal() and int(announced) > most):
        raise too_large(limit)
    end = time.monotonic() + seconds
    taken = 0

    async def receive() -> Message:
        nonlocal taken
        wait = min(silent_s, end - time.monotonic())
        try:
            message = await asyncio.wait_for(request.receive(), max(wait, 0.001))
        except asyncio.TimeoutError:
            raise HTTPException(408, "the body came too slowly; send it again") from None
        taken += len(message.get("body", b""))
        if taken > most:
            raise too_large(limit)
        return message

    return Request(request.scope, receive)
