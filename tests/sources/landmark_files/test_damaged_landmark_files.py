"""Landmark files that were cut off, saved again by a spreadsheet, mixed up, or that name other images."""

from __future__ import annotations

import json
import unicodedata

import cv2
import numpy as np
import pytest
from files_of_others import coco, dump, mediapipe_result, write_deeplabcut, write_openface, write_pts
from table_rows import read_csv

from facereject.pipeline import Running, assess_files
from facereject.sources.landmark_files import read_landmarks
from facereject.sources.landmark_files._found import LandmarkFileError


@pytest.fixture
def face():
    """Points whose decimals a spreadsheet would rewrite."""
    return np.random.default_rng(0).uniform(10, 90, (68, 2)).round(3) + 0.0005


def judge(landmarks, photos, tmp_path, rejector):
    summary = assess_files(
        landmarks, photos, tmp_path / "faces.csv", rejector=rejector, running=Running(overwrite=True)
    )
    return read_csv(tmp_path / "faces.csv"), summary


RESAVED = {
    "line ends of Windows": lambda text: text.replace("\n", "\r\n").encode(),
    "a mark in front": lambda text: text.encode("utf-8-sig"),
    "UTF-16": lambda text: text.encode("utf-16"),
    "semicolons": lambda text: text.replace(",", ";").encode(),
    "semicolons and decimal commas": lambda text: text.replace(",", ";").replace(".", ",").encode(),
    "tabs": lambda text: text.replace(",", "\t").encode(),
}


@pytest.mark.parametrize("tool", ["openface", "deeplabcut"])
@pytest.mark.parametrize("resaved", RESAVED)
def test_tables_that_were_saved_again(tool, resaved, face, tmp_path):
    file = tmp_path / "clip.csv"
    if tool == "openface":
        write_openface(file, [(face, 0.5, 1)])
    else:
        write_deeplabcut(file, [(["0"], [face])])
    (before,) = read_landmarks(file)
    file.write_bytes(RESAVED[resaved](file.read_text(encoding="utf-8")))
    (after,) = read_landmarks(file)
    np.testing.assert_array_equal(after.points, face)
    assert after._replace(landmarks=None) == before._replace(landmarks=None)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_json_that_was_saved_again(encoding, face, tmp_path):
    file = tmp_path / "keypoints.json"
    file.write_text(json.dumps(coco([("a.png", face, 0.5)])), encoding=encoding)
    (found,) = read_landmarks(file)
    np.testing.assert_array_equal(found.points, face)


@pytest.mark.parametrize("cell", ["", " ", "nan", "inf"])
@pytest.mark.parametrize("tool", ["openface", "deeplabcut"])
def test_a_missing_point_costs_its_face_alone(tool, cell, face, tmp_path):
    file = tmp_path / "clip.csv"
    other = face + 1
    if tool == "openface":
        write_openface(file, [(face, 0.5, 1), (other, 0.5, 1)])
    else:
        write_deeplabcut(file, [(["0"], [face]), (["1"], [other])])
    text = file.read_text()
    assert text.count(str(face[7, 0])) == 1
    file.write_text(text.replace(str(face[7, 0]), cell))
    first, second = read_landmarks(file)
    assert first.points is None
    np.testing.assert_array_equal(second.points, other)


