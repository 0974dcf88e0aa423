"""Download one public file: resumed after a break, checked, moved into place only when complete."""

from __future__ import annotations

import hashlib
import http.client
import os
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from data_scripts.registry import DataError

CHUNK = 1 << 16
Progress = Callable[[str, int, int], None]


class FetchError(DataError):
    """A file could not be downloaded; the message gives its address and where to put it by hand."""


class ChecksumError(DataError):
    """A file is not the one that was expected."""


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def print_progress(name: str, done: int, total: int) -> None:
    """One line, rewritten on a terminal; elsewhere only the last state is printed."""
    share = f" of {total / 1e6:.1f} MB ({100 * done / total:.0f} %)" if total else " MB"
    finished = total and done >= total
    if sys.stderr.isatty() or finished:
        end = "\n" if finished else ""
        print(f"\r  {name}: {done / 1e6:.1f}{share}", end=end, file=sys.stderr, flush=True)


def fetch(
    url: str,
    path: Path,
    sha256: str = "",
    *,
    attempts: int = 4,
    timeout: float = 30.0,
    pause: float = 1.0,
    progress: Progress = print_progress,
) -> Path:
    """Download ``url`` to ``path``; a file that is already there is kept.

    Bytes are collected in ``<path>.part``, which a later attempt or run continues by an HTTP Range request.
    The ETag or date of the first answer, if it has one, is kept beside it, so that parts of two versions are
    not joined.

    Parameters
    ----------
    sha256 : str
        Expected checksum; empty if unknown.
    attempts : int
        Tries after broken connections and server errors; refusals (4xx) are not repeated.
    timeout, pause : float
        Seconds without an answer, and before the second attempt (doubled each time).

    Raises
    ------
    FetchError
        No connection, a refusal, or still incomplete after all attempts.
    ChecksumError
        The complete file has another checksum; it is removed.
    """
    if path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    reason = ""
    for attempt in range(attempts):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        try:
            _receive(url, part, timeout, progress)
            break
        except urllib.error.HTTPError as error:
            error.close()
            reason = f"the server answered {error.code} {error.reason}"
            # 416: the part is as long as the file or longer, so it belongs to another version
            if error.code == 416:
                _forget(part)
            elif error.code < 500 and error.code not in (408, 429):
                raise FetchError(_advice(url, path, reason)) from None
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
            # an unknown host stays unknown: most likely there is no network at all
            if isinstance(getattr(error, "reason", None), socket.gaierror):
                raise FetchError(_advice(url, path, reason)) from None
    else:
        raise FetchError(_advice(url, path, reason))
    if sha256 and (found := sha256_of(part)) != sha256:
        _forget(part)
        raise ChecksumError(f"{url}: sha256 is {found}, expected {sha256}; the download was removed")
    os.replace(part, path)
    _forget(part)
    return path


def _receive(url: str, part: Path, timeout: float, progress: Progress) -> None:
    tag = _tag_of(part)
    have = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(
        url, headers={"User-Agent": "facereject-data", "Accept-Encoding": "identity"}
    )
    if have:
        request.add_header("Range", f"bytes={have}-")
        if tag.is_file():
            request.add_header("If-Range", tag.read_text(encoding="ascii"))
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        if answer.status != 206:
            have = 0
            tag.unlink(missing_ok=True)
        elif not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            _forget(part)
            raise ConnectionError("the server sent another part than was asked for")
        version = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
        if version and not version.startswith("W/"):
            tag.write_text(version, encoding="ascii", errors="ignore")
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length else 0
        with open(part, "ab" if have else "wb") as file:
            while block := answer.read(CHUNK):
                file.write(block)
                have += len(block)
                progress(part.stem, have, total)
    if total and have != total:
        raise ConnectionError(f"the connection ended after {have} of {total} bytes")


def _tag_of(part: Path) -> Path:
    return part.with_name(part.name + ".tag")


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _tag_of(part).unlink(missing_ok=True)


def _advice(url: str, path: Path, reason: str) -> str:
    return (
        f"cannot download {url}: {reason}.\n"
        f"    Fetch it by hand and save it as {path}, or name the folder that holds it with --from DIR."
    )
