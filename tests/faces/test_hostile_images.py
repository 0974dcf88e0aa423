"""Hostile image files start no program, stall nothing and cost no more memory than their pixels."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import numpy as np
import PIL.Image
import pytest

from facereject.faces import load_rgb
from facereject.faces.images import FORMATS, BoundedFile, ImageError, read_image
from facereject.sources.inputs import expand_inputs
from facereject.sources.video import VideoError, open_video

POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 20 20\n%%EndComments\nshowpage\n%%EOF\n"
TURNS = [
    *("FLIP_LEFT_RIGHT", "ROTATE_180", "FLIP_TOP_BOTTOM"),
    *("TRANSPOSE", "ROTATE_270", "TRANSVERSE", "ROTATE_90"),
]
READERS = [load_rgb, read_image]


@pytest.fixture
def ghostscript(folder, monkeypatch):
    """A program called gs that leaves a trace."""
    (folder / "bin").mkdir()
    for name in ("gs", "gswin64c", "gswin32c", "djpeg"):
        program = folder / "bin" / name
        program.write_text(f"#!/bin/sh\necho ran >> {folder}/trace\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}/bin", prepend=os.pathsep)
    # Pillow remembers whether it is there
    monkeypatch.setattr("PIL.EpsImagePlugin.gs_binary", None)
    return folder / "trace"


@pytest.mark.parametrize("name", ["x.jpg", "x.png", "x.gif", "x.webp", "x", "x.eps"])
def test_postscript_is_never_run(ghostscript, name):
    """Under whatever name, wherever files are looked at: while listing, as an image, as an animation."""
    with open(name, "wb") as file:
        file.write(POSTSCRIPT)
    # the trap works: Pillow itself falls into it
    with pytest.raises(OSError), PIL.Image.open(name) as picture:
        picture.load()
    assert ghostscript.exists()
    ghostscript.unlink()
    assert [item.kind for item in expand_inputs([name])] == ["image"]
    for read in READERS:
        with pytest.raises(ImageError):
            read(name)
    with pytest.raises(VideoError):
        open_video(name)
    assert not ghostscript.exists()


def test_formats_are_decoded_in_this_process():
    assert "EPS" not in FORMATS
    assert "WMF" not in FORMATS
    code = "import sys, facereject.faces.images as _; "
    code += "print([n for n in sys.modules if 'Eps' in n or 'Wmf' in n])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("pattern", ["fits", "icns", "ico", "pcx", "psd", "sgi", "xbm"])
def test_other_formats_are_refused_under_any_name(folder, pattern):
    try:
        PIL.Image.new("RGB", (64, 64)).convert("1" if pattern == "xbm" else "RGB").save("x." + pattern)
    except (OSError, ValueError, KeyError):
        PIL.Image.new("L", (64, 64)).save("x.ico")
        pattern = "ico"
    os.rename("x." + pattern, "x.jpg")
    with pytest.raises(ImageError, match="not an image in a format that can be read"):
        read_image("x.jpg")


def sparse(name, head, size):
    with open(name, "wb") as file:
        file.write(head)
        file.truncate(size)


SPARSE = {
    "comment.ppm": b"P6\n#",
    "blocks.gif": b"GIF89a",
    "frame.gif": b"GIF89a\x10\0\x10\0\0\0\0,\0\0\0\0\x10\0\x10\0\0\x02\x02\x8c\x01\0",
    "riff.webp": b"RIFF\xf0\xff\xff\xffWEBPVP8X\x0a\0\0\0\x02\0\0\0\x0f\0\0\x0f\0\0",
    "chunk.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10\x08\x02\0\0\0\x90\x91h6\x70\0\0\0eXIf",
    "text.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10\x08\x02\0\0\0\x90\x91h6\x7f\xff\0\0iCCP",
    "tags.tif": b"II*\0\x08\0\0\0\xff\xff" + b"\x0e\x01\x02\0\xff\xff\xff\x7f\x10\0\0\0" * 200,
    "picture.avif": b"\0\0\0\x20ftypavif\0\0\0\0avifmif1miafMA1B",
    "picture.heic": b"\0\0\0\x18ftypheic\0\0\0\0mif1heic",
    "picture.jp2": b"\0\0\0\x0cjP  \r\n\x87\n\0\0\0\x14ftypjp2 \0\0\0\0jp2 ",
    "picture.bmp": b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x10\0\0\0\x10\0\0\0\x01\0\x18\0",
    "picture.jpg": b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0",
}


def test_files_of_gigabytes_without_content_are_soon_done_with(folder):
    """In a process of its own, with a limit of processor time: more of it kills."""
    for name, head in SPARSE.items():
        sparse(name, head, 4 << 30)
    code = """if True:
        import resource, sys, warnings
        import PIL.ImageFile
        warnings.simplefilter("ignore")
        from facereject.sources.inputs import expand_inputs
        from facereject.pipeline.task import ScoreTask

        def megabytes():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

        load, decoded = PIL.ImageFile.ImageFile.load, []
        PIL.ImageFile.ImageFile.load = lambda image: decoded.append(image) or load(image)
        usage = resource.getrusage(resource.RUSAGE_SELF)
        seconds, start = int(usage.ru_utime + usage.ru_stime), megabytes()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds + 60, seconds + 60))
        items = list(expand_inputs(sys.argv[1:]))
        assert not decoded, "listing decodes"
        for item in items:
            (chunk,) = ScoreTask(lambda image: [])(item)
            assert megabytes() - start < 200, item
            print(item.path, item.kind, chunk.frames[-1].problem)
        assert decoded
    """
    done = subprocess.run([sys.executable, "-c", code, *SPARSE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split(" ", 2) for line in done.stdout.splitlines()]
    assert [name for name, _, _ in lines] == list(SPARSE)
    # zeros are pixels in a BMP
    assert {reason.split(":")[0] for name, _, reason in lines if name != "picture.bmp"} == {"unreadable"}


def test_reading_without_an_end_is_refused(folder):
    sparse("x.gif", b"GIF89a", 1 << 30)
    with pytest.raises(ImageError, match="go on without an end"):
        read_image("x.gif")


def test_decoding_takes_the_memory_that_is_stated(folder):
    side, limits = 5000, {"RGB": 7, "L": 4, "1": 4, "RGBA": 7, "P": 4}
    for mode in limits:
        PIL.Image.new(mode, (side, side)).save(f"{mode}.png")
    code = """if True:
        import os, resource, sys
        from facereject.faces.images import read_image
        for name in sys.argv[1:]:
            if os.fork() == 0:
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                read_image(name + ".png")
                print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024, flush=True)
                os._exit(0)
            os.wait()
    """
    arguments = [sys.executable, "-c", code, *limits]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    # strips on their way take some more
    strips = 40e6
    peaks = dict(zip(limits, map(int, done.stdout.split()), strict=True))
    assert {mode: peak for mode, peak in peaks.items() if peak > limits[mode] * side**2 + strips} == {}


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "I;16", "I", "F"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_strips_and_turns_give_the_pixels_of_pillow(monkeypatch, mode, orientation):
    rng = np.random.default_rng(0)
    if mode in ("I;16", "I"):
        values = rng.integers(0, 65536, (50, 30)).astype(np.uint16 if mode == "I;16" else np.int32)
        picture = PIL.Image.fromarray(values)
        whole = np.repeat((values // 257).astype(np.uint8)[:, :, None], 3, axis=2)
    elif mode == "F":
        values = rng.random((50, 30), dtype=np.float32)
        picture = PIL.Image.fromarray(values)
        whole = np.repeat(np.rint(values * 255).astype(np.uint8)[:, :, None], 3, axis=2)
    else:
        values = rng.integers(0, 256, (50, 30, 4), dtype=np.uint8)
        picture = PIL.Image.fromarray(values, "RGBA")
        picture = picture.convert("RGB" if mode in ("1", "L", "P", "CMYK", "YCbCr") else mode).convert(mode)
        clear = mode in ("LA", "RGBA")
        pixels = np.asarray(picture.convert("RGBA" if clear else "RGB"))
        opacity = pixels[:, :, 3:].astype(np.uint16) if clear else np.uint16(255)
        whole = (pixels[:, :, :3] * opacity // 255).astype(np.uint8)
    expected = whole
    if orientation > 1:
        turn = PIL.Image.Transpose[TURNS[orientation - 2]]
        expected = np.asarray(PIL.Image.fromarray(whole).transpose(turn))
    picture.getexif()[0x0112] = orientation
    monkeypatch.setattr("facereject.faces.images._STRIP_PIXELS", 30 * 7)
    np.testing.assert_array_equal(load_rgb(picture), expected)


def test_a_side_too_long_for_opencv_is_refused_with_a_sentence(folder):
    PIL.Image.new("L", (33_000, 4)).save("wide.png")
    with pytest.raises(ImageError, match=r"wide\.png: 33000 x 4 pixels: no side may be longer than 32,767"):
        read_image("wide.png")
    with pytest.raises(ImageError, match="no side may be longer"):
        load_rgb(np.zeros((4, 33_000, 3), np.uint8))


def test_a_pipe_is_refused_at_once(folder):
    os.mkfifo("x.jpg")
    for read in READERS:
        with pytest.raises(ImageError, match="not a regular file"):
            read("x.jpg")
    with pytest.raises(OSError, match="not a regular file"):
        BoundedFile("x.jpg")


@pytest.mark.parametrize("suffix", ["avif", "webp", "jp2", "heic", "png", "tif"])
def test_damaged_pixels_are_unreadable_and_no_failure(folder, suffix):
    pytest.importorskip("pillow_heif").register_heif_opener()
    rng = np.random.default_rng(0)
    PIL.Image.fromarray(rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(f"x.{suffix}")
    with open(f"x.{suffix}", "rb") as file:
        whole = file.read()
    refused = 0
    for start in range(len(whole) // 2, len(whole) - 40, max(1, len(whole) // 12)):
        with open("y." + suffix, "wb") as file:
            file.write(whole[:start] + bytes(40) + whole[start + 40 : -200])
        try:
            read_image("y." + suffix)
        except ImageError:
            refused += 1
    assert refused


@pytest.mark.parametrize(("n_scans", "readable"), [(400, True), (1000, False)])
def test_a_jpeg_of_many_scans_would_take_for_ever(tmp_path, n_scans, readable):
    stream = io.BytesIO()
    PIL.Image.new("L", (64, 64), 120).save(stream, "JPEG", progressive=True)
    data = stream.getvalue()
    # every scan goes through all pixels of an image that may have 200 million
    scan = data[data.rindex(b"\xff\xda") : -2]
    path = tmp_path / "scans.jpg"
    path.write_bytes(data[:-2] + n_scans * scan + data[-2:])
    if readable:
        assert read_image(path).shape == (64, 64, 3)
    else:
        with pytest.raises(
            ImageError, match=r"scans\.jpg: not a readable image \(a JPEG with more than 500 scans"
        ):
            read_image(path)
