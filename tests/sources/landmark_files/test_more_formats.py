"""dlib XML, WFLW lists, CVAT, Label Studio, HDF5: read as documented, and nothing executed."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from facereject.sources.landmark_files import read_landmarks
from facereject.sources.landmark_files._found import LandmarkFileError
from facereject.sources.landmark_files._h5 import plain_pickle

RNG = np.random.default_rng(3)
FACES = RNG.uniform(10, 90, (2, 5, 2)).round(3)


def test_dlib_xml(tmp_path):
    parts = [
        "".join(f'<part name="{i}" x="{x}" y="{y}"/>' for i, (x, y) in enumerate(face)) for face in FACES
    ]
    boxes = "".join(f'<box top="1" left="2" width="30" height="40">{part}</box>' for part in parts)
    path = tmp_path / "faces.xml"
    path.write_text(
        f'<dataset><images><image file="a.png">{boxes}</image><image file="b.png"/></images></dataset>'
    )
    first, second, none = read_landmarks(path)
    np.testing.assert_array_equal([first.points, second.points], FACES)
    assert tuple(first.box) == (2, 1, 30, 40)
    assert (none.image, none.points, none.problem) == ("b.png", None, "")


@pytest.mark.parametrize("more", ["", " 1 2 31 42", " 1 2 31 42 0 1 0 1 0 1"])
def test_wflw(tmp_path, more):
    points = RNG.uniform(10, 90, (98, 2)).round(3)
    line = " ".join(map(str, points.ravel())) + more + " 36--Football/a.jpg\n"
    path = tmp_path / "list_98pt_rect_attr_test.txt"
    path.write_text(line + line.replace("/a.jpg", "/b.jpg") + "1 2 c.jpg\n")
    first, second, damaged = read_landmarks(path)
    np.testing.assert_array_equal(first.points, points)
    assert [first.image, second.image] == ["36--Football/a.jpg", "36--Football/b.jpg"]
    assert (None if first.box is None else tuple(first.box)) == ((1, 2, 30, 40) if more else None)
    assert "line 3" in damaged.entry


def cvat(shapes):
    labels = "".join(
        f"<label><name>{i}</name><type>points</type><parent>face</parent></label>" for i in range(5)
    )
    task = f"<meta><task><labels><label><name>face</name></label>{labels}</labels></task></meta>"
    return f"<?xml version='1.0'?><annotations><version>1.1</version>{task}{shapes}</annotations>"


def test_cvat_images(tmp_path):
    path = tmp_path / "annotations.xml"
    flat = ";".join(f"{x},{y}" for x, y in FACES[0])
    # elements of a skeleton come in any order; one is outside
    order = [3, 1, 0, 2, 4]
    elements = "".join(
        f'<points label="{i}" outside="{int(i == 2)}" points="{FACES[1, i, 0]},{FACES[1, i, 1]}"/>'
        for i in order
    )
    path.write_text(
        cvat(
            f'<image id="0" name="a.png"><points label="face" points="{flat}"/></image>'
            f'<image id="1" name="b.png"><skeleton label="face">{elements}'
            '<attribute name="confidence">0.25</attribute></skeleton></image>'
        )
    )
    first, second = read_landmarks(path)
    np.testing.assert_array_equal(first.points, FACES[0])
    assert second.points is None
    assert np.flatnonzero(np.isnan(second.landmarks[:, 0])).tolist() == [2]
    np.testing.assert_array_equal(second.landmarks[order[:3:2]], FACES[1, order[:3:2]])
    assert second.confidence == 0.25


def test_cvat_video(tmp_path):
    path = tmp_path / "clip.xml"
    flat = ";".join(f"{x},{y}" for x, y in FACES[0])
    shapes = "".join(f'<points frame="{7 + k}" outside="{k // 2}" points="{flat}"/>' for k in range(3))
    path.write_text(cvat(f'<track id="0" label="face">{shapes}</track>'))
    faces = list(read_landmarks(path))
    assert [(face.image, face.frame) for face in faces] == [
        (str(tmp_path / "clip"), 7),
        (str(tmp_path / "clip"), 8),
    ]


def test_entities_are_refused(tmp_path):
    path = tmp_path / "faces.xml"
    path.write_text(
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><dataset><image file="&a;"/></dataset>'
    )
    with pytest.raises(LandmarkFileError, match="entities"):
        list(read_landmarks(path))


def test_label_studio(tmp_path):
    def points(face, parent, labels):
        return [
            {
                "id": f"{parent}{i}",
                "type": "keypointlabels",
                "original_width": 200,
                "original_height": 50,
                "parentID": parent,
                "value": {"x": x / 2, "y": y * 2, "width": 0.5, "keypointlabels": [label]},
            }
            for label, i, (x, y) in zip(labels, range(5), face, strict=True)
        ]

    numbers = ["3", "0", "1", "2", "4"]
    result = [
        {"id": "f", "type": "rectanglelabels", "value": {"rectanglelabels": ["face"]}, "score": 0.75},
        *points(FACES[0][[3, 0, 1, 2, 4]], "f", numbers),
        *points(FACES[1], None, ["eye", "ear", "nose", "chin", "brow"]),
    ]
    tasks = [
        {"data": {"image": "/data/upload/3/0123abcd-a.png"}, "annotations": [{"result": result}]},
        {"data": {"image": "/data/local-files/?d=sub/b%20c.png"}, "annotations": [], "predictions": []},
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    first, second, none = read_landmarks(path)
    np.testing.assert_allclose([first.points, second.points], FACES)
    assert [first.image, none.image] == ["a.png", "sub/b c.png"]
    assert (first.confidence, second.confidence, none.points) == (0.75, None, None)


class TestH5:
    """HDF5 as pandas and SLEAP lay it out."""

    @pytest.fixture
    def h5py(self):
        return pytest.importorskip("h5py")

    def columns(self):
        return [("net", f"p{i}", c) for i in range(5) for c in ("x", "y", "likelihood")]

    def values(self):
        return np.concatenate([FACES, np.full((2, 5, 1), 0.5)], axis=2).reshape(2, 15)

    @pytest.mark.parametrize("protocol", [0, 2, 4])
    def test_deeplabcut_appendable(self, h5py, tmp_path, protocol):
        path = tmp_path / "clipDLC_resnet.h5"
        with h5py.File(path, "w") as file:
            group = file.create_group("df_with_missing")
            group.attrs["non_index_axes"] = np.bytes_(pickle.dumps([(1, self.columns())], protocol) + b"\n")
            table = np.zeros(2, dtype=[("index", "i8"), ("values_block_0", "f8", 15)])
            table["index"], table["values_block_0"] = [0, 1], self.values()
            group["table"] = table
        faces = list(read_landmarks(path))
        np.testing.assert_array_equal([face.points for face in faces], FACES)
        assert [(face.image, face.frame, face.confidence) for face in faces] == [
            (str(tmp_path / "clip"), 0, 0.5),
            (str(tmp_path / "clip"), 1, 0.5),
        ]

    def test_deeplabcut_fixed(self, h5py, tmp_path):
        path = tmp_path / "CollectedData.h5"
        with h5py.File(path, "w") as file:
            group = file.create_group("df_with_missing")
            for name, rows in (
                ("block0_items", self.columns()),
                ("axis1", [("labeled-data", "v", "a.png"), ("labeled-data", "v", "b.png")]),
            ):
                group.attrs[f"{name}_nlevels"] = 3
                for k, column in enumerate(zip(*rows, strict=True)):
                    known = sorted(set(column))
                    group[f"{name}_level{k}"] = np.array(known, dtype="S")
                    group[f"{name}_label{k}"] = np.array([known.index(c) for c in column], dtype="i1")
            group["block0_values"] = self.values()
        faces = list(read_landmarks(path))
        np.testing.assert_array_equal([face.points for face in faces], FACES)
        assert [face.image for face in faces] == ["labeled-data/v/a.png", "labeled-data/v/b.png"]

    def test_sleap(self, h5py, tmp_path):
        path = tmp_path / "labels.analysis.h5"
        tracks = np.full((2, 2, 5, 3), np.nan)
        tracks[0, :, :, 0], tracks[1, :, :, 2] = FACES[0].T, FACES[1].T
        with h5py.File(path, "w") as file:
            file["tracks"] = tracks
            file["node_names"] = np.array([f"n{i}" for i in range(5)], dtype="S")
            file["instance_scores"] = np.full((2, 3), 0.25)
            file["video_path"] = "videos/clip.mp4"
        faces = list(read_landmarks(path))
        np.testing.assert_array_equal([face.points for face in faces], FACES)
        assert [(face.image, face.frame, face.confidence) for face in faces] == [
            ("clip.mp4", 0, 0.25),
            ("clip.mp4", 2, 0.25),
        ]

    def test_scores_of_points_where_sleap_has_none_of_instances(self, h5py, tmp_path):
        path = tmp_path / "clip.analysis.h5"
        with h5py.File(path, "w") as file:
            file["tracks"] = np.stack([FACES[0].T, FACES[1].T])[:, :, :, None]
            file["node_names"] = np.array([f"n{i}" for i in range(5)], dtype="S")
            file["instance_scores"] = [[np.nan], [0.25]]
            file["point_scores"] = np.array([[0.1, 0.3, np.nan, 0.5, 0.7], [1.0] * 5])[:, :, None]
        assert [face.confidence for face in read_landmarks(path)] == pytest.approx([0.4, 0.25])

    def test_nothing_outside_the_file_is_opened(self, h5py, tmp_path):
        other = tmp_path / "other.h5"
        with h5py.File(other, "w") as file:
            file["tracks"] = np.zeros((1, 2, 5, 1))
        path = tmp_path / "labels.h5"
        for kind in ("link", "virtual", "external"):
            with h5py.File(path, "w") as file:
                file["node_names"] = np.array(["a"] * 5, dtype="S")
                if kind == "link":
                    file["tracks"] = h5py.ExternalLink("other.h5", "tracks")
                elif kind == "virtual":
                    layout = h5py.VirtualLayout(shape=(1, 2, 5, 1), dtype="f8")
                    layout[:] = h5py.VirtualSource("other.h5", "tracks", shape=(1, 2, 5, 1))
                    file.create_virtual_dataset("tracks", layout)
                else:
                    file.create_dataset("tracks", (1, 2, 5, 1), "f8", external=[("raw.bin", 0, 80)])
            with pytest.raises(LandmarkFileError, match="labels"):
                list(read_landmarks(path, "sleap"))

    def test_damaged(self, h5py, tmp_path):
        path = tmp_path / "labels.h5"
        path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
        with pytest.raises(LandmarkFileError, match="labels"):
            list(read_landmarks(path))


def test_a_video_of_cvat_is_named_inside(tmp_path):
    # exports are called annotations.xml
    points = ";".join(f"{x},{y}" for x, y in FACES[0])
    (tmp_path / "annotations.xml").write_text(
        "<annotations><version>1.1</version><meta><task><source>clip.mp4</source></task></meta>"
        f'<track id="0" label="face"><points frame="4" outside="0" points="{points}"/></track></annotations>'
    )
    (face,) = read_landmarks(tmp_path / "annotations.xml")
    assert (face.image, face.frame) == ("clip.mp4", 4)


def test_faces_of_mediapipe_alone(tmp_path):
    faces = [[{"x": x / 100, "y": y / 100, "z": 0} for x, y in face] for face in FACES.tolist()]
    (tmp_path / "a.json").write_text(json.dumps(faces))
    found = list(read_landmarks(tmp_path / "a.json"))
    assert all(face.relative and face.image.endswith("a") for face in found)
    np.testing.assert_allclose([face.points for face in found], FACES / 100)


def test_label_studio_minimal(tmp_path):
    # as its JSON_MIN export: values by the name of their control, no parents
    values = [
        {"x": x / 2, "y": y * 2, "keypointlabels": [str(i)], "original_width": 200, "original_height": 50}
        for face in FACES
        for i, (x, y) in enumerate(face, 1)
    ]
    path = tmp_path / "result.json"
    path.write_text(json.dumps([{"image": "/data/upload/1/0123abcd-a%20b.png", "id": 1, "points": values}]))
    faces = list(read_landmarks(path))
    assert [face.image for face in faces] == ["a b.png"] * 2
    np.testing.assert_allclose([face.points for face in faces], FACES)


def test_fiftyone(tmp_path):
    # as Dataset.write_json of FiftyOne 1.22 writes it
    points = (FACES[0] / 100).tolist()
    points[2] = [float("nan")] * 2
    keypoint = {"_cls": "Keypoint", "points": points, "confidence": [0.25, 0.75]}
    samples = [
        {"filepath": "/photos/a.png", "faces": {"_cls": "Keypoints", "keypoints": [keypoint]}},
        {"filepath": "/photos/b.png", "faces": None, "tags": []},
    ]
    path = tmp_path / "samples.json"
    path.write_text(json.dumps({"name": "faces", "sample_fields": {}, "samples": samples}))
    first, second = read_landmarks(path)
    assert (first.relative, first.confidence, second.landmarks) == (True, 0.5, None)
    assert (first.image, second.image) == ("/photos/a.png", "/photos/b.png")
    np.testing.assert_allclose(np.delete(first.landmarks, 2, 0) * 100, np.delete(FACES[0], 2, 0))


def test_pickles_with_objects_are_refused(tmp_path):
    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "made"), "w"))

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        names = [(1, [("a", "b"), ("a", "c")])]
        assert plain_pickle(pickle.dumps(names, protocol)) == names
        with pytest.raises(ValueError, match="holds objects"):
            plain_pickle(pickle.dumps([(1, Evil())], protocol))
    assert not (tmp_path / "made").exists()


def test_landmarks_in_one_cell(tmp_path):
    path = tmp_path / "faces.csv"
    path.write_text(f'image,landmarks\na.png,"{json.dumps(FACES[0].tolist())}"\nb.png,\n')
    first, second = read_landmarks(path)
    np.testing.assert_array_equal(first.points, FACES[0])
    assert (second.points, second.problem) == (None, "")


def test_98_columns_of_openface_3(tmp_path):
    points = RNG.uniform(10, 90, (98, 2)).round(3)
    names = [f"{axis}_{i}" for axis in "xy" for i in range(98)]
    path = tmp_path / "clip.csv"
    path.write_text(",".join(["frame", "face_id", "confidence", "success", *names]) + "\n")
    with open(path, "a") as file:
        file.write(",".join(map(str, [1, 0, 0.9, 1, *points.T.ravel()])) + "\n")
    (face,) = read_landmarks(path)
    np.testing.assert_array_equal(face.points, points)
