"""300-W archives and folders to crops: geometry, parts, resume, hostile names."""

from __future__ import annotations

import io
import json
import shutil
import zipfile

import numpy as np
import PIL.Image
import pytest

from data_scripts import faces_300w
from data_scripts.face_crops import crop_face
from data_scripts.joined import JoinedFiles, parts_of
from data_scripts.registry import DataError
from facereject.faces.datasets import FaceDataset, read_pts


@pytest.fixture
def points(rng):
    """A face of 300 × 200 px in a photograph of 1000 × 800."""
    inside = rng.uniform((400, 300), (700, 500), size=(68, 2))
    inside[:2] = (400, 300), (700, 500)
    return inside


def photo(points, size=(1000, 800)):
    """White dots at the first points, on black."""
    image = np.zeros((size[1], size[0], 3), dtype=np.uint8)
    for x, y in np.rint(points[:2]).astype(int):
        image[y - 6 : y + 7, x - 6 : x + 7] = 255
    return PIL.Image.fromarray(image)


def jpeg(points):
    file = io.BytesIO()
    photo(points).save(file, "JPEG", quality=95)
    return file.getvalue()


def pts(points, header=True):
    body = "".join(f"{x:.6f} {y:.6f}\n" for x, y in points + 1)
    return f"version: 1\nn_points:  68\n{{\n{body}}}\n" if header else body


