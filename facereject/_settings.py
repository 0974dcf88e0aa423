"""Checks of scalar arguments: a finite number in an interval, or a ValueError that names the argument."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any


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
