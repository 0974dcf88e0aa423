"""Flipped bits in journals and records: a resumed run refuses them, or makes the table it would have made."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

from facereject.outputs.summary import Tally
from facereject.pipeline._store.sinks import TableError, TableSink
from facereject.tables.formats import TableFormatError, read_table
from facereject.tables.rows import Row
from tools.stress.mutations import flipped
from tools.stress.sorted_files import SUFFIXES
from tools.stress.trial import Trial

_INPUTS = 6


def damaged_journals(trial: Trial, folder: Path, count: int, rng: random.Random) -> None:
    """``count`` flips, by turns in the journal of an unfinished table and in the record of a finished one."""
    paths = [str(folder / f"{number}.png") for number in range(_INPUTS)]
    for path in paths:
        Path(path).write_text(path)
        # long ago, as a file that changes during a run is read again
        os.utime(path, (1e9, 1e9))
    for suffix in SUFFIXES:
        finished, unfinished = folder / f"finished.{suffix}", folder / f"unfinished.{suffix}"
        _run(finished, paths[:4])
        _run(unfinished, paths[:4], dies=True)
        expected = _content(_complete(finished, folder, suffix, None, paths))
        for number in range(count // len(SUFFIXES)):
            if not trial.goes_on():
                return
            start, what = (finished, "record") if number % 2 else (unfinished, "journal")
            table = _complete(start, folder, suffix, rng, paths)
            passed = table is None or _content(table) == expected
            trial.check(passed, f"a flipped bit in the {what} of a {suffix} table made another table")


def _complete(
    start: Path, folder: Path, suffix: str, rng: random.Random | None, paths: list[str]
) -> Path | None:
    """Complete a copy of a table, with a bit of what stands beside it flipped; None if that is refused."""
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    for path in folder.glob(f"{start.name}*"):
        data = path.read_bytes()
        if rng is not None and path.suffix == ".journal":
            data = flipped(data, rng)
        (work / path.name.replace(start.name, f"t.{suffix}")).write_bytes(data)
    table = work / f"t.{suffix}"
    try:
        _run(table, paths)
    except TableError:
        return None
    return table


def _run(table: Path, paths: list[str], *, dies: bool = False) -> None:
    with TableSink(table, settings={"model": "a"}, resume=True) as sink:
        for path in paths:
            if not sink.has(path):
                sink.write([Row(path, number, reason="no_face") for number in range(2)])
                sink.end_input(path, Tally(2, no_face=2))
        if dies:
            # as after a kill: what is written stays
            sink.commit()
            for name in (sink.partial, f"{sink.partial}.journal"):
                shutil.copy(name, f"{name}.kept")
    if dies:
        for name in (sink.partial, f"{sink.partial}.journal"):
            os.replace(f"{name}.kept", name)
        for name in (table, Path(f"{table}.journal")):
            name.unlink()


def _content(table: Path | None) -> list[tuple[str, int | None, str]]:
    rows = [] if table is None else read_table(str(table))
    try:
        return [(row.source, row.frame, row.reason) for row in rows]
    except TableFormatError as error:
        # no table at all is as wrong as other rows
        return [(str(error), None, "")]
