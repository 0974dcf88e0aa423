"""Files for other tools: read back by our own reader and, where installed, by the tools themselves."""

from __future__ import annotations

import csv
import json
import math
from xml.etree import ElementTree

import numpy as np
import PIL.Image
import pytest
from feeding import face, feed, prepared

from facereject import score_files
from facereject._options import OptionError
from facereject.faces.face import NO_IMAGE, FaceFrame, changed
from facereject.outputs import CVAT, COCOKeypoints, DeepLabCut, FiftyOne, LabelStudio, to_supervision
from facereject.outputs.keypoints.collected import confidence, confidences, image_size
from facereject.sources.landmark_files import read_landmarks

NAMES = {
    COCOKeypoints: "c.json",
    FiftyOne: "f.json",
    CVAT: "a.xml",
    LabelStudio: "l.json",
    DeepLabCut: "d.csv",
}


@pytest.fixture
def faces():
    errors = np.linspace(1, 9, 68)
    visible = np.arange(68) != 5
    good = face(landmark_errors=errors, visible=visible)
    bad = changed(face(False, expected_error=10.0), landmarks=face().landmarks + (90, 5))
    return [good, bad]


def written(kind, tmp_path, faces, **options):
    """The file of an output about two images, the second without a face."""
    for name in ("a b&c.png", "z.png"):
        PIL.Image.new("RGB", (200, 150)).save(tmp_path / name)
    output = prepared(kind(tmp_path / NAMES[kind], **options))
    feed(output, tmp_path / "a b&c.png", [FaceFrame(0, math.nan, NO_IMAGE, faces)])
    feed(output, tmp_path / "z.png", [FaceFrame(0, math.nan, NO_IMAGE, [])])
    output.close()
    assert "2 faces" in output.report()[0]
    return tmp_path / NAMES[kind]


@pytest.mark.parametrize("kind", [COCOKeypoints, CVAT, LabelStudio, DeepLabCut])
def test_what_is_written_is_read_again(kind, tmp_path, faces):
    found = [each for each in read_landmarks(written(kind, tmp_path, faces)) if each.landmarks is not None]
    assert len(found) == 2
    for each, true in zip(found, faces, strict=True):
        assert each.image.endswith("a b&c.png")
        # CVAT has two digits
        np.testing.assert_allclose(each.points, true.landmarks, atol=6e-3)
        expected = confidences(true).mean() if kind is DeepLabCut else confidence(true)
        assert each.confidence == pytest.approx(expected, abs=2e-3)


def test_names_are_those_within_the_folder(tmp_path, faces):
    (tmp_path / "sub").mkdir()
    PIL.Image.new("RGB", (200, 150)).save(tmp_path / "sub" / "a.png")
    for kind in (COCOKeypoints, CVAT):
        output = prepared(kind(tmp_path / NAMES[kind]), [tmp_path])
        feed(output, tmp_path / "sub" / "a.png", [FaceFrame(0, math.nan, NO_IMAGE, faces)])
        output.close()
        assert {each.image for each in read_landmarks(tmp_path / NAMES[kind])} == {"sub/a.png"}


def test_frames_of_videos_in_coco(tmp_path, faces):
    output = prepared(COCOKeypoints(tmp_path / "c.json"))
    frames = [FaceFrame(k, k / 10, NO_IMAGE, faces[:1]) for k in (3, 8)]
    feed(output, tmp_path / "clip.mp4", frames, kind="video", stamp="")
    output.close()
    assert [each.frame for each in read_landmarks(tmp_path / "c.json")] == [3, 8]


def test_confidence(faces):
    good, bad = faces
    np.testing.assert_allclose(confidences(good), 2 ** (-good.landmark_errors / 5))
    assert (confidence(good), confidence(bad)) == pytest.approx((2**-0.4, 0.25))
    np.testing.assert_allclose(confidences(bad), 0.25)
    unknown = face(expected_error=math.nan)
    assert confidence(unknown) == confidences(unknown).min() == 1


def test_coco(tmp_path, faces):
    content = json.loads(written(COCOKeypoints, tmp_path, faces).read_text())
    assert [(i["width"], i["height"]) for i in content["images"]] == [(200, 150)] * 2
    first, second = content["annotations"]
    assert list(first["keypoints"][2::3]) == [1 if i == 5 else 2 for i in range(68)]
    # outside the image
    x = np.array(second["keypoints"][::3])
    np.testing.assert_array_equal(np.array(second["keypoints"][2::3]) == 2, x < 199.5)
    assert (first["accepted"], second["accepted"], second["reason"]) == (True, False, "uncertain")
    assert second["expected_error"] == 10
    assert len(content["categories"][0]["keypoints"]) == 68


def test_coco_by_pycocotools(tmp_path, faces):
    tools = pytest.importorskip("pycocotools.coco")
    found = tools.COCO(str(written(COCOKeypoints, tmp_path, faces)))
    assert len(found.loadAnns(found.getAnnIds(imgIds=[1]))) == 2


