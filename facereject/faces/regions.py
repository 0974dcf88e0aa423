"""Regions of the face: which of the 68 points of 300-W belong to the eyes, the mouth, ..."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

_N_POINTS = 68

#: the points of each region, counted from 0
REGIONS = MappingProxyType(
    {
        "jaw": tuple(range(17)),
        "brows": tuple(range(17, 27)),
        "nose": tuple(range(27, 36)),
        "eyes": tuple(range(36, 48)),
        "mouth": tuple(range(48, 68)),
    }
)


def region_names(names: str | Iterable[str]) -> tuple[str, ...]:
    """The regions that were named, each once and in the order of `REGIONS`; ValueError for unknown ones.

    Parameters
    ----------
    names : str or iterable of str
        One string may hold several, with commas between them.
    """
    wanted = names.split(",") if isinstance(names, str) else list(names)
    wanted = [name.strip() for name in wanted]
    unknown = [name for name in wanted if name not in REGIONS]
    if unknown or not wanted:
        given = unknown[0] if unknown else "no name"
        raise ValueError(f"regions must be among {', '.join(REGIONS)}; got {given!r}")
    return tuple(name for name in REGIONS if name in wanted)


def region_points(names: str | Iterable[str]) -> tuple[int, ...]:
    """The points of one or several regions, in order.

    Parameters
    ----------
    names : str or iterable of str
        Names of `REGIONS`; one string may hold several, with commas between them.

    Examples
    --------
    >>> from facereject.faces import region_points
    >>> region_points("eyes")
    (36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47)
    >>> len(region_points("eyes,mouth"))
    32
    """
    return tuple(sorted(point for name in region_names(names) for point in REGIONS[name]))


def region_means(errors: NDArray[np.float64]) -> dict[str, float]:
    """The mean over the points of each region; empty for other than 68 points, whose regions are unknown."""
    if len(errors) != _N_POINTS:
        return {}
    return {name: float(np.mean(errors[list(points)])) for name, points in REGIONS.items()}
