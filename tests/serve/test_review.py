"""Review without a browser: rows, crops, decisions, export, and what hostile tables and folders get."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import signal
import subprocess
import sys

import httpx
import numpy as np
import PIL.Image
import pytest
from reviewing import BOX, TOKEN, face, make_photos, photo, reviewing, write_table
from serving import jpeg

from facereject import FaceRejector
from facereject.faces import FaceDataset
from facereject.faces.datasets import read_pts
from facereject.faces.face import NO_IMAGE, Box, FaceFrame
from facereject.outputs._video.writer import VideoWriter
from facereject.serve.review.decisions import Decisions
from facereject.serve.review.duplicates import MOST_BITS, crop_hash
from facereject.serve.review.faces import ACCEPT, REJECT, LimitRule, choose_faces, read_faces
from facereject.serve.review.fit import fit_threshold
from facereject.serve.review.images import FaceImages
from facereject.serve.review.session import ReviewError, open_session
from facereject.tables.columns import HEAD
from facereject.tables.errors import TableError, TableFormatError
from facereject.tables.reading import read_rows, read_table
from facereject.tables.writing import write_rows

RULE = {"key": "uncertainty", "limit": 0.5, "kind": "share", "value": 50}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def table(folder):
    return make_photos(folder / "photos", 40)


def columns_of(review):
    """The columns as the page gets them."""
    facts = review.client.get("/api/review").json()
    data = review.client.get("/api/columns").content
    kinds = {"f8": "<f8", "f4": "<f4", "u4": "<u4", "i4": "<i4", "u2": "<u2", "b1": "?"}
    read = {
        c["name"]: np.frombuffer(data, kinds[c["type"]], facts["n"], c["offset"]) for c in facts["columns"]
    }
    return facts, read


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".sqlite"])
def test_columns_are_those_of_the_table(folder, suffix):
    table = make_photos(folder / "photos", 12, suffix=suffix)
    with reviewing(table) as review:
        facts, columns = columns_of(review)
    rows = list(read_rows(str(table)))
    assert facts["sources"] == [row[0] for row in rows]
    for name in ("uncertainty", "expected_error", "x"):
        assert columns[name].tolist() == pytest.approx([row[HEAD.index(name)] for row in rows])
    assert columns["error_eyes"] == pytest.approx(10 * columns["uncertainty"], rel=1e-3)
    # the limit at the start decides as the table does
    rule = LimitRule(**facts["rule"])
    assert ((columns[rule.key] <= rule.limit) == [row[HEAD.index("accepted")] for row in rows]).all()


def pixels_of(data):
    return np.asarray(PIL.Image.open(io.BytesIO(data)), int)


def test_crops_and_views_show_the_face(table):
    with reviewing(table) as review:
        crops, plain = review.crops([5, 0, 3]), review.crop(0, "plain")
        view = review.view(0)
        assert review.view(len(review.session.faces)).status_code == 404
        for path in ("/api/view/another/0", "/api/crops/another/crop?faces=0"):
            assert review.client.get(path).status_code == 404
        described = review.client.get("/api/review")
    assert view.headers["Cache-Control"].startswith("private, max-age=31536000")
    assert described.headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in view.headers["Content-Security-Policy"]
    image, without, large = pixels_of(crops[0]), pixels_of(plain), pixels_of(view.content)
    assert image.shape == without.shape == (192, 192, 3)
    # landmarks are drawn on the crop alone
    assert np.abs(image - without).max() > 100
    left, top, side = 90 - 96, 80 - 96, 192
    truth = np.full((side, side, 3), 128)
    source = np.ascontiguousarray(photo()[:, ::-1])
    truth[-top : -top + 176, -left:] = source[:176, : side + left]
    assert large.shape == (192, 192, 3)
    assert np.abs(large - truth)[20:, 10:].mean() < 6


@pytest.mark.parametrize("faces", ["", "x", "-1", "1,,2", "1e3", "9" * 30, ",".join(["0"] * 65)])
def test_crops_of_what_is_no_list_of_faces(table, faces):
    with reviewing(table) as review:
        address = f"/api/crops/{review.session.version}"
        assert review.client.get(f"{address}/crop?faces={faces}").status_code == 422
        assert review.client.get(f"{address}/view?faces=0").status_code == 422
        assert review.client.get(f"{address}/crop?faces=0,999999").status_code == 404


def test_crops_of_large_photos_are_those_of_the_whole_image(folder):
    """A large JPEG is decoded at a quarter of its size, in any orientation, and landmarks stay in place."""
    large = np.asarray(PIL.Image.fromarray(photo()).resize((1600, 1440)))
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    turned = PIL.Image.fromarray(np.ascontiguousarray(np.rot90(large)))
    PIL.Image.fromarray(large).save("a.jpg", quality=95)
    turned.save("b.jpg", quality=95, exif=exif)
    PIL.Image.fromarray(large).save("c.png")
    box = Box(403.0, 317.0, 640.0, 640.0)
    frames = [
        FaceFrame(0, math.nan, NO_IMAGE, [face(0.1, box=box)], name) for name in ("a.jpg", "b.jpg", "c.png")
    ]
    with reviewing(write_table(folder / "t.csv", frames)) as review:
        for kind in ("plain", "crop"):
            crops = review.crops([0, 1, 2], kind)
            whole = pixels_of(crops[2])
            for number in (0, 1):
                assert np.abs(pixels_of(crops[number]) - whole).mean() < 3


def test_decisions_are_saved_at_once_and_survive_a_kill(folder, table):
    program = f"""
