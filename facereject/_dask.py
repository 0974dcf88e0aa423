"""Dask collections as lists of partitions. Dask is optional and imported only when needed."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from facereject._validation import FloatArray, check_vector


def is_dask(*values: Any) -> bool:
    """Whether one of the values is a Dask collection; without an imported Dask there is none."""
    dask = sys.modules.get("dask")
    return dask is not None and any(dask.is_dask_collection(value) for value in values)


def align(**arguments: Any) -> dict[str, list[Any]]:
    """Split each argument into ``Delayed`` partitions that correspond to each other.

    Arrays are cut like the first argument if the lengths of its partitions are known. Partitions of unknown
    length, as in a frame, must already match; their lengths are checked when they are computed.

    Parameters
    ----------
    **arguments : Dask array, frame or series, NumPy array or None
        The first must be a Dask collection. None is left out.

    Returns
    -------
    partitions : dict of str to list of Delayed
        By argument.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    first = next(iter(given))
    if not is_dask(given[first]):
        raise TypeError(
            f"{first} must be a Dask collection like {_names(given, first)}, or none of them may be one"
        )
    lengths = _lengths(given[first])
    parts = {name: _partitions(name, value, lengths, first) for name, value in given.items()}
    for name, partitions in parts.items():
        if len(partitions) != len(parts[first]):
            raise ValueError(
                f"{name} has {len(partitions)} partitions, but {first} has {len(parts[first])}: take them "
                "from the same frame, or pass arrays with known chunks"
            )
    return parts


def check_part(values: Any, name: str, number: int, *, non_negative: bool = False) -> FloatArray:
    """Check a partition as a vector of numbers; it can be empty."""
    return check_vector(values, f"{name} (partition {number})", non_negative=non_negative, min_length=0)


def _names(given: dict[str, Any], first: str) -> str:
    return ", ".join(name for name, value in given.items() if name != first and is_dask(value))


def _lengths(collection: Any) -> tuple[int, ...] | None:
    """Return the number of rows of each partition, or None if unknown."""
    chunks = getattr(collection, "chunks", None)
    if chunks is None or np.isnan(chunks[0]).any():
        return None
    return tuple(int(length) for length in chunks[0])


def _partitions(name: str, value: Any, lengths: tuple[int, ...] | None, first: str) -> list[Any]:
    if not is_dask(value):
        value = np.asarray(value)
        if lengths is None:
            raise TypeError(
                f"{name} must be a Dask collection with the partitions of {first}, whose lengths are unknown"
            )
        if value.shape[:1] != (sum(lengths),):
            raise ValueError(f"{name} has shape {value.shape}, but {first} has {sum(lengths)} rows")
        value = importlib.import_module("dask.array").from_array(
            value, chunks=(lengths, *((size,) for size in value.shape[1:]))
        )
    if not hasattr(value, "chunks"):
        # full optimisation would also merge the partitions of columns that are small on disk, and those of X
        # and losses would no longer correspond
        if hasattr(value, "simplify"):
            return list(value.simplify().to_delayed(optimize_graph=False))
        return list(value.to_delayed())
    own = _lengths(value)
    if lengths is not None and own is not None and own != lengths:
        if sum(own) != sum(lengths):
            raise ValueError(f"lengths differ: {first} has {sum(lengths)}, {name} has {sum(own)}")
        value = value.rechunk({0: lengths})
    if value.ndim == 1:
        return list(value.to_delayed())
    if value.ndim != 2:
        raise ValueError(f"{name} must have one or two dimensions, got an array of shape {value.shape}")
    if value.numblocks[1] > 1:
        value = value.rechunk({1: -1})
    return list(value.to_delayed()[:, 0])
