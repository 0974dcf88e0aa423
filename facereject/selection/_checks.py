"""One check for the scalar settings of this package: a finite real number inside an interval."""

from __future__ import annotations

import math
from numbers import Real
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
        raise ValueError(f"{name} must be a finite number, got {value!r}")
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
