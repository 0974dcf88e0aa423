"""Pictures made of a batch: crops, drawn photographs, the best frames of each person, a contact sheet."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
import skimage.data

from facereject.faces import Face, FaceRejector, Pose
from facereject.faces.face import Box, FaceFrame
from facereject.faces.landmarks.mean_shape import MEAN_SHAPE
from facereject.outputs import VideoWriter
from facereject.outputs.contact_sheet import ContactSheet
from facereject.outputs.crops import APART_S, PictureOutput, is_own_picture, quality_of
from facereject.parallel import WorkerEngine
from facereject.pipeline import OptionError, score_files


@pytest.fixture(scope="module")
def rejector():
    return FaceRejector.pretrained()


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """photos/: a face, the same in a subfolder, and none."""
    monkeypatch.chdir(tmp_path)
    os.makedirs("photos/sub")
    photo = PIL.Image.fromarray(skimage.data.astronaut()[:260, 100:360])
    photo.save("photos/a.png")
    photo.save("photos/sub/a.jpg")
    PIL.Image.new("RGB", (90, 90)).save("photos/none.png")
    return "photos"


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file())


def test_crops_and_drawn_photographs(photos, rejector):
    options = {"crops": "crops", "size": 96, "annotated": "drawn", "contact_sheet": "sheet.png"}
    summary = score_files(photos, "t.csv", rejector=rejector, **options)
    assert (summary.inputs, summary.failed, summary.accepted_faces) == (3, 0, 2)
    assert files("crops") == ["a.png.face0.jpg", "sub/a.jpg.face0.jpg"]
    assert files("drawn") == ["a.png.annotated.jpg", "none.png.annotated.jpg", "sub/a.jpg.annotated.jpg"]
    with PIL.Image.open("crops/a.png.face0.jpg") as crop:
        assert crop.size == (96, 96)
    with PIL.Image.open("drawn/a.png.annotated.jpg") as drawn:
        assert drawn.size == (260, 260)
        greens = np.asarray(drawn, dtype=int)
        assert ((greens[..., 1] - greens[..., 0]) > 80).sum() > 50
    with PIL.Image.open("sheet.png") as sheet:
        assert sheet.size[0] > sheet.size[1]
    # again, as after an interruption: the own files are replaced
    score_files(photos, "t.csv", rejector=rejector, overwrite=True, **options)


def test_rejected_faces_are_not_cut_out(photos, rejector):
    strict = rejector.with_target(threshold=-100)
    score_files(photos, rejector=strict, crops="crops")
    assert not os.path.exists("crops")


def test_foreign_files_stay(photos, rejector):
    os.mkdir("crops")
    Path("crops/a.png.face0.jpg").write_bytes(b"mine")
    os.symlink("elsewhere.jpg", "crops/link")
    summary = score_files(photos, rejector=rejector, crops="crops")
    assert Path("crops/a.png.face0.jpg").read_bytes() == b"mine"
    assert summary.failed == 1
    assert "not made by facereject" in summary.failures[0][1]
    assert files("crops") == ["a.png.face0.jpg", "sub/a.jpg.face0.jpg"]
    score_files(photos, rejector=rejector, crops="crops", overwrite=True)
    assert is_own_picture("crops/a.png.face0.jpg")


def test_a_link_in_place_of_a_picture_is_not_followed(photos, rejector):
    os.mkdir("crops")
    score_files("photos/a.png", rejector=rejector, crops="other")
    os.symlink(os.path.abspath("other/a.png.face0.jpg"), "crops/a.png.face0.jpg")
    before = Path("other/a.png.face0.jpg").read_bytes()
    summary = score_files("photos/a.png", rejector=rejector, crops="crops", size=64)
    assert summary.failed == 1
    assert Path("other/a.png.face0.jpg").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"crops": "photos/crops"}, "`crops` photos/crops: lies in photos"),
        ({"annotated": "photos/a.png"}, "`annotated` photos/a.png: this is a file"),
        ({"crops": "c", "size": 4}, "`size`"),
        ({"best_per_track": 3}, "`best_per_track` needs a folder"),
        ({"frames": "f", "best_per_track": 0}, "`best_per_track` must be at least 1"),
        ({"contact_sheet": "sheet.tif"}, "`contact_sheet` sheet.tif: a contact sheet is written as"),
        ({"contact_sheet": "no/sheet.png"}, "there is no folder no"),
        ({"contact_sheet": "photos/a.png"}, "`contact_sheet`"),
        ({"crops": "c", "keep_best": 3}, "`keep_best` excludes"),
    ],
)
def test_what_cannot_work_is_said_before(photos, options, message):
    with pytest.raises(OptionError) as caught:
        score_files(photos, **options)
    assert message in str(caught.value)
    assert sorted(os.listdir()) == ["photos"]


def test_a_sheet_of_a_table_is_that_of_the_run(photos, rejector):
    score_files(photos, "t.csv", rejector=rejector, contact_sheet="run.png")
    assert ContactSheet.of_table("t.csv").write("table.png") == 2
    assert Path("run.png").read_bytes() == Path("table.png").read_bytes()


def test_a_sheet_of_files_that_were_moved_by_workers(photos, rejector, monkeypatch):
    score_files(photos, rejector=rejector, contact_sheet="before.png")
    # the inputs are opened where they were judged
    monkeypatch.setattr("facereject.outputs.contact_sheet.read_image", None)
    options = {"accepted": "good", "rejected": "bad", "mode": "move", "engine": WorkerEngine(1)}
    score_files(photos, rejector=rejector, contact_sheet="after.png", **options)
    assert Path("before.png").read_bytes() == Path("after.png").read_bytes()


def test_a_sheet_of_many_faces_shows_some_from_end_to_end():
    sheet = ContactSheet(faces=5)
    from facereject.tables.rows import Row

    for i in range(101):
        sheet.add("a", [Row("a", 0, box=Box(0, 0, 9, 9), uncertainty=float(i), expected_error=1.0)])
    assert [seen.uncertainty for seen in sheet._chosen()] == [0, 25, 50, 75, 100]


def frame(index, *, sharp=True, error=2.0, yaw=0.0, accepted=True, track=0):
    rng = np.random.default_rng(index)
    noise = rng.integers(0, 255, (120, 120, 3) if sharp else (15, 15, 3), dtype=np.uint8)
    image = noise if sharp else np.kron(noise, np.ones((8, 8, 1), dtype=np.uint8))
    points = MEAN_SHAPE * 70 + 60
    face = Face(Box(20, 20, 80, 80), 1.0, points, 0.0, error, accepted, track=track, pose=Pose(yaw, 0, 0))
    return FaceFrame(index, index / 30, image, [face])


def shots(tmp_path, frames, n):
    output = PictureOutput(str(tmp_path), frames=str(tmp_path / "out"), best_per_track=n)
    with output.open(str(tmp_path / "clip.mp4")) as pictures:
        for each in frames:
            pictures.write(each)
    found = files(tmp_path / "out") if (tmp_path / "out").exists() else []
    return [tuple(int(part[5:]) for part in name.split(".")[2:4]) for name in found]


def test_the_best_frame_is_sharp_certain_and_frontal(tmp_path):
    frames = [
        frame(0, sharp=False),
        frame(20, error=6.0),
        frame(40, yaw=50.0),
        frame(60),
        frame(80, accepted=False),
    ]
    assert shots(tmp_path, frames, 1) == [(0, 60)]


def test_the_best_frames_of_each_person_lie_apart(tmp_path):
    frames = [frame(i, error=3 - 0.01 * i, track=i % 2 * 7) for i in range(120)]
    found = shots(tmp_path, frames, 3)
    for track in (0, 7):
        times = [index / 30 for number, index in found if number == track]
        assert len(times) == 3
        assert np.diff(sorted(times)).min() >= APART_S
        # the video gets better: the last frames are among them
        assert max(times) > 3.8


def test_nothing_is_left_of_a_video_that_fails(tmp_path):
    output = PictureOutput(str(tmp_path), frames=str(tmp_path / "out"))
    pictures = output.open(str(tmp_path / "clip.mp4"))
    pictures.write(frame(0))
    pictures.__exit__(ZeroDivisionError, None, None)
    assert not (tmp_path / "out").exists()


def test_quality_counts_what_is_known():
    good = frame(0).faces[0]
    assert quality_of(good, 0.5) > quality_of(good, 0.25)
    unknown = Face(good.box, 1.0, good.landmarks, 0.3, float("nan"), True)
    assert np.isfinite(quality_of(unknown, 0.0))


def test_a_video_gives_the_best_frame_of_its_person(tmp_path, monkeypatch, rejector):
    monkeypatch.chdir(tmp_path)
    photo = skimage.data.astronaut()[:240, 100:340]
    with VideoWriter("clip.mp4", 30, (240, 240)) as writer:
        for i in range(12):
            writer.write(np.roll(photo, i, axis=1))
    options = {"crops": "people", "frames": "shots", "best_per_track": 2, "contact_sheet": "s.jpg"}
    summary = score_files("clip.mp4", rejector=rejector, size=80, **options)
    assert summary.accepted_faces == 12
    (crop,) = files("people")
    assert files("shots") == [crop]
    assert crop.startswith("clip.mp4.track000.frame0000")
    with PIL.Image.open(f"people/{crop}") as small, PIL.Image.open(f"shots/{crop}") as whole:
        assert (small.size, whole.size) == ((80, 80), (240, 240))
    assert is_own_picture("s.jpg")
