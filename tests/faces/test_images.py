"""Every documented image form becomes the same RGB array; the rest is refused with a sentence."""

from __future__ import annotations

import numpy as np
import PIL.Image
import pytest

from facereject.faces.images import ImageError, load_rgb, to_gray


@pytest.fixture
def rgb(rng):
    return rng.integers(0, 256, size=(20, 30, 3), dtype=np.uint8)


def test_equal_pictures_in_every_form(rgb, tmp_path):
    path = tmp_path / "picture.png"
    PIL.Image.fromarray(rgb).save(path)
    opaque = np.dstack([rgb, np.full(rgb.shape[:2], 255, np.uint8)])
    forms = [rgb, path, str(path), PIL.Image.fromarray(rgb), opaque, rgb / 255.0, rgb.astype(np.uint16) * 257]
    for form in forms:
        loaded = load_rgb(form)
        assert loaded.dtype == np.uint8
        assert loaded.flags.c_contiguous
        np.testing.assert_array_equal(loaded, rgb)


def test_grey_forms(rgb, tmp_path):
    gray = rgb[:, :, 0]
    path = tmp_path / "gray16.png"
    PIL.Image.fromarray(gray.astype(np.uint16) * 257).save(path)
    for form in [gray, gray[:, :, None], gray / 255.0, path, PIL.Image.fromarray(gray)]:
        loaded = load_rgb(form)
        np.testing.assert_array_equal(loaded, np.dstack([gray] * 3))
        np.testing.assert_array_equal(to_gray(loaded), gray)


def test_transparency_is_black(rgb):
    clear = np.dstack([rgb, np.zeros(rgb.shape[:2], np.uint8)])
    assert load_rgb(clear).max() == 0
    assert load_rgb(PIL.Image.fromarray(clear)).max() == 0


def test_exif_orientation_is_applied(rgb, tmp_path):
    path = tmp_path / "turned.png"
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    PIL.Image.fromarray(rgb).save(path, exif=exif)
    np.testing.assert_array_equal(load_rgb(path), np.rot90(rgb, -1))


def test_non_contiguous_and_read_only_arrays(rgb):
    view = rgb[::-1, ::2]
    view.flags.writeable = False
    np.testing.assert_array_equal(load_rgb(view), view)


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (np.zeros((4, 4, 2), np.uint8), "shape"),
        (np.zeros((4,), np.uint8), "shape"),
        (np.zeros((0, 4, 3), np.uint8), "at least"),
        (np.zeros((4, 4), np.int64), "int64"),
        (np.full((4, 4), 200.0), r"\[0, 1\]"),
        (np.full((4, 4), np.nan), r"\[0, 1\]"),
        (np.full((4, 4), 1.01), r"\[0, 1\]"),
        (np.full((4, 4), 255, np.uint16), "8-bit levels"),
        (PIL.Image.new("L", (4, 4), 200).convert("I"), "8-bit levels"),
        (np.full((4, 4), "a"), "not handled"),
        (None, "NoneType"),
        ("no/such/file.jpg", "no such file"),
    ],
)
def test_refusals_say_why(image, words):
    with pytest.raises(ImageError, match=words):
        load_rgb(image)


def test_a_file_that_is_no_image_is_named(tmp_path):
    path = tmp_path / "broken.jpg"
    for content in [b"", b"not a picture", b"\xff\xd8\xff\xe0" + b"\0" * 50]:
        path.write_bytes(content)
        with pytest.raises(ImageError, match=r"broken\.jpg"):
            load_rgb(path)


def test_a_truncated_pil_image_is_refused(rgb, tmp_path):
    path = tmp_path / "whole.png"
    PIL.Image.fromarray(rgb).resize((200, 200)).save(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with PIL.Image.open(path) as picture, pytest.raises(ImageError, match="PIL image cannot be read"):
        load_rgb(picture)


def test_rounding_beyond_one_is_tolerated():
    assert load_rgb(np.full((4, 4), 1.0000001)).min() == 255
    assert load_rgb(np.full((4, 4), -1e-7)).max() == 0
    assert load_rgb(np.zeros((4, 4), np.uint16)).max() == 0


def test_either_byte_order_is_read():
    values = np.arange(16, dtype=np.uint16).reshape(4, 4) * 4096
    np.testing.assert_array_equal(load_rgb(values.astype(">u2")), load_rgb(values))
