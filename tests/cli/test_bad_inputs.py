"""What the user sees of every kind of bad or unusual input: its row, the list of failures, the exit code."""

from __future__ import annotations

import csv
import os
import zlib
from pathlib import Path

import cv2
import numpy as np
import PIL.Image
import pytest
import skimage.data
from bright_faces import gray_photo

LONG = "n" * 251 + ".jpg"
NOT_UTF8 = os.fsdecode(b"caf\xe9.jpg")


def _png_of_size(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds next to nothing."""
    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])
    chunks = b""
    for kind, data in ((b"IHDR", head), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")):
        checksum = zlib.crc32(kind + data).to_bytes(4, "big")
        chunks += len(data).to_bytes(4, "big") + kind + data + checksum
    return b"\x89PNG\r\n\x1a\n" + chunks


def _video(path, frames) -> None:
    height, width = frames[0].shape[:2] if frames else (48, 64)
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 25, (width, height))
    for frame in frames:
        writer.write(frame[:, :, ::-1])
    writer.release()


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    """A folder with every kind of file; what each is called in the table."""
    folder = tmp_path_factory.mktemp("zoo")
    face = skimage.data.astronaut()[:260, 120:330]
    photo = PIL.Image.fromarray(face)
    photo.save(folder / "good.jpg", quality=95)
    whole = (folder / "good.jpg").read_bytes()
    (folder / "empty.jpg").write_bytes(b"")
    (folder / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    photo.save(folder / "cut.png")
    (folder / "cut.png").write_bytes((folder / "cut.png").read_bytes()[:20_000])
    (folder / "text.jpg").write_text("this is no picture")
    (folder / "bomb.png").write_bytes(_png_of_size(20_000, 20_000))
    photo.convert("CMYK").save(folder / "cmyk.jpg", quality=95)
    gray = np.asarray(photo.convert("L"))
    PIL.Image.fromarray(gray.astype(np.uint16) * 257).save(folder / "sixteen.png")
    photo.convert("L").save(folder / "gray.png")
    photo.convert("RGBA").save(folder / "alpha.png")
    photo.quantize(64).save(folder / "still.gif")
    exif = PIL.Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees clockwise
    photo.transpose(PIL.Image.Transpose.ROTATE_90).save(folder / "turned.jpg", exif=exif, quality=95)
    frames = [photo, photo.transpose(PIL.Image.Transpose.FLIP_LEFT_RIGHT), photo]
    frames[0].save(folder / "moving.gif", save_all=True, append_images=frames[1:], duration=40)
    photo.save(folder / NOT_UTF8)
    photo.save(folder / LONG)
    (folder / "loop").symlink_to(folder)
    (folder / "dangling.jpg").symlink_to(folder / "nowhere.jpg")
    _video(folder / "none.avi", [])
    _video(folder / "two.avi", [face[:256, :208]] * 2)
    # a stream of pictures whose size changes
    other = cv2.imencode(".jpg", cv2.resize(face, None, fx=1.5, fy=1.5)[:, :, ::-1])[1].tobytes()
    (folder / "sizes.mjpg").write_bytes(whole * 2 + other * 2)
    return folder


@pytest.fixture(scope="module")
def judged(zoo, tmp_path_factory):
    """The rows of the whole folder by file name, the messages, and the exit code."""
    from typer.testing import CliRunner

    from facereject._cli import app

    table = tmp_path_factory.mktemp("out") / "t.csv"
    result = CliRunner().invoke(app, ["score", str(zoo), "-o", str(table)])
    rows: dict[str, list[dict[str, str]]] = {}
    with open(table, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows.setdefault(row["source"].removeprefix(f"{zoo}/"), []).append(row)
    return rows, result


def test_every_file_has_rows(zoo, judged):
    rows, _ = judged
    names = {name for name in os.listdir(zoo) if name != "loop"}
    assert set(rows) == {os.fsencode(name).decode("utf-8", "backslashreplace") for name in names}
    assert r"caf\xe9.jpg" in rows


@pytest.mark.parametrize(
    "name",
    ["good.jpg", "cmyk.jpg", "sixteen.png", "gray.png", "alpha.png", "still.gif", r"caf\xe9.jpg", LONG],
)
def test_unusual_pictures_are_read(judged, name):
    (row,) = judged[0][name]
    assert row["reason"] in ("", "uncertain")
    assert 0 < float(row["x_30"]) < 210
    assert row["frame"] == "0"
    assert row["time_s"] == row["track"] == ""


def test_exif_rotation_is_honoured(judged):
    (turned,), (upright,) = judged[0]["turned.jpg"], judged[0]["good.jpg"]
    for column in ("x", "y", "x_30", "y_30"):
        assert abs(float(turned[column]) - float(upright[column])) < 12


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("empty.jpg", "empty"),
        ("cut.jpg", ""),
        ("cut.png", ""),
        ("text.jpg", ""),
        ("bomb.png", "pixels"),
        ("dangling.jpg", ""),
        ("none.avi", ""),
    ],
)
def test_unreadable_files(judged, name, words):
    rows, result = judged
    (row,) = rows[name]
    assert row["reason"].startswith("unreadable: ")
    assert words in row["reason"]
    assert row["accepted"] == "false"
    # never a number that could pass for a measurement
    assert {value for column, value in row.items() if column not in ("source", "accepted", "reason")} == {""}
    assert name in result.stderr


def test_failures_are_listed(judged):
    _, result = judged
    assert result.exit_code == 1
    assert "7 inputs failed:" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(("name", "n_frames"), [("moving.gif", 3), ("two.avi", 2), ("sizes.mjpg", 4)])
def test_videos(judged, name, n_frames):
    rows = judged[0][name]
    assert sorted({int(row["frame"]) for row in rows}) == list(range(n_frames))
    assert all(row["time_s"] != "" for row in rows)


def test_a_folder_without_pictures(work, run):
    (work / "notes").mkdir()
    (work / "notes" / "a.txt").write_text("x")
    result = run("score", "notes", "-o", "t.csv")
    assert result.exit_code == 2
    assert "notes: the folder holds no images or videos" in result.stderr
    assert sorted(os.listdir()) == ["notes"]


def test_missing_paths(stub, photos, run):
    result = run("score", "photos", "phtos", "-o", "t.csv")
    assert result.exit_code == 2
    assert "phtos: no such file or folder" in result.stderr
    assert not Path("t.csv").exists()


def test_permissions(stub, photos, run, monkeypatch):
    # the tests may run as root, whom no permission stops
    import facereject.pipeline.task as task

    def refuse(path, **options):
        raise task.ImageError(f"{path}: cannot be opened (permission denied)")

    monkeypatch.setattr(task, "read_image", refuse)
    # a few images are judged in this process
    result = run("score", "photos/1.png", "photos/2.png", "-o", "t.csv")
    assert result.exit_code == 1
    assert "permission denied" in result.stderr


def test_pixel_limit_is_an_option(stub, work, run):
    gray_photo(work / "a.png", 100)
    result = run("score", "a.png", "-o", "t.csv", "--max-pixels", "63")
    assert result.exit_code == 1
    assert "a.png: unreadable: 8 x 8 pixels are more than the limit of 63" in result.stderr
    assert run("score", "a.png", "-o", "t.csv", "--max-pixels", "64").exit_code == 0


def test_folder_of_the_table_is_not_writable(stub, photos, run, monkeypatch):
    def refuse(*arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("facereject._files.os.open", refuse)
    result = run("score", "photos", "-o", "t.csv")
    assert result.exit_code == 2
    assert "t.csv.partial: cannot be written (Permission denied)" in result.stderr
