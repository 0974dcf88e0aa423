"""Checks at the public boundary: arrays become finite float64 vectors or a ValueError names the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def check_vector(values: Any, name: str, *, non_negative: bool = False, min_length: int = 1) -> FloatArray:
    """Return ``values`` as a finite 1-D float64 array, or raise a ValueError that names the argument."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from None
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


def check_same_length(**arrays: NDArray[Any]) -> None:
    """Raise a ValueError that names the arguments whose lengths differ."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        described = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"lengths differ: {described}")


def check_losses_and_uncertainty(losses: Any, uncertainty: Any) -> tuple[FloatArray, FloatArray]:
    """The pair almost every function here takes: one loss >= 0 and one uncertainty per example."""
    checked_losses = check_vector(losses, "losses", non_negative=True)
    checked_uncertainty = check_vector(uncertainty, "uncertainty")
    check_same_length(losses=checked_losses, uncertainty=checked_uncertainty)
    return checked_losses, checked_uncertainty
