"""Sorting files: subfolders kept, nothing overwritten, and placing again changes nothing."""

from __future__ import annotations

import errno
import os

import pytest
from feeding import clip, face, feed, photo, prepared

from facereject._files import InputError, stamp_of
from facereject._options import OptionError
from facereject.outputs import SortedFiles
from facereject.outputs import sorted_files as placement
from facereject.outputs._folders import base_of
from facereject.outputs.sorted_files import place

ACCEPTED = [photo(face())]
REJECTED = [photo(face(False))]
UNREADABLE = [photo(problem="unreadable: x")]


class Sorting:
    """Sorts files that were found below some paths."""

    def __init__(self, accepted, rejected, paths=("photos",), mode="copy", **options):
        self.output = prepared(SortedFiles(accepted, rejected, mode, **options), paths)
        self.placed = self.output.placed

    def __call__(self, path, frames, stamp=None):
        feed(self.output, path, frames, stamp=stamp)

    @property
    def failures(self):
        return self.placed.failures


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """Two photographs of one name in two folders, below the current one."""
    monkeypatch.chdir(tmp_path)
    for name in ("photos/a/1.jpg", "photos/b/1.jpg"):
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "w") as file:
            file.write(name)
    return tmp_path


def _files(folder) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if not path.is_dir()
    }


@pytest.mark.parametrize("mode", ["copy", "link", "move"])
def test_equal_names_stay_apart(photos, mode):
    sort = Sorting("good", "bad", ["photos"], mode)
    # repeated as after a crash
    for _ in range(2):
        sort("photos/a/1.jpg", ACCEPTED)
        sort("photos/b/1.jpg", ACCEPTED)
    assert sort.failures == []
    assert _files(photos / "good") == {"a/1.jpg": "photos/a/1.jpg", "b/1.jpg": "photos/b/1.jpg"}
    assert not (photos / "bad").exists()
    assert os.path.exists("photos/a/1.jpg") == (mode != "move")
    assert (photos / "good/a/1.jpg").is_symlink() == (mode == "link")
    assert sorted(os.listdir("good/a")) == ["1.jpg"]


def test_where_what_goes(photos):
    sort = Sorting("good", "bad", ["photos"])
    sort("photos/a/1.jpg", REJECTED)
    sort("photos/b/1.jpg", UNREADABLE)
    assert _files(photos / "bad") == {"a/1.jpg": "photos/a/1.jpg"}
    assert not (photos / "good").exists()
    only = Sorting("good", None, ["photos"])
    only("photos/a/1.jpg", REJECTED)
    assert not (photos / "good").exists()


def test_videos_by_their_share(photos):
    sort = Sorting("good", "bad", ["photos"], video_share=0.5)
    sort("photos/a/1.jpg", clip("+++++uuu00"))
    sort("photos/b/1.jpg", clip("++++uuuu00"))
    assert _files(photos / "good") == {"a/1.jpg": "photos/a/1.jpg"}
    assert _files(photos / "bad") == {"b/1.jpg": "photos/b/1.jpg"}


@pytest.mark.parametrize("mode", ["copy", "link", "move"])
def test_another_file_is_never_overwritten(photos, mode):
    os.makedirs("good/a")
    with open("good/a/1.jpg", "w") as file:
        file.write("precious")
    sort = Sorting("good", None, ["photos"], mode)
    sort("photos/a/1.jpg", ACCEPTED)
    assert sort.placed.failed == 1
    assert "exists and is another file" in sort.failures[0][1]
    assert _files(photos / "good") == {"a/1.jpg": "precious"}
    assert os.path.exists("photos/a/1.jpg")


def test_move_over_disks(photos, monkeypatch):
    link = os.link

    def other_disk(source, target, **options):
        if ".facereject-" not in source:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        link(source, target, **options)

    monkeypatch.setattr(placement.os, "link", other_disk)
    place("photos/a/1.jpg", "good/1.jpg", "move")
    assert _files(photos / "good") == {"1.jpg": "photos/a/1.jpg"}
    assert not os.path.exists("photos/a/1.jpg")


