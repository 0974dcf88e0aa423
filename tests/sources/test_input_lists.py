"""Lists of files, and every argument that is refused or cannot be read."""

from __future__ import annotations

import itertools
import os
import sys

import PIL.Image
import pytest

from facereject._files import InputError
from facereject.faces.images import ImageError, read_image
from facereject.sources import inputs
from facereject.sources.inputs import Input, expand_inputs
from facereject.sources.video import VideoError, open_video

posix_only = pytest.mark.skipif(os.name != "posix", reason="names of bytes, pipes and links as on POSIX")


def paths(*arguments):
    return [item.path for item in expand_inputs(arguments)]


def test_a_list(folder, touch):
    touch("a.jpg", "b c .jpg", "sub/d.jpg", "#e.jpg", "é.jpg")
    text = "\ufeff# faces of today\r\na.jpg\r\n\r\n   \nb c .jpg\nsub\n./#e.jpg\né.jpg"
    (folder / "files.txt").write_bytes(text.encode())
    assert paths("@files.txt") == ["a.jpg", "b c .jpg", "sub/d.jpg", "./#e.jpg", "é.jpg"]


def test_a_list_is_relative_to_the_current_folder_not_to_itself(folder, touch):
    touch("a.jpg", "lists/b.jpg")
    (folder / "lists" / "files.txt").write_text("a.jpg\n")
    assert paths("@lists/files.txt") == ["a.jpg"]


def test_what_is_missing_in_a_list_is_handed_on_to_get_a_row(folder, touch):
    touch("a.jpg")
    (folder / "files.txt").write_text("gone.jpg\na.jpg\ngone.mp4\n")
    kinds = [("gone.jpg", "image"), ("a.jpg", "image"), ("gone.mp4", "video")]
    assert list(expand_inputs(["@files.txt"])) == [Input(*pair) for pair in kinds]
    with pytest.raises(ImageError, match=r"gone\.jpg: no such file"):
        read_image("gone.jpg")


def test_a_photo_that_is_named_like_a_list(folder, touch):
    touch("@a.jpg")
    with pytest.raises(InputError, match=r"@a\.jpg: .* write \./@a\.jpg"):
        expand_inputs(["@a.jpg"])
    assert paths("./@a.jpg") == ["./@a.jpg"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "list is empty"),
        (b"# only a comment\n\n", "list is empty"),
        (b"a.jpg\nb.jpg\n", "none of its entries exists.*'a.jpg'.*relative to the current folder"),
        ("a.jpg\n".encode("utf-16"), "UTF-16.*UTF-8"),
        (b"a.jpg\0b.jpg\0", "one file name per line"),
    ],
)
def test_lists_that_are_refused(folder, content, words):
    (folder / "files.txt").write_bytes(content)
    with pytest.raises(InputError, match=f"@files.txt: .*{words}"):
        expand_inputs(["@files.txt"])


@pytest.mark.parametrize("name", ["@nothing.txt", "@."])
def test_a_list_that_cannot_be_read(folder, name):
    with pytest.raises(InputError, match=f"{name}: the list cannot be read"):
        expand_inputs([name])


def test_a_missing_path_is_refused_before_anything_is_returned(folder, touch):
    touch("a.jpg", "b.jpg")
    with pytest.raises(InputError, match=r"^typo\.jpg: no such file or folder"):
        expand_inputs(["a.jpg", "typo.jpg", "b.jpg"])


@pytest.mark.parametrize("arguments", [["empty"], ["texts"], ["hidden"], ["*.jpg"], ["emp*"], []])
def test_arguments_without_any_input(folder, touch, arguments):
    touch("texts/a.txt", "hidden/.a.jpg")
    (folder / "empty").mkdir()
    with pytest.raises(
        InputError, match=arguments[0].replace("*", r"\*") + ": " if arguments else "no input"
    ):
        expand_inputs(arguments)


def test_a_file_that_vanishes_before_its_turn_is_still_handed_on(folder, touch):
    touch("in/a.jpg", "in/b.jpg", "c.jpg")
    items = expand_inputs(["in", "c.jpg"])
    assert next(items).path == "in/a.jpg"
    os.remove("in/b.jpg")
    os.remove("c.jpg")
    assert [item.path for item in items] == ["in/b.jpg", "c.jpg"]


