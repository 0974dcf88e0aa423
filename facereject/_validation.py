"""Checks of arguments: finite numbers and float64 vectors, or a ValueError that names the argument."""

from __future__ import annotations

import math
from datetime import date, timedelta
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_NO_NUMBERS = (str, bytes, complex, date, timedelta, np.datetime64, np.timedelta64)
_KINDS = {
    "U": "text",
    "S": "text",
    "T": "text",
    "c": "complex numbers",
    "M": "times",
    "m": "time differences",
    "O": "times",
    "V": "records",
}


def check_vector(values: Any, name: str, *, non_negative: bool = False, min_length: int = 1) -> FloatArray:
    """Return ``values`` as a finite 1-D float64 array, or raise a ValueError that names the argument.

    Text and times are rejected even where they could be read as numbers: probably the wrong column was
    passed. So are masked entries, whose values mean nothing.
    """
    # plain arrays first: the first use of numpy.ma imports it, which takes long
    if type(values) is not np.ndarray and isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        position = int(np.flatnonzero(np.ma.getmaskarray(values).ravel())[0])
        raise ValueError(f"{name} must not be masked, but entry {position} is; leave such examples out")
    try:
        raw = np.asarray(values)
        _check_numeric(raw, name)
        array = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        message = str(error)
        raise ValueError(
            message if message.startswith(name) else f"{name} must hold numbers: {error}"
        ) from None
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got an array of shape {array.shape}")
    if array.size < min_length:
        raise ValueError(f"{name} must hold at least {min_length} value(s), got {array.size}")
    if not np.isfinite(array).all():
        position = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"{name} must be finite, but {name}[{position}] is {array[position]}")
    if non_negative and array.min(initial=0.0) < 0:
        position = int(array.argmin())
        raise ValueError(f"{name} must not be negative, but {name}[{position}] is {array[position]}")
    return array


def _check_numeric(array: NDArray[Any], name: str) -> None:
    kind = array.dtype.kind
    if kind == "O":
        odd = next((v for v in array.ravel().tolist() if isinstance(v, _NO_NUMBERS)), None)
        kind = "f" if odd is None else np.asarray(odd).dtype.kind
    if kind in _KINDS:
        raise ValueError(f"{name} must hold numbers, got {_KINDS[kind]}")


def check_same_length(**arrays: NDArray[Any]) -> None:
    """Raise a ValueError that names the arguments whose lengths differ."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        described = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"lengths differ: {described}")


def check_losses_and_uncertainty(losses: Any, uncertainty: Any) -> tuple[FloatArray, FloatArray]:
    """Check one loss ≥ 0 and one uncertainty per example."""
    checked_losses = check_vector(losses, "losses", non_negative=True)
    checked_uncertainty = check_vector(uncertainty, "uncertainty")
    check_same_length(losses=checked_losses, uncertainty=checked_uncertainty)
    return checked_losses, checked_uncertainty


def safe_exponent(losses: FloatArray, count: float) -> int:
    """Find the exponent e for which ``count``² terms of losses · 2^e can just be summed without overflow.

    Sums of losses near the largest float would overflow, and those near the smallest would lose digits.
    Scaling by a power of two is exact.
    """
    largest = float(losses.max(initial=0.0))
    if largest == 0:
        return 0
    return 1000 - 2 * math.frexp(count)[1] - math.frexp(largest)[1]


def check_number(
    value: Any,
    name: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> float:
    """Return ``value`` as a float, or raise a ValueError that names it.

    ``minimum`` and ``maximum`` belong to the allowed interval, ``above`` and ``below`` do not.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {_describe(value)}")
    number = float(value)
    for limit, violated, relation in (
        (minimum, minimum is not None and number < minimum, ">="),
        (maximum, maximum is not None and number > maximum, "<="),
        (above, above is not None and number <= above, ">"),
        (below, below is not None and number >= below, "<"),
    ):
        if violated:
            raise ValueError(f"{name} must be {relation} {limit:g}, got {number:g}")
    return number


def check_integer(value: Any, name: str, *, minimum: int) -> int:
    """Return ``value`` as an int that is at least ``minimum``, or raise a ValueError that names it."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name} must be an integer, got {_describe(value)}")
    return int(check_number(value, name, minimum=minimum))


def _describe(value: Any) -> str:
    """Describe a value in a message: scalars as they are, arrays by their shape."""
    return f"an array of shape {value.shape}" if getattr(value, "shape", ()) else repr(value)
