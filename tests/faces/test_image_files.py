"""Image files of every kind become the same RGB array; what cannot be read is refused with one sentence."""

from __future__ import annotations

import os
import struct
import sys
import warnings
import zlib

import cv2
import numpy as np
import PIL.Image
import PIL.ImageFile
import pytest
import skimage.data

from facereject.faces import load_rgb
from facereject.faces.images import MAX_PIXELS, ImageError, read_image


@pytest.fixture(scope="module")
def photo():
    return np.ascontiguousarray(skimage.data.astronaut()[:240, 100:420])


@pytest.fixture
def jpeg(photo, tmp_path):
    path = tmp_path / "photo.jpg"
    PIL.Image.fromarray(photo).save(path, quality=95)
    return path


def refusal(path, **options):
    with pytest.raises(ImageError) as caught:
        read_image(path, **options)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def png_of(width, height, bits, color_type, rows):
    """A PNG file by hand: Pillow does not write every kind that it reads."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, bits, color_type, 0, 0, 0)
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(b"\0" + row) for row in rows) + packer.flush()
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def test_a_jpeg_has_the_pixels_of_other_readers(jpeg):
    image = read_image(jpeg)
    assert image.dtype == np.uint8
    assert image.flags.c_contiguous
    np.testing.assert_array_equal(image, load_rgb(jpeg))
    np.testing.assert_array_equal(image, np.asarray(PIL.Image.open(jpeg)))
    assert np.abs(image.astype(int) - cv2.imread(str(jpeg))[:, :, ::-1]).max() <= 2


@pytest.mark.data
def test_photographs_have_the_pixels_of_load_rgb(faces_dir):
    for path in sorted((faces_dir / "300w").rglob("*.jpg"))[:400:40]:
        np.testing.assert_array_equal(read_image(path), load_rgb(path))


@pytest.mark.parametrize("name", ["p.png", "p.bmp", "p.tif", "p.ppm", "p.PNG", "p.tga"])
def test_lossless_formats(photo, tmp_path, name):
    PIL.Image.fromarray(photo).save(tmp_path / name)
    np.testing.assert_array_equal(read_image(tmp_path / name), photo)


@pytest.mark.parametrize("mode", ["L", "1", "P", "LA", "RGBA", "CMYK", "YCbCr"])
def test_modes(photo, tmp_path, mode):
    picture = PIL.Image.fromarray(photo).convert(mode)
    path = tmp_path / ("p.tif" if mode in ("CMYK", "YCbCr") else "p.png")
    picture.save(path)
    image = read_image(path)
    np.testing.assert_array_equal(image, np.asarray(picture.convert("RGB")))
    assert image.shape == photo.shape


def test_cmyk_jpeg(photo, tmp_path):
    PIL.Image.fromarray(photo).convert("CMYK").save(tmp_path / "p.jpg", quality=95)
    assert np.abs(read_image(tmp_path / "p.jpg").astype(int) - photo).mean() < 3


def test_transparent_parts_are_black(photo, tmp_path):
    clear = np.dstack([photo, np.full(photo.shape[:2], 255, np.uint8)])
    clear[:50, :, 3] = 0
    PIL.Image.fromarray(clear).save(tmp_path / "p.png")
    image = read_image(tmp_path / "p.png")
    assert image[:50].max() == 0
    np.testing.assert_array_equal(image[50:], photo[50:])


def test_a_transparent_colour_of_a_palette_is_black(tmp_path):
    picture = PIL.Image.new("P", (8, 6), 1)
    picture.putpalette([9, 9, 9, 200, 100, 50])
    picture.putpixel((0, 0), 0)
    picture.save(tmp_path / "p.png", transparency=0)
    image = read_image(tmp_path / "p.png")
    assert image[0, 0].tolist() == [0, 0, 0]
    assert image[5, 7].tolist() == [200, 100, 50]


def test_16_bit_grey(photo, tmp_path):
    gray = photo[:, :, 0]
    PIL.Image.fromarray(gray.astype(np.uint16) * 257).save(tmp_path / "p.png")
    np.testing.assert_array_equal(read_image(tmp_path / "p.png"), np.dstack([gray] * 3))


def test_16_bit_rgb(photo, tmp_path):
    rows = (row.tobytes() for row in (photo.astype(">u2") * 257))
    (tmp_path / "p.png").write_bytes(png_of(photo.shape[1], photo.shape[0], 16, 2, rows))
    np.testing.assert_array_equal(read_image(tmp_path / "p.png"), photo)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_rotation_is_honoured(photo, tmp_path, orientation):
    turns = {1: photo, 2: photo[:, ::-1], 3: photo[::-1, ::-1], 4: photo[::-1]}
    turns |= {5: photo.transpose(1, 0, 2), 6: np.rot90(photo, -1)}
    turns |= {7: photo[::-1, ::-1].transpose(1, 0, 2), 8: np.rot90(photo)}
    exif = PIL.Image.Exif()
    exif[0x0112] = orientation
    PIL.Image.fromarray(photo).save(tmp_path / "p.png", exif=exif)
    image = read_image(tmp_path / "p.png")
    np.testing.assert_array_equal(image, turns[orientation])
    assert image.flags.c_contiguous


def test_damaged_exif_data_does_not_cost_the_picture(photo, tmp_path):
    for exif in [b"Exif\0\0MM\0*\0\0\0", b"Exif\0\0nonsense", b"Exif\0\0MM\0*\0\0\0\x08\xff\xff" + bytes(30)]:
        PIL.Image.fromarray(photo).save(tmp_path / "p.jpg", exif=exif)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert read_image(tmp_path / "p.jpg").shape == photo.shape


def test_the_first_frame_of_an_animation(photo, tmp_path):
    first, second = (PIL.Image.fromarray(p) for p in (photo, 255 - photo))
    first.save(tmp_path / "p.png", save_all=True, append_images=[second])
    np.testing.assert_array_equal(read_image(tmp_path / "p.png"), photo)


def test_an_empty_file(tmp_path):
    (tmp_path / "p.jpg").write_bytes(b"")
    assert refusal(tmp_path / "p.jpg") == "the file is empty"


def test_text_renamed(tmp_path):
    (tmp_path / "p.jpg").write_text("this is not a picture\n" * 50)
    assert refusal(tmp_path / "p.jpg") == "not an image in a format that can be read"


@pytest.mark.parametrize("suffix", ["jpg", "png", "tif", "bmp", "webp"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.9])
def test_truncated_files(photo, tmp_path, suffix, share):
    path = tmp_path / f"p.{suffix}"
    PIL.Image.fromarray(photo).save(path)
    os.truncate(path, int(share * path.stat().st_size))
    assert refusal(path)


def test_random_damage_is_read_or_refused_never_anything_else(photo, tmp_path, rng):
    outcomes = set()
    for suffix in ["jpg", "png", "gif", "tif", "webp", "bmp"]:
        path = tmp_path / f"p.{suffix}"
        PIL.Image.fromarray(photo[:60, :60]).save(path)
        whole = np.frombuffer(path.read_bytes(), np.uint8)
        for _ in range(40):
            damaged = whole.copy()
            places = rng.integers(0, min(len(whole), 400), size=6)
            damaged[places] = rng.integers(0, 256, size=6)
            path.write_bytes(damaged.tobytes())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    outcomes.add(read_image(path, max_pixels=10**6).ndim)
                except ImageError:
                    outcomes.add("refused")
    assert outcomes == {3, "refused"}


def test_a_missing_file(tmp_path):
    assert refusal(tmp_path / "p.jpg") == "no such file"


def test_a_folder(tmp_path):
    assert refusal(tmp_path) == "a folder, not an image"


def test_a_file_without_permission(jpeg, monkeypatch):
    def refuse(path, *args, **options):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(PIL.Image, "open", refuse)
    assert refusal(jpeg) == "the file may not be read (permission denied)"


def test_a_disk_that_fails(jpeg, monkeypatch):
    def fail(path, *args, **options):
        raise OSError(5, "Input/output error", str(path))

    monkeypatch.setattr(PIL.Image, "open", fail)
    assert refusal(jpeg) == "the file cannot be read (input/output error)"


def test_a_bomb_is_refused_before_it_is_decoded(tmp_path, monkeypatch):
    side = 20_000
    path = tmp_path / "bomb.png"
    path.write_bytes(png_of(side, side, 1, 0, (bytes(side // 8) for _ in range(side))))
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(PIL.ImageFile.ImageFile, "load", lambda self: pytest.fail("the bomb was decoded"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        message = refusal(path)
    assert message.startswith("20000 x 20000 pixels are more than the limit of 200,000,000")


def test_the_limit_is_the_callers_and_replaces_that_of_pillow(jpeg, photo, monkeypatch):
    n_pixels = photo.shape[0] * photo.shape[1]
    monkeypatch.setattr(PIL.Image, "MAX_IMAGE_PIXELS", 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_image(jpeg, max_pixels=n_pixels).shape == photo.shape
        assert f"limit of {n_pixels - 1:,}" in refusal(jpeg, max_pixels=n_pixels - 1)
    assert PIL.Image.MAX_IMAGE_PIXELS == 10
    assert MAX_PIXELS == 200_000_000


@pytest.mark.parametrize(("width", "height"), [(1, 1), (1, 50), (50, 1)])
def test_images_without_room_for_anything(tmp_path, width, height):
    PIL.Image.new("RGB", (width, height)).save(tmp_path / "p.png")
    assert "at least 2 pixels" in refusal(tmp_path / "p.png")


def test_tiny_images(tmp_path):
    PIL.Image.new("RGB", (2, 2), (1, 2, 3)).save(tmp_path / "p.png")
    assert read_image(tmp_path / "p.png").tolist() == [[[1, 2, 3]] * 2] * 2


@pytest.fixture
def without_heif(monkeypatch):
    """Pillow as it is before pillow-heif has been registered."""
    PIL.Image.init()
    openers = {key: value for key, value in PIL.Image.OPEN.items() if key != "HEIF"}
    monkeypatch.setattr(PIL.Image, "OPEN", openers)
    monkeypatch.setattr(PIL.Image, "ID", [name for name in PIL.Image.ID if name != "HEIF"])


@pytest.mark.usefixtures("without_heif")
def test_heic_without_the_package_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    (tmp_path / "p.heic").write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(200))
    message = refusal(tmp_path / "p.heic")
    assert "pillow-heif" in message
    assert "pip install pillow-heif" in message


@pytest.mark.usefixtures("without_heif")
def test_heic_with_the_package(photo, tmp_path):
    pillow_heif = pytest.importorskip("pillow_heif")
    pillow_heif.from_pillow(PIL.Image.fromarray(photo)).save(tmp_path / "p.heic", quality=95)
    assert np.abs(read_image(tmp_path / "p.heic").astype(int) - photo).mean() < 4
    assert "limit of 100" in refusal(tmp_path / "p.heic", max_pixels=100)
    os.truncate(tmp_path / "p.heic", 300)
    assert refusal(tmp_path / "p.heic")
