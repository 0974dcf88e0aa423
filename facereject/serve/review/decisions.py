"""What the user decides, saved at once: a SQLite file beside the table.

Every change is a transaction that is on the disk before the page hears that it is saved. Decisions are kept
by the name of the face (input, frame, number) together with its box, so that a table which was scored again
gets those that still fit, and no others.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject._files import folder_problem
from facereject._validation import FloatArray
from facereject.faces.face import Box
from facereject.faces.geometry import overlap
from facereject.pipeline.store import open_locked, table_errors
from facereject.serve.review.faces import FaceId, LimitRule, RequestError, ReviewFaces
from facereject.tables.errors import TableError

_SCHEMA = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT)",
    "CREATE TABLE decisions (source TEXT, frame INTEGER, face INTEGER, box TEXT, decision INTEGER, "
    "PRIMARY KEY (source, frame, face))",
    "CREATE TABLE landmarks (source TEXT, frame INTEGER, face INTEGER, box TEXT, points BLOB, file TEXT, "
    "digest TEXT, PRIMARY KEY (source, frame, face))",
)
_APPLICATION = 0x66726A72

# a face of a table that was scored again is the same one if its box overlaps this much
_SAME_FACE = 0.5


class Decisions:
    """Decisions and corrected landmarks, in memory by the number of the face and on the disk by its name.

    Parameters
    ----------
    path : str
        The file, made if needed.
    faces : ReviewFaces

    Attributes
    ----------
    values : ndarray of uint8
        UNDECIDED, ACCEPT or REJECT of each face.
    revision : int
        Counts the changes.
    unmatched : int
        Decisions of the file about faces that are not in the table; they stay in it.

    Raises
    ------
    TableError
        The file cannot be written, belongs to something else, or another review has it open.
    """

    def __init__(self, path: str, faces: ReviewFaces) -> None:
        self.path, self._faces = path, faces
        self.values: NDArray[np.uint8] = np.zeros(len(faces), np.uint8)
        self.landmarks: dict[int, FloatArray] = {}
        self.revision, self.unmatched = 0, 0
        self._changed = np.zeros(len(faces), np.int64)
        self._lock = threading.Lock()
        problem = folder_problem(path)
        if problem:
            raise TableError(f"{path}: decisions cannot be saved there: {problem}")
        with table_errors(path):
            self._database = open_locked(path)
        try:
            with table_errors(path):
                self._open()
        except BaseException:
            self._database.close()
            raise

    def _open(self) -> None:
        (application,) = self._database.execute("PRAGMA application_id").fetchone()
        tables = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not tables:
            self._database.execute("BEGIN")
            for statement in _SCHEMA:
                self._database.execute(statement)
            self._database.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._database.execute("COMMIT")
        elif application != _APPLICATION:
            raise TableError(f"{self.path}: this file holds no decisions of facereject; choose another name")
        # a power cut must not take back what the page was told
        self._database.execute("PRAGMA synchronous = FULL")
        numbers = {self._faces.id_of(number): number for number in range(len(self._faces))}
        for *name, box, decision in self._database.execute("SELECT * FROM decisions"):
            number = self._same(numbers, name, box)
            if number is not None:
                self.values[number] = decision
            self.unmatched += number is None
        query = "SELECT source, frame, face, box, points FROM landmarks"
        for *name, box, points in self._database.execute(query):
            number = self._same(numbers, name, box)
            if number is not None:
                self.landmarks[number] = np.frombuffer(points, "<f8").reshape(-1, 2).copy()

    def _same(self, numbers: dict[FaceId, int], name: Sequence[Any], box: str) -> int | None:
        number = numbers.get(FaceId(*name))
        if number is None:
            return None
        same = overlap(Box(*json.loads(box)), self._faces.box(number)) >= _SAME_FACE
        return number if same else None

    def decide(self, numbers: Iterable[int], decision: int) -> int:
        """Save a decision about some faces; returns the revision."""
        chosen = sorted(set(numbers))
        rows = [(*self._faces.id_of(n), json.dumps([*self._faces.box(n)]), decision) for n in chosen]
        with self._lock:
            with self._change(chosen):
                self._database.executemany("INSERT OR REPLACE INTO decisions VALUES (?, ?, ?, ?, ?)", rows)
            self.values[chosen] = decision
            return self.revision

    def correct(self, number: int, points: FloatArray | None, file: str = "", digest: str = "") -> int:
        """Save corrected landmarks, or with None forget them; returns the revision."""
        name = self._faces.id_of(number)
        with self._lock:
            with self._change([number]):
                if points is None:
                    query = "DELETE FROM landmarks WHERE source = ? AND frame = ? AND face = ?"
                    self._database.execute(query, name)
                else:
                    box = json.dumps([*self._faces.box(number)])
                    data = np.ascontiguousarray(points, "<f8").tobytes()
                    self._database.execute(
                        "INSERT OR REPLACE INTO landmarks VALUES (?, ?, ?, ?, ?, ?, ?)",
                        (*name, box, data, file, digest),
                    )
            if points is None:
                self.landmarks.pop(number, None)
            else:
                self.landmarks[number] = np.array(points, np.float64)
            return self.revision

    def written(self, number: int) -> tuple[str, str]:
        """The annotation file of a face and its digest; empty if none was written."""
        query = "SELECT file, digest FROM landmarks WHERE source = ? AND frame = ? AND face = ?"
        with self._lock:
            found = self._database.execute(query, self._faces.id_of(number)).fetchone()
        return (found[0], found[1]) if found else ("", "")

    def changes(self, since: int) -> dict[str, Any]:
        """What has changed after a revision, for the page."""
        with self._lock:
            numbers = np.flatnonzero(self._changed > since)
            return {
                "revision": self.revision,
                "decided": [[int(number), int(self.values[number])] for number in numbers],
                "corrected": sorted(self.landmarks),
                "rule": self._setting("rule"),
            }

    def rule(self) -> LimitRule:
        """The rule that was chosen last, else that of the table."""
        with self._lock:
            saved = self._setting("rule")
        try:
            return checked_rule(saved, self._faces.keys)
        except ValueError:
            return self._faces.first_rule()

    def set_rule(self, rule: LimitRule) -> int:
        """Save the rule; returns the revision."""
        with self._lock:
            with self._change([]):
                value = json.dumps(rule._asdict())
                self._database.execute("INSERT OR REPLACE INTO settings VALUES ('rule', ?)", [value])
            return self.revision

    def close(self) -> None:
        """Close the file; without any decision it is removed."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            empty = not any(
                self._database.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
                for name in ("settings", "decisions", "landmarks")
            )
            self._database.close()
            if empty:
                with contextlib.suppress(OSError):
                    os.unlink(self.path)

    def _setting(self, name: str) -> Any:
        found = self._database.execute("SELECT value FROM settings WHERE name = ?", [name]).fetchone()
        return json.loads(found[0]) if found else None

    @contextlib.contextmanager
    def _change(self, numbers: list[int]) -> Iterator[None]:
        """A transaction that changes some faces; the revision counts it once it is on the disk."""
        with table_errors(self.path):
            self._database.execute("BEGIN")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._database.execute("ROLLBACK")
                raise
        self.revision += 1
        self._changed[numbers] = self.revision


def checked_rule(values: Any, keys: Iterable[str]) -> LimitRule:
    """The rule that a page or a file asks for; RequestError if it makes no sense."""
    try:
        rule = LimitRule(
            str(values["key"]), float(values["limit"]), str(values["kind"])[:40], float(values["value"])
        )
    except (KeyError, TypeError, ValueError):
        raise RequestError("a rule has key, limit, kind and value") from None
    if rule.key not in keys or not (math.isfinite(rule.limit) and math.isfinite(rule.value)):
        raise RequestError(f"a rule is a finite limit of {' or '.join(keys)}")
    return rule