import sys; sys.path[:0] = {[os.path.dirname(__file__)]!r}
from facereject.serve.review.decisions import Decisions
from facereject.serve.review.faces import read_faces
decisions = Decisions("faces.csv.review", read_faces("faces.csv"))
decisions.decide([3, 5], 2)
decisions.decide([7], 1)
print("saved", flush=True)
import time; time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "saved\n"
    # while one review is open, another one is told so
    with pytest.raises(TableError, match="another run"):
        Decisions("faces.csv.review", read_faces("faces.csv"))
    process.send_signal(signal.SIGKILL)
    process.wait()
    with reviewing(table) as review:
        assert review.client.get("/api/review").json()["decided"] == [[3, 2], [5, 2], [7, 1]]
        assert review.decide([5], 0).json() == {"revision": 1}
        changes = review.client.get("/api/changes?since=0").json()
        assert (changes["revision"], changes["decided"]) == (1, [[5, 0]])
        assert review.client.get("/api/changes?since=1").json()["decided"] == []


def test_decisions_follow_faces_through_another_scoring(folder, table):
    faces = read_faces(str(table))
    decisions = Decisions("d.review", faces)
    decisions.decide([0, 1, 2], REJECT)
    decisions.close()
    # the same photos: one face is elsewhere now, another photo is gone
    frames = list(read_table(str(table)))
    moved = face(0.3, box=Box(150.0, 120.0, 40.0, 40.0))
    write_table(table, [frames[0], frames[1]._replace(faces=[moved]), *frames[3:]])
    again = Decisions("d.review", read_faces(str(table)))
    assert again.values.tolist() == [REJECT] + [0] * 38
    assert again.unmatched == 2
    again.close()


