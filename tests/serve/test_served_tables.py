"""Decisions and tables for faces scored before are those of the library on the same files."""

from __future__ import annotations

import io
import json
import math
import tracemalloc

import numpy as np
import pytest
from serving import running

from facereject import score_files
from facereject.faces import Box, Face
from facereject.pipeline import Running
from facereject.serve.bodies import private_file
from facereject.serve.limits import ServeLimits
from facereject.serve.tables import write_table


@pytest.fixture(scope="module")
def scored(server, photo_jpeg, clip):
    """What the page holds after a picture, a video and a broken file."""
    picture = server.client.post("/api/score", content=photo_jpeg).json()
    lines = server.client.post("/api/video", content=clip.read_bytes()).text.splitlines()
    frames = [json.loads(line) for line in lines[1:-1]]
    return [
        {"source": "=photo.jpg", "frames": [{"frame": 0, "time_s": None, "faces": picture["faces"]}]},
        {"source": "clip.mp4", "frames": frames},
        {"source": "broken.jpg", "error": "not an image"},
    ]


@pytest.fixture(scope="module")
def truth(tmp_path_factory, rejector, photo_jpeg, clip):
    """The tables that the library writes for the same files, by target."""
    folder = tmp_path_factory.mktemp("truth")
    (folder / "=photo.jpg").write_bytes(photo_jpeg)
    (folder / "clip.mp4").write_bytes(clip.read_bytes())

    def make(kind, **target):
        path = folder / f"table.{kind}"
        paths = [str(folder / name) for name in ("=photo.jpg", "clip.mp4")]
        score_files(paths, path, rejector=rejector.with_target(**target), running=Running(overwrite=True))
        return path.read_bytes().replace(f"{folder}/".encode(), b"")

    return make


def made(server, scored, kind, **target) -> bytes:
    body = {"inputs": scored[:2]}
    answer = server.client.post("/api/table", params={"format": kind, **target}, json=body)
    assert f'filename="faces.{kind}"' in answer.headers["Content-Disposition"]
    return answer.content


def test_csv_and_jsonl_are_the_tables_of_the_library(server, scored, truth):
    assert made(server, scored, "jsonl", coverage=1.0) == truth("jsonl", coverage=1.0)
    # a name that a spreadsheet would run
    expected = truth("csv", coverage=1.0).replace(b"\n=photo", b"\n./=photo")
    assert made(server, scored, "csv", coverage=1.0) == expected


def test_another_target_decides_in_the_table(server, scored, truth):
    tables = made(server, scored, "jsonl", threshold=-1000.0), truth("jsonl", threshold=-1000.0)
    rows, expected = ([json.loads(line) for line in table.splitlines()] for table in tables)
    for row in (*rows, *expected):
        # the cause of faces that were accepted first is not known
        row.pop("cause", None)
    assert rows == expected
    assert not any(row["accepted"] for row in rows)


def test_parquet_holds_the_same(server, scored):
    parquet = pytest.importorskip("pyarrow.parquet")
    body = {"inputs": scored}
    answer = server.client.post("/api/table?format=parquet&coverage=1", json=body)
    rows = parquet.read_table(io.BytesIO(answer.content)).to_pylist()
    lines = server.client.post("/api/table?format=jsonl&coverage=1", json=body).text.splitlines()
    assert rows == [json.loads(line) for line in lines]
    assert rows[-1]["reason"] == "unreadable: not an image"


def test_faces_are_compared_with_the_calibration_faces(server, rejector, scored):
    """One face of each track counts; fewer than 40 are not compared."""
    why = "that takes at least 40 different faces in one run"
    not_compared = {
        "check": None,
        "not_compared": f"The faces were not compared with the calibration faces: {why}.",
    }
    assert server.client.post("/api/domain", json={"inputs": scored}).json() == not_compared
    (face,) = scored[0]["frames"][0]["faces"]
    frames = [{"frame": 0, "time_s": None, "faces": [face]}]
    many = [{"source": f"{k}.jpg", "frames": frames} for k in range(40)]
    check = server.client.post("/api/domain", json={"inputs": many}).json()["check"]
    same = Face(
        Box(*face["box"].values()),
        1.0,
        np.array(face["landmarks"]),
        face["uncertainty"],
        2.0,
        True,
        description=np.array(face["description"], dtype=np.int8),
    )
    truth = rejector.check_domain([same] * 40)
    assert check == pytest.approx(truth.to_dict())
    assert check["unlike"]
    video = [{"source": "a.mp4", "frames": [{**frames[0], "faces": [{**face, "track": 3}]}] * 50}]
    assert server.client.post("/api/domain", json={"inputs": video}).json() == not_compared