def test_a_disk_without_hard_links(photos, monkeypatch):
    def none(source, target, **options):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(placement.os, "link", none)
    place("photos/a/1.jpg", "good/1.jpg", "copy")
    assert _files(photos / "good") == {"1.jpg": "photos/a/1.jpg"}


def test_move_that_died_half_way(photos):
    place("photos/a/1.jpg", "good/1.jpg", "copy")
    place("photos/a/1.jpg", "good/1.jpg", "move")
    assert _files(photos / "good") == {"1.jpg": "photos/a/1.jpg"}
    assert not os.path.exists("photos/a/1.jpg")


@pytest.mark.parametrize("mode", ["copy", "link", "move"])
def test_links_are_not_followed(photos, mode):
    os.symlink("a/1.jpg", "photos/link.jpg")
    sort = Sorting("good", None, mode=mode)
    sort("photos/link.jpg", ACCEPTED)
    assert "a link" in sort.failures[0][1]
    assert os.readlink("photos/link.jpg") == "a/1.jpg"
    assert not os.path.lexists("good/link.jpg")


def test_moving_after_linking_keeps_the_originals(photos):
    for mode in ("link", "move"):
        sort = Sorting("good", "bad", ["photos"], mode)
        sort("photos/a/1.jpg", ACCEPTED)
    assert sort.failures == [("photos/a/1.jpg", "good/a/1.jpg is a link, no copy; remove it first")]
    assert (photos / "photos/a/1.jpg").read_text() == "photos/a/1.jpg"
    os.unlink("good/a/1.jpg")
    sort("photos/a/1.jpg", ACCEPTED)
    assert _files(photos / "good") == {"a/1.jpg": "photos/a/1.jpg"}


@pytest.mark.parametrize("mode", ["copy", "link", "move"])
def test_nothing_is_placed_through_a_link(photos, mode):
    os.makedirs("good")
    os.symlink(photos / "photos/a", "good/a")
    sort = Sorting("good", None, ["photos"], mode)
    sort("photos/a/1.jpg", ACCEPTED)
    assert "behind the linked folder" in sort.failures[0][1]
    assert _files(photos / "photos") == {"a/1.jpg": "photos/a/1.jpg", "b/1.jpg": "photos/b/1.jpg"}


def test_files_behind_a_linked_folder_are_not_moved(photos):
    os.makedirs("elsewhere")
    (photos / "elsewhere/2.jpg").write_text("mine")
    os.symlink(photos / "elsewhere", "photos/far")
    sort = Sorting("good", None, ["photos"], "move")
    sort("photos/far/2.jpg", ACCEPTED)
    assert "behind the linked folder" in sort.failures[0][1]
    assert (photos / "elsewhere/2.jpg").read_text() == "mine"
    # copies of them are harmless
    Sorting("good", None, ["photos"], "copy")("photos/far/2.jpg", ACCEPTED)
    assert _files(photos / "good") == {"far/2.jpg": "mine"}
    # and a linked folder that is named itself is meant
    sort = Sorting("better", None, ["photos/far"], "move")
    sort("photos/far/2.jpg", ACCEPTED)
    assert _files(photos / "better") == {"2.jpg": "mine"}


def test_a_disk_that_shows_a_file_under_two_names(photos, monkeypatch):
    """As a mount or a disk that ignores case does: the target is the source."""
    same = os.path.samefile
    os.makedirs("good")
    os.link("photos/a/1.jpg", "good/1.jpg")
    real = os.lstat

    def once(path):
        values = list(real(path))
        values[3] = 1
        return os.stat_result(values)

    monkeypatch.setattr(placement.os, "lstat", once)
    assert same("photos/a/1.jpg", "good/1.jpg")
    with pytest.raises(OSError, match="this very file"):
        place("photos/a/1.jpg", "good/1.jpg", "move")
    assert os.path.exists("photos/a/1.jpg")


def test_a_source_that_changes_while_it_is_moved_stays(photos, monkeypatch):
    def other_disk(source, target, **options):
        if ".facereject-" not in source:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        with open("photos/a/1.jpg", "a") as file:
            file.write("more")
        real(source, target, **options)

    real = os.link
    monkeypatch.setattr(placement.os, "link", other_disk)
    with pytest.raises(OSError, match="nothing was removed"):
        place("photos/a/1.jpg", "good/1.jpg", "move")
    assert (photos / "photos/a/1.jpg").read_text() == "photos/a/1.jpgmore"


