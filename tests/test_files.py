"""Files are written whole or not at all, under names nobody can guess, and never through links."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys

import pytest

from facereject import _files
from facereject._files import (
    open_own,
    output_that_is_read,
    remove_unfinished,
    replacing,
    unfinished,
    write_whole,
)

NAME = re.compile(r"\.page\.html\.[0-9a-f]{8}\.facereject-partial")


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_writing_leaves_the_old_file_if_it_fails(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    write_whole(path, "old\n")
    monkeypatch.setattr("os.replace", lambda *names: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_whole(path, b"new")
    assert path.read_text() == "old\n"
    assert names(tmp_path) == ["page.html"]


def test_the_unfinished_file_lies_beside_its_target_and_is_gone_after_an_error(tmp_path):
    def fail():
        with replacing(tmp_path / "page.html") as file:
            assert NAME.fullmatch(os.path.basename(file.name))
            assert os.path.dirname(file.name) == str(tmp_path)
            file.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert names(tmp_path) == []


def test_libraries_may_open_the_file_by_its_name(tmp_path):
    with replacing(tmp_path / "a.bin", suffix=".mp4") as file:
        assert file.name.endswith(".facereject-partial.mp4")
        with open(file.name, "wb") as other:
            other.write(b"from elsewhere")
    assert (tmp_path / "a.bin").read_bytes() == b"from elsewhere"


def test_a_link_is_replaced_and_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / "page.html").symlink_to(precious)
    write_whole(tmp_path / "page.html", "page")
    assert precious.read_text() == "precious"
    assert (tmp_path / "page.html").read_text() == "page"
    assert not (tmp_path / "page.html").is_symlink()


def test_permissions_are_those_of_the_old_file_or_of_any_new_one(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", "x")
        (tmp_path / "old").write_text("")
        (tmp_path / "old").chmod(0o604)
        write_whole(tmp_path / "old", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o604


@pytest.mark.parametrize("name", ["x" * 255, "ä" * 127, os.fsdecode(b"\xff" * 250)])
def test_long_and_odd_names(tmp_path, name):
    write_whole(tmp_path / name, "x")
    assert names(tmp_path) == [name]


def test_what_a_killed_run_left_is_removed_and_what_is_in_use_is_not(tmp_path):
    code = """if True:
        import sys, time
        from facereject._files import unfinished
        with unfinished(sys.argv[1]) as file:
            print("ready", flush=True)
            time.sleep(60)
    """
    arguments = [sys.executable, "-c", code, str(tmp_path / "page.html")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        remove_unfinished(tmp_path)
        (left,) = names(tmp_path)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert names(tmp_path) == [left]
    write_whole(tmp_path / "other", "x")
    assert names(tmp_path) == ["other"]


def test_what_was_never_locked_is_a_leftover_and_whoever_was_about_to_lock_it_makes_another(
    tmp_path, monkeypatch
):
    lock, found = _files._lock, []

    def late(descriptor, **options):
        monkeypatch.setattr(_files, "_lock", lock)
        found.append(names(tmp_path))
        # another process looks for leftovers before the new file is locked
        remove_unfinished(tmp_path)
        found.append(names(tmp_path))
        return lock(descriptor, **options)

    monkeypatch.setattr(_files, "_lock", late)
    with unfinished(tmp_path / "page.html") as file:
        (left,) = names(tmp_path)
        assert found == [[left], []]
        file.write(b"x")
        remove_unfinished(tmp_path)
        assert os.path.samestat(os.stat(file.name), os.fstat(file.fileno()))
    assert names(tmp_path) == []


def test_without_locks_only_age_tells(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "fcntl", None)
    made = tmp_path / ".page.html.0123abcd.facereject-partial"
    made.write_text("half")
    remove_unfinished(tmp_path)
    assert made.exists()
    os.utime(made, (1, 1))
    remove_unfinished(tmp_path)
    assert not made.exists()


def test_names_of_others_and_links_are_never_removed(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("x")
    (tmp_path / ".a.0123abcd.facereject-partial").symlink_to(precious)
    os.mkfifo(tmp_path / ".b.0123abcd.facereject-partial")
    others = ["a.facereject-partial", ".a.facereject-partial", ".a.0123abcd.partial", ".a.0123abcz.part"]
    for name in others:
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (1, 1))
    before = names(tmp_path)
    remove_unfinished(tmp_path)
    assert names(tmp_path) == before


def test_names_are_random(tmp_path):
    with unfinished(tmp_path / "a") as one, unfinished(tmp_path / "a") as two:
        assert one.name != two.name
        assert str(os.getpid()) not in one.name.split(".")


@pytest.mark.parametrize("plant", ["symlink", "hard link", "fifo"])
def test_a_file_of_a_fixed_name_is_never_a_link(tmp_path, plant):
    precious, path = tmp_path / "precious", tmp_path / "t.csv.partial"
    precious.write_text("precious")
    if plant == "fifo":
        os.mkfifo(path)
    else:
        (path.symlink_to if plant == "symlink" else path.hardlink_to)(precious)
    for create in (False, True):
        with pytest.raises(OSError, match="link"):
            open_own(path, create=create)
    assert precious.read_text() == "precious"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_not_a_file_is_never_replaced(tmp_path, make):
    path = tmp_path / "out"
    make(path)
    before = path.lstat()
    with pytest.raises(OSError, match="not a regular file"):
        write_whole(path, "new")
    assert os.path.samestat(before, path.lstat())
    assert names(tmp_path) == ["out"]


def test_what_appears_while_a_file_is_written_is_not_replaced(tmp_path):
    def write():
        with replacing(tmp_path / "out") as file:
            file.write(b"new")
            os.mkfifo(tmp_path / "out")

    with pytest.raises(OSError, match="not a regular file"):
        write()
    assert (tmp_path / "out").is_fifo()


def test_outputs_that_are_read(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    os.link(tmp_path / "a", tmp_path / "hard")
    os.symlink(tmp_path / "b", tmp_path / "soft")
    inputs = [tmp_path / "a", tmp_path / "b", tmp_path / "none"]
    for name in ("a", "hard", "soft"):
        assert output_that_is_read([tmp_path / "new", tmp_path / name], inputs) == str(tmp_path / name)
    assert output_that_is_read([tmp_path / "new", tmp_path / "none"], inputs) is None


@pytest.mark.parametrize("name", ["x" * 300, "none/x"])
def test_errors_name_the_file_that_is_meant(tmp_path, name):
    with pytest.raises(OSError) as caught:
        write_whole(tmp_path / name, "")
    assert caught.value.filename == str(tmp_path / name)
    assert os.listdir(tmp_path) == []
