"""Damaged and killed stores: a resumed run refuses them, or makes the table it would have made."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

import numpy as np

from facereject.faces.face import NO_IMAGE, Box, Face, FaceFrame
from facereject.outputs.summary import Counts
from facereject.pipeline import store as store_module
from facereject.pipeline.store import Store
from facereject.tables.errors import TableError, TableFormatError
from facereject.tables.reading import read_table
from facereject.tables.writing import files_of, record_path
from tools.stress.mutations import flipped
from tools.stress.sorted_files import SUFFIXES
from tools.stress.trial import Trial

_INPUTS = 6
# longer tables for kills: those of the other trials would be finished at once
_KILLED_INPUTS = 40


def damaged_stores(trial: Trial, folder: Path, count: int, rng: random.Random) -> None:
    """``count`` flipped bits: in unfinished tables, rollback journals of killed runs, and records."""
    paths = _write_inputs(folder, _INPUTS)
    for suffix in SUFFIXES:
        unfinished, killed, finished = (folder / f"{name}.{suffix}" for name in ("left", "killed", "whole"))
        _leave_unfinished(unfinished, paths, killed=False)
        _leave_unfinished(killed, paths, killed=True)
        _run(finished, paths[:4])
        places = [
            (unfinished, ".partial"),
            (killed, ".partial-journal"),
            (killed, ".partial"),
            (finished, ".run"),
        ]
        expected = _content(_complete(finished, folder, suffix, "", None, paths))
        for number in range(count // len(SUFFIXES)):
            if not trial.goes_on():
                return
            start, ending = places[number % len(places)]
            table = _complete(start, folder, suffix, ending, rng, paths)
            passed = table is None or _content(table) == expected
            trial.check(passed, f"a flipped bit in {start.name}{ending} made another table")


def killed_stores(trial: Trial, folder: Path, count: int, rng: random.Random) -> None:
    """``count`` kills of processes that write a table and commit after every input."""
    paths = _write_inputs(folder, _KILLED_INPUTS)
    for number in range(count):
        if not trial.goes_on():
            return
        table = folder / f"t.{SUFFIXES[number % len(SUFFIXES)]}"
        for _ in range(rng.randint(1, 4)):
            child = os.fork()
            if not child:
                try:
                    store_module._COMMIT_SECONDS = 0.0
                    _run(table, paths)
                finally:
                    os._exit(0)
            time.sleep(rng.uniform(0, 0.05))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        why = ""
        try:
            _run(table, paths)
            if [source for source, _, _ in _content(table)] != [path for path in paths for _ in range(2)]:
                why = "other rows"
            left = [name for name in files_of(str(table)) if os.path.exists(name)]
            if left != [str(table), record_path(str(table))]:
                why = f"left behind: {left}"
        except TableError as error:
            why = str(error)
        trial.check(not why, f"a {table.suffix} table that was killed and resumed: {why}")
        for name in filter(os.path.exists, files_of(str(table))):
            os.unlink(name)


def _write_inputs(folder: Path, count: int) -> list[str]:
    paths = [str(folder / f"{number}.png") for number in range(count)]
    for path in paths:
        Path(path).write_text(path)
        # long ago, as a file that changes during a run is read again
        os.utime(path, (1e9, 1e9))
    return paths


def _complete(
    start: Path, folder: Path, suffix: str, ending: str, rng: random.Random | None, paths: list[str]
) -> Path | None:
    """Complete a copy of a table, with a bit of one of its files flipped; None if that is refused."""
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    table = work / f"t.{suffix}"
    for name, copy in zip(files_of(str(start)), files_of(str(table)), strict=True):
        if os.path.exists(name):
            data = Path(name).read_bytes()
            Path(copy).write_bytes(flipped(data, rng) if rng is not None and copy.endswith(ending) else data)
    try:
        _run(table, paths)
    except TableError:
        return None
    return table


def _run(table: Path, paths: list[str]) -> None:
    with Store(table, settings={"model": "a"}, resume=True) as store:
        for path in paths:
            if not store.has(path):
                store.write(_frames(path))
                store.end_input(path, Counts(2, faces=2))


def _frames(path: str) -> list[FaceFrame]:
    face = Face(Box(1.0, 2.0, 3.0, 4.0), 0.5, np.arange(136.0).reshape(68, 2), 0.5, 3.0, True)
    return [FaceFrame(number, number / 25, NO_IMAGE, [face], path) for number in range(2)]


def _leave_unfinished(table: Path, paths: list[str], *, killed: bool) -> None:
    """Four inputs; ``killed``: in the middle of a transaction that has written to the file."""
    store = Store(table, settings={"model": "a"})
    for path in paths[:4]:
        store.write(_frames(path))
        store.end_input(path, Counts(2, faces=2))
    if killed:
        store.commit()
        # no memory for pages: they are written at once
        store._database.execute("PRAGMA cache_size = 1")
        for path in paths[4:]:
            store.write(_frames(path) * 20)
            store.end_input(path, Counts(2, faces=2))
        names = [name for name in files_of(str(table)) if os.path.exists(name)]
        for name in names:
            shutil.copy(name, f"{name}.kept")
        store.close()
        for name in names:
            os.replace(f"{name}.kept", name)
    else:
        store.close()


def _content(table: Path | None) -> list[tuple[str, int, bytes]]:
    try:
        return [
            (frame.source, frame.index, frame.faces[0].landmarks.tobytes())
            for frame in ([] if table is None else read_table(str(table)))
        ]
    except TableFormatError as error:
        # no table at all is as wrong as other rows
        return [(str(error), 0, b"")]