@pytest.mark.parametrize("first", ["copy", "link"])
@pytest.mark.parametrize("second", ["copy", "link", "move"])
def test_another_decision_takes_the_file_out_of_the_other_folder(photos, first, second):
    Sorting("good", "bad", ["photos"], first)("photos/a/1.jpg", ACCEPTED)
    sort = Sorting("good", "bad", ["photos"], second)
    sort("photos/a/1.jpg", REJECTED)
    assert sort.failures == []
    assert _files(photos / "good") == {}
    assert _files(photos / "bad") == {"a/1.jpg": "photos/a/1.jpg"}
    assert (sort.placed.rejected, sort.placed.taken_out) == (1, 1)


@pytest.mark.parametrize("mode", ["copy", "link"])
def test_another_decision_without_a_folder_takes_out_what_was_placed(photos, mode):
    Sorting(None, "bad", mode=mode)("photos/a/1.jpg", REJECTED)
    sort = Sorting(None, "bad")
    sort("photos/a/1.jpg", ACCEPTED)
    assert sort.failures == []
    assert sort.placed.taken_out == 1
    assert _files(photos / "bad") == {}
    assert (photos / "photos/a/1.jpg").read_text() == "photos/a/1.jpg"


def test_what_was_moved_is_moved_again_by_another_decision(photos):
    stamp = stamp_of("photos/a/1.jpg")
    Sorting("good", "bad", mode="move")("photos/a/1.jpg", ACCEPTED)
    sort = Sorting("good", "bad", mode="move")
    sort("photos/a/1.jpg", REJECTED, stamp)
    assert sort.failures == []
    assert _files(photos / "good") == {}
    assert _files(photos / "bad") == {"a/1.jpg": "photos/a/1.jpg"}
    # without a folder for the decision it goes back
    sort = Sorting(None, "bad", mode="move")
    sort("photos/a/1.jpg", ACCEPTED, stamp)
    assert sort.failures == []
    assert _files(photos / "bad") == {}
    assert (photos / "photos/a/1.jpg").read_text() == "photos/a/1.jpg"


def test_a_file_that_was_not_placed_there_is_not_moved(photos):
    stamp = stamp_of("photos/a/1.jpg")
    os.unlink("photos/a/1.jpg")
    os.makedirs("good/a")
    (photos / "good/a/1.jpg").write_text("precious")
    sort = Sorting("good", "bad", mode="move")
    sort("photos/a/1.jpg", REJECTED, stamp)
    assert sort.failures == [("photos/a/1.jpg", "the file is gone")]
    assert _files(photos / "good") == {"a/1.jpg": "precious"}


def test_a_file_of_that_name_in_the_other_folder_is_none_of_ours(photos):
    os.makedirs("good/a")
    (photos / "good/a/1.jpg").write_text("precious")
    sort = Sorting("good", "bad", ["photos"])
    sort("photos/a/1.jpg", REJECTED)
    assert sort.failures == []
    assert _files(photos / "good") == {"a/1.jpg": "precious"}


def test_only_what_was_done_is_counted(photos):
    for expected in ((1, 0), (0, 1)):
        sort = Sorting("good", "bad", ["photos"])
        sort("photos/a/1.jpg", ACCEPTED)
        assert (sort.placed.accepted, sort.placed.there) == expected


def test_leftovers_of_a_killed_run_are_removed(photos):
    os.makedirs("good/a")
    (photos / "good/a/.1.jpg.0123abcd.facereject-partial").write_text("half")
    Sorting("good", None, ["photos"])("photos/a/1.jpg", ACCEPTED)
    assert os.listdir("good/a") == ["1.jpg"]


def test_long_and_odd_names(photos):
    for name in (os.fsdecode(b"\xff.jpg"), "x" * 251 + ".jpg"):
        with open(os.path.join("photos", name), "w") as file:
            file.write("odd")
        sort = Sorting("good", None, ["photos"])
        sort(os.path.join("photos", name), ACCEPTED)
        assert sort.failures == []
        assert os.path.exists(os.path.join("good", name))


