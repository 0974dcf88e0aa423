"""The routes as a whole: documented, bounded, and nothing beside them."""

from __future__ import annotations

import json
import re
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from serving import running

import facereject.serve
from facereject import __version__
from facereject.faces.face import CAUSES
from facereject.serve.app import make_app
from facereject.serve.limits import ServeLimits
from facereject.serve.models import TARGETS, ModelRegistry
from facereject.tables.columns import REASONS


def test_every_route_is_documented_and_answers_as_documented(server, rejector):
    document = server.client.get("/api/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert document["info"]["version"] == __version__
    app = make_app(ModelRegistry("a", rejector))._app
    assert sorted(document["paths"]) == sorted(
        route.path for route in app.routes if route.path.startswith("/api/")
    )
    for path, operations in document["paths"].items():
        for method in ("get", "post", "put", "delete"):
            status = server.client.request(method, path).status_code
            if path == "/api/live":
                # a plain request is no socket
                assert status == 404
            else:
                assert (status != 405) == (method in operations), (path, method)


def test_documented_faces_have_the_keys_of_real_ones(server, photo_jpeg):
    schemas = server.client.get("/api/openapi.json").json()["components"]["schemas"]
    answer = server.client.post("/api/score", content=photo_jpeg).json()
    assert set(answer["faces"][0]) == set(schemas["Face"]["properties"])
    assert set(schemas["Frame"]["properties"]) <= set(answer)
    assert schemas["Face"]["properties"]["reason"]["enum"] == ["", *REASONS]
    assert schemas["Face"]["properties"]["cause"]["enum"] == ["", *CAUSES]


def test_targets_are_documented_where_they_are_taken(server):
    document = server.client.get("/api/openapi.json").json()
    names = ["model", "region", *TARGETS]
    assert list(document["components"]["parameters"]) == names
    for path, operations in document["paths"].items():
        for operation in operations.values():
            refs = [
                item["$ref"].rpartition("/")[2] for item in operation.get("parameters", []) if "$ref" in item
            ]
            takes_target = path not in ("/api/live", "/api/docs", "/api/openapi.json")
            assert refs == (names if takes_target else [])


def test_references_in_the_document_lead_somewhere(server):
    text = server.client.get("/api/openapi.json").text
    document = json.loads(text)
    for kind, name in set(re.findall(r'"#/components/(\w+)/(\w+)"', text)):
        assert name in document["components"][kind]


def test_the_documentation_is_a_page_for_people(server):
    answer = server.client.get("/api/docs")
    assert answer.headers["Content-Type"].startswith("text/html")
    document = server.client.get("/api/openapi.json").json()
    for path in document["paths"]:
        assert path in answer.text
    for text in (*TARGETS, "undecodable", "Too many requests of this kind", "Higher is less certain"):
        assert text in answer.text
    assert "$ref" not in answer.text
    assert "`" not in answer.text


@pytest.mark.parametrize(
    "path", ["/../pyproject.toml", "/%2e%2e/app.py", "/page/index.html", "/app.py", "//etc/passwd", "/api"]
)
def test_nothing_else_is_served(server, path):
    assert server.client.get(path).status_code == 404


def test_whatever_the_page_names_is_served_from_here(server):
    page = server.client.get("/")
    assert page.headers["Content-Type"].startswith("text/html")
    waiting, seen = re.findall(r'(?:src|href)="([^"]+)"', page.text), set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = server.client.get(path)
        assert answer.status_code == 200, path
        if path.endswith(".js"):
            assert answer.headers["Content-Type"].startswith("text/javascript")
            waiting += [f"/{name}" for name in re.findall(r'from "\./([^"]+)"', answer.text)]
    folder = Path(facereject.serve.__file__).parent / "page"
    assert {f"/{path.name}" for path in folder.iterdir() if path.is_file()} - {"/index.html"} <= seen


class Stuck:
    """A rejector that waits in every picture."""

    def __init__(self, rejector) -> None:
        self._rejector, self.go, self.begun = rejector, threading.Event(), 0

    def __getattr__(self, name):
        return getattr(self._rejector, name)

    def __call__(self, image):
        if image.shape != (100, 100, 3):
            self.begun += 1
            assert self.go.wait(30)
        return self._rejector(np.zeros((100, 100, 3), np.uint8))


def test_overload_is_answered_at_once_and_passes(rejector, photo_jpeg):
    stuck = Stuck(rejector)
    with running(stuck, limits=ServeLimits(images=3), workers=1) as server:
        answers = []
        threads = [
            threading.Thread(
                target=lambda: answers.append(server.client.post("/api/score", content=photo_jpeg))
            )
            for _ in range(10)
        ]
        for thread in threads:
            thread.start()
        end = time.monotonic() + 30
        while len(answers) < 7 and time.monotonic() < end:
            time.sleep(0.01)
        refused = list(answers)
        stuck.go.set()
        for thread in threads:
            thread.join(30)
        assert [answer.status_code for answer in refused] == [503] * 7
        assert all(int(answer.headers["Retry-After"]) > 0 for answer in refused)
        assert sorted(answer.status_code for answer in answers) == [200] * 3 + [503] * 7
        assert server.client.post("/api/score", content=photo_jpeg).status_code == 200
        assert (server.counts.images, server.counts.errors) == (4, 7)
    assert stuck.begun == 4
