"""Landmarks of other tools: read as their makers document them, judged as `FaceRejector.assess` does."""

from __future__ import annotations

import json
import math

import cv2
import numpy as np
import pytest
from files_of_others import coco, dump, mediapipe_result, write_deeplabcut, write_openface, write_pts
from table_rows import read_csv
from typer.testing import CliRunner

from facereject._cli import app
from facereject.faces.landmarks.conversion import WFLW, to_68
from facereject.faces.landmarks.point_set import MEAN_SHAPE
from facereject.pipeline import assess_files
from facereject.sources.landmark_files import READERS, read_landmarks
from facereject.sources.landmark_files._found import LandmarkFileError


def judged(rejector, landmarks, images, tmp_path, **options):
    summary = assess_files(landmarks, images, tmp_path / "faces.csv", rejector=rejector, **options)
    return read_csv(tmp_path / "faces.csv"), summary


def is_judged_as(row, face):
    assert row.uncertainty == pytest.approx(face.uncertainty, rel=1e-6)
    assert row.expected_error == pytest.approx(face.expected_error, rel=1e-6)
    assert row.accepted == face.accepted
    np.testing.assert_allclose(row.landmarks, face.landmarks, atol=1e-3)


def make(kind, tmp_path, points, wrong, mesh, size):
    """One file of a tool about two faces of astronaut.png, and the points to expect."""
    file = tmp_path / {"pts": "astronaut.pts", "facereject": "astronaut.jsonl"}.get(kind, "astronaut.csv")
    if kind == "openface":
        return write_openface(file, [(points, 0.98, 1), (wrong, 0.4, 1)], video=False), [points, wrong]
    if kind == "pts":
        return write_pts(file, points), [points]
    if kind == "deeplabcut":
        index = ["labeled-data", "photos", "astronaut.png"]
        both = write_deeplabcut(file, [(index, [points, wrong])], individuals=("one", "two"))
        return both, [points, wrong]
    if kind == "coco":
        faces = [("astronaut.png", points, 0.9), ("astronaut.png", wrong, 0.1)]
        return dump(file.with_suffix(".json"), coco(faces)), [points, wrong]
    if kind == "mediapipe":
        content = mediapipe_result([mesh, mesh + 25], size)
        return dump(file.with_suffix(".json"), content), [to_68(mesh), to_68(mesh + 25)]
    raise AssertionError(kind)


@pytest.mark.parametrize("kind", ["openface", "pts", "deeplabcut", "coco", "mediapipe"])
def test_files_of_other_tools(kind, rejector, photos, astronaut, points, wrong, mesh, tmp_path):
    file, expected = make(kind, tmp_path, points, wrong, mesh, astronaut.shape[1::-1])
    rows, summary = judged(rejector, file, photos, tmp_path)
    assert summary.failures == []
    assert summary.faces == len(rows) == len(expected)
    for row, each in zip(rows, expected, strict=True):
        is_judged_as(row, rejector.assess(astronaut, each))
        assert row.source == str(photos / "astronaut.png")
    if len(rows) > 1:
        # landmarks beside the face are found out
        assert rows[1].uncertainty > rows[0].uncertainty
    named, _ = judged(rejector, file, photos, tmp_path / "..", format=kind)
    assert [row.uncertainty for row in named] == [row.uncertainty for row in rows]


def test_tables_of_this_package(rejector, photos, tmp_path):
    from facereject import score_files

    for suffix in (".csv", ".jsonl", ".parquet"):
        table = tmp_path / f"scored{suffix}"
        score_files([photos], table, rejector=rejector)
        rows, summary = judged(rejector, table, photos, tmp_path)
        assert (summary.inputs, summary.faces, summary.failures) == (2, 2, [])
        direct = rejector(photos / "astronaut.png")[0]
        # the table has thousandths of a pixel, and the box of the detector, but not its five points
        alone = rejector.assess(photos / "astronaut.png", direct.landmarks.round(3), direct.box)
        for row in rows:
            assert row.uncertainty == pytest.approx(alone.uncertainty, rel=1e-6)
            assert row.detector_score == pytest.approx(direct.detector_score)