def test_lost_file_is_reported(photos):
    sort = Sorting("good", None, ["photos"], "move")
    sort("photos/gone.jpg", ACCEPTED)
    assert sort.failures == [("photos/gone.jpg", "the file is gone")]


def test_base(photos):
    here = str(photos)
    assert base_of(["photos"]) == f"{here}/photos"
    assert base_of(["photos/a", "photos/b"]) == f"{here}/photos"
    assert base_of(["photos/a/1.jpg"]) == f"{here}/photos/a"
    assert base_of(["photos/a/1.jpg", "photos/b/1.jpg"]) == f"{here}/photos"
    assert base_of(["photos/*/1.jpg"]) == f"{here}/photos"
    assert base_of(["*.jpg"]) == here
    assert base_of(["@list.txt", "photos/a"]) == here


def test_files_from_elsewhere_keep_their_whole_path(photos):
    sort = Sorting("good", None, ["photos/a"]).output
    assert sort._target("photos/a/1.jpg", "good") == "good/1.jpg"
    assert sort._target("photos/b/1.jpg", "good") == f"good{photos}/photos/b/1.jpg"


def test_sorted_files_are_no_inputs(photos):
    sort = Sorting("photos/good", None, ["photos"]).output
    assert sort.holds("photos/good/a/1.jpg")
    assert not sort.holds("photos/goodness.jpg")
    assert not sort.holds("photos/a/1.jpg")


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"accepted": "out", "rejected": "out/bad"}, "`SortedFiles.accepted`"),
        ({"accepted": "photos/a/1.jpg"}, "`SortedFiles.accepted`"),
        ({"accepted": "good", "mode": "teleport"}, "`SortedFiles.mode`"),
        ({"accepted": "good", "video_share": 0}, "`SortedFiles.video_share`"),
        ({"mode": "link"}, "`SortedFiles.accepted`"),
    ],
)
def test_wrong_options_are_named(photos, options, name):
    with pytest.raises(OptionError, match=name):
        prepared(SortedFiles(**options), ["photos"])


def test_sorted_files_are_not_sorted_again(photos):
    with pytest.raises(InputError, match="photos"):
        prepared(SortedFiles("photos"), ["photos"])


def exchanged(photos, what):
    """Something else in place of a photo that was scored."""
    (photos / "secret.txt").write_text("secret")
    os.unlink("photos/a/1.jpg")
    if what == "link":
        os.symlink(photos / "secret.txt", "photos/a/1.jpg")
    elif what == "device":
        os.symlink("/dev/zero", "photos/a/1.jpg")
    elif what == "pipe":
        os.mkfifo("photos/a/1.jpg")
    else:
        (photos / "photos/a/1.jpg").write_text("never scored")


@pytest.mark.parametrize("mode", ["copy", "link", "move"])
@pytest.mark.parametrize("what", ["link", "device", "pipe", "file"])
def test_only_the_file_that_was_scored_is_placed(photos, mode, what):
    stamp = stamp_of("photos/a/1.jpg")
    exchanged(photos, what)
    sort = Sorting("good", "bad", mode=mode)
    sort("photos/a/1.jpg", ACCEPTED, stamp)
    assert sort.placed.failed == 1
    assert not os.path.lexists("good/a/1.jpg")
    assert os.path.lexists("photos/a/1.jpg")


@pytest.mark.parametrize("mode", ["link", "move"])
def test_a_file_that_is_exchanged_while_it_is_placed_is_taken_back(photos, monkeypatch, mode):
    stamp = stamp_of("photos/a/1.jpg")
    name = {"link": "symlink", "move": "link"}[mode]
    make = getattr(os, name)
    (photos / "secret.txt").write_text("secret")
    os.symlink(photos / "secret.txt", "planted")

    def late(source, target, **options):
        os.replace("planted", "photos/a/1.jpg")
        make(source, target, **options)

    monkeypatch.setattr(placement.os, name, late)
    sort = Sorting("good", None, mode=mode)
    sort("photos/a/1.jpg", ACCEPTED, stamp)
    assert sort.placed.failed == 1
    assert os.path.islink("photos/a/1.jpg")
    assert not os.path.lexists("good/a/1.jpg")
