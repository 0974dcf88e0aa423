"""Images made of a run: crops, drawn photos, the best frames of each person, a contact sheet."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from feeding import face, feed, noise, photo, prepared

from facereject._options import OptionError
from facereject.faces import Pose
from facereject.faces.face import NO_IMAGE, FaceFrame
from facereject.faces.landmarks.point_set import MEAN_SHAPE
from facereject.outputs import AnnotatedImages, BestFrames, ContactSheet, Crops, SortedFiles, VideoWriter
from facereject.outputs._folders import OutputError
from facereject.outputs.base import Media
from facereject.outputs.images import APART_S, is_own_picture, quality_of
from facereject.parallel import WorkerEngine


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """photos/: a.png and sub/a.jpg."""
    monkeypatch.chdir(tmp_path)
    os.makedirs("photos/sub")
    for i, name in enumerate(("photos/a.png", "photos/sub/a.jpg")):
        PIL.Image.fromarray(noise(i)).save(name)
    return "photos"


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file())


def test_every_accepted_face_of_an_image_is_cut_out(photos):
    output = prepared(Crops("crops", size=96), [photos])
    # as it is sent to a worker
    output = pickle.loads(pickle.dumps(output))  # noqa: S301
    assert output.report() == ["Crops: none, this run saved no accepted face"]
    feed(output, "photos/a.png", [photo(face(), face(False), face(), image=noise(0))])
    feed(output, "photos/sub/a.jpg", [photo(face(), image=noise(1))])
    assert files("crops") == ["a.png.face0.jpg", "a.png.face2.jpg", "sub/a.jpg.face0.jpg"]
    with PIL.Image.open("crops/a.png.face0.jpg") as crop:
        assert crop.size == (96, 96)
    assert output.report() == ["Crops: crops"]


def test_drawn_photos_show_the_faces_or_say_that_there_is_none(photos):
    output = prepared(AnnotatedImages("drawn"), [photos])
    gray = np.full((240, 240, 3), 128, dtype=np.uint8)
    feed(output, "photos/a.png", [photo(face(), image=gray)])
    feed(output, "photos/none.png", [photo(image=gray)])
    feed(output, "photos/clip.mp4", [FaceFrame(0, 0.0, gray, [face()])], kind="video")
    feed(output, "photos/broken.png", [photo(problem="unreadable: x")])
    assert files("drawn") == ["a.png.annotated.jpg", "none.png.annotated.jpg"]
    images = [np.asarray(PIL.Image.open(f"drawn/{name}"), dtype=int) for name in files("drawn")]
    greens, reds = (
        [((image[..., a] - image[..., b]) > 80).sum() for image in images] for a, b in ((1, 0), (0, 1))
    )
    assert greens[0] > 50
    # a red cross beside the words, in the lower left corner
    assert reds[1] > 10
    assert (np.abs(images[1][:120] - 128) < 10).all()


@pytest.mark.parametrize("left", ["file", "link", "pipe"])
def test_files_that_facereject_did_not_create_stay(photos, left):
    os.mkdir("crops")
    target = Path("crops/a.png.face0.jpg")
    if left == "file":
        target.write_bytes(b"mine")
    elif left == "link":
        os.symlink(os.path.abspath("photos/a.png"), target)
    else:
        os.mkfifo(target)
    before = Path("photos/a.png").read_bytes()
    frames = [photo(face(), image=noise(0))]
    with pytest.raises(OutputError, match="face0"):
        feed(prepared(Crops("crops"), [photos]), "photos/a.png", frames)
    assert Path("photos/a.png").read_bytes() == before
    if left == "file":
        assert target.read_bytes() == b"mine"
        # if it is allowed, and its own always
        feed(prepared(Crops("crops"), [photos], overwrite=True), "photos/a.png", frames)
        feed(prepared(Crops("crops"), [photos]), "photos/a.png", frames)
        assert is_own_picture(str(target))


@pytest.mark.parametrize(
    ("output", "name"),
    [
        (Crops("photos/crops"), "Crops.folder"),
        (AnnotatedImages("photos/a.png"), "AnnotatedImages.folder"),
        (Crops("c", size=4), "Crops.size"),
        (BestFrames("f", best_per_track=0), "BestFrames.best_per_track"),
        (Crops("f", best_per_track=0), "Crops.best_per_track"),
        (ContactSheet("sheet.tif"), "ContactSheet.path"),
        (ContactSheet("no/sheet.png"), "ContactSheet.path"),
        (ContactSheet("photos/a.png"), "ContactSheet.path"),
        (ContactSheet("photos"), "ContactSheet.path"),
    ],
)
def test_what_cannot_work_is_said_before_any_work(photos, output, name):
    with pytest.raises(OptionError, match=f"`{name}`"):
        prepared(output, [photos])
    assert sorted(os.listdir()) == ["photos"]


def sheet_of(path, others=(), **options):
    sheet = prepared(ContactSheet(path), ["photos"], others=others, **options)
    for i, name in enumerate(("photos/a.png", "photos/sub/a.jpg", "photos/gone.png")):
        feed(sheet, name, [photo(face(i == 0, uncertainty=float(i)))])
    feed(sheet, "photos/none.png", [photo()])
    sheet.close()
    return sheet


def test_a_contact_sheet_shows_faces_names_and_a_legend(photos):
    sheet = sheet_of("sheet.png")
    assert sheet.report() == ["Contact sheet: sheet.png (2 faces)"]
    image = np.asarray(PIL.Image.open("sheet.png"))
    # text below the faces and below all of them
    assert image.shape[0] > 112 + 2 * 20
    assert (image[112 + 8 : 112 + 20, :230] > 150).any()
    assert (image[-18:] > 150).any()
    # its own is replaced
    sheet_of("sheet.png")


def test_a_contact_sheet_without_a_face_is_not_written(photos):
    sheet = prepared(ContactSheet("sheet.png"), ["photos"])
    sheet.close()
    assert not os.path.exists("sheet.png")
    assert sheet.report() == ["Contact sheet: none, there is no face"]


def test_a_contact_sheet_of_files_that_were_moved_by_workers(photos, monkeypatch):
    sheet_of("before.png")
    sort = prepared(SortedFiles("good", "bad", "move"), ["photos"])
    feed(sort, "photos/a.png", [photo(face())])
    # the inputs are opened where they were scored
    monkeypatch.setattr("facereject.outputs.contact_sheet.read_image", None)
    sheet_of("after.png", [sort], engine=WorkerEngine(1))
    assert Path("before.png").read_bytes() == Path("after.png").read_bytes()


def test_a_contact_sheet_of_many_faces_shows_some_from_end_to_end(monkeypatch):
    monkeypatch.setattr("facereject.outputs.contact_sheet._FACES", 5)
    sheet = prepared(ContactSheet("sheet.png"))
    for i in range(101):
        feed(sheet, "a", [photo(face(uncertainty=float(i)))])
    assert [seen.uncertainty for seen in sheet._chosen()] == [0, 25, 50, 75, 100]


def test_a_contact_sheet_shows_each_person_of_a_video_twice(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with VideoWriter("clip.mp4", 10, (120, 120)) as writer:
        for i in range(6):
            writer.write(noise(i))
    sheet = prepared(ContactSheet("sheet.jpg"), ["clip.mp4"])
    frames = [
        FaceFrame(i, i / 10, NO_IMAGE, [face(uncertainty=float(u), track=0), face(uncertainty=9.0, track=1)])
        for i, u in enumerate([3, 1, 2, 5, 4, 2])
    ]
    feed(sheet, "clip.mp4", frames, kind="video")
    sheet.close()
    assert {(seen.frame, seen.uncertainty) for seen in sheet._chosen()} == {
        (1, 1.0),
        (3, 5.0),
        (0, 9.0),
        (5, 9.0),
    }
    assert sheet.n_shown == 4
    assert is_own_picture("sheet.jpg")


def frame(index, *, sharp=True, error=2.0, yaw=0.0, accepted=True, track=0):
    rng = np.random.default_rng(index)
    noise = rng.integers(0, 255, (120, 120, 3) if sharp else (15, 15, 3), dtype=np.uint8)
    image = noise if sharp else np.kron(noise, np.ones((8, 8, 1), dtype=np.uint8))
    shown = face(accepted, expected_error=error, track=track, pose=Pose(yaw, 0, 0))
    return FaceFrame(index, index / 30, image, [shown])


def shots(tmp_path, frames, n, kind=BestFrames):
    output = prepared(kind(tmp_path / "out", best_per_track=n), [tmp_path / "clip.mp4"])
    feed(output, tmp_path / "clip.mp4", frames, kind="video")
    found = files(tmp_path / "out") if (tmp_path / "out").exists() else []
    return [tuple(int(part[5:]) for part in name.split(".")[2:4]) for name in found]


@pytest.mark.parametrize("kind", [BestFrames, Crops])
def test_the_best_frame_is_sharp_certain_and_frontal(tmp_path, kind):
    frames = [
        frame(0, sharp=False),
        frame(20, error=6.0),
        frame(40, yaw=50.0),
        frame(60),
        frame(80, accepted=False),
    ]
    assert shots(tmp_path, frames, 1, kind) == [(0, 60)]
    with PIL.Image.open(next((tmp_path / "out").iterdir())) as image:
        assert image.size == ((120, 120) if kind is BestFrames else (256, 256))


def test_the_best_frames_of_each_person_lie_apart(tmp_path):
    frames = [frame(i, error=3 - 0.01 * i, track=i % 2 * 7) for i in range(120)]
    found = shots(tmp_path, frames, 3)
    for track in (0, 7):
        times = [index / 30 for number, index in found if number == track]
        assert len(times) == 3
        assert np.diff(sorted(times)).min() >= APART_S
        # the video gets better: the last frames are among them
        assert max(times) > 3.8


@pytest.mark.parametrize("kind", [BestFrames, Crops])
def test_nothing_is_left_of_a_video_that_fails(tmp_path, kind):
    output = prepared(kind(str(tmp_path / "out")))
    feed_failed(output, frame(0))
    assert not (tmp_path / "out").exists()


def feed_failed(output, shown):
    output.begin(Media("clip.mp4", "clip.mp4", "video", MEAN_SHAPE))
    output.write(shown)
    output.end(failed=True)


def test_quality_counts_what_is_known():
    good = frame(0).faces[0]
    assert quality_of(good, 0.5) > quality_of(good, 0.25)
    unknown = face(expected_error=float("nan"), uncertainty=0.3)
    assert np.isfinite(quality_of(unknown, 0.0))
