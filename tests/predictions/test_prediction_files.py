"""Readers of predictions: the same rows from every format, and one sentence for what is none."""

from __future__ import annotations

import contextlib
import csv
import json
import sqlite3
import sys
import zipfile

import numpy as np
import pytest

from facereject.predictions import PredictionFileError, open_predictions
from facereject.predictions import _files as files

ROWS = [("cat", "dog", 0.25), ("dog", "dog", 0.5), ('a "quoted"\nname', "cat", 1.0)]
COLUMNS = ("label", "prediction", "confidence")


def write_csv(path, separator=",", start=""):
    with path.open("w", newline="", encoding="utf-8") as file:
        file.write(start)
        csv.writer(file, delimiter=separator).writerows([COLUMNS, *ROWS])


def write_jsonl(path):
    path.write_text("".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in ROWS))


def write_parquet(path):
    import pyarrow.parquet

    columns = {name: list(values) for name, values in zip(COLUMNS, zip(*ROWS, strict=True), strict=True)}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def write_sqlite(path, table='"predictions"'):
    with sqlite3.connect(path) as base:
        base.execute(f"CREATE TABLE {table} (label TEXT, prediction TEXT, confidence REAL)")
        base.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", ROWS)


def write_npz(path):
    labels, predictions, confidence = zip(*ROWS, strict=True)
    np.savez(path, label=labels, prediction=predictions, confidence=confidence, version=np.array(3))


WRITERS = {
    "p.csv": write_csv,
    "semicolons.csv": lambda path: write_csv(path, ";"),
    "mark.csv": lambda path: write_csv(path, start="\ufeff"),
    "p.tsv": lambda path: write_csv(path, "\t"),
    "p.jsonl": write_jsonl,
    "p.parquet": write_parquet,
    "p.sqlite": write_sqlite,
    "p.npz": write_npz,
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_every_format_gives_the_same_rows(tmp_path, name, chunk, monkeypatch):
    monkeypatch.setattr(files, "CHUNK", chunk)
    WRITERS[name](tmp_path / name)
    file = open_predictions(tmp_path / name)
    assert file.columns == COLUMNS
    rows = [row for part in file.chunks() for row in zip(*part.values(), strict=True)]
    assert [(str(label), str(predicted), float(number)) for label, predicted, number in rows] == ROWS
    assert list(next(iter(file.chunks(["prediction"])))) == ["prediction"]


def test_arrays_of_two_dimensions_are_columns(tmp_path):
    np.savez(tmp_path / "p.npz", logits=np.arange(6.0).reshape(3, 2), label=[0, 1, 0])
    file = open_predictions(tmp_path / "p.npz")
    assert file.columns == ("logits_0", "logits_1", "label")
    (chunk,) = file.chunks(["logits_1"])
    assert chunk["logits_1"].tolist() == [1.0, 3.0, 5.0]


def test_tables_are_chosen_by_name(tmp_path):
    path = tmp_path / "several.db"
    write_sqlite(path, '"odd ""name"""')
    write_sqlite(path, "other")
    with pytest.raises(PredictionFileError, match="has several tables; pass `table`"):
        open_predictions(path)
    with pytest.raises(PredictionFileError, match="no table 'none'"):
        open_predictions(path, "none")
    assert open_predictions(path, 'odd "name"').columns == COLUMNS


def test_generated_columns_are_columns(tmp_path):
    path = tmp_path / "p.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE p (a, twice AS (2 * a))")
        base.execute("INSERT INTO p VALUES (1.5)")
        base.commit()
    file = open_predictions(path)
    assert (file.columns, *file.chunks()) == (("a", "twice"), {"a": [1.5], "twice": [3.0]})


def test_a_base_without_tables(tmp_path):
    (tmp_path / "p.sqlite").touch()
    with pytest.raises(PredictionFileError, match="there are no tables"):
        open_predictions(tmp_path / "p.sqlite")


class Trap:
    """Runs when it is unpickled."""

    def __reduce__(self):
        return sys.exit, ("unpickled",)


