"""The columns of the table and its reasons, the same for images and videos."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from facereject._options import OptionError
from facereject.faces.face import EXPLANATIONS, Pose
from facereject.faces.landmarks.point_set import N_LANDMARKS

#: why a row is not accepted; an accepted row has an empty reason. ``unreadable`` and ``failed`` are followed
#: by a colon and what went wrong, the others have no text behind them.
REASONS = {
    **EXPLANATIONS,
    "no_face": "no face was found",
    "unreadable": "the file could not be decoded",
    "failed": "the file was read, but working on it failed",
}

# the first columns of a table of any version
_FIRST = ("source", "frame", "time_s", "face", "track", "x", "y", "width", "height")

_LANDMARK = re.compile(r"[xye]_\d+")

#: the last column of a table that `facereject review` exported: accepted, rejected, corrected, or empty
REVIEWED = "reviewed"

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
    "detector",
    "typicality",
    "error_low",
    "error_high",
)

# columns of `HEAD` that every version writes; later ones are missing in tables of earlier versions
_N_ALWAYS = HEAD.index("detector")

#: columns that hold whole numbers, and text; "accepted" is true or false, the others are numbers
INTEGERS = ("frame", "face", "track")
TEXTS = ("source", "reason", "cause", "detector")


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


def chosen_columns(text: str, n_points: int = N_LANDMARKS) -> tuple[str, ...]:
    """The columns that a user names, in the order of the table.

    Parameters
    ----------
    text : str
        Names of columns and groups, separated by commas. Groups are ``all``, ``short`` (all but the
        landmarks), ``box``, ``pose``, ``landmarks`` and ``landmark_errors``. ``source`` is always included.
    n_points : int
        Number of landmarks.

    Raises
    ------
    OptionError
        There is no such column.

    Examples
    --------
    >>> chosen_columns("accepted,expected_error")
    ('source', 'expected_error', 'accepted')
    >>> chosen_columns("short")[-1]
    'error_high'
    """
    names = columns(n_points)
    landmarks = names[len(HEAD) :]
    groups = {
        "all": names,
        "short": HEAD,
        "box": ("x", "y", "width", "height"),
        "pose": Pose._fields,
        "landmarks": landmarks[: 2 * n_points],
        "landmark_errors": landmarks[2 * n_points :],
    }
    wanted = {"source"}
    for name in text.split(","):
        name = name.strip()
        if name not in groups and name not in names:
            raise OptionError(
                f"`columns`: there is no column {name!r}; choose from {', '.join(groups)}, "
                f"{', '.join(HEAD)}, {landmarks[0]} … {landmarks[-1]}"
            )
        wanted.update(groups.get(name, (name,)))
    return tuple(name for name in names if name in wanted)


def check_columns(text: str) -> None:
    """Raise OptionError if `chosen_columns` would, as far as that is known before the number of landmarks."""
    chosen_columns(_LANDMARK.sub("source", text))


def count_points(names: Sequence[str]) -> int | None:
    """How many landmarks a table with these columns has, 0 for the columns ``short``.

    None if it is not a table of facereject, or one with too few columns to be read again.
    """
    n_head = count_head(names)
    return None if n_head is None else (count_scored(names) - n_head) // 3


def count_head(names: Sequence[str]) -> int | None:
    """How many columns of `HEAD` a table has: earlier versions lack the last ones; None if it is not a table.

    Examples
    --------
    >>> count_head(columns(68)) == len(HEAD)
    True
    """
    names = tuple(names)[: count_scored(names)]
    for n_head in range(len(HEAD), _N_ALWAYS - 1, -1):
        n_points, odd = divmod(len(names) - n_head, 3)
        if not odd and n_points >= 0 and names == HEAD[:n_head] + columns(n_points)[len(HEAD) :]:
            return n_head
    return None


def count_scored(names: Sequence[str]) -> int:
    """How many columns a table has without `REVIEWED`."""
    return len(names) - (names[-1:] in ((REVIEWED,), [REVIEWED]))


def is_own(names: Sequence[str]) -> bool:
    """Whether facereject created a table with these columns, possibly an older version or a selection."""
    if tuple(names[: len(_FIRST)]) == _FIRST:
        return True
    # names that other programs are unlikely to use
    told = names[:1] == ("source",) and {"uncertainty", "expected_error", "detector_score"} & {*names}
    return bool(told) and all(name in HEAD or _LANDMARK.fullmatch(name) for name in names)


def is_lost(reason: str) -> bool:
    """Whether an input failed because its worker crashed or ran out of memory: it may succeed next time."""
    return reason.startswith(("failed: its worker process", "failed: MemoryError"))


#: column names of the models that are installed with the package
COLUMNS = columns()