@pytest.mark.parametrize(
    ("suffix", "files"),
    [(".csv", "copy"), (".csv", "link"), (".jsonl", "none"), (".parquet", "none"), (".sqlite", "none")],
)
def test_export(folder, suffix, files):
    table = make_photos(folder / "photos", 24, suffix=suffix)
    before = {path: path.read_bytes() for path in (folder / "photos").iterdir()}
    with reviewing(table) as review:
        faces = review.session.faces
        assert review.client.post("/api/rule", json=RULE).status_code == 200
        uncertainty = faces.columns["uncertainty"]
        sure, unsure = int(uncertainty.argmin()), int(uncertainty.argmax())
        review.decide([sure], REJECT)
        review.decide([unsure], ACCEPT)
        state = review.finished("/api/export", {"files": files})
        again = review.finished("/api/export", {"files": files})
    assert not state["error"]
    assert not again["error"]
    wanted = (uncertainty <= 0.5).tolist()
    wanted[sure], wanted[unsure] = False, True
    out = folder / "faces-reviewed"
    accepted = [name for name, good in zip(faces.sources, wanted, strict=True) if good]
    assert (out / "accepted.txt").read_text().splitlines() == accepted
    assert len((out / "rejected.txt").read_text().splitlines()) == 24 - len(accepted)
    # the table is read like any other, and has one more column
    exported = out / f"faces{suffix}"
    assert [frame.faces[0].accepted for frame in read_table(str(exported))] == wanted
    reviewed = read_last_column(exported)
    assert (reviewed[sure], reviewed[unsure]) == ("rejected", "accepted")
    assert sum(map(bool, reviewed)) == 2
    page = (out / "report.html").read_text()
    assert "What was kept" in page
    assert page.count("data:image/") >= 24
    sorted_files = [*(out / "accepted").rglob("*.jpg")] if files != "none" else []
    assert sorted(path.name for path in sorted_files) == sorted(
        os.path.basename(name) for name in (accepted if files != "none" else [])
    )
    assert all(path.is_symlink() == (files == "link") for path in sorted_files)
    assert {path: path.read_bytes() for path in (folder / "photos").iterdir()} == before


def read_last_column(path):
    if path.suffix == ".csv":
        with open(path, newline="") as file:
            return [row["reviewed"] for row in csv.DictReader(file)]
    if path.suffix == ".jsonl":
        return [json.loads(line)["reviewed"] for line in path.read_text().splitlines()]
    import pandas

    if path.suffix == ".parquet":
        return pandas.read_parquet(path)["reviewed"].tolist()
    import sqlite3

    with sqlite3.connect(path) as database:
        return [value for (value,) in database.execute("SELECT reviewed FROM faces ORDER BY rowid")]


def test_an_export_replaces_nothing_of_others(folder, table):
    (folder / "mine").mkdir()
    (folder / "mine" / "accepted.txt").write_text("precious")
    with reviewing(table, export_folder="mine") as review:
        state = review.finished("/api/export", {"files": "none"})
        assert "was not made by facereject review" in state["error"]
        assert [path.name for path in (folder / "mine").iterdir()] == ["accepted.txt"]
        table.write_bytes(table.read_bytes() + b"\n")
        assert "has changed" in review.finished("/api/export", {"files": "none"})["error"]
    assert (folder / "mine" / "accepted.txt").read_text() == "precious"


def test_names_with_line_ends_stay_one_line_of_a_list(folder):
    (folder / "photos").mkdir()
    name = "photos/a\nb.jpg"
    (folder / name).write_bytes(jpeg(photo()))
    table = write_table(folder / "t.csv", [FaceFrame(0, math.nan, NO_IMAGE, [face(0.1)], name)])
    with reviewing(table) as review:
        assert not review.finished("/api/export", {"files": "none"})["error"]
    assert (folder / "t-reviewed" / "accepted.txt").read_text() == json.dumps(name) + "\n"


def test_files_of_a_video_are_counted_by_their_frames(folder):
    frames = [
        FaceFrame(k, k / 10, NO_IMAGE, [face(0.1 if k < 6 else 0.9, track=0)], "v.mp4") for k in range(10)
    ]
    frames += [FaceFrame(k, k / 10, NO_IMAGE, [], "v.mp4") for k in range(10, 14)]
    table = write_table(folder / "t.csv", frames)
    faces = read_faces(str(table))
    # one crop for the track and second
    assert faces.columns["crop"].tolist() == [0] * 10
    undecided = np.zeros(10, np.uint8)
    rule = LimitRule("uncertainty", 0.5, "share", 0.5)
    # 6 of 14 frames are less than half of them
    assert not faces.accepted_sources(faces.accepted(rule, undecided)).any()
    undecided[0] = ACCEPT
    assert faces.accepted(rule, undecided).all()
    assert faces.accepted_sources(faces.accepted(rule, undecided)).all()