def test_python_objects_are_not_loaded(tmp_path):
    np.savez(tmp_path / "p.npz", label=np.array([Trap()], dtype=object))
    with pytest.raises(PredictionFileError, match="'label' holds Python objects"):
        open_predictions(tmp_path / "p.npz")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("none.csv", None),
        ("empty.csv", b""),
        ("twice.csv", b"a,a\n1,2\n"),
        ("latin.csv", "größe,b\n".encode("latin-1")),
        ("text.parquet", b"PAR1 no"),
        ("text.sqlite", b"not a database, but long enough to look at"),
        ("text.npz", b"PK no"),
        ("number.jsonl", b"3\n"),
        ("broken.jsonl", b"{\n"),
        ("what.docx", b"PK"),
    ],
)
def test_what_is_no_table_is_said_so(tmp_path, name, content):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PredictionFileError, match=name):
        open_predictions(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [("a,b\n1,2\n3\n", "row 2 has 1 cells"), ('a,b\n1,"2\n', "damaged"), ("a,b\n1,\udcff\n", "UTF-8")],
)
def test_damage_behind_the_header_is_said_so(tmp_path, content, reason):
    path = tmp_path / "p.csv"
    path.write_text(content, errors="surrogateescape")
    with pytest.raises(PredictionFileError, match=reason):
        list(open_predictions(path).chunks())


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ('"Label, true";"Predicted, class";"c"\n"a";"b";"0,5"\n', ("Label, true", "Predicted, class", "c")),
        ('"Label,\n(1, 2, 3)";"c"\n"a";"0,5"\n', ("Label,\n(1, 2, 3)", "c")),
        ("\r\n\r\nlabel;c\r\na;0,5\r\n", ("label", "c")),
        ("label;c\ra;0,5\r", ("label", "c")),
        ("\ufeffsep=;\r\nlabel, true;c\r\na;0,5\r\n", ("label, true", "c")),
    ],
)
def test_the_separator_is_that_of_the_header(tmp_path, content, columns):
    path = tmp_path / "p.csv"
    path.write_bytes(content.encode())
    file = open_predictions(path)
    assert file.columns == columns
    assert [chunk["c"] for chunk in file.chunks()] == [["0,5"]]


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_wrong_bytes_anywhere_are_said_so(tmp_path, suffix):
    path = tmp_path / f"p{suffix}"
    rng = np.random.default_rng(0)
    columns = {"größe": rng.choice(["a", "b"], 200), "confidence": rng.uniform(size=200)}
    if suffix == ".npz":
        np.savez_compressed(path, **columns)
    else:
        pytest.importorskip("pandas").DataFrame(columns).to_parquet(path)
    whole = path.read_bytes()
    said = []
    for k in range(0, len(whole), 3):
        path.write_bytes(whole[:k] + bytes([whole[k] ^ 0b101]) + whole[k + 1 :])
        try:
            list(open_predictions(path).chunks())
        except PredictionFileError as error:
            said.append(str(error))
    assert len(said) > 20
    assert all(message.startswith(str(path)) for message in said)


def test_headers_of_arrays_that_end_too_soon_are_said_so(tmp_path):
    path = tmp_path / "p.npz"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(PredictionFileError, match="not an NPZ file"):
        open_predictions(path)


def test_arrays_of_different_lengths_are_named(tmp_path):
    np.savez(tmp_path / "p.npz", label=[1, 2], confidence=[1.0])
    file = open_predictions(tmp_path / "p.npz")
    with pytest.raises(PredictionFileError, match="'label' has 2, 'confidence' has 1"):
        list(file.chunks())


def test_folders_and_pipes_are_not_opened(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe.csv")
    for name in ("pipe.csv", "."):
        with pytest.raises(PredictionFileError):
            open_predictions(tmp_path / name)


def test_a_file_that_changes_while_it_is_read(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("loss,confidence\n0,1\n")
    file = open_predictions(path)
    rows = file.chunks()
    next(rows)
    with path.open("a") as writer:
        writer.write("1,0\n")
    with pytest.raises(PredictionFileError, match="changed while it was read"):
        list(rows)
