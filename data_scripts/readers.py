"""Readers of the original file formats: delimited text, CSV, libSVM, ARFF, the first sheet of an .xlsx file.

Each takes a binary stream and returns plain values; none runs anything it reads.
"""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Sequence
from typing import IO

import numpy as np
from sklearn.datasets import load_svmlight_file

from data_scripts.registry import DataError

_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


class FormatError(DataError):
    """An original does not have the expected form; the message names the place."""


def numbers(stream: IO[bytes], delimiter: str | None = None, skip: int = 0) -> np.ndarray:
    """A table of numbers, (rows, columns) float64; ``delimiter`` None means white space."""
    text = io.TextIOWrapper(stream, encoding="latin-1")
    # a delimiter at the end of each line, as some collections have it, would make an empty last column
    lines = (line.strip().rstrip(delimiter) for line in text) if delimiter else text
    try:
        return np.loadtxt(lines, delimiter=delimiter, skiprows=skip, ndmin=2, comments=None)
    except ValueError as error:
        raise FormatError(f"not a table of numbers: {error}") from None


def labelled(stream: IO[bytes], label: int) -> tuple[np.ndarray, list[str]]:
    """Comma-separated numbers with one column of words (``label``, 0 or −1): (numbers, words)."""
    rows = _rows(stream, ",")
    words = [row.pop(label) for row in rows]
    return floats(rows), words


def floats(rows: list[list[str]]) -> np.ndarray:
    """Rows of text as float64."""
    try:
        return np.array(rows, dtype=np.float64)
    except ValueError as error:
        raise FormatError(f"not a number: {error}") from None


def table(stream: IO[bytes], delimiter: str = ",") -> dict[str, list[str]]:
    """A CSV file with a header: name of the column → its values as text, in file order."""
    rows = _rows(stream, delimiter)
    if not rows:
        raise FormatError("an empty table")
    return dict(zip(rows[0], map(list, zip(*rows[1:], strict=True)), strict=False))


def columns(table: dict[str, list[str]], names: Sequence[str]) -> np.ndarray:
    """The named columns as float64 (rows, len(names))."""
    missing = [name for name in names if name not in table]
    if missing:
        raise FormatError(f"column(s) missing: {', '.join(missing)}; there are {', '.join(table)}")
    try:
        return np.column_stack([np.array(table[name], dtype=np.float64) for name in names])
    except ValueError as error:
        raise FormatError(f"not a number: {error}") from None


def one_hot(values: Sequence[str], levels: Sequence[str] | None = None) -> tuple[np.ndarray, list[str]]:
    """Indicator columns of the levels, sorted by name unless given: (matrix, levels)."""
    found = sorted(set(values)) if levels is None else list(levels)
    number = {level: i for i, level in enumerate(found)}
    unknown = sorted(set(values) - set(number))
    if unknown:
        raise FormatError(f"unknown value(s): {', '.join(unknown[:5])}")
    return np.eye(len(found))[[number[value] for value in values]], found


def libsvm(stream: IO[bytes], n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Lines "label index:value …" with indices from 1: (dense features, labels)."""
    try:
        X, y = load_svmlight_file(stream, n_features=n_features, zero_based=False)
    except ValueError as error:
        raise FormatError(f"not a libSVM file: {error}") from None
    return X.toarray(), y


def arff(stream: IO[bytes]) -> tuple[list[str], list[list[str]]]:
    """A dense ARFF file: (names of the attributes, rows as text)."""
    names: list[str] = []
    text = io.TextIOWrapper(stream, encoding="latin-1", newline="")
    for line in text:
        keyword, _, rest = line.strip().partition(" ")
        if keyword.lower() == "@attribute":
            name = re.match(r"\s*('[^']*'|\"[^\"]*\"|[^\s{]+)", rest)
            names.append(name.group(1).strip("'\"") if name else "")
        elif keyword.lower() == "@data":
            break
    else:
        raise FormatError("no @data line: not an ARFF file")
    rows = [[cell.strip() for cell in row] for row in csv.reader(text) if row and not row[0].startswith("%")]
    if any(len(row) != len(names) for row in rows):
        raise FormatError(f"a row that has not {len(names)} values")
    return names, rows


def xlsx(stream: IO[bytes]) -> list[list[str]]:
    """The rows of the first sheet as text; empty cells as ""."""
    try:
        book = zipfile.ZipFile(io.BytesIO(stream.read()))
        strings = []
        if "xl/sharedStrings.xml" in book.namelist():
            root = ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
            strings = ["".join(t.text or "" for t in item.iter(f"{_SHEET}t")) for item in root]
        sheet = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError) as error:
        raise FormatError(f"not an .xlsx file: {error}") from None
    rows = []
    for row in sheet.iter(f"{_SHEET}row"):
        cells: list[str] = []
        for cell in row.iter(f"{_SHEET}c"):
            letters = re.match(r"[A-Z]*", cell.get("r", ""))
            place = _column_number(letters.group()) if letters and letters.group() else len(cells)
            cells.extend([""] * (place - len(cells)))
            value = cell.findtext(f"{_SHEET}v") or "".join(t.text or "" for t in cell.iter(f"{_SHEET}t"))
            cells.append(strings[int(value)] if cell.get("t") == "s" else value)
        rows.append(cells)
    return rows


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def _rows(stream: IO[bytes], delimiter: str) -> list[list[str]]:
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")
    try:
        rows = [row for row in csv.reader(text, delimiter=delimiter) if row]
    except csv.Error as error:
        raise FormatError(f"not a CSV file: {error}") from None
    if len({len(row) for row in rows}) > 1:
        raise FormatError(f"rows of different length, from {min(map(len, rows))} to {max(map(len, rows))}")
    return rows