@pytest.mark.parametrize(("rule", "expected"), [("all", False), ("any", True), ("largest", True)])
def test_photos_with_several_faces_follow_the_frame_rule(folder, rule, expected):
    large, small = face(0.1, box=Box(0, 0, 90, 90)), face(0.9)
    table = write_table(folder / "t.csv", [FaceFrame(0, math.nan, NO_IMAGE, [small, large], "a.jpg")])
    faces = read_faces(str(table))
    accepted = faces.accepted(LimitRule("uncertainty", 0.5, "share", 0.5), np.zeros(2, np.uint8))
    frame = FaceFrame(0, math.nan, NO_IMAGE, [small, large])
    assert faces.accepted_sources(accepted, rule).tolist() == [expected] == [frame.accepted(rule)]


def test_a_video_is_shown_frame_by_frame(folder):
    """Frame k is a plain grey of 4 k: every crop must come from its own frame, also behind a seek."""
    with VideoWriter("clip.mp4", 25, (320, 240)) as video:
        for k in range(60):
            video.write(np.full((240, 320, 3), 4 * k, np.uint8))
    frames = [
        FaceFrame(k, k / 25, NO_IMAGE, [face(k / 100, box=Box(100, 80, 60, 60), track=3)], "clip.mp4")
        for k in range(60)
    ]
    with reviewing(write_table(folder / "t.csv", frames)) as review:
        crop = review.session.faces.columns["crop"]
        assert sorted(set(crop.tolist())) == [0, 25, 50]
        for number in (0, 25, 50):
            pixels = pixels_of(review.crop(number, "plain"))
            assert abs(np.median(pixels) - 4 * number) <= 4
        pixels = pixels_of(review.view(37).content)
        assert abs(np.median(pixels) - 4 * 37) <= 4


def test_corrected_landmarks_are_read_as_a_data_set(folder, table):
    with reviewing(table) as review:
        faces = review.session.faces
        points = faces.landmarks(2) + 1.25
        answer = review.client.post("/api/landmarks/2", json={"points": points.tolist()})
        assert answer.status_code == 200
        assert answer.json()["corrected"] == points.tolist()
        # once more, as corrections are corrected
        points += 1
        assert review.client.post("/api/landmarks/2", json={"points": points.tolist()}).status_code == 200
        state = review.finished("/api/export", {"files": "none"})
        assert not state["error"]
    (sample,) = FaceDataset.load(folder / "faces-annotated")
    assert np.abs(sample.landmarks - points).max() < 0.001
    assert sample.image_path.read_bytes() == (folder / faces.sources[2]).read_bytes()
    lines = (folder / "faces-annotated" / "photos" / "00002.pts").read_text().splitlines()
    assert lines[:3] == ["version: 1", "n_points: 68", "{"]
    # 1-based
    assert [float(word) for word in lines[3].split()] == pytest.approx((points[0] + 1).tolist(), abs=0.001)
    row = list(read_table(str(folder / "faces-reviewed" / "faces.csv")))[2].faces[0]
    assert np.abs(row.landmarks - points).max() < 1e-9
    assert row.landmark_errors is None
    assert read_last_column(folder / "faces-reviewed" / "faces.csv")[2] == "corrected"
    # back to the prediction: the file that was written goes
    with reviewing(table) as review:
        assert review.client.get("/api/review").json()["corrected"] == [2]
        assert review.client.post("/api/landmarks/2", json={"points": None}).json()["corrected"] is None
    assert not (folder / "faces-annotated" / "photos" / "00002.pts").exists()


