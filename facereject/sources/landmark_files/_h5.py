"""HDF5 files of DeepLabCut and SLEAP. No object is unpickled, and nothing outside the file is opened."""

from __future__ import annotations

import contextlib
import pickletools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject.sources.landmark_files._found import LandmarkFileError

# bytes of one array once it is unpacked, and of a list of names
_MAX_BYTES = 1 << 30
_MAX_NAMES = 1 << 20

# operations of a pickle whose argument is the value itself
_PLAIN_VALUES = (
    *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE"),
    *("INT", "LONG", "BININT", "BININT1", "BININT2"),
)

SIGNATURE = "\ufffdHDF\r\n"


class PandasTable(NamedTuple):
    """A table of pandas: the names of its columns, level by level, those of its rows, and its values."""

    columns: list[tuple[str, ...]]
    rows: list[tuple[str, ...]]
    values: NDArray[np.float64]


@contextlib.contextmanager
def open_h5(path: str) -> Iterator[Any]:
    """Open a file for reading; damage raises `LandmarkFileError`."""
    try:
        import h5py
    except ImportError:
        raise LandmarkFileError(f"{path}: HDF5 files need h5py: pip install h5py") from None
    try:
        with h5py.File(path, "r") as file:
            yield file
    except (OSError, RuntimeError, KeyError) as error:
        text = " ".join(str(error).split())[:120]
        raise LandmarkFileError(f"{path}: a damaged HDF5 file ({text})") from None


def has(group: Any, name: str) -> bool:
    """Whether a group has a member of this name in this very file; links to others are not followed."""
    import h5py

    links, key = group.id.links, name.encode()
    return bool(links.exists(key)) and links.get_info(key).type == h5py.h5l.TYPE_HARD


def array(group: Any, name: str) -> NDArray[Any]:
    """An array of a group that is stored in this very file."""
    import h5py

    if not has(group, name):
        raise ValueError(f"has no {name}, or a link to another file")
    stored = group[name]
    if not isinstance(stored, h5py.Dataset) or stored.is_virtual or stored.external:
        raise ValueError(f"{name} is no array of this file")
    text = h5py.check_string_dtype(stored.dtype) is not None
    size = stored.size * stored.dtype.itemsize
    # references are not followed, and no more memory is asked for than arrays of landmarks need
    if (stored.dtype.hasobject and not text) or size > (_MAX_NAMES if text else _MAX_BYTES):
        raise ValueError(f"{name} is an array of {stored.size:,} x {stored.dtype}")
    return np.asarray(stored[()])


def texts(values: Any) -> list[str]:
    """Texts of an array of bytes or texts."""
    return [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in np.ravel(values)]


def pandas_frame(file: Any) -> PandasTable:
    """The first table of a file that pandas wrote, in either of its layouts."""
    import h5py

    for name in file:
        if has(file, name) and isinstance(group := file[name], h5py.Group):
            if has(group, "block0_values"):
                return _fixed(group)
            if has(group, "table"):
                return _appendable(group)
    raise ValueError("holds no table of pandas")


def _fixed(group: Any) -> PandasTable:
    values = array(group, "block0_values").astype(np.float64)
    if has(group, "block1_values"):
        raise ValueError("has columns of several types")
    return PandasTable(_axis(group, "block0_items"), _axis(group, "axis1"), values)


def _axis(group: Any, name: str) -> list[tuple[str, ...]]:
    if has(group, name):
        return [(text,) for text in texts(array(group, name))]
    levels = int(group.attrs[f"{name}_nlevels"])
    if not 0 < levels <= 8:
        raise ValueError(f"{name} has {levels} levels")
    columns = []
    for k in range(levels):
        known = texts(array(group, f"{name}_level{k}"))
        columns.append([known[i] for i in array(group, f"{name}_label{k}").tolist()])
    return list(zip(*columns, strict=True))


def _appendable(group: Any) -> PandasTable:
    table = array(group, "table")
    # [(axis, [names of the columns])]
    ((_, names),) = plain_pickle(group.attrs["non_index_axes"])
    rows: list[tuple[str, ...]] = [(text,) for text in texts(table["index"])]
    return PandasTable(
        [tuple(map(str, name)) for name in names], rows, table["values_block_0"].astype(np.float64)
    )


def plain_pickle(data: bytes) -> Any:
    """Lists and tuples of texts and numbers from a pickle, without unpickling it.

    pandas keeps the names of columns so. Only the operations that make such values are known here; those
    that import, call or build anything are a ValueError.
    """
    if len(data) > _MAX_NAMES:
        raise ValueError("names of more than a megabyte")
    mark = object()
    stack: list[Any] = []
    memo: dict[Any, Any] = {}

    def since_mark() -> list[Any]:
        start = len(stack) - 1 - stack[::-1].index(mark)
        values = stack[start + 1 :]
        del stack[start:]
        return values

    for operation, argument, _ in pickletools.genops(bytes(data)):
        name = operation.name
        if name in _PLAIN_VALUES:
            stack.append(argument)
        elif name == "MARK":
            stack.append(mark)
        elif name == "EMPTY_LIST":
            stack.append([])
        elif name in ("LIST", "TUPLE"):
            values = since_mark()
            stack.append(values if name == "LIST" else tuple(values))
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            n = int(name[-1])
            stack[-n:] = [tuple(stack[-n:])]
        elif name in ("APPEND", "APPENDS"):
            values = since_mark() if name == "APPENDS" else [stack.pop()]
            stack[-1].extend(values)
        elif name in ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"):
            memo[len(memo) if argument is None else argument] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name == "STOP":
            return stack.pop()
        elif name not in ("PROTO", "FRAME"):
            raise ValueError(f"holds objects ({name}), which are not read")
    raise ValueError("names without an end")
