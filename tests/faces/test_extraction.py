"""Tables of features and losses: independent of workers, cached safely, honest about what was missed."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from limits import files_limited_to

from facereject.faces.datasets import FaceDataset, FaceSample
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.features.hog import LandmarkHOG
from facereject.faces.features.recipe import LandmarkStability
from facereject.faces.images import to_gray
from facereject.faces.training.extract import CacheWarning, Extractor, extract, read_table, write_table
from facereject.losses import landmark_nme
from facereject.parallel import RunProgress


@pytest.fixture
def sample(astronaut, astronaut_landmarks, tmp_path):
    import PIL.Image

    path = tmp_path / "astronaut.png"
    PIL.Image.fromarray(astronaut).save(path)
    return FaceSample(path, astronaut_landmarks + 0.5, "astronaut")


def extractor(predictor, **options):
    return Extractor(predictor, FaceDetector(threshold=-1.0), LandmarkHOG(), **{"degradations": 3} | options)


def test_the_clean_row_is_the_photograph(
    sample, predictor, astronaut, astronaut_landmarks, astronaut_detection
):
    table = extract([sample], extractor(predictor), workers=1)
    first = int(np.flatnonzero(table.clean)[0])
    np.testing.assert_array_equal(
        table.features[first], LandmarkHOG()(to_gray(astronaut), astronaut_landmarks)
    )
    assert table.losses[first] == pytest.approx(landmark_nme(sample.landmarks, astronaut_landmarks))
    assert table.detector_scores[first] == astronaut_detection.score
    assert table.kinds[first] == "clean"
    assert len(table) + table.missed.sum() == 4


def test_the_last_variant_moves_only_the_box(sample, predictor, astronaut_detection):
    table = extract([sample], extractor(predictor, degradations=4), workers=1)
    assert table.kinds[-1] == "box"
    assert table.detector_scores[-1] == astronaut_detection.score


def test_stability_features_come_last(sample, predictor):
    plain = extract([sample], extractor(predictor), workers=1)
    more = extract([sample], extractor(predictor, stability=LandmarkStability()), workers=1)
    assert more.features.shape[1] == plain.features.shape[1] + 68
    np.testing.assert_array_equal(more.features[:, :2448], plain.features)


def test_seeds_and_workers(photographs, predictor):
    few = FaceDataset(list(photographs)[:18])
    one = extract(few, extractor(predictor, degradations=1), workers=1)
    two = extract(few, extractor(predictor, degradations=1), workers=2)
    # OpenCV adds in an order that follows the alignment of memory
    np.testing.assert_allclose(one.features, two.features, atol=1e-6)
    np.testing.assert_array_equal(one.losses, two.losses)
    assert one.kinds == two.kinds


def test_missed_and_unreadable_faces_are_counted(sample, predictor, tmp_path, astronaut_landmarks):
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"no picture")
    # an annotation where there is no face: the detection does not match it
    elsewhere = FaceSample(sample.image_path, astronaut_landmarks + [150, 250], "elsewhere")
    samples = [FaceSample(bad, astronaut_landmarks, "bad"), elsewhere, sample]
    calls = []
    table = extract(samples, extractor(predictor, degradations=0), workers=1, progress=calls.append)
    assert table.sample.tolist() == [2]
    assert table.missed.tolist() == [1, 0]
    assert [problem.entry for problem in table.problems] == [str(bad)]
    assert calls[-1] == RunProgress(3, 3, "faces")
    with pytest.raises(ValueError, match="no face"):
        extract([elsewhere], extractor(predictor, degradations=0), workers=1)


def test_predictions_that_fail_are_counted_and_named(sample, astronaut_landmarks):
    calls = []

    def moody(image, box):
        calls.append(box)
        return astronaut_landmarks if len(calls) == 1 else None

    table = extract([sample], extractor(moody, degradations=4), workers=1)
    assert table.kinds == ("clean",)
    assert table.missed.sum() + table.failed.sum() == 4
    assert table.failed[1] >= 2
    ((entry, reason),) = table.failures
    assert entry == str(sample.image_path)
    assert "of 5 versions: the predictor gave no usable landmarks" in reason
    assert table.problems == ()


def test_an_error_of_the_predictor_does_not_stop_the_run(sample, astronaut_landmarks, tmp_path):
    def fails(image, box):
        raise RuntimeError("net failed")

    with pytest.raises(ValueError, match=r"1 got no landmarks.*RuntimeError: net failed"):
        extract([sample], extractor(fails, degradations=0), workers=1)

    class Moody:
        fingerprint = "moody"

        def __init__(self):
            self.calls = 0

        def __call__(self, image, box):
            self.calls += 1
            return fails(image, box) if self.calls == 1 else astronaut_landmarks

    settings = extractor(Moody(), degradations=0)
    table = extract([sample, sample], settings, workers=1, cache=tmp_path / "cache")
    again = extract([sample, sample], settings, workers=1, cache=tmp_path / "cache")
    for part in (table, again):
        assert len(part) == 1
        assert part.failed.tolist() == [1, 0]
        assert "net failed" in part.failures[0].reason


@pytest.mark.parametrize("answer", [None, np.full((68, 2), np.nan), np.zeros((5, 2))])
def test_failures_on_a_perturbed_box_are_counted(sample, astronaut_landmarks, answer):
    calls = []

    def moody(image, box):
        calls.append(box)
        return answer if len(calls) == 2 else astronaut_landmarks

    settings = extractor(moody, degradations=0, stability=LandmarkStability())
    table = extract([sample, sample], settings, workers=1)
    assert table.sample.tolist() == [1]
    assert table.failed.tolist() == [1, 0]
    assert np.isfinite(table.features).all()


def test_the_cache_follows_the_content_of_files_and_the_libraries(sample, predictor, tmp_path, monkeypatch):
    import dlib
    import PIL.Image

    from facereject.faces.training import extract as extraction

    settings = extractor(predictor, degradations=0)
    path = tmp_path / "same-size.bmp"
    image = sample.load()
    PIL.Image.fromarray(image).save(path)
    face = FaceSample(path, sample.landmarks, "face")
    first = extraction._cache_file([face], settings, tmp_path)
    assert extraction._cache_file([face], settings, tmp_path) == first
    PIL.Image.fromarray(image // 2).save(path)
    second = extraction._cache_file([face], settings, tmp_path)
    assert second != first
    monkeypatch.setattr(dlib, "__version__", "0")
    assert extraction._cache_file([face], settings, tmp_path) != second


def test_cache(sample, predictor, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    first = extract([sample], extractor(predictor), workers=1, cache=cache)
    monkeypatch.setattr(Extractor, "pictures", lambda *_: pytest.fail("the cache was not used"))
    again = extract([sample], extractor(predictor), workers=1, cache=cache)
    np.testing.assert_array_equal(first.features, again.features)
    assert first.kinds == again.kinds
    monkeypatch.undo()
    # other settings get another file
    extract([sample], extractor(predictor, random_state=5), workers=1, cache=cache)
    assert len(list(cache.iterdir())) == 2


def flip(data, position):
    return data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:1000],
        lambda data: b"",
        lambda data: flip(data, 3),
        lambda data: flip(data, 40),
        lambda data: flip(data, len(data) // 2),
        lambda data: flip(data, len(data) - 5),
        lambda data: data + b"x",
        lambda data: data[32:],
    ],
)
def test_a_damaged_cache_is_computed_again_with_a_warning(sample, predictor, tmp_path, damage):
    settings = extractor(predictor, degradations=0)
    first = extract([sample], settings, workers=1, cache=tmp_path / "cache")
    (file,) = (tmp_path / "cache").iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    with pytest.warns(CacheWarning, match="computed again"):
        again = extract([sample], settings, workers=1, cache=tmp_path / "cache")
    np.testing.assert_array_equal(again.losses, first.losses)
    assert file.read_bytes() == whole


def test_a_table_of_other_faces_or_a_pipe_in_the_cache_is_not_used(sample, predictor, tmp_path):
    cache = tmp_path / "cache"
    settings = extractor(predictor, degradations=0)
    extract([sample], settings, workers=1, cache=cache)
    (file,) = cache.iterdir()
    other = read_table(file)
    write_table(cache / "other.table", replace(other, losses=other.losses * 2))
    os.replace(cache / "other.table", file)
    with pytest.warns(CacheWarning):
        again = extract([sample], settings, workers=1, cache=cache)
    np.testing.assert_array_equal(again.losses, other.losses)
    if hasattr(os, "mkfifo"):
        file.unlink()
        os.mkfifo(file)
        with pytest.warns(CacheWarning, match="regular file"):
            extract([sample], settings, workers=1, cache=cache)


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(sample, predictor, tmp_path):
    (tmp_path / "file").write_text("precious")
    with pytest.warns(CacheWarning, match="cannot be written"):
        table = extract([sample], extractor(predictor, degradations=0), workers=1, cache=tmp_path / "file")
    assert len(table) == 1
    assert (tmp_path / "file").read_text() == "precious"


def test_a_full_disk_costs_the_cache_not_the_table(sample, predictor, tmp_path):
    settings = extractor(predictor, degradations=0)
    with files_limited_to(2000), pytest.warns(CacheWarning, match=r"cannot be written \(File too large\)"):
        table = extract([sample], settings, workers=1, cache=tmp_path / "cache")
    assert len(table) == 1
    assert list((tmp_path / "cache").iterdir()) == []


def test_predictors_without_a_fingerprint_are_not_cached(sample, astronaut_landmarks, tmp_path):
    def other(image, box):
        return astronaut_landmarks + [image.ndim, 0]

    table = extract([sample], extractor(other, degradations=0), workers=1, cache=tmp_path / "cache")
    assert len(table) == 1
    assert not (tmp_path / "cache").exists()
    # a predictor that does not ask for grey gets colour
    assert table.losses[0] == pytest.approx(landmark_nme(sample.landmarks, astronaut_landmarks + [3, 0]))