def test_frames_of_a_video(rejector, points, wrong, astronaut, tmp_path):
    (tmp_path / "clips").mkdir()
    writer = cv2.VideoWriter(
        str(tmp_path / "clips" / "clip.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 25, astronaut.shape[1::-1]
    )
    for _ in range(4):
        writer.write(astronaut[:, :, ::-1])
    writer.release()
    file = write_openface(tmp_path / "clip.csv", [(points, 0.9, 1), (points, 0.0, 0), (wrong, 0.5, 1)])
    for images in (tmp_path / "clips", tmp_path / "clips" / "clip.avi"):
        rows, summary = judged(rejector, file, images, tmp_path)
        assert [row.frame for row in rows] == [0, 1, 2]
        assert [row.reason for row in rows] == ["", "no_face", "uncertain"]
        assert rows[2].time_s == pytest.approx(2 / 25)
        assert rows[0].detector_score == 0.9
        assert summary.failures == []
    deeplabcut = write_deeplabcut(
        tmp_path / "clipDLC_resnet50_face.csv", [(["1"], [points]), (["9"], [points])]
    )
    rows, summary = judged(rejector, deeplabcut, tmp_path / "clips", tmp_path)
    assert [row.frame for row in rows] == [1, None]
    assert "no frame 9" in summary.failures[0][1]


def test_wflw_and_results_of_detectors(rejector, photos, astronaut, points, tmp_path):
    ninety_eight = np.full((98, 2), 100.0) + np.arange(98)[:, None]
    ninety_eight[list(WFLW)] = points
    for results in (False, True):
        file = dump(tmp_path / "wflw.json", coco([("more/second.png", ninety_eight, 0.7)], results=results))
        (row,), summary = judged(rejector, file, photos, tmp_path)
        assert summary.failures == []
        is_judged_as(row, rejector.assess(astronaut, points))
        assert row.detector_score == 0.7
        assert row.source == str(photos / "more" / "second.png")


def test_the_order_of_wflw():
    # jaw, brows, nose, eyes, mouth: 17 + 10 + 9 + 12 + 20, without repetition, mirrored
    assert len(set(WFLW)) == 68
    mirror = {**{i: 32 - i for i in range(33)}, **dict(zip(range(33, 38), range(46, 41, -1), strict=True))}
    for ours, theirs in enumerate(WFLW[:22]):
        twin = int(np.argmin(np.linalg.norm(MEAN_SHAPE - MEAN_SHAPE[ours] * (-1, 1), axis=1)))
        assert WFLW[twin] == mirror[theirs]


@pytest.mark.parametrize("name", ["faceLandmarks", "face_landmarks", "multi_face_landmarks"])
def test_the_shapes_of_mediapipe(name, mesh, tmp_path):
    result = mediapipe_result([mesh], (512, 512), name)
    nothing = {name: []}
    files = {
        "a.json": result,
        "b.json": [{**result, "image": "x.png"}, {**nothing, "image": "y.png"}],
        "c.json": {"x.png": result, "y.png": nothing},
    }
    for file, content in files.items():
        found = list(read_landmarks(dump(tmp_path / file, content)))
        np.testing.assert_allclose(found[0].points * 512, mesh, atol=1e-6)
        assert [face.image for face in found] == (
            [str(tmp_path / "a")] if file == "a.json" else ["x.png", "y.png"]
        )
        assert all(face.points is None for face in found[1:])
    lines = [{**result, "image": "x.png", "frame": k} for k in range(3)]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert [face.frame for face in read_landmarks(tmp_path / "d.jsonl")] == [0, 1, 2]


def test_a_folder_of_files(rejector, photos, astronaut, points, wrong, tmp_path):
    folder = tmp_path / "processed"
    folder.mkdir()
    write_pts(folder / "astronaut.pts", points)
    write_pts(folder / "second.pts", wrong)
    write_pts(folder / "third.pts", points)
    rows, summary = judged(rejector, folder, photos, tmp_path)
    assert [row.reason.split(":")[0] for row in rows] == ["", "uncertain", "failed"]
    assert summary.failures[0][0] == str(folder / "third")
    assert "no image of this name" in summary.failures[0][1]


def test_names_never_lead_out_of_the_folder(rejector, photos, points, tmp_path, astronaut):
    cv2.imwrite(str(tmp_path / "secret.png"), astronaut)
    faces = [("../secret.png", points, 1.0), (str(tmp_path / "secret.png"), points, 1.0)]
    file = dump(tmp_path / "coco.json", coco(faces))
    rows, summary = judged(rejector, file, photos, tmp_path)
    assert summary.faces == 0
    assert all("no image of this name" in row.reason for row in rows)


def test_folders_decide_between_equal_names(rejector, photos, points, astronaut, tmp_path):
    (photos / "other").mkdir()
    cv2.imwrite(str(photos / "other" / "second.png"), astronaut)
    file = dump(
        tmp_path / "coco.json", coco([("/data/other/second.png", points, 1.0), ("second.png", points, 1.0)])
    )
    rows, summary = judged(rejector, file, photos, tmp_path)
    assert rows[0].source == str(photos / "other" / "second.png")
    assert "2 images of this name" in rows[1].reason
    assert len(summary.failures) == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "frame, face_id, confidence, x_0, y_0\n1, 0, 0.9, 3, four\n"),
        ("a.csv", "scorer,A,A\nbodyparts,p,p\ncoords,x,y\n0,1,two\n"),
        ("a.csv", "scorer,A,A\nbodyparts,p,p\n"),
        ("a.json", '{"annotations": [{"image_id": 3}], "images": []}'),
        ("a.json", '{"images": 3, "annotations": 7}'),
        ("a.json", '{"faceLandmarks": [[{"x": 1}]]}'),
        ("a.json", '{"faceLandmarks": 5}'),
        ("a.json", '{"faceLandmarks": '),
        ("a.pts", "version: 1\nn_points: 2\n{\n1 2 3\n4 5\n}\n"),
        ("a.txt", "anything"),
        ("a.json", ""),
    ],
)
def test_damaged_files_are_named(name, content, tmp_path, photos, rejector):
    (tmp_path / name).write_text(content)
    with pytest.raises(LandmarkFileError, match=rf"{name}"):
        list(read_landmarks(tmp_path / name))
    with pytest.raises(LandmarkFileError):
        assess_files(tmp_path / name, photos, tmp_path / "faces.csv", rejector=rejector)
    assert not (tmp_path / "faces.csv").exists()