def test_fiftyone(tmp_path, faces):
    content = json.loads(written(FiftyOne, tmp_path, faces).read_text())
    first, second = content["samples"]
    assert (second["faces"]["keypoints"], first["tags"]) == ([], ["rejected"])
    assert first["filepath"] == str(tmp_path / "a b&c.png")
    good, _ = first["faces"]["keypoints"]
    assert np.isnan(good["points"][5]).all()
    rest = np.delete(np.array(good["points"]), 5, axis=0) * (200, 150)
    np.testing.assert_allclose(rest, np.delete(faces[0].landmarks, 5, axis=0), atol=1e-3)
    np.testing.assert_allclose(good["confidence"], confidences(faces[0]), atol=1e-4)
    assert content["sample_fields"].keys() == {"faces"}


def test_cvat(tmp_path, faces):
    root = ElementTree.parse(written(CVAT, tmp_path, faces)).getroot()
    assert root.findtext("version") == "1.1"
    labels = root.findall("meta/task/labels/label")
    assert [label.findtext("parent") for label in labels] == [None, *["face"] * 68]
    skeletons = root.findall("image/skeleton")
    values = {a.get("name"): a.text for a in skeletons[1].findall("attribute")}
    assert values == {
        "expected_error": "10.00",
        "confidence": "0.250",
        "accepted": "false",
        "reason": "uncertain",
    }
    assert [p.get("occluded") for p in skeletons[0].findall("points")].count("1") == 1


def test_label_studio(tmp_path, faces):
    first, second = json.loads(written(LabelStudio, tmp_path, faces, prefix="s3://b/").read_text())
    assert first["data"]["image"].startswith("s3://b/")
    assert "%26" in first["data"]["image"]
    assert (first["data"]["expected_error"], second["data"]["expected_error"]) == (10, None)
    (prediction,) = first["predictions"]
    assert prediction["score"] == 0.25
    kinds = [result["type"] for result in prediction["result"]]
    assert (kinds.count("rectanglelabels"), kinds.count("keypointlabels")) == (2, 136)


def test_deeplabcut_of_a_video_with_two_people(tmp_path, faces):
    output = prepared(DeepLabCut(tmp_path / "clipDLC_x.csv"))
    frames = [
        FaceFrame(7, 0.1, NO_IMAGE, [changed(faces[0], track=3)]),
        FaceFrame(8, 0.2, NO_IMAGE, [changed(each, track=k) for k, each in zip((3, 4), faces, strict=True)]),
    ]
    feed(output, tmp_path / "clip.mp4", frames, kind="video", stamp="")
    output.close()
    rows = list(csv.reader((tmp_path / "clipDLC_x.csv").open()))
    assert rows[1][:2] == ["individuals", "face3"]
    found = list(read_landmarks(tmp_path / "clipDLC_x.csv"))
    assert [(each.frame, each.landmarks is None) for each in found] == [
        (7, False),
        (7, True),
        (8, False),
        (8, False),
    ]
    with pytest.raises(OptionError, match="one video"):
        output.planned(2)


@pytest.mark.parametrize("kind", [FiftyOne, CVAT, LabelStudio])
def test_videos_are_left_out_and_counted(kind, tmp_path, faces):
    output = prepared(kind(tmp_path / NAMES[kind]))
    frame = FaceFrame(7, 0.1, NO_IMAGE, faces)
    feed(output, tmp_path / "clip.mp4", [frame], kind="video", stamp="")
    output.close()
    assert "2 faces of videos left out" in output.report()[0]


@pytest.mark.parametrize("kind", NAMES)
def test_names_and_what_exists(kind, tmp_path):
    with pytest.raises(OptionError, match="must end in"):
        prepared(kind(tmp_path / "x.jpg"))
    (tmp_path / NAMES[kind]).write_text("mine")
    with pytest.raises(OptionError):
        prepared(kind(tmp_path / NAMES[kind]))
    prepared(kind(tmp_path / NAMES[kind]), overwrite=True)
    assert (tmp_path / NAMES[kind]).read_text() == "mine"


def test_size_of_lying_photos(tmp_path):
    exif = PIL.Image.Exif()
    exif[274] = 6
    PIL.Image.new("RGB", (40, 30)).save(tmp_path / "a.jpg", exif=exif)
    assert image_size(str(tmp_path / "a.jpg")) == (30, 40)
    (tmp_path / "b.jpg").write_bytes(b"x")
    assert image_size(str(tmp_path / "b.jpg")) == (0, 0)


def test_in_a_run(tmp_path):
    import skimage.data

    PIL.Image.fromarray(skimage.data.astronaut()).save(tmp_path / "a.png")
    outputs = [kind(tmp_path / name) for kind, name in NAMES.items()]
    summary = score_files(tmp_path / "a.png", outputs)
    assert summary.faces == 1
    (annotation,) = json.loads((tmp_path / "c.json").read_text())["annotations"]
    assert annotation["score"] == pytest.approx(2 ** (-annotation["expected_error"] / 5), abs=1e-4)
    for name in ("a.xml", "l.json", "d.csv"):
        (found,) = read_landmarks(tmp_path / name)
        np.testing.assert_allclose(
            found.points.ravel()[:4], np.array(annotation["keypoints"])[[0, 1, 3, 4]], atol=0.01
        )


def test_supervision(faces):
    pytest.importorskip("supervision")
    found = to_supervision(faces)
    np.testing.assert_allclose(found.xy, [each.landmarks for each in faces], rtol=1e-6)
    assert found.data["accepted"].tolist() == [True, False]
    assert len(to_supervision([])) == 0
