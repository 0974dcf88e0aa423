"""Model files: round trip, and a typed error for everything that is not one."""

from __future__ import annotations

import json
import os
import pickle
import warnings

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from facereject import modelfile
from facereject.modelfile import (
    ModelFileContentError,
    ModelFileDamagedError,
    ModelFileError,
    ModelFileVersionError,
    UncheckedModelFileWarning,
    read_model,
    write_model,
)

SPEC = {"coef": ("float32", (4,)), "table": ("float64", (None, 2))}


GOOD = '{"format": 1, "kind": "test"}'


def arrays():
    return {"coef": np.arange(4, dtype=np.float32), "table": np.ones((3, 2))}


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "model.safetensors"
    write_model(file, "test", {"note": "é", "numbers": [1.5, 2]}, arrays())
    return file


def packed(header, content=None):
    return safetensors.numpy.save(content or arrays(), metadata={"facereject": header})


def test_round_trip_is_exact_and_leaves_no_temporary_file(path):
    model = read_model(path, "test", SPEC)
    assert model.header == {"format": 2, "kind": "test", "note": "é", "numbers": [1.5, 2]}
    for name, array in arrays().items():
        np.testing.assert_array_equal(model.arrays[name], array)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_equal_content_gives_equal_bytes(path, tmp_path):
    other = tmp_path / "other"
    write_model(other, "test", {"numbers": [1.5, 2], "note": "é"}, dict(reversed(arrays().items())))
    assert other.read_bytes() == path.read_bytes()


def test_a_failed_write_keeps_the_old_file(path, monkeypatch):
    before = path.read_bytes()
    monkeypatch.setattr(modelfile.os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_model(path, "test", {}, {"coef": np.zeros(1)})
    assert path.read_bytes() == before
    assert len(list(path.parent.iterdir())) == 1


@pytest.mark.parametrize(
    ("array", "word"),
    [(np.array([1.0, np.nan]), "finite"), (np.array([np.inf]), "finite"), (np.array(["a"]), "dtype")],
)
def test_unusable_arrays_are_never_written(tmp_path, array, word):
    with pytest.raises(ModelFileContentError, match=word):
        write_model(tmp_path / "m", "test", {}, {"coef": array})
    assert not list(tmp_path.iterdir())


def test_header_with_nan_is_refused(tmp_path):
    with pytest.raises(ModelFileContentError, match="JSON"):
        write_model(tmp_path / "m", "test", {"x": float("nan")}, {})


def test_every_truncation_is_a_damaged_file(path):
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(ModelFileDamagedError):
            read_model(path, "test", SPEC)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_changed_bytes_are_never_believed_and_never_another_error(tmp_path_factory, data):
    file = tmp_path_factory.mktemp("fuzz") / "m"
    write_model(file, "test", {"a": [1, 2]}, arrays())
    before = file.read_bytes()
    content = bytearray(before)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    file.write_bytes(content)
    if bytes(content) == before:
        return
    with pytest.raises(ModelFileError):
        read_model(file, "test", SPEC)


def test_no_changed_bit_is_believed(path):
    data = path.read_bytes()
    for position in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[position] ^= 1 << bit
            path.write_bytes(changed)
            with pytest.raises(ModelFileError):
                read_model(path, "test", SPEC)


def test_no_array_or_space_can_be_added(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    for text in (data[8 : 8 + length] + b" " * 8, data[8 : 8 + length].replace(b'"coef"', b'"fecoe"')):
        path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
        with pytest.raises(ModelFileDamagedError):
            read_model(path, "test", SPEC)


def test_unknown_arrays_are_refused(tmp_path):
    write_model(tmp_path / "m", "test", {}, arrays() | {"extra": np.zeros(2)})
    with pytest.raises(ModelFileContentError, match="'extra' does not belong"):
        read_model(tmp_path / "m", "test", SPEC)
    assert "extra" in read_model(tmp_path / "m", "test", None).arrays


@pytest.mark.parametrize(
    "text",
    [
        '{"format": 1, "kind": "test", "kind": "test"}',
        '{"format": 1, "kind": "test", "a": {"b": 1, "b": 2}}',
    ],
)
def test_a_name_that_stands_twice_is_refused(tmp_path, text):
    (tmp_path / "m").write_bytes(packed(text))
    with pytest.raises(ModelFileDamagedError, match="twice"):
        read_model(tmp_path / "m", "test", SPEC)


def test_files_without_a_checksum_are_read_with_a_warning_and_saved_with_one(tmp_path):
    file = tmp_path / "m"
    file.write_bytes(packed(GOOD))
    with pytest.warns(UncheckedModelFileWarning, match="without a checksum"):
        model = read_model(file, "test", SPEC)
    write_model(file, "test", {}, model.arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_model(file, "test", SPEC)
    # a newer format cannot do without
    file.write_bytes(packed(GOOD.replace('"format": 1', '"format": 2')))
    with pytest.raises(ModelFileDamagedError, match="checksum is missing"):
        read_model(file, "test", SPEC)


def test_pipes_and_devices_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", "/dev/null"):
        with pytest.raises(ModelFileDamagedError, match="not a regular file"):
            read_model(path, "test", SPEC)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", ModelFileDamagedError),
        (b"hello, this is no model file at all", ModelFileDamagedError),
        (pickle.dumps({"coef": [1.0]}), ModelFileDamagedError),
        ((2**63).to_bytes(8, "little") + b"{}", ModelFileDamagedError),
        ((10).to_bytes(8, "little") + b"[" * 10, ModelFileDamagedError),
        ((100_000).to_bytes(8, "little") + b"[" * 100_000, ModelFileDamagedError),
        (safetensors.numpy.save(arrays()), ModelFileDamagedError),
        (packed("{"), ModelFileDamagedError),
        (packed("[]"), ModelFileDamagedError),
        (packed('{"format": "1", "kind": "test"}'), ModelFileDamagedError),
        (packed('{"format": 1, "kind": "test", "x": NaN}'), ModelFileDamagedError),
        (packed("[" * 100_000), ModelFileDamagedError),
        (packed('{"format": 99, "kind": "test"}'), ModelFileVersionError),
        (packed('{"format": 1, "kind": "other"}'), ModelFileContentError),
        (packed(GOOD, {"coef": np.zeros(4, np.float32)}), ModelFileContentError),
        (packed(GOOD, arrays() | {"coef": np.zeros(4)}), ModelFileContentError),
        (
            packed('{"format": 1, "kind": "test"}', arrays() | {"coef": np.zeros(5, np.float32)}),
            ModelFileContentError,
        ),
        (
            packed('{"format": 1, "kind": "test"}', arrays() | {"table": np.full((1, 2), np.nan)}),
            ModelFileContentError,
        ),
    ],
)
def test_wrong_and_hostile_files(tmp_path, content, error):
    file = tmp_path / "model"
    file.write_bytes(content)
    with pytest.raises(error, match=str(file)):
        read_model(file, "test", SPEC)


def test_array_offsets_beyond_the_file(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    outer = json.loads(data[8 : 8 + length])
    outer["coef"]["data_offsets"] = [0, 10**12]
    outer["coef"]["shape"] = [10**12 // 4]
    text = json.dumps(outer).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    with pytest.raises(ModelFileDamagedError):
        read_model(path, "test", SPEC)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "none", "test", SPEC)
    with pytest.raises(ModelFileDamagedError, match="folder"):
        read_model(tmp_path, "test", SPEC)
