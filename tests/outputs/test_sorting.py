"""Sorting files: subfolders kept, nothing overwritten, and placing again changes nothing."""

from __future__ import annotations

import errno
import os

import pytest

from facereject.outputs import sorted_files as placement
from facereject.outputs.sorted_files import Placement, PlacementError, base_of, place
from facereject.outputs.summary import Tally

ACCEPTED = Tally(1, faces=1, accepted_faces=1, accepted_frames=1)
REJECTED = Tally(1, faces=1)
UNREADABLE = Tally(failure="unreadable: x")


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
    sort = Placement("good", "bad", base_of(["photos"]), mode)
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
    sort = Placement("good", "bad", base_of(["photos"]))
    sort("photos/a/1.jpg", REJECTED)
    sort("photos/b/1.jpg", UNREADABLE)
    assert _files(photos / "bad") == {"a/1.jpg": "photos/a/1.jpg"}
    assert not (photos / "good").exists()
    only = Placement("good", None, base_of(["photos"]))
    only("photos/a/1.jpg", REJECTED)
    assert not (photos / "good").exists()


def test_videos_by_their_share(photos):
    sort = Placement("good", "bad", base_of(["photos"]), video_share=0.5)
    sort("photos/a/1.jpg", Tally(10, accepted_frames=5))
    sort("photos/b/1.jpg", Tally(10, accepted_frames=4))
    assert _files(photos / "good") == {"a/1.jpg": "photos/a/1.jpg"}
    assert _files(photos / "bad") == {"b/1.jpg": "photos/b/1.jpg"}


@pytest.mark.parametrize("mode", ["copy", "link", "move"])
def test_another_file_is_never_overwritten(photos, mode):
    os.makedirs("good/a")
    with open("good/a/1.jpg", "w") as file:
        file.write("precious")
    sort = Placement("good", None, base_of(["photos"]), mode)
    sort("photos/a/1.jpg", ACCEPTED)
    assert sort.failed == 1
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


def test_links_are_not_moved(photos):
    os.symlink("a/1.jpg", "photos/link.jpg")
    sort = Placement("good", None, base_of(["photos"]), "move")
    sort("photos/link.jpg", ACCEPTED)
    assert "a link" in sort.failures[0][1]
    assert os.readlink("photos/link.jpg") == "a/1.jpg"
    assert not os.path.lexists("good")


def test_moving_after_linking_keeps_the_originals(photos):
    for mode in ("link", "move"):
        sort = Placement("good", "bad", base_of(["photos"]), mode)
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
    sort = Placement("good", None, base_of(["photos"]), mode)
    sort("photos/a/1.jpg", ACCEPTED)
    assert "behind the linked folder" in sort.failures[0][1]
    assert _files(photos / "photos") == {"a/1.jpg": "photos/a/1.jpg", "b/1.jpg": "photos/b/1.jpg"}


def test_files_behind_a_linked_folder_are_not_moved(photos):
    os.makedirs("elsewhere")
    (photos / "elsewhere/2.jpg").write_text("mine")
    os.symlink(photos / "elsewhere", "photos/far")
    sort = Placement("good", None, base_of(["photos"]), "move")
    sort("photos/far/2.jpg", ACCEPTED)
    assert "behind the linked folder" in sort.failures[0][1]
    assert (photos / "elsewhere/2.jpg").read_text() == "mine"
    # copies of them are harmless
    Placement("good", None, base_of(["photos"]), "copy")("photos/far/2.jpg", ACCEPTED)
    assert _files(photos / "good") == {"far/2.jpg": "mine"}
    # and a linked folder that is named itself is meant
    sort = Placement("better", None, base_of(["photos/far"]), "move")
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
    Placement("good", "bad", base_of(["photos"]), first)("photos/a/1.jpg", ACCEPTED)
    sort = Placement("good", "bad", base_of(["photos"]), second)
    sort("photos/a/1.jpg", REJECTED)
    assert sort.failures == []
    assert _files(photos / "good") == {}
    assert _files(photos / "bad") == {"a/1.jpg": "photos/a/1.jpg"}
    assert (sort.n_rejected, sort.n_left) == (1, 1)


def test_another_decision_without_a_folder_is_reported(photos):
    Placement(None, "bad", base_of(["photos"]))("photos/a/1.jpg", REJECTED)
    sort = Placement(None, "bad", base_of(["photos"]))
    sort("photos/a/1.jpg", ACCEPTED)
    assert sort.failures == [
        ("photos/a/1.jpg", "bad/a/1.jpg is there from an earlier run that decided otherwise; remove it")
    ]


def test_a_file_of_that_name_in_the_other_folder_is_none_of_ours(photos):
    os.makedirs("good/a")
    (photos / "good/a/1.jpg").write_text("precious")
    sort = Placement("good", "bad", base_of(["photos"]))
    sort("photos/a/1.jpg", REJECTED)
    assert sort.failures == []
    assert _files(photos / "good") == {"a/1.jpg": "precious"}


def test_only_what_was_done_is_counted(photos):
    for expected in ((1, 0), (0, 1)):
        sort = Placement("good", "bad", base_of(["photos"]))
        sort("photos/a/1.jpg", ACCEPTED)
        assert (sort.n_accepted, sort.n_there) == expected


def test_leftovers_of_a_killed_run_are_removed(photos):
    os.makedirs("good/a")
    (photos / "good/a/.1.jpg.0123abcd.facereject-partial").write_text("half")
    Placement("good", None, base_of(["photos"]))("photos/a/1.jpg", ACCEPTED)
    assert os.listdir("good/a") == ["1.jpg"]


def test_long_and_odd_names(photos):
    for name in (os.fsdecode(b"\xff.jpg"), "x" * 251 + ".jpg"):
        with open(os.path.join("photos", name), "w") as file:
            file.write("odd")
        sort = Placement("good", None, base_of(["photos"]))
        sort(os.path.join("photos", name), ACCEPTED)
        assert sort.failures == []
        assert os.path.exists(os.path.join("good", name))


def test_lost_file_is_reported(photos):
    sort = Placement("good", None, base_of(["photos"]), "move")
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
    sort = Placement("good", None, f"{photos}/photos/a")
    assert sort.target("photos/a/1.jpg", "good") == "good/1.jpg"
    assert sort.target("photos/b/1.jpg", "good") == f"good{photos}/photos/b/1.jpg"


def test_sorted_files_are_no_inputs(photos):
    sort = Placement("photos/good", None, base_of(["photos"]))
    assert sort.holds("photos/good/a/1.jpg")
    assert not sort.holds("photos/goodness.jpg")
    assert not sort.holds("photos/a/1.jpg")


def test_bad_folders(photos):
    with pytest.raises(PlacementError, match="overlap"):
        Placement("out", "out/bad", "photos")
    with pytest.raises(PlacementError, match="this is a file"):
        Placement("photos/a/1.jpg", None, "photos")
    with pytest.raises(ValueError, match="mode"):
        Placement("a", None, "photos", mode="teleport")
    with pytest.raises(ValueError, match="video_share"):
        Placement("a", None, "photos", video_share=0)
