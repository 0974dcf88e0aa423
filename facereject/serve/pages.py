"""The files of the pages, read when the server starts, and the page that describes the API."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib import resources
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from facereject._html import HTML, document, join, tag, with_code

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


def read_openapi() -> bytes:
    """The document as it is served."""
    return (resources.files("facereject.serve") / "openapi.json").read_bytes()


def docs_page() -> str:
    """The document as a page: routes with their parameters and responses, then the schemas."""
    api = json.loads(read_openapi())
    parts = [
        _operation(api, method, path, operation)
        for path, operations in api["paths"].items()
        for method, operation in operations.items()
    ]
    parts += [_schema(name, schema) for name, schema in api["components"]["schemas"].items()]
    files = [
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href="/icon.svg", type="image/svg+xml"),
        tag("link", rel="stylesheet", href="/style.css"),
    ]
    top = tag("header", tag("h1", "The API of facereject"), tag("p", tag("a", "Back to the page", href="/")))
    lead = tag("p", with_code(api["info"]["description"]))
    programs = tag("p", "For programs: ", tag("a", "/api/openapi.json", href="/api/openapi.json"))
    return document("facereject: API", files, top, tag("main", lead, programs, parts, class_="docs"))


def _operation(api: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> HTML:
    parameters = [_resolved(api, item) for item in operation.get("parameters", [])]
    body = operation.get("requestBody", {}).get("content", {})
    statuses = {status: _resolved(api, item) for status, item in operation["responses"].items()}
    return tag(
        "section",
        tag("h2", tag("code", f"{'WebSocket' if '101' in statuses else method.upper()} {path}")),
        tag("p", with_code(operation["summary"])),
        tag("p", with_code(operation["description"])) if "description" in operation else "",
        _rows("Query", [(item["name"], item["description"]) for item in parameters]),
        _rows("Body", [(kind, _form(media["schema"])) for kind, media in body.items()]),
        _rows("Response", [(status, _meaning(item)) for status, item in statuses.items()]),
    )


def _schema(name: str, schema: dict[str, Any]) -> HTML:
    rows = [
        (key, f"{_form(value)}. {value.get('description', '')}")
        for key, value in schema["properties"].items()
    ]
    return tag("section", tag("h2", tag("code", name)), _rows("Fields", rows), id=name)


def _rows(title: str, rows: list[tuple[str, str]]) -> HTML:
    if not rows:
        return HTML()
    inner = [
        tag("tr", tag("th", tag("code", name), scope="row"), tag("td", with_code(text)))
        for name, text in rows
    ]
    return join(tag("h3", title), tag("table", tag("tbody", inner)))


def _meaning(response: dict[str, Any]) -> str:
    forms = {_form(media["schema"]) for media in response.get("content", {}).values()}
    return " ".join([response["description"], *(f"`{form}`" for form in sorted(forms) if form != "file")])


def _form(schema: dict[str, Any]) -> str:
    """What a value looks like, in short: ``{name: text, …}``."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return ", ".join(value for value in schema["enum"] if value)
    for joint, word in (("allOf", " + "), ("oneOf", " or ")):
        if joint in schema:
            return word.join(map(_form, schema[joint]))
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " or ".join(_kind(kind, schema) for kind in kinds)


def _kind(kind: str, schema: dict[str, Any]) -> str:
    if kind == "array":
        return f"[{_form(schema['items'])}, …]"
    if kind == "object" and "properties" in schema:
        return (
            "{" + ", ".join(f"{name}: {_form(value)}" for name, value in schema["properties"].items()) + "}"
        )
    names = {"string": "file" if schema.get("format") == "binary" else "text", "boolean": "true or false"}
    return names.get(kind, kind)


def _resolved(api: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in item:
        return item
    _, *keys = item["$ref"].split("/")
    for key in keys:
        api = api[key]
    return api
