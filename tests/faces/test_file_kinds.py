"""Image or video: by suffix in either case, otherwise by content."""

from __future__ import annotations

import warnings

import numpy as np
import PIL.Image
import pytest

from facereject.faces.images import ANIMATION_SUFFIXES, IMAGE_SUFFIXES, VIDEO_SUFFIXES, ImageError, read_image
from facereject.sources.inputs import Input, expand_inputs


def animation(path, n_frames, **options):
    pictures = [PIL.Image.fromarray(np.full((8, 8, 3), 40 * i, np.uint8)) for i in range(n_frames)]
    pictures[0].save(path, save_all=True, append_images=pictures[1:], **options)


@pytest.mark.parametrize("suffix", sorted(IMAGE_SUFFIXES | ANIMATION_SUFFIXES))
def test_image_suffixes_in_either_case(folder, touch, suffix):
    touch("x" + suffix.upper())
    assert list(expand_inputs(["x" + suffix.upper()])) == [Input("x" + suffix.upper(), "image")]


@pytest.mark.parametrize("suffix", sorted(VIDEO_SUFFIXES))
def test_video_suffixes_in_either_case(folder, touch, suffix):
    touch("x" + suffix.upper())
    assert list(expand_inputs(["x" + suffix.upper()])) == [Input("x" + suffix.upper(), "video")]


@pytest.mark.parametrize("name", ["x.gif", "x.png", "x.webp"])
def test_what_may_move_is_a_video_if_it_has_several_frames(folder, name):
    animation(name, 1)
    assert list(expand_inputs([name])) == [Input(name, "image")]
    animation(name, 3)
    assert list(expand_inputs([name])) == [Input(name, "video")]


def test_looking_into_a_large_file_warns_of_nothing(folder, monkeypatch):
    animation("x.png", 2)
    monkeypatch.setattr(PIL.Image, "MAX_IMAGE_PIXELS", 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(expand_inputs(["x.png"])) == [Input("x.png", "video")]


def test_pages_of_a_tiff_are_not_a_video(folder):
    animation("pages", 2, format="TIFF")
    assert list(expand_inputs(["pages"])) == [Input("pages", "image")]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x1a\x45\xdf\xa3" + bytes(40), "video"),
        (b"\0\0\0\x20ftypisom" + bytes(40), "video"),
        (b"RIFF\0\0\0\0AVI LIST", "video"),
        ((b"G" + bytes(187)) * 3, "video"),
        (b"\0\0\0\x20ftypheic" + bytes(40), "image"),
        (b"RIFF\0\0\0\0WAVE", "image"),
        (b"plain words", "image"),
        (b"", "image"),
    ],
)
def test_an_unknown_suffix_is_judged_by_content(folder, content, kind):
    (folder / "thing.xyz").write_bytes(content)
    assert list(expand_inputs(["thing.xyz"])) == [Input("thing.xyz", kind)]


def test_an_unknown_suffix_with_a_picture_inside_is_read(folder):
    PIL.Image.new("RGB", (6, 4), (10, 20, 30)).save(folder / "picture.backup", format="PNG")
    (item,) = expand_inputs(["picture.backup"])
    assert item.kind == "image"
    assert read_image(item.path).shape == (4, 6, 3)


def test_an_unknown_suffix_that_tells_nothing_gets_an_unreadable_row_not_a_stop(folder):
    (folder / "list.txt").write_text("words\n" * 100)
    (item,) = expand_inputs(["list.txt"])
    with pytest.raises(ImageError, match=r"list\.txt: neither an image nor a video"):
        read_image(item.path)
