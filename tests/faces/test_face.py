"""Faces as objects: one line, plain JSON, a picture in notebooks; lists of images and tables of files."""

from __future__ import annotations

import base64
import io
import json
import math
import pickle
import re

import numpy as np
import PIL.Image
import pytest
import skimage.data
import skimage.io

from facereject.faces import REGIONS, Face, FaceRejector, Pose
from facereject.faces.evaluation.results import FaceEvaluation, GroupResult
from facereject.faces.face import Box, lazy_thumbnail
from facereject.faces.regions import region_points
from facereject.pipeline.task import ScoreTask
from facereject.sources.inputs import Input

BOX = Box(10.0, 20.0, 40.0, 50.0)
POINTS = np.arange(136.0).reshape(68, 2)
NAN, INF = math.nan, math.inf


@pytest.fixture(scope="module")
def rejector():
    return FaceRejector.pretrained()


@pytest.fixture(scope="module")
def astronaut():
    return skimage.data.astronaut()


@pytest.mark.parametrize(
    ("face", "line"),
    [
        (
            Face(BOX, 1.5, POINTS, -0.5, 2.04, True),
            "Face(accepted, expected error 2.0 %, uncertainty -0.500, box 40 x 50 at (10, 20), 68 landmarks)",
        ),
        (
            Face(BOX, NAN, POINTS[:5], 0.5, 7.0, False),
            "Face(rejected: uncertain, expected error 7.0 %, uncertainty 0.500, box 40 x 50 at (10, 20), "
            "5 landmarks)",
        ),
        (
            Face(BOX, 1.5, POINTS * NAN, INF, NAN, False),
            "Face(rejected: no_landmarks, box 40 x 50 at (10, 20), 68 landmarks)",
        ),
    ],
)
def test_one_line(face, line):
    assert repr(face) == line


def test_plain_json():
    known = Face(BOX, np.float32(1.5), POINTS, -0.5, 2.04, np.bool_(True))
    again = json.loads(json.dumps(known.to_dict(), allow_nan=False))
    assert again == {
        "box": {"x": 10.0, "y": 20.0, "width": 40.0, "height": 50.0},
        "detector": "",
        "placement": "",
        "detector_score": 1.5,
        "uncertainty": -0.5,
        "expected_error": 2.04,
        "error_interval": [None, None],
        "typicality": None,
        "description": None,
        "accepted": True,
        "reason": "",
        "landmarks": POINTS.tolist(),
        "landmark_errors": None,
        "region_errors": {},
        "visible": None,
        "cause": "",
        "pose": None,
    }
    unknown = Face(BOX, NAN, POINTS * NAN, INF, NAN, False).to_dict()
    assert json.loads(json.dumps(unknown, allow_nan=False)) == {
        **again,
        **dict.fromkeys(("detector_score", "uncertainty", "expected_error", "landmarks")),
        "accepted": False,
        "reason": "no_landmarks",
    }


def test_picture_in_a_notebook(rejector, astronaut):
    (face,) = rejector(astronaut)
    html = face._repr_html_()
    (data,) = re.findall(r"data:image/jpeg;base64,([\w+/=]+)", html)
    picture = np.asarray(PIL.Image.open(io.BytesIO(base64.b64decode(data))))
    # the crop is the square of 1.6 box sides around the face, shrunk
    x, y = (round(value) for value in face.box.center)
    half = round(0.8 * face.box.width)
    wanted = PIL.Image.fromarray(astronaut[y - half : y + half, x - half : x + half]).resize((128, 128))
    assert picture.shape == (128, 128, 3)
    assert np.abs(picture.astype(float) - np.asarray(wanted)).mean() < 8
    assert html.count("<circle") == 68
    assert "accepted" in html
    assert len(pickle.dumps(face)) < 10_000


def test_html_without_a_picture_or_points():
    html = Face(BOX, NAN, POINTS * NAN, INF, NAN, False)._repr_html_()
    assert "<circle" not in html
    assert "<image" not in html
    assert "the landmark predictor gave no usable points" in html


@pytest.mark.parametrize("box", [(-30, -30, 60, 60), (490, 490, 80, 80), (0, 0, 1200, 1200)])
def test_thumbnails_at_the_border(astronaut, box):
    picture = PIL.Image.open(io.BytesIO(lazy_thumbnail(astronaut, Box(*box))()))
    assert picture.size[0] == picture.size[1] <= 128