@posix_only
def test_explicit_broken_links_pipes_and_devices_are_refused(folder, touch):
    (folder / "broken.jpg").symlink_to("nowhere.jpg")
    os.mkfifo(folder / "pipe.jpg")
    touch("in/a.jpg")
    os.mkfifo(folder / "in" / "pipe.jpg")
    with pytest.raises(InputError, match=r"broken\.jpg: .*no such file"):
        expand_inputs(["broken.jpg"])
    with pytest.raises(InputError, match=r"pipe\.jpg: neither a file nor a folder"):
        expand_inputs(["pipe.jpg"])
    with pytest.raises(InputError, match=r"/dev/null: this is a device; .*--camera"):
        expand_inputs(["/dev/null"])
    # found in a folder, it gets a row that says so
    assert paths("in") == ["in/a.jpg", "in/pipe.jpg"]


@posix_only
def test_pipes_in_a_list_are_not_waited_for(folder, touch):
    touch("a.jpg")
    names = ["pipe.jpg", "pipe.gif", "pipe.mp4", "pipe"]
    for name in names:
        os.mkfifo(name)
    (folder / "files.txt").write_text("\n".join(["a.jpg", *names]))
    assert paths("@files.txt") == ["a.jpg", *names]
    for name in names:
        with pytest.raises(ImageError, match=f"{name}: not a regular file"):
            read_image(name)
        with pytest.raises(VideoError, match=f"{name}: not a regular file"):
            open_video(name)


@posix_only
def test_messages_can_be_printed_whatever_the_name():
    with pytest.raises(InputError) as caught:
        expand_inputs([os.fsdecode(b"caf\xe9.jpg")])
    assert str(caught.value).startswith("caf\\xe9.jpg: no such file")
    with pytest.raises(InputError, match="'': no such file"):
        expand_inputs([""])


def test_a_file_without_permission_is_refused_at_once(folder, touch, monkeypatch):
    touch("a.jpg")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match=r"a\.jpg: the file may not be read \(permission denied\)"):
        expand_inputs(["a.jpg"])


def deny(monkeypatch, name):
    """Listing the folder ``name`` fails as for a user without the right to."""
    listing = os.scandir

    def scandir(path):
        if os.path.basename(os.path.normpath(path)) == name:
            raise PermissionError(13, "Permission denied", path)
        return listing(path)

    monkeypatch.setattr(inputs.os, "scandir", scandir)


def test_a_folder_without_permission_is_refused_at_once(folder, touch, monkeypatch):
    touch("secret/a.jpg")
    deny(monkeypatch, "secret")
    with pytest.raises(InputError, match=r"secret: the folder cannot be listed \(permission denied\)"):
        expand_inputs(["secret"])


def test_a_subfolder_without_permission_gets_a_row_and_the_rest_goes_on(folder, touch, monkeypatch):
    touch("in/a.jpg", "in/secret/b.jpg", "in/z/c.jpg")
    deny(monkeypatch, "secret")
    assert paths("in") == ["in/a.jpg", "in/secret", "in/z/c.jpg"]
    with pytest.raises(ImageError, match="in/secret: a folder that cannot be listed"):
        read_image("in/secret")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems refuse such names")
def test_names_that_are_not_utf8(folder):
    name = os.fsdecode(b"caf\xe9.jpg")
    PIL.Image.new("RGB", (5, 4)).save("plain.jpg")
    os.rename("plain.jpg", name)
    (folder / "files.txt").write_bytes(b"caf\xe9.jpg\n")
    for argument in [name, "caf*", "@files.txt", "."]:
        (item,) = expand_inputs([argument])
        assert os.fsencode(item.path).endswith(b"caf\xe9.jpg")
        assert read_image(item.path).shape == (4, 5, 3)
    os.truncate(name, 0)
    with pytest.raises(ImageError) as caught:
        read_image(name)
    assert str(caught.value) == "caf\\xe9.jpg: the file is empty"


def test_very_long_names(folder, touch):
    longest = "x" * 250 + ".jpg"
    touch(longest)
    assert paths(".") == [os.path.join(".", longest)]
    too_long = "x" * 5000 + ".jpg"
    with pytest.raises(InputError, match=r"xxx\.jpg: no such file"):
        expand_inputs([too_long])
    (folder / "files.txt").write_text(f"{too_long}\n{longest}\n")
    assert paths("@files.txt") == [too_long, longest]
    with pytest.raises(ImageError, match="name too long"):
        read_image(too_long)


def test_a_list_is_read_while_it_is_used(folder, touch):
    touch("a.jpg")
    (folder / "files.txt").write_text("a.jpg\n" + "".join(f"{i}.jpg\n" for i in range(1000)))
    items = expand_inputs(["@files.txt"])
    assert [item.path for item in itertools.islice(items, 3)] == ["a.jpg", "0.jpg", "1.jpg"]
    items.close()