def test_annotations_beside_the_photos_replace_nothing(folder, table):
    theirs = folder / "photos" / "00001.pts"
    theirs.write_text("not ours")
    with reviewing(table, beside=True) as review:
        points = review.session.faces.landmarks(0).tolist()
        assert review.client.post("/api/landmarks/0", json={"points": points}).status_code == 200
        answer = review.client.post("/api/landmarks/1", json={"points": points})
        assert answer.status_code == 409
        assert "was not written by this review" in answer.json()["error"]
        for wrong in ([], [[0, 0]] * 67, [["a", 0]] * 68, [[1e9, 0]] * 68, "x"):
            assert review.client.post("/api/landmarks/0", json={"points": wrong}).status_code == 422
    assert theirs.read_text() == "not ours"
    assert len(read_pts(folder / "photos" / "00000.pts")) == 68


def test_several_faces_of_a_photo_become_several_annotations(folder):
    (folder / "p").mkdir()
    (folder / "p" / "two.webp").write_bytes(b"")
    PIL.Image.fromarray(photo()).save(folder / "p" / "two.webp", quality=90)
    faces = [face(0.1), face(0.2, box=Box(10, 10, 50, 50))]
    table = write_table(folder / "t.csv", [FaceFrame(0, math.nan, NO_IMAGE, faces, "p/two.webp")])
    with reviewing(table, images="p", beside=True) as review:
        answer = review.client.post("/api/landmarks/0", json={"points": faces[0].landmarks.tolist()})
        assert "--annotations" in answer.json()["error"]
    with reviewing(table, images="p") as review:
        for k in range(2):
            points = faces[k].landmarks.tolist()
            assert review.client.post(f"/api/landmarks/{k}", json={"points": points}).status_code == 200
    dataset = FaceDataset.load(folder / "t-annotated")
    assert [sample.image_path.name for sample in dataset] == ["two_1.webp", "two_2.webp"]
    assert np.abs(dataset[1].landmarks - faces[1].landmarks).max() < 0.001


def test_only_the_token_opens_it_and_no_other_site(table):
    with reviewing(table) as review:
        address = review.address.partition("?")[0]
        assert httpx.get(address).status_code == 401
        assert httpx.get(f"{address}api/review").status_code == 401
        assert httpx.get(review.address).status_code == 200
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        foreign = {**bearer, "Origin": "https://evil.example"}
        assert httpx.post(f"{address}api/decide", headers=foreign, content="{}").status_code == 403
        rebound = {**bearer, "Host": "evil.example"}
        assert httpx.get(f"{address}api/review", headers=rebound).status_code == 421


def test_files_outside_the_folder_are_not_opened(folder):
    (folder / "photos").mkdir()
    (folder / "secret").mkdir()
    for name in ("photos/fine.jpg", "secret/private.jpg"):
        (folder / name).write_bytes(jpeg(photo()))
    os.symlink(folder / "secret" / "private.jpg", folder / "photos" / "link.jpg")
    names = ["photos/fine.jpg", "photos/link.jpg", "secret/private.jpg", "photos/../secret/private.jpg"]
    names += [
        str(folder / "secret" / "private.jpg"),
        "/etc/passwd",
        "photos/gone.jpg",
        "<img src=x onerror=alert(1)>.jpg",
    ]
    table = write_table(
        folder / "t.csv", [FaceFrame(0, math.nan, NO_IMAGE, [face(0.1)], name) for name in names]
    )
    with reviewing(table, images="photos") as review:
        answers = review.crops(list(range(len(names))))
        view = review.view(1)
        state = review.finished("/api/export", {"files": "copy"})
    assert isinstance(answers[0], bytes)
    for number in (1, 2, 3, 4, 5):
        assert answers[number].startswith(("This file is outside", "This file is not there"))
    for number in (6, 7):
        assert answers[number].startswith("This file is not there")
    assert view.status_code == 404
    assert view.headers["Cache-Control"] == "no-store"
    assert "7 files could not be placed" in " ".join(state["lines"])
    assert [path.name for path in (folder / "t-reviewed" / "accepted").rglob("*.jpg")] == ["fine.jpg"]
    with pytest.raises(ReviewError, match="none of its 1 files can be opened"):
        open_session(
            read_faces(
                str(
                    write_table(
                        folder / "u.csv", [FaceFrame(0, math.nan, NO_IMAGE, [face(0.1)], "/etc/hostname")]
                    )
                )
            )
        )