@pytest.mark.parametrize("target", [{"coverage": 1.0}, {"expected_error": 2.4}, {"threshold": -1000.0}])
def test_decisions_are_those_of_the_rejector(server, rejector, scored, target):
    inputs = [
        {"frames": [[face["uncertainty"] for face in frame["faces"]] for frame in item["frames"]]}
        for item in scored[:2]
    ]
    inputs[0]["frames"][0].append(None)
    answer = server.client.post("/api/decide", params=target, json={"inputs": inputs}).json()["inputs"]
    for item, decided in zip(inputs, answer, strict=True):
        if "expected_error" in target:
            most = target["expected_error"]
            expected = [
                [u is not None and bool(rejector.calibration.expected_error(u) <= most) for u in frame]
                for frame in item["frames"]
            ]
        else:
            chosen = rejector.with_target(**target)
            expected = [
                [chosen.decide(math.nan if u is None else u) for u in frame] for frame in item["frames"]
            ]
        assert decided["faces"] == expected
        assert decided["frames"] == [bool(frame) and all(frame) for frame in expected]
        assert decided["accepted"] == (2 * sum(decided["frames"]) >= len(decided["frames"]))


@pytest.mark.parametrize("path", ["/api/decide", "/api/table", "/api/domain"])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"inputs": 3}',
        b'{"inputs": [3]}',
        b'{"inputs": [{}]}',
        b'{"inputs": [{"source": "a", "frames": [["x"]]}]}',
        b'{"inputs": [{"source": "a", "frames": [[NaN]]}]}',
        b'{"inputs": [{"source": "a", "frames": [{"frame": 0, "time_s": 0, "faces": [{}]}]}]}',
        b"[" * 200_000,
    ],
    ids=range(9),
)
def test_a_body_that_makes_no_sense(server, path, body):
    answer = server.client.post(path, content=body)
    assert answer.status_code == 422
    assert answer.json()["error"]


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 400, "9" * 5000])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("place", ["frame", "time_s", "uncertainty", "track", "box", "landmarks"])
def test_numbers_that_no_table_holds(server, scored, number, kind, place):
    pytest.importorskip("pyarrow")
    (frame,) = json.loads(json.dumps(scored[0]["frames"]))
    (face,) = frame["faces"]
    if place == "box":
        face["box"]["x"] = "NUMBER"
    elif place == "landmarks":
        face["landmarks"][0][0] = "NUMBER"
    else:
        (frame if place in frame else face)[place] = "NUMBER"
    body = json.dumps({"inputs": [{"source": "a", "frames": [frame]}]}).replace('"NUMBER"', number)
    answer = server.client.post(f"/api/table?format={kind}", content=body)
    assert answer.status_code == 422
    assert answer.json()["error"]


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5000])
def test_decisions_on_numbers_that_are_too_large(server, number):
    answer = server.client.post("/api/decide", content=f'{{"inputs": [{{"frames": [[{number}]]}}]}}')
    assert answer.status_code == 422


@pytest.mark.parametrize("path", ["/api/decide", "/api/table", "/api/domain"])
def test_lists_and_objects_are_limited_before_they_are_made(rejector, path):
    with running(rejector, limits=ServeLimits(table_items=1000, decide_items=1000)) as server:
        few, many = (
            server.client.post(path, json={"inputs": [{"source": "a", "frames": [[]] * count}]})
            for count in (900, 1000)
        )
    assert few.status_code in (200, 422)
    assert many.status_code == 413


def test_rows_are_limited(rejector):
    frames = [{"frame": k, "time_s": None, "faces": []} for k in range(700)]
    with running(rejector, limits=ServeLimits(table_rows=600)) as server:
        few, many = (
            server.client.post("/api/table", json={"inputs": [{"source": "a", "frames": frames[:count]}]})
            for count in (600, 700)
        )
    assert few.text.count("\n") == 601
    assert many.status_code == 413
    assert "600 rows" in many.json()["error"]


def test_memory_of_a_table_is_bounded_by_its_body(rejector):
    def measured(count):
        frames = [{"frame": k, "time_s": None, "faces": []} for k in range(count)]
        body = json.dumps({"inputs": [{"source": "a", "frames": frames}]}).encode()
        with private_file() as file:
            tracemalloc.start()
            write_table(lambda: rejector, body, "jsonl", file, max_items=10**6, max_rows=10**6)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert sum(1 for _ in file.file) == count
        return len(body), peak

    few, many = measured(1500), measured(4000)
    assert many[1] - few[1] < 15 * (many[0] - few[0])


def test_a_format_that_is_not_known(server):
    answer = server.client.post("/api/table?format=xlsx", json={"inputs": []})
    assert answer.status_code == 422
    assert "csv, jsonl" in answer.json()["error"]