def write_zip(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def run(*arguments):
    return faces_300w.main([str(argument) for argument in arguments])


def brightness_centre(image, near, radius=10):
    grey = np.asarray(image.convert("L"), dtype=float)
    x, y = np.rint(near).astype(int)
    rows, columns = np.mgrid[y - radius : y + radius + 1, x - radius : x + radius + 1]
    weights = grey[rows, columns]
    return np.array([(columns * weights).sum(), (rows * weights).sum()]) / weights.sum()


def test_crop_is_a_square_of_margin_boxes_and_points_stay_on_the_picture(points):
    image, moved = crop_face(photo(points), points, margin=2.5, max_box=200)
    # 2.5 × 300 px around (550, 400), at 200/300
    np.testing.assert_allclose(image.size, (501, 501), atol=2)
    assert np.ptp(moved, axis=0).max() == pytest.approx(200, abs=0.5)
    for before, after in zip(np.rint(points[:2]), moved[:2], strict=True):
        np.testing.assert_allclose(brightness_centre(image, after), after, atol=0.2)
        np.testing.assert_allclose(brightness_centre(photo(points), before), before, atol=1e-9)


def test_crop_is_clipped_and_never_enlarged(points):
    small = (points - 400) / 10 + 5
    image, moved = crop_face(photo(small, (100, 60)), small)
    assert image.size[0] < 100
    np.testing.assert_allclose(np.ptp(moved, axis=0), np.ptp(small, axis=0))
    with pytest.raises(ValueError, match="outside"):
        crop_face(photo(points), points + 5000)


def test_archives_and_folder(points, tmp_path, capsys):
    given, out = tmp_path / "given", tmp_path / "out"
    (given / "LFPW" / "trainset").mkdir(parents=True)
    write_zip(given / "afw.zip", {"afw/134212_1.jpg": jpeg(points), "afw/134212_1.pts": pts(points)})
    write_zip(
        given / "ibug.zip", {"image_003_1.JPG": jpeg(points), "image_003_1.pts": pts(points, header=False)}
    )
    (given / "LFPW" / "trainset" / "image_0001.png").write_bytes(b"")
    photo(points).save(given / "LFPW" / "trainset" / "image_0001.png")
    (given / "LFPW" / "trainset" / "image_0001.pts").write_text(pts(points))
    assert run("--from", given, "--out", out) == 0
    faces = FaceDataset.load(out)
    names = sorted(face.image_path.relative_to(out).as_posix() for face in faces)
    assert names == ["afw/134212_1.jpg", "ibug/image_003_1.jpg", "lfpw/trainset/image_0001.jpg"]
    assert not faces.problems
    for face in faces:
        assert np.ptp(face.landmarks, axis=0).max() == pytest.approx(200, abs=0.5)
        image = PIL.Image.fromarray(face.load())
        np.testing.assert_allclose(brightness_centre(image, face.landmarks[0]), face.landmarks[0], atol=0.3)
    assert "afw.zip: 1 faces made" in capsys.readouterr().out

    marker = out / "afw" / "134212_1.jpg"
    before = marker.stat().st_mtime_ns
    (out / "ibug" / "image_003_1.pts").unlink()
    assert run("--from", given, "--out", out) == 0
    text = capsys.readouterr().out
    assert "afw.zip: 0 faces made, 1 there already" in text
    assert "ibug.zip: 1 faces made, 0 there already" in text
    assert marker.stat().st_mtime_ns == before


def test_full_size_copies(points, tmp_path):
    given, out = tmp_path / "given", tmp_path / "out"
    given.mkdir()
    content = jpeg(points)
    write_zip(given / "afw.zip", {"afw/1_1.jpg": content, "afw/1_1.pts": pts(points)})
    assert run("--from", given, "--out", out, "--full-size") == 0
    assert (out / "afw" / "1_1.jpg").read_bytes() == content
    np.testing.assert_allclose(read_pts(out / "afw" / "1_1.pts"), points, atol=1e-3)


def test_other_settings_need_another_folder(points, tmp_path, capsys):
    given, out = tmp_path / "given", tmp_path / "out"
    given.mkdir()
    write_zip(given / "afw.zip", {"afw/1_1.jpg": jpeg(points), "afw/1_1.pts": pts(points)})
    assert run("--from", given, "--out", out) == 0
    with pytest.raises(SystemExit):
        run("--from", given, "--out", out, "--max-box", 100)
    assert "other settings" in capsys.readouterr().err
    assert run("--from", given, "--out", out, "--max-box", 100, "--force") == 0
    assert json.loads((out / "settings.json").read_text())["max_box"] == 100
    assert np.ptp(FaceDataset.load(out)[0].landmarks, axis=0).max() == pytest.approx(100, abs=0.5)


def test_archive_in_parts(points, tmp_path, capsys):
    given, out = tmp_path / "given", tmp_path / "out"
    given.mkdir()
    members = {"300W/01_Indoor/indoor_001.png": jpeg(points), "300W/01_Indoor/indoor_001.pts": pts(points)}
    write_zip(tmp_path / "whole.zip", members)
    whole = (tmp_path / "whole.zip").read_bytes()
    third = len(whole) // 3
    for i in range(3):
        end = third * (i + 1) if i < 2 else None
        (given / f"300w.zip.{i + 1:03d}").write_bytes(whole[third * i : end])
    with JoinedFiles(parts_of(given / "300w.zip.001")) as joined:
        assert joined.read() == whole
        joined.seek(-5, io.SEEK_END)
        assert joined.read() == whole[-5:]
    assert run("--from", given, "--out", out) == 0
    assert (out / "300w" / "01_Indoor" / "indoor_001.pts").is_file()
    (given / "300w.zip.003").rename(given / "300w.zip.004")
    with pytest.raises(DataError, match=r"300w\.zip\.003 is missing"):
        parts_of(given / "300w.zip.001")
    (given / "300w.zip.004").unlink()
    assert run("--from", given, "--out", tmp_path / "again") == 1
    assert "is it complete, with all its parts?" in capsys.readouterr().err


def test_bad_entries_are_named_and_the_rest_is_made(points, tmp_path, capsys):
    given, out = tmp_path / "given", tmp_path / "deep" / "out"
    given.mkdir()
    face, annotation = jpeg(points), pts(points)
    members = {"afw/good.jpg": face, "afw/good.pts": annotation, "afw/alone.pts": annotation}
    for name in ("../../outside", "/absolute", "afw/../../up", "C:/drive", "..\\back"):
        members |= {f"{name}.jpg": face, f"{name}.pts": annotation}
    members |= {"afw/broken.jpg": face[:500], "afw/broken.pts": annotation}
    members |= {"afw/short.jpg": face, "afw/short.pts": "1 2\n"}
    write_zip(given / "afw.zip", members)
    assert run("--from", given, "--out", out) == 0
    captured = capsys.readouterr()
    assert "afw.zip: 1 faces made, 0 there already, 8 left out" in captured.out
    assert "no photograph of the same name" in captured.err
    assert "leads out of the folder" in captured.err
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert files == [
        "deep/out/afw/good.jpg",
        "deep/out/afw/good.pts",
        "deep/out/settings.json",
        "given/afw.zip",
    ]


def test_nothing_there_says_what_to_fetch(tmp_path, capsys):
    assert run("--from", tmp_path / "nowhere", "--out", tmp_path / "out") == 1
    message = capsys.readouterr().err
    assert "afw.zip helen.zip lfpw.zip ibug.zip 300w.zip.001" in message
    assert "https://ibug.doc.ic.ac.uk/" in message
    with pytest.raises(SystemExit):
        run("--from", tmp_path, "--out", tmp_path / "out")


@pytest.mark.data
def test_real_faces(faces_dir, tmp_path):
    """Photographs that were cut already come out unchanged: same picture size, same points."""
    given = tmp_path / "given" / "afw"
    given.mkdir(parents=True)
    for path in sorted((faces_dir / "300w" / "afw").iterdir())[:10]:
        shutil.copy(path, given)
    assert run("--from", tmp_path / "given", "--out", tmp_path / "out") == 0
    before, after = FaceDataset.load(given), FaceDataset.load(tmp_path / "out")
    assert len(after) == len(before) == 5
    for old, new in zip(before, after, strict=True):
        np.testing.assert_allclose(new.load().shape, old.load().shape, atol=3)
        shift = new.landmarks - old.landmarks
        assert np.abs(shift - shift.mean(axis=0)).max() < 0.1
        assert np.abs(shift).max() < 3