def test_photos_that_have_moved_are_found_in_the_folder_named(folder, table):
    os.rename("photos", "moved")
    with reviewing(table, images="moved") as review:
        assert isinstance(review.crop(3), bytes)


def test_images_that_changed_or_vanished(folder):
    from facereject import score_files

    (folder / "photos").mkdir()
    for name in "abc":
        (folder / "photos" / f"{name}.jpg").write_bytes(jpeg(photo()))
    score_files("photos", "t.csv", rejector=FaceRejector.pretrained())
    (folder / "photos" / "a.jpg").write_bytes(jpeg(photo()[:100]))
    (folder / "photos" / "b.jpg").unlink()
    with reviewing(folder / "t.csv") as review:
        names = review.session.faces.sources
        answers = {
            names[review.session.faces.columns["source"][n]]: review.crop(n)
            for n in range(len(review.session.faces))
        }
    assert "has changed since it was scored" in answers["photos/a.jpg"]
    assert "not there any more" in answers["photos/b.jpg"]
    assert isinstance(answers["photos/c.jpg"], bytes)


def test_a_box_far_outside_its_image_is_a_sentence(folder):
    (folder / "a.jpg").write_bytes(jpeg(photo()))
    far = [Box(5000, 5000, 80, 80), Box(0, 0, 1e9, 1e9), BOX]
    frames = [FaceFrame(0, math.nan, NO_IMAGE, [face(0.1, box=box) for box in far], "a.jpg")]
    with reviewing(write_table(folder / "t.csv", frames)) as review:
        answers = review.crops([0, 1, 2])
    assert "outside this image" in answers[0]
    assert "outside this image" in answers[1]
    assert isinstance(answers[2], bytes)


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("x", "inf", "row 1: x, y, width and height are no box"),
        ("width", "nan", "row 1: x, y, width and height are no box"),
        ("height", "-5", "row 1: x, y, width and height are no box"),
        ("face", "9" * 20, "the column face has a number that is too large"),
    ],
)
def test_a_table_with_impossible_numbers_is_a_sentence(folder, table, column, value, sentence):
    rows = list(csv.reader(io.StringIO(table.read_text())))
    for row in rows[1:]:
        row[rows[0].index(column)] = value
    with open("broken.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    with pytest.raises(TableFormatError, match=sentence):
        read_faces("broken.csv")


def test_a_failure_costs_one_crop(table, monkeypatch):
    encoded = FaceImages._encoded

    def failing(self, kind, number, shown):
        return 1 / 0 if number == 1 else encoded(self, kind, number, shown)

    monkeypatch.setattr(FaceImages, "_encoded", failing)
    with reviewing(table) as review:
        crops = review.crops([0, 1, 2])
    assert "failed on this face" in crops[1]
    assert isinstance(crops[0], bytes)
    assert isinstance(crops[2], bytes)


def test_a_read_only_folder_is_a_sentence(folder, table, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(TableError, match="decisions cannot be saved there: nothing may be written"):
        open_session(read_faces(str(table)))
    # elsewhere they can be saved, and what cannot be exported is a sentence
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    with reviewing(table, decisions=str(folder / "d.review"), export_folder="locked") as review:
        monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
        assert "nothing may be written" in review.finished("/api/export", {"files": "none"})["error"]


def test_a_folder_that_takes_no_decisions_is_a_sentence(folder, table):
    with pytest.raises(TableError, match="decisions cannot be saved there: there is no folder"):
        open_session(read_faces(str(table)), decisions="nowhere/d.review")
    (folder / "other.review").write_text("mine")
    with pytest.raises(TableError):
        open_session(read_faces(str(table)), decisions="other.review")
    assert (folder / "other.review").read_text() == "mine"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/decide", {"numbers": [10**9], "decision": 1}),
        ("/api/decide", {"numbers": [-1], "decision": 1}),
        ("/api/decide", {"numbers": [True], "decision": 1}),
        ("/api/decide", {"numbers": [0], "decision": 3}),
        ("/api/decide", {"numbers": "all", "decision": 1}),
        ("/api/decide", []),
        ("/api/rule", {"key": "x", "limit": 1, "kind": "share", "value": 1}),
        ("/api/rule", {"key": "__class__", "limit": 1, "kind": "share", "value": 1}),
        ("/api/rule", {"key": "uncertainty", "limit": "x", "kind": "share", "value": 1}),
        ("/api/rule", {}),
        ("/api/export", {"files": "move"}),
        ("/api/export", {"files": "../../etc"}),
    ],
)
def test_nonsense_is_refused_with_a_sentence(table, path, body):
    with reviewing(table) as review:
        answer = review.client.post(path, json=body)
        assert answer.status_code == 422
        assert answer.json()["error"]
        assert not review.session.decisions.values.any()


