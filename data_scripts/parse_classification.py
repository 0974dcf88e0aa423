"""The 11 classification tables: from the published files to features and labels.

A parser gets the opened files in the order of the list in ``parsers.py``. Which files, in which order and
with which encoding follows the data scripts that the paper's authors published for their earlier work.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import IO

import numpy as np

from data_scripts import readers
from data_scripts.convert import Table, encode
from data_scripts.feature_names import (
    AVILA_NAMES,
    CODRNA_NAMES,
    COVTYPE_NAMES,
    LETTER_NAMES,
    MARKETING_NUMBERS,
    MARKETING_WORDS,
)
from data_scripts.readers import FormatError

Streams = Sequence[IO[bytes]]

SATTELITE_CLASSES = {
    1: "red soil",
    2: "cotton crop",
    3: "grey soil",
    4: "damp grey soil",
    5: "soil with vegetation stubble",
    7: "very damp grey soil",
}
SHUTTLE_CLASSES = ["Rad Flow", "Fpv Close", "Fpv Open", "High", "Bypass", "Bpv Close", "Bpv Open"]
# 1/√30 with the five digits of the libSVM file
PHISHING_VALUE = 0.18257


def avila(files: Streams) -> Table:
    parts = [readers.labelled(file, label=-1) for file in files]
    words = [word.strip() for _, part in parts for word in part]
    classes = list("ABCDEFGHIWXY")
    return Table(
        np.vstack([X for X, _ in parts]),
        encode(words, classes),
        AVILA_NAMES,
        "avila-tr.txt then avila-ts.txt; labels A,B,C,D,E,F,G,H,I,W,X,Y -> 0..11",
        classes,
        _part_sizes([len(X) for X, _ in parts]),
    )


def codrna(files: Streams) -> Table:
    return _two_classes(files, CODRNA_NAMES, "cod-rna then cod-rna.t; labels -1,+1 -> 0,1")


def ijcnn(files: Streams) -> Table:
    names = [f"x{i}" for i in range(1, 23)]
    return _two_classes(files, names, "ijcnn1.tr then ijcnn1.val; labels -1,+1 -> 0,1; no scaling")


def covtype(files: Streams) -> Table:
    rows = readers.numbers(files[0], ",")
    return _numbered(rows, COVTYPE_NAMES, range(1, 8), "labels 1..7 -> 0..6")


def letter(files: Streams) -> Table:
    X, words = readers.labelled(files[0], label=0)
    classes = list(string.ascii_uppercase)
    return Table(X, encode(words, classes), LETTER_NAMES, "labels A..Z -> 0..25", classes)


def marketing(files: Streams) -> Table:
    table = readers.table(files[0], ";")
    blocks, names = [readers.columns(table, MARKETING_NUMBERS)], list(MARKETING_NUMBERS)
    for column in MARKETING_WORDS:
        if column not in table:
            raise FormatError(f"no column {column}")
        block, levels = readers.one_hot(table[column])
        blocks.append(block)
        names += [f"{column}_{level}" for level in levels]
    classes = ["no", "yes"]
    done = "7 numeric columns, then one-hot columns of the 9 others, levels sorted; y no,yes -> 0,1"
    return Table(np.hstack(blocks), encode(table["y"], classes), names, done, classes)


def pendigit(files: Streams) -> Table:
    parts = [readers.numbers(file, ",") for file in files]
    names = [f"{axis}{i}" for i in range(1, 9) for axis in "xy"]
    done = "pendigits.tes then pendigits.tra (the order of the authors' script)"
    return _numbered(np.vstack(parts), names, range(10), done, parts)


def phishing(files: Streams) -> Table:
    """UCI's 30 columns in libSVM's encoding, which the paper uses.

    One-hot in order of first appearance: a (column, value) pair gets the next free feature when it is first
    met, row by row.
    """
    names, rows = readers.arff(files[0])
    raw = [row[:-1] for row in rows]
    number: dict[tuple[int, str], int] = {}
    for row in raw:
        for pair in enumerate(row):
            number.setdefault(pair, len(number))
    X = np.zeros((len(raw), len(number)))
    for i, row in enumerate(raw):
        X[i, [number[pair] for pair in enumerate(row)]] = PHISHING_VALUE
    return Table(
        X,
        encode([row[-1] for row in rows], ["-1", "1"]),
        [f"{names[column]}={value}" for column, value in number],
        "one-hot in order of first appearance, value 0.18257 = 1/sqrt(30), as libSVM's file phishing;"
        " label -1,1 -> 0,1",
        ["-1 (libSVM 0)", "1 (libSVM 1)"],
        {"raw30": np.array(raw, dtype=np.int8), "raw30_names": np.array(names[:-1])},
    )


def sattelite(files: Streams) -> Table:
    parts = [readers.numbers(file) for file in files]
    names = [f"pix{pixel}_band{band}" for pixel in range(1, 10) for band in range(1, 5)]
    done = "sat.trn then sat.tst; labels 1,2,3,4,5,7 -> 0..5"
    table = _numbered(np.vstack(parts), names, list(SATTELITE_CLASSES), done, parts)
    return Table(table.X, table.y, names, done, list(SATTELITE_CLASSES.values()), table.extras)


def sensorless(files: Streams) -> Table:
    names = [f"ch{i}" for i in range(1, 49)]
    return _numbered(readers.numbers(files[0]), names, range(1, 12), "labels 1..11 -> 0..10")


def shuttle(files: Streams) -> Table:
    parts = [readers.numbers(file) for file in files]
    names, done = [f"a{i}" for i in range(1, 10)], "shuttle.trn then shuttle.tst; labels 1..7 -> 0..6"
    table = _numbered(np.vstack(parts), names, range(1, 8), done, parts)
    return Table(table.X, table.y, names, done, SHUTTLE_CLASSES, table.extras)


def _numbered(
    rows: np.ndarray, names: Sequence[str], labels: Sequence[int], done: str, parts: Sequence[np.ndarray] = ()
) -> Table:
    """Rows of numbers whose last column is the label."""
    extras = _part_sizes([len(part) for part in parts]) if parts else {}
    y = encode(rows[:, -1].tolist(), labels)
    return Table(rows[:, :-1], y, names, done, [str(label) for label in labels], extras)


def _two_classes(files: Streams, names: Sequence[str], done: str) -> Table:
    parts = [readers.libsvm(file, len(names)) for file in files]
    y = encode(np.concatenate([labels for _, labels in parts]).tolist(), [-1, 1])
    X = np.vstack([X for X, _ in parts])
    return Table(X, y, names, done, ["-1", "1"], _part_sizes([len(X) for X, _ in parts]))


def _part_sizes(sizes: Sequence[int]) -> dict[str, np.ndarray]:
    return {"part_sizes": np.array(sizes, dtype=np.int64)}
