"""dlib's detector from the cache folder: the same faces, and nothing but the very file."""

from __future__ import annotations

import os
import threading

import dlib
import pytest

from facereject.faces.detectors import _frontal
from facereject.faces.images import Views


@pytest.fixture
def unpacking(monkeypatch, tmp_path):
    """An empty cache folder, and how often dlib was asked to unpack its detector."""
    calls = []
    original = dlib.get_frontal_face_detector

    def unpack():
        calls.append(threading.current_thread())
        return original()

    monkeypatch.setattr(dlib, "get_frontal_face_detector", unpack)
    monkeypatch.setattr(_frontal, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(_frontal, "_unpacked", None)
    monkeypatch.setattr(_frontal, "_per_thread", threading.local())
    return calls


def start_again(monkeypatch):
    monkeypatch.setattr(_frontal, "_unpacked", None)
    monkeypatch.setattr(_frontal, "_per_thread", threading.local())


def test_the_kept_detector_is_dlibs_own(unpacking, monkeypatch, tmp_path, astronaut):
    own = _frontal.frontal_detector()
    assert os.listdir(tmp_path / "cache") == [_frontal._FILE]
    start_again(monkeypatch)
    kept = _frontal.frontal_detector()
    assert len(unpacking) == 1
    assert kept is not own
    gray = Views(astronaut).gray
    assert len(own.run(gray, 0, -1.0)[1]) > 1
    for expected, found in zip(own.run(gray, 0, -1.0), kept.run(gray, 0, -1.0), strict=True):
        assert list(found) == list(expected)


def test_threads_have_detectors_of_their_own_from_one_unpacking(unpacking):
    found = [_frontal.frontal_detector()]
    thread = threading.Thread(target=lambda: found.append(_frontal.frontal_detector()))
    thread.start()
    thread.join()
    assert len(unpacking) == 1
    assert found[0] is not found[1]
    assert found[0] is _frontal.frontal_detector()


@pytest.mark.parametrize("content", [b"", b"not a detector"])
def test_another_file_is_not_read_but_replaced(unpacking, tmp_path, content):
    path = tmp_path / "cache" / _frontal._FILE
    path.parent.mkdir()
    path.write_bytes(content)
    _frontal.frontal_detector()
    assert len(unpacking) == 1
    assert path.stat().st_size == _frontal._SIZE


def test_without_a_place_to_write_it_is_unpacked(unpacking, tmp_path):
    (tmp_path / "cache").write_text("no folder")
    assert _frontal.frontal_detector().detection_window_height == 80
    assert len(unpacking) == 1
