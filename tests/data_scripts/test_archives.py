"""Originals are found plain, packed and in nested archives; damaged files are named."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
import zipfile

import pytest
from lzw_packer import pack_lzw

from data_scripts.archives import open_original
from data_scripts.lzw import unpack_lzw
from data_scripts.registry import DataError

TEXT = b"1 2 3\n" * 1000


def zipped(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def tarred(name, content):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


PLACES = {
    "plain": ("sub/a.data", TEXT),
    "other case": ("A.DATA", TEXT),
    "gz": ("a.data.gz", gzip.compress(TEXT)),
    "bz2": ("a.data.bz2", bz2.compress(TEXT)),
    "Z": ("a.data.Z", pack_lzw(TEXT)),
    "zip": ("x.zip", zipped(**{"deep/er/a.data": TEXT})),
    "zip in zip": ("x.zip", zipped(**{"in.zip": zipped(**{"a.data.gz": gzip.compress(TEXT)})})),
    "tgz": ("x.tgz", tarred("Folder/a.data", TEXT)),
    "tar.gz in zip": ("x.zip", zipped(**{"y.tar.gz": tarred("a.data", TEXT)})),
}


@pytest.mark.parametrize("place", PLACES)
def test_found(tmp_path, place):
    name, content = PLACES[place]
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(content)
    (tmp_path / "another.zip").write_bytes(zipped(b=b"nothing"))
    with open_original("a.data", [tmp_path / "absent", tmp_path]) as file:
        assert file.read() == TEXT


def test_the_published_archive_comes_first(tmp_path):
    (tmp_path / "a.zip").write_bytes(zipped(**{"train.csv": b"wrong"}))
    (tmp_path / "right.zip").write_bytes(zipped(**{"train.csv": b"right"}))
    with open_original("train.csv", [tmp_path], prefer=["right.zip"]) as file:
        assert file.read() == b"right"


def test_nowhere(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"not a zip file, and not asked for")
    with pytest.raises(FileNotFoundError), open_original("a.data", [tmp_path]):
        pass


def test_damaged(tmp_path):
    (tmp_path / "a.zip").write_bytes(zipped(**{"a.data": TEXT})[:50])
    with pytest.raises(DataError, match="damaged"), open_original("a.data", [tmp_path], prefer=["a.zip"]):
        pass


@pytest.mark.parametrize("alphabet", [1, 3, 50, 256])
@pytest.mark.parametrize(("max_bits", "clear_every"), [(10, 0), (12, 700), (16, 0)])
def test_lzw(rng, alphabet, max_bits, clear_every):
    data = rng.integers(0, alphabet, size=20_000, dtype="uint8").tobytes()
    assert unpack_lzw(pack_lzw(data, max_bits, clear_every)) == data


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b\x08", b"\x1f\x9d\x88abc", b"\x1f\x9d\x90\xff\xff\xff"])
def test_not_lzw(data):
    with pytest.raises(EOFError):
        unpack_lzw(data)