def test_a_review_without_decisions_leaves_no_file(folder, table):
    with reviewing(table):
        pass
    assert sorted(path.name for path in folder.iterdir()) == ["faces.csv", "photos"]


def test_memory_of_crops_is_bounded(table, monkeypatch):
    monkeypatch.setattr("facereject.serve.review.images._KEPT_BYTES", 40_000)
    with reviewing(table) as review:
        for number in range(40):
            assert isinstance(review.crop(number), bytes)
        images: FaceImages = review.session.images
        assert 0 < sum(map(len, images._kept.values())) <= 40_000


def test_near_duplicates_are_grouped(folder):
    """Two bursts of three photos that hardly differ, and one photo alone."""
    rng = np.random.default_rng(0)
    (folder / "p").mkdir()
    names, frames = [], []
    faces = {"a": photo(), "b": photo()[:, ::-1], "c": rng.integers(0, 255, photo().shape).astype(np.uint8)}
    for name, image in faces.items():
        for shot in range(3 if name != "c" else 1):
            noisy = np.clip(image.astype(int) + rng.normal(0, 4, image.shape), 0, 255).astype(np.uint8)
            names.append(f"p/{name}{shot}.jpg")
            (folder / names[-1]).write_bytes(jpeg(np.ascontiguousarray(noisy)))
            frames.append(FaceFrame(0, math.nan, NO_IMAGE, [face(0.1 * (shot + 1))], names[-1]))
    with reviewing(write_table(folder / "t.csv", frames)) as review:
        state = review.finished("/api/duplicates", {})
        first, other = (crop_hash(review.crop(n, "plain")) for n in (0, 3))
    assert sorted(sorted(group) for group in state["groups"]) == [[0, 1, 2], [3, 4, 5]]
    assert np.unpackbits(first ^ other).sum() > MOST_BITS