def test_points_that_no_map_is_known_for(rejector, photos, points, tmp_path):
    write_pts(tmp_path / "astronaut.pts", points[:29])
    with pytest.raises(LandmarkFileError, match=r"468, 478 points can be mapped to 68.*train"):
        assess_files(tmp_path / "astronaut.pts", photos, rejector=rejector)


def test_points_that_are_no_face_cost_only_themselves(rejector, photos, points, tmp_path):
    faces = [("astronaut.png", np.full((68, 2), 5.0), 1.0), ("more/second.png", points, 1.0)]
    rows, summary = judged(rejector, dump(tmp_path / "coco.json", coco(faces)), photos, tmp_path)
    assert "same point" in rows[0].reason
    assert rows[1].accepted
    assert len(summary.failures) == 1


class TestManyFaces:
    """`FaceRejector.assess_many`."""

    def test_the_same_as_one_by_one(self, rejector, photos, astronaut, points, wrong):
        path = photos / "astronaut.png"
        images = [path, str(path), astronaut, astronaut]
        many = rejector.assess_many(images, [points, wrong, points, wrong])
        single = [rejector.assess(path, points), rejector.assess(path, wrong)]
        assert [face.uncertainty for face in many] == [face.uncertainty for face in single] * 2

    def test_an_image_is_read_once(self, rejector, photos, points, monkeypatch):
        from facereject.faces import images

        read = []
        load = images.load_rgb
        monkeypatch.setattr(images, "load_rgb", lambda image: (read.append(image), load(image))[1])
        path = str(photos / "astronaut.png")
        rejector.assess_many([path] * 3 + [str(photos / "more" / "second.png")], [points] * 4)
        assert read == [path, str(photos / "more" / "second.png")]

    def test_as_many_images_as_faces(self, rejector, astronaut, points):
        with pytest.raises(ValueError, match="got 1 and 2"):
            rejector.assess_many([astronaut], [points, points])

    def test_meshes_are_mapped(self, rejector, astronaut, mesh):
        face = rejector.assess(astronaut, mesh)
        assert math.isfinite(face.uncertainty)
        np.testing.assert_allclose(face.landmarks, to_68(mesh))


class TestCommand:
    """facereject assess."""

    def run(self, *arguments):
        return CliRunner().invoke(app, ["assess", *map(str, arguments)], env={"COLUMNS": "200"})

    def test_a_table(self, photos, points, tmp_path):
        write_pts(tmp_path / "astronaut.pts", points)
        result = self.run(tmp_path / "astronaut.pts", "--images", photos, "-o", tmp_path / "faces.csv")
        assert result.exit_code == 0, result.stderr
        assert "1 input; 1 face, 1 accepted" in result.stderr
        assert len(read_csv(tmp_path / "faces.csv")) == 1

    def test_missing_images_are_exit_code_1(self, photos, points, tmp_path):
        write_pts(tmp_path / "nobody.pts", points)
        result = self.run(tmp_path / "nobody.pts", "--images", photos, "-o", tmp_path / "faces.csv")
        assert result.exit_code == 1
        assert "no image of this name" in result.stderr

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["none.pts", "--images", "."], "no such file"),
            ([".", "--images", "."], "no file of landmarks"),
            (["a.pts", "--images", "nowhere"], "no such folder of images"),
            (["a.pts", "--images", ".", "--format", "fancy"], "format must be one of facereject, openface"),
        ],
    )
    def test_wrong_usage(self, folder, touch, arguments, message):
        if arguments[0] != ".":
            touch("a.pts")
        result = self.run(*arguments)
        assert result.exit_code == 2
        assert message in result.stderr


def test_formats_in_the_help_are_all():
    from facereject._cli.assess import assess

    assert all(name in assess.__doc__ for name in READERS)
