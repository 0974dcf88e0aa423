"""Files, folders and patterns become inputs: each once, in order, lazily."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tracemalloc

import pytest

from facereject.faces.images import ImageError, read_image
from facereject.sources import inputs
from facereject.sources.inputs import Input, expand_inputs

posix_only = pytest.mark.skipif(os.name != "posix", reason="names of bytes, pipes and links as on POSIX")


def paths(*arguments):
    return [item.path for item in expand_inputs(arguments)]


def test_a_file_is_taken_as_it_is_named(folder, touch):
    touch("a.jpg", "sub/b.mp4")
    absolute = str(folder / "a.jpg")
    assert list(expand_inputs([absolute])) == [Input(absolute, "image")]
    assert list(expand_inputs(["sub/b.mp4", "./a.jpg"])) == [
        Input(os.path.normpath("sub/b.mp4"), "video"),
        Input("./a.jpg", "image"),
    ]


def test_a_folder_gives_its_media_files_sorted_then_its_subfolders(folder, touch):
    touch("in/b.jpg", "in/a.PNG", "in/z.jpg", "in/notes.txt", "in/code.ts", "in/noending")
    touch("in/sub/c.MP4", "in/sub/deeper/d.jpeg", "in/another/e.jpg")
    expected = ["a.PNG", "b.jpg", "z.jpg", "another/e.jpg", "sub/c.MP4", "sub/deeper/d.jpeg"]
    assert paths("in") == [os.path.join("in", *name.split("/")) for name in expected]


def test_hidden_files_and_folders_are_skipped_unless_named(folder, touch):
    touch("in/.hidden.jpg", "in/seen.jpg", "in/.cache/thumb.jpg")
    assert paths("in") == ["in/seen.jpg"]
    assert paths("in/.hidden.jpg", "in/.cache") == ["in/.hidden.jpg", "in/.cache/thumb.jpg"]


def test_patterns(folder, touch):
    touch("a1.jpg", "a10.jpg", "a2.jpg", "b.mp4", "a3.txt", "sub/deep/c.jpg", ".a4.jpg")
    assert paths("a*") == ["a1.jpg", "a10.jpg", "a2.jpg"]
    assert paths("a[12].jpg") == ["a1.jpg", "a2.jpg"]
    assert paths("**/*.jpg") == ["a1.jpg", "a10.jpg", "a2.jpg", "sub/deep/c.jpg"]
    assert paths("su?") == ["sub/deep/c.jpg"]


def test_patterns_with_two_stars_at_any_place(folder, touch):
    touch("in/a.jpg", "in/x/b.jpg", "in/x/y/b.jpg", "in/.h/b.jpg", "other/x/b.jpg", "in/[z]/b.jpg")
    inside = ["in/[z]/b.jpg", "in/x/b.jpg", "in/x/y/b.jpg"]
    assert paths("in/**/b.jpg") == inside
    assert paths(str(folder / "in/**/b.jpg")) == [str(folder / name) for name in inside]
    assert paths("*/**/b*") == [*inside, "other/x/b.jpg"]
    assert paths("**/x/**/b.jpg") == ["in/x/b.jpg", "in/x/y/b.jpg", "other/x/b.jpg"]
    assert paths("in/**") == ["in/a.jpg", *inside]
    assert [os.path.normpath(path) for path in paths("**")] == ["in/a.jpg", *inside, "other/x/b.jpg"]


def test_a_file_whose_name_looks_like_a_pattern(folder, touch):
    touch("x[1].jpg", "x1.jpg")
    assert paths("x[1].jpg") == ["x[1].jpg"]


def test_each_file_once(folder, touch):
    touch("in/a.jpg", "in/b.jpg", "in/.h.jpg", "in/n.txt", "c.jpg")
    (folder / "files.txt").write_text("c.jpg\nin/b.jpg\nin\n./c.jpg\n")
    everything = ["in/a.jpg", "in/b.jpg", "c.jpg"]
    assert paths("in", "in/a.jpg", "c.jpg", "./c.jpg", str(folder / "c.jpg"), "in/") == everything
    assert paths("in/b.jpg", "in", "./in/../in", "c.jpg", "@files.txt") == ["in/b.jpg", "in/a.jpg", "c.jpg"]
    assert paths("@files.txt", "c*", "in/*.jpg") == ["c.jpg", "in/b.jpg", "in/a.jpg"]
    # what walking a folder passes over is not covered by it
    assert paths("in", "in/.h.jpg", "in/n.txt") == ["in/a.jpg", "in/b.jpg", "in/.h.jpg", "in/n.txt"]


@posix_only
def test_links_to_files_are_inputs_of_their_own(folder, touch):
    touch("store/photo.jpg")
    (folder / "in").mkdir()
    for name in ["1.jpg", "2.jpg"]:
        (folder / "in" / name).symlink_to(folder / "store" / "photo.jpg")
    assert paths("in") == ["in/1.jpg", "in/2.jpg"]
    assert paths("in", "store") == ["in/1.jpg", "in/2.jpg", "store/photo.jpg"]


@posix_only
def test_folders_behind_links_are_walked_once_and_loops_end(folder, touch):
    touch("in/a.jpg", "in/sub/b.jpg", "far/c.jpg")
    (folder / "in" / "sub" / "up").symlink_to(folder / "in", target_is_directory=True)
    (folder / "in" / "itself").symlink_to("itself")
    (folder / "in" / "far").symlink_to(folder / "far", target_is_directory=True)
    (folder / "in" / "far2").symlink_to(folder / "far", target_is_directory=True)
    assert paths("in") == ["in/a.jpg", "in/far/c.jpg", "in/sub/b.jpg"]
    assert paths("in", "in/sub/up", "far/c.jpg", "in/far2/c.jpg") == paths("in")


@posix_only
def test_patterns_end_in_a_tangle_of_links(folder, touch):
    touch("in/a.jpg")
    for i in range(6):
        (folder / "in" / f"loop{i}").symlink_to(folder / "in", target_is_directory=True)
    # following them all would take 6 ** 40 steps
    assert paths("**/*.jpg") == ["in/a.jpg"]
    assert paths("in/**/a.jpg", "in/loop*") == ["in/a.jpg"]


@posix_only
def test_broken_and_circular_links_to_media_get_a_row(folder, touch):
    touch("in/a.jpg")
    (folder / "in" / "broken.jpg").symlink_to("nowhere.jpg")
    (folder / "in" / "circle.jpg").symlink_to("circle.jpg")
    assert paths("in") == ["in/a.jpg", "in/broken.jpg", "in/circle.jpg"]
    with pytest.raises(ImageError, match=r"broken\.jpg: no such file"):
        read_image("in/broken.jpg")
    with pytest.raises(ImageError, match=r"circle.jpg: the file cannot be read \(too many"):
        read_image("in/circle.jpg")


def test_folders_are_listed_only_when_their_turn_comes(folder, touch, monkeypatch):
    touch("in/1/a.jpg", "in/2/b.jpg", "in/3/c.jpg")
    listed = []
    listing = inputs.list_folder
    items = expand_inputs(["in"])
    monkeypatch.setattr(inputs, "list_folder", lambda path: (listed.append(path), listing(path))[1])
    assert next(items).path == "in/1/a.jpg"
    assert listed == ["in", "in/1"]


class _Entry:
    """A name in a folder that need not be on the disk."""

    def __init__(self, name):
        self.name = name

    def is_dir(self):
        return not self.name.endswith(".jpg")

    def is_file(self):
        return self.name.endswith(".jpg")


def _peak_memory(n_folders, monkeypatch):
    """Bytes at the peak of walking ``n_folders`` folders of 1,000 files."""

    @contextlib.contextmanager
    def scandir(path):
        names = map(str, range(n_folders)) if path == "top" else (f"{i}.jpg" for i in range(1000))
        yield map(_Entry, names)

    def status(path, **options):
        # every folder is another one
        return os.stat_result((stat.S_IFDIR, hash(path), 1, 1, 0, 0, 0, 0, 0, 0))

    with monkeypatch.context() as patches:
        patches.setattr(inputs.os, "scandir", scandir)
        patches.setattr(inputs.os, "stat", status)
        tracemalloc.start()
        try:
            assert sum(1 for _ in inputs._Expansion().walk("top")) == 1000 * n_folders
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def test_memory_is_that_of_the_names_of_one_folder_however_many_there_are(monkeypatch):
    assert _peak_memory(20, monkeypatch) < 1.2 * _peak_memory(2, monkeypatch)


def test_a_tree_deeper_than_the_stack_of_python(monkeypatch):
    depth = sys.getrecursionlimit() + 100

    @contextlib.contextmanager
    def scandir(path):
        level = path.count(os.sep)
        yield map(_Entry, ["a.jpg"] if level == depth else ["d"])

    def status(path, **options):
        return os.stat_result((stat.S_IFDIR, len(path), 1, 1, 0, 0, 0, 0, 0, 0))

    monkeypatch.setattr(inputs.os, "scandir", scandir)
    monkeypatch.setattr(inputs.os, "stat", status)
    (item,) = inputs._Expansion().walk("top")
    assert item.path.count(os.sep) == depth + 1
