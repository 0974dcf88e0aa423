"""The API described in the form of OpenAPI 3.1: GET /api/docs."""

from __future__ import annotations

from typing import Any

from facereject import __version__
from facereject.faces.face import CAUSES
from facereject.serve.models import TARGETS
from facereject.tables.rows import REASONS

_JSON = "application/json"
_NUMBER, _TEXT, _FLAG = {"type": "number"}, {"type": "string"}, {"type": "boolean"}
_WHOLE = {"type": "integer"}
_BINARY = {"schema": {"type": "string", "format": "binary"}}

_TARGET_WORDS = {
    "expected_error": "Accept every face up to this expected error, in percent.",
    "max_error": "Accept as many faces as possible with a mean error of at most this, in percent.",
    "coverage": "Accept at least this share of the faces, 0 to 1.",
    "cost": "Rejecting a face is as bad as an error of this many percent.",
    "threshold": "Accept up to this uncertainty.",
}


def openapi() -> dict[str, Any]:
    """The document, as plain JSON."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "facereject",
            "version": __version__,
            "description": "Which face-landmark predictions to trust. Errors are percents of the distance of "
            "the outer eye corners, unless GET /api/model names another unit. Where the server demands a "
            "token, send it as `Authorization: Bearer TOKEN` or as the query parameter `token`.",
        },
        "paths": {
            "/api/score": {"post": _score()},
            "/api/video": {"post": _video()},
            "/api/decide": {"post": _decide()},
            "/api/table": {"post": _table()},
            "/api/model": {"get": _model()},
            "/api/live": {"get": _live()},
            "/api/docs": {
                "get": _operation("This document.", {"200": _answer("OpenAPI 3.1", {"type": "object"})})
            },
        },
        "components": {
            "schemas": {
                "Face": _face(),
                "Frame": _frame(),
                "Error": _error(),
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _score() -> dict[str, Any]:
    picture = _object({"width": _WHOLE, "height": _WHOLE, "seconds": _NUMBER})
    answer = {"allOf": [picture, _ref("Frame")]}
    query = [_parameter("thumbnails", {"enum": ["0", "1"]}, "1 adds a small JPEG of each face, in base64.")]
    return _operation(
        "The faces of one picture, sent as the body or as the one file of a multipart form.",
        {"200": _answer("The faces, best detector score first.", answer), **_errors(400, 408, 413, 422, 503)},
        query=[*_wish(), *query],
        body=_upload("image/*"),
    )


def _video() -> dict[str, Any]:
    text = (
        "Lines of JSON. The first has width, height, fps and the announced number of frames; then one Frame "
        "with frame and time_s for each frame, as it is judged; the last has done, frames, accepted_frames "
        "and undecodable, or error. Closing the connection cancels the work."
    )
    return _operation(
        "The faces of every frame of a video or an animation, streamed.",
        {
            "200": {"description": text, "content": {"application/x-ndjson": {"schema": _ref("Frame")}}},
            **_errors(400, 408, 413, 422, 503),
        },
        query=_wish(),
        body=_upload("video/*"),
    )


def _decide() -> dict[str, Any]:
    frames = _array(_array({"type": ["number", "null"]}))
    body = _object({"inputs": _array(_object({"frames": frames}))})
    decided = _object({"accepted": _FLAG, "frames": _array(_FLAG), "faces": _array(_array(_FLAG))})
    return _operation(
        "Decisions for another target on uncertainties that are known, without the pictures.",
        {
            "200": _answer("One decision per input, frame and face.", _object({"inputs": _array(decided)})),
            **_errors(408, 413, 422, 503),
        },
        query=_wish(),
        body={"required": True, "content": {_JSON: {"schema": body}}},
    )


def _table() -> dict[str, Any]:
    frame = _object({"frame": _WHOLE, "time_s": {"type": ["number", "null"]}, "faces": _array(_ref("Face"))})
    item = {
        "type": "object",
        "required": ["source"],
        "properties": {"source": _TEXT, "frames": _array(frame), "error": _TEXT},
    }
    kinds = ("text/csv", "application/x-ndjson", "application/vnd.apache.parquet")
    table = {"description": "The table.", "content": dict.fromkeys(kinds, _BINARY)}
    return _operation(
        "The table of `facereject score` for faces that the API gave before.",
        {"200": table, **_errors(408, 413, 422, 503)},
        query=[_parameter("format", {"enum": ["csv", "jsonl", "parquet"]}, "Default csv."), *_wish()],
        body={"required": True, "content": {_JSON: {"schema": _object({"inputs": _array(item)})}}},
    )


def _model() -> dict[str, Any]:
    shown = _object({"name": _TEXT, "models": _array(_TEXT), "n_points": _WHOLE, "unit": _TEXT})
    return _operation(
        "The model: what it is, its target, what the target gives, and its risk-coverage curve.",
        {"200": _answer("The model.", shown), **_errors(422)},
        query=_wish(),
    )


def _live() -> dict[str, Any]:
    text = (
        "A WebSocket. Send JPEG pictures as binary messages; each is answered by a Frame with frame (its "
        "number, counted from 0), width, height and seconds, or by error. A picture that comes while another "
        "one is in work replaces the one that waits. A text message of JSON with model and one target changes"
        " what is accepted from then on and is answered by target."
    )
    return _operation(text, {"101": {"description": "The socket is open."}, **_errors(401, 403, 421, 503)})


def _wish() -> list[dict[str, Any]]:
    targets = [_parameter(kind, _NUMBER, f"{_TARGET_WORDS[kind]} At most one target.") for kind in TARGETS]
    return [_parameter("model", _TEXT, "One of the names in GET /api/model."), *targets]


def _error() -> dict[str, Any]:
    said = _object({"error": {**_TEXT, "description": "What is wrong and what to do."}})
    said["properties"]["see"] = {**_TEXT, "description": "Where such a request is served, if elsewhere."}
    return said


def _face() -> dict[str, Any]:
    number = {"type": ["number", "null"]}
    points = {"type": ["array", "null"], "items": _array(_NUMBER), "description": "x, y in pixels."}
    box = _object({"x": _NUMBER, "y": _NUMBER, "width": _NUMBER, "height": _NUMBER})
    pose = _object({"yaw": number, "pitch": number, "roll": number})
    return _object(
        {
            "box": {**box, "description": "In pixels."},
            "detector_score": number,
            "uncertainty": {**number, "description": "Higher is less certain."},
            "expected_error": {**number, "description": "Expected mean error of the landmarks, in percent."},
            "accepted": _FLAG,
            "reason": {"enum": ["", *REASONS], "description": "Why it is rejected."},
            "explanation": {**_TEXT, "description": "The reason as a sentence."},
            "cause": {"enum": ["", *CAUSES], "description": "The most likely cause of a large error."},
            "hint": {**_TEXT, "description": "The cause and what to do about it."},
            "likely_cause": {"enum": ["", *CAUSES], "description": "The cause if it were uncertain."},
            "landmarks": points,
            "landmark_errors": {"type": ["array", "null"], "items": number},
            "region_errors": {"type": "object", "additionalProperties": number},
            "visible": {"type": ["array", "null"], "items": _FLAG},
            "pose": {"oneOf": [pose, {"type": "null"}], "description": "Degrees."},
            "track": {"type": ["integer", "null"], "description": "In a video, the number of the face."},
        }
    )


def _frame() -> dict[str, Any]:
    return _object(
        {
            "accepted": {**_FLAG, "description": "Whether there are faces and all of them are accepted."},
            "reason": _TEXT,
            "faces": _array(_ref("Face")),
        }
    )


def _operation(
    summary: str,
    responses: dict[str, Any],
    *,
    query: list[dict[str, Any]] | None = None,
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:
    found: dict[str, Any] = {"summary": summary, "parameters": query or [], "responses": responses}
    return found if body is None else {**found, "requestBody": body}


def _upload(kind: str) -> dict[str, Any]:
    form = {"schema": _object({"file": {"type": "string", "format": "binary"}})}
    return {"required": True, "content": {kind: _BINARY, "multipart/form-data": form}}


def _errors(*statuses: int) -> dict[str, Any]:
    words = {
        400: "The body is broken.",
        401: "The token is missing or wrong.",
        403: "The request comes from a page of another site.",
        408: "The body came too slowly.",
        413: "The body is too large.",
        421: "The server does not answer under this name.",
        422: "It cannot be read, or makes no sense.",
        503: "Too many at the same time; Retry-After says when to come again.",
    }
    return {str(status): _answer(words[status], _ref("Error")) for status in statuses}


def _answer(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {_JSON: {"schema": schema}}}


def _parameter(name: str, schema: dict[str, Any], text: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": text}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


def _array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