@pytest.mark.parametrize("box", [(2000.0, 2000.0, 50.0, 50.0), (0.0, 0.0, 1e5, 1e5)])
def test_no_thumbnail_outside_nor_of_a_speck(astronaut, box):
    assert lazy_thumbnail(astronaut, Box(*box))() == b""


def test_faces_of_boxes_carry_no_picture(rejector, astronaut):
    (face,) = rejector(astronaut)
    assert rejector.assess_box(astronaut, face.box).thumbnail == b""
    assert rejector.assess(astronaut, face.landmarks).thumbnail == b""


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_of_images_gives_a_list_for_each(rejector, astronaut, kind, tmp_path):
    path = tmp_path / "a.png"
    skimage.io.imsave(path, astronaut, check_contrast=False)
    blank = np.zeros((80, 80, 3), dtype=np.uint8)
    first, second, third = rejector(kind([astronaut, blank, path]))
    assert [len(first), len(second), len(third)] == [1, 0, 1]
    assert first[0].uncertainty == third[0].uncertainty == rejector(astronaut)[0].uncertainty
    assert rejector([]) == []


def test_no_thumbnail_is_encoded_that_nobody_asks_for(rejector, astronaut, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("facereject.faces.face.encode_jpeg", lambda *_: asked.append(1) or b"jpeg")
    skimage.io.imsave(tmp_path / "a.png", astronaut, check_contrast=False)
    (chunk,) = ScoreTask(rejector)(Input(str(tmp_path / "a.png"), "image"))
    pickle.dumps(chunk)
    (later,) = rejector(astronaut)
    assert asked == []
    assert later.thumbnail == later.thumbnail == b"jpeg"
    assert asked == [1]


def test_table_of_files(rejector, astronaut, tmp_path):
    skimage.io.imsave(tmp_path / "a.png", astronaut, check_contrast=False)
    (tmp_path / "b.jpg").write_text("no picture")
    table = rejector.table(tmp_path)
    assert table["source"].tolist() == [str(tmp_path / "a.png"), str(tmp_path / "b.jpg")]
    (face,) = rejector(astronaut)
    assert table["uncertainty"][0] == face.uncertainty
    assert table["x_67"][0] == round(face.landmarks[67, 0], 3)
    assert table["accepted"].tolist() == [True, False]


def test_results_of_evaluation_are_short():
    group = GroupResult(554, 12, 1, 3.124, 2.9, 2.5, 2.0, 0.4444, 0.831, 2.61, 3.0)
    line = "GroupResult(554 faces, mean error 3.12 %, gap closed 44%, accepted 83.1% with mean error 2.61 %)"
    assert repr(group) == line
    assert "12 missed" in group._repr_html_()
    whole = FaceEvaluation(group, None, np.zeros(554), None, ())
    assert repr(whole) == f"FaceEvaluation(clean={line}, 0 problems)"
    both = FaceEvaluation(group, group, np.zeros(554), None, ())
    assert repr(both) == f"FaceEvaluation(clean={line}, degraded={line}, 0 problems)"
    assert both._repr_html_().count("554 found") == 2


def make_face(**values):
    return Face(BOX, 1.0, POINTS, 0.5, 2.0, True, **values)


def test_region_errors_are_the_means_over_the_points_of_each_region():
    errors = np.arange(68.0)
    face = make_face(landmark_errors=errors)
    assert face.region_errors["mouth"] == pytest.approx(np.arange(48, 68).mean())
    assert list(face.region_errors) == list(REGIONS)
    assert sorted(point for points in REGIONS.values() for point in points) == list(range(68))
    assert make_face(landmark_errors=np.ones(5)).region_errors == {}


def test_a_region_nobody_knows_is_named():
    with pytest.raises(ValueError, match="'chin'"):
        region_points("eyes,chin")
    assert (
        region_points(["mouth", "eyes"]) == region_points("eyes, mouth") == (*range(36, 48), *range(48, 68))
    )


def test_the_new_values_are_plain_json():
    face = make_face(
        landmark_errors=np.full(68, np.nan),
        visible=np.zeros(68, bool),
        cause="dark",
        pose=Pose(1, -2, np.nan),
    )
    values = json.loads(json.dumps(face.to_dict(), allow_nan=False))
    assert values["landmark_errors"] == [None] * 68
    assert values["visible"] == [False] * 68
    assert values["pose"] == {"yaw": 1.0, "pitch": -2.0, "roll": None}
    assert values["cause"] == "dark"
    assert face.hint.startswith("too dark")