def test_a_fitted_threshold_agrees_as_often_as_brute_force_finds():
    rng = np.random.default_rng(0)
    uncertainty = np.round(rng.random(200), 2)
    accept = uncertainty + 0.2 * rng.normal(size=200) < 0.6
    found = fit_threshold(uncertainty, accept, np.arange(200) // 2)
    agreements = [np.mean((uncertainty <= t) == accept) for t in np.linspace(-0.01, 1.01, 2000)]
    assert np.mean((uncertainty <= found.threshold) == accept) == pytest.approx(max(agreements))
    # what it was not fitted to, it cannot know better
    fresh = rng.random(100_000)
    truth = fresh + 0.2 * rng.normal(size=len(fresh)) < 0.6
    honest = np.mean((fresh <= found.threshold) == truth)
    assert abs(found.agreement - honest) < 3 * found.error
    assert found.trivial == max(accept.mean(), 1 - accept.mean())


def test_decisions_at_random_promise_nothing():
    """The best threshold agrees with random decisions by chance; cross-validation must not."""
    rng = np.random.default_rng(1)
    found = [fit_threshold(rng.random(40), rng.random(40) < 0.5, np.arange(40)) for _ in range(300)]
    assert np.mean([each.agreement for each in found]) < 0.52


def test_fit_needs_thirty_decisions_of_both_kinds(table):
    with reviewing(table) as review:
        uncertainty = review.session.faces.columns["uncertainty"]
        order = np.argsort(uncertainty).tolist()
        review.decide(order[:20], ACCEPT)
        assert review.client.get("/api/fit").json() is None
        review.decide(order[20:], REJECT)
        found = review.client.get("/api/fit").json()
    assert uncertainty[order[19]] < found["threshold"] < uncertainty[order[20]]
    assert found["agreement"] > 0.9


def test_faces_to_annotate_cover_the_range_and_every_face_has_its_chance(folder):
    table = make_photos(folder / "photos", 200)
    faces = read_faces(str(table))
    uncertainty = faces.columns["uncertainty"]
    chosen = choose_faces(faces, 20)
    assert len(set(chosen)) == 20
    # one in every twentieth of the ranks
    ranks = np.searchsorted(np.sort(uncertainty), uncertainty[chosen])
    assert sorted(ranks // 10) == list(range(20))
    counts = np.zeros(200)
    for seed in range(400):
        counts[choose_faces(faces, 20, seed)] += 1
    assert 15 < counts.min() <= counts.max() < 70
    assert sorted(choose_faces(faces, 1000)) == list(range(200))


def test_faces_to_annotate_are_spread_over_typicality(folder):
    faces = read_faces(str(make_photos(folder / "photos", 400)))
    rng = np.random.default_rng(0)
    faces.columns["typicality"] = rng.random(400).astype("f4")
    spread = np.std(
        [np.mean(faces.columns["typicality"][choose_faces(faces, 25, seed)]) for seed in range(60)]
    )
    del faces.columns["typicality"]
    typical = rng.random(400)
    plain = np.std([np.mean(typical[choose_faces(faces, 25, seed)]) for seed in range(60)])
    assert spread < 0.6 * plain


def test_a_table_without_landmarks_can_be_reviewed(folder):
    (folder / "a.jpg").write_bytes(jpeg(photo()))
    frames = [FaceFrame(0, math.nan, NO_IMAGE, [face(0.1)], "a.jpg")]
    from facereject.tables.packing import rows_of

    with open("t.csv", "wb") as file:
        write_rows(file, ".csv", (row for frame in frames for row in rows_of(frame)), 68, "short")
    with reviewing(folder / "t.csv") as review:
        assert isinstance(review.crop(0), bytes)
        assert review.client.get("/api/face/0").json()["predicted"] is None
        assert not review.finished("/api/export", {"files": "none"})["error"]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".sqlite"])
def test_reviewed_tables_read_back_as_they_were(tmp_path, suffix):
    from sample_frames import sample_frames

    from facereject.tables.packing import rows_of

    rows = [row for frame in sample_frames() for row in rows_of(frame)]
    path = tmp_path / f"t{suffix}"
    with open(path, "w+b") as file:
        reviewed = ((*row, "accepted" if k % 2 else "") for k, row in enumerate(rows))
        write_rows(file, suffix, reviewed, reviewed=True)
    assert list(map(repr, read_rows(str(path)))) == list(map(repr, rows))
    assert [value or "" for value in read_last_column(path)] == [
        "accepted" if k % 2 else "" for k in range(len(rows))
    ]
