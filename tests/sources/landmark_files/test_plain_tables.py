"""Layouts that people write themselves: the same points from every kind of file and names of columns."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from facereject.pipeline import assess_files
from facereject.sources.images_by_name import ImagesByName
from facereject.sources.landmark_files import read_landmarks
from facereject.sources.landmark_files._found import LandmarkFileError

FACES = np.random.default_rng(0).uniform(10, 90, (3, 68, 2)).round(3)
IMAGES = ["a.png", "sub/b.png", "a.png"]


def interleaved(points, start=0):
    return {f"{axis}{i + start}": points[i, k] for i in range(len(points)) for k, axis in enumerate("xy")}


def one_axis_after_the_other(points):
    return {f"{axis}_{i}": points[i, k] for k, axis in enumerate("xy") for i in range(len(points))}


LAYOUTS = {
    "image,x0,y0": lambda image, points: {"image": image, **interleaved(points)},
    "source,x_0,y_0": lambda image, points: {"source": image, **one_axis_after_the_other(points)},
    "x[0],y[0]": lambda image, points: {
        "image": image,
        **{f"{name[0]}[{name[1:]}]": value for name, value in interleaved(points).items()},
    },
    # beside columns of other things that are numbered, too
    "p0_x,p0_y": lambda image, points: {
        "image": image,
        "gaze_0_x": 1,
        "gaze_0_y": 2,
        **{f"p{name[1:]}_{name[0]}": value for name, value in interleaved(points).items()},
    },
    "numbered from 1": lambda image, points: {"file_name": image, **interleaved(points, 1)},
    "more columns": lambda image, points: {
        "id": 7,
        "path": image,
        **interleaved(points),
        "confidence": 0.25,
        "frame": 0,
    },
}


def write(path, rows):
    if path.suffix in (".csv", ".tsv"):
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="," if path.suffix == ".csv" else "\t")
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".parquet":
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(rows), path)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def check(faces, confidence=None):
    # the faces of an image together, in the order of the file
    assert [face.image for face in faces] == ["a.png", "a.png", "sub/b.png"]
    np.testing.assert_array_equal([face.points for face in faces], FACES[[0, 2, 1]])
    assert {face.confidence for face in faces} == {confidence}
    assert {face.problem for face in faces} == {""}
    assert {(face.frame, face.relative) for face in faces} == {(0, False)}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl", ".json"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_columns(layout, suffix, tmp_path):
    rows = [LAYOUTS[layout](image, points) for image, points in zip(IMAGES, FACES, strict=True)]
    path = write(tmp_path / f"faces{suffix}", rows)
    check(list(read_landmarks(path)), 0.25 if layout == "more columns" else None)
    check(list(read_landmarks(path, "plain")), 0.25 if layout == "more columns" else None)


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
@pytest.mark.parametrize("name", ["landmarks", "points"])
def test_lists_of_points(name, suffix, tmp_path):
    rows = [{"image": image, name: points.tolist()} for image, points in zip(IMAGES, FACES, strict=True)]
    check(list(read_landmarks(write(tmp_path / f"faces{suffix}", rows))))


def test_arrays_with_names(tmp_path):
    np.savez(tmp_path / "faces.npz", image=np.array(IMAGES), landmarks=FACES)
    check(list(read_landmarks(tmp_path / "faces.npz")))
    np.savez(tmp_path / "faces.npz", source=np.array(IMAGES), points=FACES, confidence=np.full(3, 0.5))
    check(list(read_landmarks(tmp_path / "faces.npz")), 0.5)


def test_an_array_is_named_after_its_image_or_video(tmp_path):
    np.save(tmp_path / "a.npy", FACES[0])
    (face,) = read_landmarks(tmp_path / "a.npy")
    assert (face.image, face.frame) == (str(tmp_path / "a"), 0)
    np.testing.assert_array_equal(face.points, FACES[0])
    np.save(tmp_path / "a.npy", FACES)
    faces = list(read_landmarks(tmp_path / "a.npy"))
    assert [face.frame for face in faces] == [0, 1, 2]
    np.testing.assert_array_equal([face.points for face in faces], FACES)


def test_a_table_without_a_column_of_images_is_named_after_its_video(tmp_path):
    rows = [{"frame": k, **interleaved(points)} for k, points in enumerate(FACES)]
    faces = list(read_landmarks(write(tmp_path / "clip.csv", rows)))
    assert [(face.image, face.frame) for face in faces] == [(str(tmp_path / "clip"), k) for k in range(3)]


def test_what_is_missing_costs_its_face_alone(tmp_path):
    rows = [LAYOUTS["image,x0,y0"](image, points) for image, points in zip(IMAGES, FACES, strict=True)]
    rows[0]["x3"] = ""
    rows[1]["y5"] = "oops"
    path = write(tmp_path / "faces.csv", rows)
    path.write_text(path.read_text() + "c.png,1,2\n")
    empty, whole, damaged, cut = read_landmarks(path)
    assert (empty.points, empty.problem) == (None, "")
    assert whole.points is not None
    assert (damaged.points, cut.points) == (None, None)
    assert "oops" in damaged.problem
    assert cut.image == "c.png"
    assert "cut off" in cut.problem


def test_nothing_is_executed(tmp_path):
    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "made"), "w"))

    np.savez(tmp_path / "faces.npz", image=np.array(IMAGES), landmarks=np.array([Evil()], dtype=object))
    np.save(tmp_path / "a.npy", np.array([Evil()], dtype=object), allow_pickle=True)
    for name in ("faces.npz", "a.npy"):
        with pytest.raises(ValueError, match=name):
            list(read_landmarks(tmp_path / name))
    assert not (tmp_path / "made").exists()


def test_the_table_that_train_documents_can_be_assessed(rejector, photos, points, tmp_path):
    path = write(tmp_path / "faces.csv", [{"image": "astronaut.png", **interleaved(points)}])
    summary = assess_files(path, photos, rejector=rejector)
    assert (summary.faces, summary.accepted_faces, summary.failed) == (1, 1, 0)


def test_json_from_images_to_points(tmp_path):
    (tmp_path / "faces.json").write_text(json.dumps({"a.png": FACES[0].tolist(), "b.png": FACES[1].tolist()}))
    faces = list(read_landmarks(tmp_path / "faces.json"))
    assert [face.image for face in faces] == ["a.png", "b.png"]
    np.testing.assert_array_equal([face.points for face in faces], FACES[:2])


def test_text_that_is_not_utf8_and_nothing_at_all_are_said(tmp_path):
    path = write(tmp_path / "faces.csv", [{"image": "ae.png", **interleaved(FACES[0])}])
    path.write_bytes(path.read_bytes().replace(b"ae.png", "\xe4.png".encode("latin-1")))
    with pytest.raises(LandmarkFileError, match=r"faces\.csv: its text is not UTF-8; save it as UTF-8"):
        list(read_landmarks(path))
    path.write_text("")
    with pytest.raises(LandmarkFileError, match=r"faces\.csv: the file is empty"):
        list(read_landmarks(path))


@pytest.mark.parametrize(
    "name", ["sub/a%20b.png", "file:///home/me/sub/a%20b.PNG", r"C:\me\sub\a b.png", "A B", "a%20b"]
)
def test_names_as_tools_write_them(tmp_path, name):
    path = tmp_path / "sub" / "a b.png"
    path.parent.mkdir()
    path.touch()
    (tmp_path / "100%25.png").touch()
    places = ImagesByName(tmp_path)
    assert places.find(name) == (str(path), "")
    # a name that is there is never decoded
    assert places.find("100%25.png") == (str(tmp_path / "100%25.png"), "")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a b.png").touch()
    found, problem = ImagesByName(tmp_path).find("a b.png")
    assert (found, "2 images of this name" in problem, "name the folder" in problem) == (None, True, True)
