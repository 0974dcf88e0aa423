"""How requests are refused: a status, a sentence, and when to come again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response


class Refusal(Exception):
    """A request that is not served.

    Parameters
    ----------
    status : int
        Of HTTP.
    sentence : str
        What is wrong and what to do.
    headers : mapping, optional
        Further headers of the answer.
    see : str
        Where such a request is served, if elsewhere.
    """

    def __init__(
        self, status: int, sentence: str, headers: Mapping[str, str] | None = None, *, see: str = ""
    ) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers, self.see = status, sentence, dict(headers or {}), see

    def response(self) -> Response:
        """The answer."""
        said = {"error": self.sentence, **({"see": self.see} if self.see else {})}
        # the body of a refused request may not have been read, so nothing can follow it
        return json_response(said, self.status, {"Connection": "close", **self.headers})


def too_large(limit: int) -> Refusal:
    """The body has more bytes than allowed."""
    return Refusal(413, f"more than the limit of {limit:,} bytes; send less, or use `facereject score`")


def unusable(sentence: str, *, see: str = "") -> Refusal:
    """The request was read but makes no sense, or holds no picture that can be read."""
    return Refusal(422, sentence, see=see)


def busy(what: str, retry_after_s: int) -> Refusal:
    """All places are taken."""
    return Refusal(
        503,
        f"too many {what} at the same time; try again in {retry_after_s} s",
        {"Retry-After": str(retry_after_s)},
    )


def encode(value: Any) -> bytes:
    """Plain values as JSON; what is not finite is a mistake of ours, never sent."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer of JSON."""
    return Response(encode(value), status, headers, "application/json")


async def answer_refusal(request: Request, error: Exception) -> Response:
    """The handler for `Refusal`."""
    assert isinstance(error, Refusal)
    return error.response()


async def answer_failure(request: Request, error: Exception) -> Response:
    """The handler for everything unforeseen: what it was stays here."""
    return Refusal(500, "the server failed on this request; the next one may work").response()
