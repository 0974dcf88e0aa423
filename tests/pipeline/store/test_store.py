"""The store: its table appears whole or not at all, and survives any interruption."""

from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import sys

import pyarrow.parquet
import pytest
from sample_frames import ODD_NAMES, SUFFIXES, face, photo, sample_frames, write_and_die, write_table

from facereject.outputs.summary import Counts
from facereject.pipeline import store as module
from facereject.pipeline.store import Store, threshold_of_best
from facereject.tables import writing
from facereject.tables.errors import SettingsError, TableError, UnfinishedTableError
from facereject.tables.reading import read_table


def same(path, other):
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path).equals(pyarrow.parquet.read_table(other))
    return path.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_left_by_an_error_then_continued(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    frames = sample_frames()
    write_table(path, frames[:2])
    old = path.read_bytes()
    with pytest.raises(ZeroDivisionError):
        # the frames of the input that was not finished must vanish
        write_and_die(Store(path, settings={"model": "a"}), frames[:1], frames[1:4])
    assert path.read_bytes() == old
    assert sorted(os.listdir(tmp_path)) == [path.name, f"{path.name}.partial"]
    with pytest.raises(UnfinishedTableError):
        Store(path, settings={"model": "a"})
    with pytest.raises(SettingsError, match="model: a then, b now; size: none then, 3 now"):
        Store(path, settings={"model": "b", "size": "3"}, resume=True)
    with Store(path, settings={"model": "a"}, resume=True) as store:
        assert store.has("0")
        assert not store.has("1")
        assert store.summary.inputs == 1
        assert store.summary.total.no_face == 1
        store.write(frames[1:3])
        store.end_input("1", Counts(1))
    whole = tmp_path / f"whole.{suffix}"
    write_table(whole, frames[:3])
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, f"{path.name}.run", whole.name])
    assert same(path, whole)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_finished_table_is_completed(tmp_path, suffix):
    path, frames = tmp_path / f"t.{suffix}", sample_frames()
    write_table(path, frames[:7])
    before = path.stat()
    with Store(path, resume=True) as store:
        assert store.summary.inputs == 7
        assert store.summary.failures == [("broken.jpg", "unreadable: not an image, it says")]
        assert store.has(os.fsdecode(b"\xff.jpg"))
    # nothing was missing: not even written again
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    with Store(path, resume=True) as store:
        store.write(frames[7:])
        store.end_input("video.mp4", Counts(3))
    whole = tmp_path / f"whole.{suffix}"
    write_table(whole, frames)
    assert same(path, whole)
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, whole.name])


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("settings", [{}, {"model": "a"}])
def test_died_while_a_finished_table_was_completed(tmp_path, suffix, settings):
    path, frames = tmp_path / f"t.{suffix}", sample_frames()
    write_table(path, frames[:3], settings=settings)
    finished = path.read_bytes()
    with pytest.raises(ZeroDivisionError):
        write_and_die(Store(path, settings=settings, resume=True), frames[3:5], frames[5:6])
    assert path.read_bytes() == finished
    with Store(path, settings=settings, resume=True) as store:
        assert store.summary.inputs == 5
        assert [store.has(name) for name in (*ODD_NAMES[:3], "0", "1")] == [True] * 5
        store.write(frames[5:])
        store.end_input("x", Counts(1))
    whole = tmp_path / f"whole.{suffix}"
    write_table(whole, frames)
    assert same(path, whole)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_interruption_before_anything_was_added(tmp_path, suffix):
    path, frames = tmp_path / f"t.{suffix}", sample_frames()
    write_table(path, frames, settings={"model": "a"})
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    with pytest.raises(ZeroDivisionError):
        write_and_die(Store(path, settings={"model": "a"}, resume=True), [], frames[:2])
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_that_facereject_did_not_create_are_not_completed(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(TableError):
        Store(path, resume=True)
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_text() == "a,b\n1,2\n"


def test_overwrite_starts_again(tmp_path):
    path = tmp_path / "t.csv"
    with pytest.raises(ZeroDivisionError):
        write_and_die(Store(path), sample_frames()[:1])
    write_table(path, sample_frames()[1:2], settings={"other": "settings"}, overwrite=True)
    assert [frame.source for frame in read_table(str(path))] == [ODD_NAMES[1]]


def test_nothing_is_left_if_nothing_was_written(tmp_path):
    with pytest.raises(ZeroDivisionError), Store(tmp_path / "t.csv"):
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("content", [b"x" * 5000, b"SQLite format 3\0" + b"x" * 4080])
def test_something_else_in_place_of_the_unfinished_table(tmp_path, content):
    (tmp_path / "t.csv.partial").write_bytes(content)
    for resume in (False, True):
        with pytest.raises(TableError, match=r"t\.csv\.partial"):
            Store(tmp_path / "t.csv", resume=resume)
    assert os.listdir(tmp_path) == ["t.csv.partial"]
    assert (tmp_path / "t.csv.partial").read_bytes() == content
    write_table(tmp_path / "t.csv", sample_frames(), overwrite=True)
    assert os.listdir(tmp_path) == ["t.csv"]


def test_paths_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "d.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    for name in ("t.txt", "no/t.csv", "d.csv", "pipe.csv"):
        for overwrite in (False, True):
            with pytest.raises(TableError, match=name):
                Store(tmp_path / name, overwrite=overwrite)
    monkeypatch.setattr(writing.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(TableError, match=r"pip install pyarrow"):
        Store(tmp_path / "t.parquet")
    assert sorted(os.listdir(tmp_path)) == ["d.csv", "pipe.csv"]


def test_long_paths(tmp_path):
    folder = tmp_path
    while len(str(folder)) < 370:
        folder = folder / ("x" * 50)
    folder.mkdir(parents=True)
    longest = folder / ("y" * (450 - len(str(folder)) - 5) + ".csv")
    write_table(longest, sample_frames(), settings={"model": "a"})
    assert sorted(os.listdir(folder)) == [longest.name, f"{longest.name}.run"]
    with pytest.raises(TableError, match="shorter"):
        Store(folder / f"y{longest.name}")


def test_permission_denied(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("facereject._files.os.open", refuse)
    with pytest.raises(TableError, match="Permission denied"):
        Store(tmp_path / "t.csv")


def limit_files(size):
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_disk_full_keeps_what_is_finished(tmp_path, suffix):
    path, frames = tmp_path / f"t.{suffix}", [photo(str(i), [face()]) for i in range(300)]
    write_table(path, frames[:2])
    old = path.read_bytes()
    child = os.fork()
    if not child:
        code = 1
        try:
            limit_files(200_000)
            module._COMMIT_SECONDS = 0.0
            write_table(path, frames)
        except TableError as error:
            code = 0 if ".partial" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert path.read_bytes() == old
    with Store(path, resume=True) as store:
        done = [store.has(frame.source) for frame in frames]
        assert 10 < sum(done) < 300
        assert done == sorted(done, reverse=True)
        for frame in frames[sum(done) :]:
            store.write([frame])
            store.end_input(frame.source, Counts(1))
    assert [frame.source for frame in read_table(str(path))] == [str(i) for i in range(300)]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_disk_full_at_the_end(tmp_path, monkeypatch, suffix):
    def full(file, *_):
        file.write(b"something")
        raise OSError(errno.ENOSPC, "No space left on device")

    path, frames = tmp_path / f"t.{suffix}", sample_frames()
    with monkeypatch.context() as patch:
        patch.setattr(module, "write_rows", full)
        with pytest.raises(TableError, match="No space left"):
            write_table(path, frames)
    assert os.listdir(tmp_path) == [f"{path.name}.partial"]
    with Store(path, resume=True) as store:
        assert store.has("plain.jpg")
    assert len(list(read_table(str(path)))) == len(frames)
    assert os.listdir(tmp_path) == [path.name]


def test_links_are_kept(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "t.csv").symlink_to(tmp_path / "real" / "t.csv")
    write_table(tmp_path / "t.csv", sample_frames())
    assert (tmp_path / "t.csv").is_symlink()
    assert (tmp_path / "real" / "t.csv").stat().st_size > 1000


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_only_tables_are_replaced(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    path.write_text("name,telephone\nAda,1843\n")
    with pytest.raises(TableError, match=f"t.{suffix}"):
        Store(path)
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_text() == "name,telephone\nAda,1843\n"
    write_table(path, sample_frames(), overwrite=True)
    # now it is one
    write_table(path, sample_frames()[:2])
    with Store(path, resume=True) as store:
        assert store.summary.inputs == 2


def test_what_was_added_to_a_sqlite_table_is_not_lost(tmp_path):
    import sqlite3

    path = tmp_path / "t.sqlite"
    write_table(path, sample_frames())
    with sqlite3.connect(path) as database:
        database.execute("CREATE VIEW good AS SELECT * FROM faces WHERE accepted")
    with pytest.raises(TableError):
        Store(path)
    assert len(list(read_table(str(path)))) == len(sample_frames())


def test_a_file_saved_during_the_run_is_not_replaced(tmp_path):
    path = tmp_path / "t.csv"
    store = Store(path)
    store.write(sample_frames()[:1])
    store.end_input("a", Counts(1))
    path.write_text("a letter")
    with pytest.raises(TableError):
        store.finish()
    assert path.read_text() == "a letter"
    path.unlink()
    with Store(path, resume=True) as store:
        assert store.has("a")


def test_a_second_run_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    # not this package but what it does, as importing it takes its time
    holder = (
        "import sqlite3, sys\n"
        "database = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "database.execute('PRAGMA locking_mode = EXCLUSIVE')\n"
        "database.execute('BEGIN EXCLUSIVE')\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()"
    )
    command = [sys.executable, "-c", holder, f"{path}.partial"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        for options in ({}, {"resume": True}, {"overwrite": True}):
            with pytest.raises(TableError, match="another run"):
                Store(path, **options)
        other.communicate("")
    write_table(path, sample_frames())


@pytest.mark.parametrize("options", [{}, {"resume": True}, {"overwrite": True}])
def test_a_second_store_in_this_process_is_refused(tmp_path, options):
    with Store(tmp_path / "t.csv") as store:
        store.write(sample_frames()[:1])
        store.end_input("a", Counts(1))
        for _ in range(2):
            with pytest.raises(TableError, match="another run"):
                Store(tmp_path / "t.csv", **options)
    assert len(list(read_table(str(tmp_path / "t.csv")))) == 1


def test_a_disk_without_locks(tmp_path, monkeypatch):
    real, asked = module.connect_sqlite, []

    def refuse(path, *, locks=True, **options):
        asked.append(locks)
        if locks:
            raise module.sqlite3.OperationalError("database is locked")
        return real(path, locks=locks, **options)

    monkeypatch.setattr(module, "connect_sqlite", refuse)
    monkeypatch.setattr(module, "has_locks", lambda folder: False)
    write_table(tmp_path / "t.csv", sample_frames())
    assert asked == [True, False]
    assert len(list(read_table(str(tmp_path / "t.csv")))) == len(sample_frames())


def test_a_temporary_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stream = io.BytesIO()
    with Store(None) as store:
        for frame in sample_frames():
            store.write([frame])
            store.end_input(frame.source, Counts.of([frame]))
        assert [item.path for item in store.inputs()] == [frame.source for frame in sample_frames()]
        assert [frame.index for frame in store.frames()] == [frame.index for frame in sample_frames()]
        store.export(stream, ".jsonl")
    assert os.listdir() == []
    write_table("t.jsonl", sample_frames())
    assert stream.getvalue() == (tmp_path / "t.jsonl").read_bytes()


def test_inputs_are_safe_before_anything_is_done_with_them(tmp_path):
    with Store(tmp_path / "t.csv") as store:
        store.write([photo("a.jpg")])
        store.end_input("a.jpg", Counts(1))
        assert [item.path for item in store.inputs()] == ["a.jpg"]
        # as after a kill
        shutil.copy(tmp_path / "t.csv.partial", tmp_path / "u.csv.partial")
    with Store(tmp_path / "u.csv", resume=True) as store:
        assert store.has("a.jpg")


def test_parts_of_a_video(tmp_path):
    path = tmp_path / "t.csv"
    frames = [photo("v.mp4", index=i, time_s=i / 25) for i in range(6)]
    store = Store(path)
    store.write([photo("a.jpg")])
    store.end_input("a.jpg", Counts(1))
    store.write(frames[:2])
    store.end_part("v.mp4", Counts(2), "one")
    store.write(frames[2:3])
    store.close()
    store = Store(path, resume=True)
    begun = store.begun()
    assert begun is not None
    assert (begun.path, begun.part, begun.counts) == ("v.mp4", "one", Counts(2))
    assert (store.has("v.mp4"), store.summary.inputs) == (False, 1)
    store.write(frames[2:4])
    store.end_part("v.mp4", Counts(4), "two")
    store.write(frames[4:5])
    store.close()
    with Store(path, resume=True) as store:
        begun = store.begun()
        assert begun is not None
        assert begun.part == "two"
        store.write(frames[4:])
        store.end_input("v.mp4", Counts(6))
        assert store.begun() is None
        store.write([photo("b.jpg")])
        store.end_input("b.jpg", Counts(1))
        assert store.summary.frames == 8
    assert [(frame.source, frame.index) for frame in read_table(str(path))] == [
        ("a.jpg", 0),
        *(("v.mp4", i) for i in range(6)),
        ("b.jpg", 0),
    ]


def test_parts_that_are_forgotten(tmp_path):
    path = tmp_path / "t.csv"
    store = Store(path)
    store.write([photo("v.mp4", time_s=0.0)])
    store.end_part("v.mp4", Counts(1), "one")
    store.close()
    with Store(path, resume=True) as store:
        store.forget_begun()
        store.write([photo("b.jpg")])
        store.end_input("b.jpg", Counts(1))
    assert [frame.source for frame in read_table(str(path))] == ["b.jpg"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("settings", [{}, {"model": "a"}])
def test_decisions_on_all_faces(tmp_path, suffix, settings):
    path = tmp_path / f"t.{suffix}"
    turned = face(-9.0, accepted=False, reason="turned")
    for amount, accepted in ((2, {"0", "1"}), (0.5, {"0", "1"}), (0.51, {"0", "1", "2"}), (9, set("0123"))):
        with Store(path, settings=settings, resume=True) as store:
            for i in range(4):
                if not store.has(str(i)):
                    frame = photo(str(i), [face(i / 4), turned] if i == 3 else [face(i / 4)])
                    store.write([frame])
                    store.end_input(str(i), Counts.of([frame]))
            store.keep_best(amount)
            decided = {item.path for item in store.inputs() if item.counts.accepted_faces}
            assert decided == accepted
            assert store.summary.accepted_faces == len(accepted)
            # the turned face is in the last one
            assert store.summary.total.accepted_frames == len(accepted - {"3"})
        found = {frame.source: [each.accepted for each in frame.faces] for frame in read_table(str(path))}
        assert found == {**{str(i): [str(i) in accepted] for i in range(3)}, "3": ["3" in accepted, False]}
        reasons = [each.reason for frame in read_table(str(path)) for each in frame.faces]
        assert reasons[-1] == "turned"


def test_faces_with_another_number_of_landmarks(tmp_path):
    path = tmp_path / "t.csv"
    write_table(path, [photo("a", [face()])])
    with pytest.raises(SettingsError, match="68 landmarks"):
        Store(path, resume=True, n_points=5)
    with Store(path, n_points=5) as store, pytest.raises(ValueError, match="68 landmarks in a table of 5"):
        store.write([photo("a", [face()])])


def test_a_table_of_another_model_without_a_record(tmp_path):
    path = tmp_path / "t.csv"
    write_table(path, [photo("a", [face(0.1), face(0.7)])])
    with pytest.raises(SettingsError):
        Store(path, resume=True, check=lambda each: each.uncertainty < 0.5)
    assert os.listdir(tmp_path) == ["t.csv"]
    with Store(path, resume=True, check=lambda each: each.uncertainty < 1) as store:
        assert store.summary.faces == 2


def test_the_threshold_of_no_faces():
    assert threshold_of_best([], 3) == -float("inf")
