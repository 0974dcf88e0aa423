"""The columns of the table and its reasons, the same for images and videos."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from facereject.faces.face import EXPLANATIONS, Pose
from facereject.faces.landmarks.mean_shape import N_LANDMARKS

#: why a row is not accepted; an accepted row has an empty reason. ``unreadable`` and ``failed`` are followed
#: by a colon and what went wrong, the others stand alone.
REASONS = {
    **EXPLANATIONS,
    "no_face": "no face was found",
    "unreadable": "the file could not be decoded",
    "failed": "the file was read, but working on it failed",
}

# the first columns of a table of any version
_FIRST = ("source", "frame", "time_s", "face", "track", "x", "y", "width", "height")

#: the columns before those of the landmarks
HEAD = (
    *_FIRST,
    "detector_score",
    "uncertainty",
    "expected_error",
    "accepted",
    "reason",
    "cause",
    *Pose._fields,
)

#: columns that hold whole numbers, and text; "accepted" is true or false, the others are numbers
INTEGERS = ("frame", "face", "track")
TEXTS = ("source", "reason", "cause")


@functools.lru_cache(maxsize=8)
def columns(n_points: int = N_LANDMARKS) -> tuple[str, ...]:
    """Column names, in order, for faces with ``n_points`` landmarks: x, y and expected error e of each.

    Examples
    --------
    >>> columns(68)[:5]
    ('source', 'frame', 'time_s', 'face', 'track')
    >>> columns(68)[-1]
    'e_67'
    """
    return (*HEAD, *(f"{name}_{i}" for name in "xye" for i in range(n_points)))


def count_points(names: Sequence[str]) -> int | None:
    """How many landmarks a table with these columns has; None if it is not a table of facereject."""
    n_points, odd = divmod(len(names) - len(HEAD), 3)
    return n_points if not odd and n_points > 0 and tuple(names) == columns(n_points) else None


def is_own(names: Sequence[str]) -> bool:
    """Whether facereject created a table with these columns, possibly a version with other columns."""
    return tuple(names[: len(_FIRST)]) == _FIRST


def is_lost(reason: str) -> bool:
    """Whether an input failed because its worker crashed or ran out of memory: it may succeed next time."""
    return reason.startswith(("failed: its worker process", "failed: MemoryError"))


#: column names of the models that are installed with the package
COLUMNS = columns()
