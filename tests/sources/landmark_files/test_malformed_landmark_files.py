"""Files that no tool writes: a sentence for each, at no cost for other files, in little memory."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from files_of_others import coco, mediapipe_result, write_deeplabcut, write_openface, write_pts
from table_rows import read_csv

from facereject.pipeline import assess_files
from facereject.sources.landmark_files import READERS, read_landmarks
from facereject.sources.landmark_files._found import LandmarkFileError, json_parts

HUGE = "9" * 400
ODD_NUMBERS = [
    "Infinity",
    "1e999",
    "-1e999",
    HUGE,
    "9" * 5000,
    "1e300",
    "NaN",
    "null",
    '"x"',
    "[]",
    "{}",
    "true",
]
ODD_CELLS = ["inf", "-inf", "1e400", "nan", "", "x", HUGE, "1e300", "-5", "0x10", "٣"]

FACE = np.random.default_rng(0).uniform(10, 90, (68, 2)).round(2)


def odd_openface(tmp_path):
    lines = write_openface(tmp_path / "whole", [(FACE, 0.5, 1)]).read_text().splitlines()
    for column in (0, 3, 4, 10):
        for cell in ODD_CELLS:
            cells = lines[1].split(", ")
            cells[column] = cell
            yield "a.csv", "\n".join([lines[0], ", ".join(cells)])


def odd_deeplabcut(tmp_path):
    lines = write_deeplabcut(tmp_path / "whole.csv", [(["0"], [FACE])]).read_text().splitlines()
    for column in (0, 1, 3):
        for cell in ODD_CELLS:
            cells = lines[-1].split(",")
            cells[column] = cell
            yield "aDLC_x.csv", "\n".join([*lines[:-1], ",".join(cells)])


def odd_coco(tmp_path):
    content = coco([("a.png", FACE, 0.5)])
    for name in ("keypoints", "score", "image_id", "face_valid"):
        for number in ODD_NUMBERS:
            content["annotations"][0] = coco([("a.png", FACE, 0.5)])["annotations"][0] | {name: "ODD"}
            yield "a.json", json.dumps(content).replace('"ODD"', number)
    for keypoints in ("[[1, 2, 3]]", "[[1], [2]]", "[1]", "[[[1, 2, 3]]]", f"[{HUGE}, 1, 2]", '["a", 1, 2]'):
        content["annotations"][0] = {"image_id": 100, "keypoints": "ODD"}
        yield "a.json", json.dumps(content).replace('"ODD"', keypoints)


def odd_mediapipe(tmp_path):
    for number in ODD_NUMBERS:
        result = {**mediapipe_result([FACE], (100, 100)), "frame": "ODD"}
        yield "a.json", json.dumps(result).replace('"ODD"', number)
        result = mediapipe_result([FACE], (100, 100))
        result["faceLandmarks"][0][0]["x"] = "ODD"
        yield "a.json", json.dumps(result).replace('"ODD"', number)
        yield "a.json", f'{{"faceLandmarks": {number}}}'
        yield "a.json", f'{{"faceLandmarks": [{number}]}}'
        yield "a.json", f'{{"faceLandmarks": [[{number}]]}}'


def odd_plain(tmp_path):
    for cell in ODD_CELLS:
        yield "a.csv", f"image,x0,y0,x1,y1\na.png,{cell},2,3,4\n"
        yield "a.csv", f"image,frame,x0,y0\na.png,{cell},2,3\n"
    for number in ODD_NUMBERS:
        yield "a.jsonl", f'{{"image": "a.png", "landmarks": {number}}}\n'
        yield "a.jsonl", f'{{"image": {number}, "x0": {number}, "y0": 3}}\n'
    yield "a.npz", "no archive"
    yield "a.npy", "no array"
    yield "a.parquet", "no table"
    yield "a.csv", "image,x0,y0\na.png\n"
    yield "a.csv", "image,x0,y0\n"
    yield "a.csv", 'image,x0,y0\n"a.png,1,2\n'


def odd_structure(tmp_path):
    for text in (
        "",
        "[",
        "{",
        "[]",
        "{}",
        "null",
        "3",
        '"a"',
        "[[[",
        '{"a": ',
        "[1,]",
        "{1: 2}",
        "[]]",
        "\0",
    ):
        for name in ("annotations", "faceLandmarks", "landmarks"):
            yield "a.json", text
            yield "a.json", f'{{"{name}": {text}'
            yield "a.json", f'[{{"{name}": {text}}}]'
    yield "a.json", "[" * 100_000
    yield "a.json", '{"faceLandmarks":' * 100_000
    yield "a.pts", "version: 1\nn_points: 99999999999999999999\n{\n1 2\n}\n"
    yield "a.pts", "version: 1\nn_points: 1\n{\n1e999 2\n}\n"
    yield "a.pts", "version: 1\nn_points: 1\n{\n1e300 2\n}\n"


def outcome_of(path, format):
    try:
        return list(read_landmarks(path, format)), ""
    except LandmarkFileError as error:
        return None, str(error)


KINDS = [odd_openface, odd_deeplabcut, odd_coco, odd_mediapipe, odd_plain, odd_structure]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", [None, "openface", "deeplabcut", "coco", "mediapipe", "pts", "plain"])
def test_every_file_gives_faces_or_a_sentence(kind, format, tmp_path):
    for name, content in kind(tmp_path):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        faces, sentence = outcome_of(path, format)
        if faces is None:
            assert str(path) in sentence
            assert len(sentence) < 1000
            assert "\n" not in sentence
            continue
        for face in faces:
            assert isinstance(face.image, str)
            assert isinstance(face.frame, int)
            assert face.points is None or (np.isfinite(face.points).all() and face.points.ndim == 2)


def test_damaged_files_in_a_folder_cost_themselves_alone(rejector, photos, points, tmp_path):
    folder = tmp_path / "landmarks"
    folder.mkdir()
    number = 0
    for kind in KINDS:
        for k, (name, content) in enumerate(kind(tmp_path)):
            # a few of each kind, as images have to be looked for
            if k % 9 == 0:
                (folder / f"{number}-{name}").write_text(content, encoding="utf-8")
                number += 1
    write_pts(folder / "0-first.pts", points[:5])
    write_pts(folder / "astronaut.pts", points)
    summary = assess_files(folder, photos, tmp_path / "faces.csv", rejector=rejector)
    rows = {row.source: row for row in read_csv(tmp_path / "faces.csv")}
    assert rows[str(photos / "astronaut.png")].reason == ""
    assert summary.faces >= 1
    assert summary.failed > 20


@pytest.mark.parametrize("name", ["\\ud800.png", "a\\udcff.png", "a\\u0000.png", "x" * 5000, "..", ""])
def test_names_that_no_file_can_have_cost_themselves_alone(rejector, photos, points, tmp_path, name):
    folder = tmp_path / "landmarks"
    folder.mkdir()
    (folder / "a.json").write_text(json.dumps(coco([("NAME", points, 1.0)])).replace("NAME", name))
    write_pts(folder / "astronaut.pts", points)
    summary = assess_files(folder, photos, tmp_path / "faces.csv", rejector=rejector)
    assert (summary.faces, summary.failed) == (1, 1)
    assert len(read_csv(tmp_path / "faces.csv")) == 2


TEXTS = [
    '[{"a": 1}, 2, "x"]',
    "[]",
    "{}",
    '{"a": [1, [2]], "b": {"c": []}, "d": null}',
    ' {\n "a" : [ 1 , 2 ] ,\n "b" : "]" }\n',
    '{"annotations": [], "images": [{"id": 1}]}',
]


@pytest.mark.parametrize("text", TEXTS)
def test_parts_of_json_are_those_of_the_whole(text, tmp_path):
    (tmp_path / "a.json").write_text(text)
    parts = list(json_parts(str(tmp_path / "a.json"), ("a", "images")))
    whole = json.loads(text)
    if isinstance(whole, list):
        assert parts == [("", item) for item in whole]
    else:
        expected = []
        for key, value in whole.items():
            split = key in ("a", "images") and isinstance(value, list)
            expected += [(key, item) for item in value] if split else [(key, value)]
        assert parts == expected


def test_lines_of_json(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n\n{"a": "\u2028"}\n', encoding="utf-8")
    assert list(json_parts(str(tmp_path / "a.jsonl"))) == [("", {"a": 1}), ("", {"a": "\u2028"})]


@pytest.mark.parametrize("text", ["[1, 2", "[1 2]", "[1],", '{"a" 1}', "{1: 2}", '{"a": 1} x', "", "3"])
def test_json_that_is_none(text, tmp_path):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError):
        list(json_parts(str(tmp_path / "a.json")))


@pytest.mark.parametrize("tool", ["coco", "mediapipe"])
def test_memory_for_json_is_a_few_times_its_size(tool, tmp_path):
    path = tmp_path / "a.json"
    names = [f"{k}.png" for k in range(400)]
    if tool == "coco":
        path.write_text(json.dumps(coco([(name, FACE, 0.5) for name in names])))
    else:
        path.write_text(json.dumps({name: mediapipe_result([FACE], (100, 100)) for name in names}))
    tracemalloc.start()
    assert len(list(read_landmarks(path))) == 400
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * path.stat().st_size


@pytest.mark.parametrize("text", ["[],", "{},", '{"":0},', "[[]],"])
def test_json_of_little_but_brackets_is_refused(text, tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"annotations": [' + text * 300_000 + "[]]}")
    tracemalloc.start()
    with pytest.raises(LandmarkFileError, match="brackets"):
        list(read_landmarks(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * path.stat().st_size


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.jsonl"])
def test_an_unknown_layout_shows_what_was_found_and_what_would_work(name, tmp_path):
    text = "picture,left_eye,right_eye\n1,2,3\n" if name == "a.csv" else '{"picture": 1, "left_eye": 2}\n'
    (tmp_path / name).write_text(text)
    with pytest.raises(LandmarkFileError) as error:
        list(read_landmarks(tmp_path / name))
    for words in ("picture, left_eye", "image, x0, y0, x1, y1", ".pts", ", ".join(READERS)):
        assert words in str(error.value)