@pytest.mark.parametrize("tool", ["openface", "deeplabcut"])
def test_a_line_that_is_cut_off_costs_itself_alone(tool, face, tmp_path):
    file = tmp_path / "clip.csv"
    if tool == "openface":
        write_openface(file, [(face, 0.5, 1), (face, 0.5, 1)])
    else:
        write_deeplabcut(file, [(["0"], [face]), (["1"], [face])])
    text = file.read_text()
    file.write_text(text[: -len(text.splitlines()[-1]) // 2])
    whole, cut = read_landmarks(file)
    assert whole.points is not None
    assert cut.points is None
    assert "cut off" in cut.problem


def test_pts_that_were_cut_off(face, tmp_path):
    file = write_pts(tmp_path / "a.pts", face)
    file.write_text(file.read_text()[:600])
    with pytest.raises(LandmarkFileError, match="expected 68 lines"):
        list(read_landmarks(file))


def test_a_damaged_file_of_a_folder_costs_itself_alone(rejector, photos, points, tmp_path):
    folder = tmp_path / "landmarks"
    (folder / "a folder.pts").mkdir(parents=True)
    write_pts(folder / "astronaut.pts", points)
    (folder / "second.pts").write_text("version: 1\nn_points: 68\n{\n1 2\n")
    (folder / "notes.json").write_text('{"written": "by hand"}')
    rows, summary = judge(folder, photos, tmp_path, rejector)
    assert summary.faces == 1
    assert summary.failed == 2
    reasons = {row.source: row.reason for row in rows}
    assert reasons[str(photos / "astronaut.png")] == ""
    assert "expected 68 lines" in reasons[str(photos / "more" / "second.png")]
    assert "its layout is unknown" in reasons[str(folder / "notes")]


def test_folders_of_landmarks_go_with_folders_of_images(rejector, photos, points, astronaut, tmp_path):
    """As 300-W has them: two images of one name, and two files of landmarks."""
    folder = tmp_path / "landmarks"
    for name, moved in (("one", 0), ("two", 25)):
        (photos / name).mkdir()
        cv2.imwrite(str(photos / name / "same.png"), astronaut[:, :, ::-1])
        (folder / name).mkdir(parents=True)
        write_pts(folder / name / "same.pts", points + moved)
    rows, summary = judge(folder, photos, tmp_path, rejector)
    assert summary.failures == []
    assert [row.source for row in rows] == [str(photos / name / "same.png") for name in ("one", "two")]
    assert rows[0].uncertainty < rows[1].uncertainty


def test_faces_of_an_image_that_are_apart_in_the_file(rejector, photos, mesh, tmp_path):
    result = mediapipe_result([mesh], (512, 512))
    names = ["astronaut.png", "second.png", "astronaut.png"]
    file = tmp_path / "faces.jsonl"
    file.write_text("\n".join(json.dumps({"image": name, **result}) for name in names))
    rows, summary = judge(file, photos, tmp_path, rejector)
    counts = []
    assess_files(file, photos, rejector=rejector, progress=counts.append)
    assert [each.faces for each in counts] == [0, 2, 3]
    assert summary.inputs == 2
    assert [row.face for row in rows] == [0, 1, 0]


def test_images_that_are_listed_without_a_face_have_a_row(rejector, photos, points, tmp_path):
    content = coco([("astronaut.png", points, 0.9), ("second.png", points, 0.9)])
    content["annotations"].pop()
    rows, summary = judge(dump(tmp_path / "a.json", content), photos, tmp_path, rejector)
    assert [row.reason for row in rows] == ["", "no_face"]
    # and still have it when the table is judged again
    again = assess_files(tmp_path / "faces.csv", photos, rejector=rejector)
    assert (again.inputs, again.faces, again.total.no_face) == (2, 1, 1)
    assert summary.failures == []


@pytest.mark.parametrize("content", [{"images": [], "annotations": [{"image_id": 1}]}, {"annotations": 3}])
def test_annotations_without_keypoints(content, tmp_path):
    with pytest.raises(LandmarkFileError):
        list(read_landmarks(dump(tmp_path / "a.json", content)))


def test_landmarks_of_a_video_are_not_judged_on_a_picture_of_its_name(rejector, photos, points, tmp_path):
    file = write_openface(tmp_path / "astronaut.csv", [(points, 0.9, 1), (points, 0.9, 1)])
    (row,), summary = judge(file, photos, tmp_path, rejector)
    assert "it is an image, and the landmarks are of 2 frames" in row.reason
    assert summary.failed == 1


def test_names_in_other_cases_and_other_unicode(rejector, photos, points, astronaut, tmp_path):
    (photos / "astronaut.png").rename(photos / "Astronaut.PNG")
    accented = unicodedata.normalize("NFD", "é.png")
    cv2.imwrite(str(photos / accented), astronaut[:, :, ::-1])
    file = dump(
        tmp_path / "a.json",
        coco([("astronaut.png", points, 0.9), (unicodedata.normalize("NFC", accented), points, 0.9)]),
    )
    rows, summary = judge(file, photos, tmp_path, rejector)
    assert summary.faces == 2
    assert rows[0].source == str(photos / "Astronaut.PNG")


def test_what_follows_a_dot_is_no_suffix_unless_it_is_one(rejector, photos, points, tmp_path):
    """astronaut.v2 is another picture than astronaut.png."""
    file = write_pts(tmp_path / "astronaut.v2.pts", points)
    (row,), _ = judge(file, photos, tmp_path, rejector)
    assert row.reason.startswith("failed: no image of this name")
