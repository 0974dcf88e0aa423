"""The faces of a table as columns: what the page sorts, colours and counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject._files import display_name
from facereject._validation import FloatArray
from facereject.faces.face import FRAME_RULES, Box
from facereject.faces.landmarks.point_set import N_LANDMARKS
from facereject.faces.regions import REGIONS
from facereject.outputs.sorted_files import SortedFiles
from facereject.tables.columns import HEAD
from facereject.tables.errors import TableFormatError
from facereject.tables.packing import points_of
from facereject.tables.reading import points_in_table, read_rows

#: what the user has decided about a face
UNDECIDED, ACCEPT, REJECT = 0, 1, 2

#: by what faces are accepted: up to a limit of one of these columns
KEYS = ("uncertainty", "expected_error", "error_high")

# columns that are sent to the page
_TYPES = {
    "source": "<u4",
    "reason": "<u2",
    "cause": "<u2",
    "accepted": "?",
    "crop": "<u4",
    "frame": "<i4",
    "time_s": "<f8",
    "face": "<i4",
    "track": "<i4",
    "x": "<f4",
    "y": "<f4",
    "width": "<f4",
    "height": "<f4",
    "detector_score": "<f4",
    "uncertainty": "<f8",
    "expected_error": "<f8",
    "error_low": "<f4",
    "error_high": "<f8",
    "typicality": "<f4",
    "yaw": "<f4",
    "pitch": "<f4",
    "roll": "<f4",
}


class RequestError(ValueError):
    """What a page has sent makes no sense; the message says why."""


class LimitRule(NamedTuple):
    """Faces are accepted up to a limit of a column; what was asked for led to it.

    Attributes
    ----------
    key : str
        One of `KEYS`.
    limit : float
    kind : str
        The target on the page: "expected_error", "mean_error", "share" or "error_high".
    value : float
        Of the target.
    """

    key: str
    limit: float
    kind: str
    value: float


class FaceId(NamedTuple):
    """What names a face in any table: its input, the number of the frame and its number in the frame."""

    source: str
    frame: int
    face: int


@dataclass
class ReviewFaces:
    """The faces of a table.

    Attributes
    ----------
    table : str
        Its path.
    sources : list of str
        The inputs in the order of the table, named as there.
    columns : dict of str to ndarray
        Numbers of every face; besides those of the table ``source`` (number of the input), ``reason`` and
        ``cause`` (numbers of `reasons` and `causes`), ``accepted``, the mean expected error of each region,
        and ``crop``, the face whose crop is shown for this one: of a video, one per track and second.
    points : ndarray of shape (n, 3 * n_points), float32
        All x, all y, all expected errors; NaN where unknown.
    reasons, causes : list of str
    n_points : int
    empty_frames : ndarray of int
        Frames without a face of each input.
    """

    table: str
    sources: list[str] = field(default_factory=list)
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    points: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), np.float32))
    reasons: list[str] = field(default_factory=list)
    causes: list[str] = field(default_factory=list)
    n_points: int = N_LANDMARKS
    empty_frames: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.points)

    @property
    def keys(self) -> list[str]:
        """The columns of `KEYS` that this table has."""
        return [key for key in KEYS if np.isfinite(self.columns.get(key, np.nan)).any()]

    def landmarks(self, number: int) -> FloatArray | None:
        """The predicted landmarks of a face, (n, 2); None if there are none."""
        n = self.n_points
        found = self.points[number, : 2 * n].reshape(2, n).T.astype(np.float64)
        return found if np.isfinite(found).all() else None

    def landmark_errors(self, number: int) -> FloatArray | None:
        """The expected errors of the landmarks; None if unknown."""
        errors = self.points[number, 2 * self.n_points :].astype(np.float64)
        return errors if np.isfinite(errors).any() else None

    def box(self, number: int) -> Box:
        """The box of a face."""
        return Box(*(float(self.columns[name][number]) for name in Box._fields))

    def id_of(self, number: int) -> FaceId:
        """What names a face in any table."""
        columns = self.columns
        return FaceId(
            self.sources[columns["source"][number]],
            int(columns["frame"][number]),
            int(columns["face"][number]),
        )

    def is_video(self, number: int) -> bool:
        """Whether a face is one of a video."""
        return math.isfinite(self.columns["time_s"][number])

    def first_rule(self) -> LimitRule:
        """The rule that comes closest to the decisions of the table."""
        accepted = self.columns["accepted"]
        for key in ("expected_error", "uncertainty"):
            if key in self.keys:
                values = self.columns[key]
                known = values[accepted & np.isfinite(values)]
                limit = float(known.max()) if len(known) else float(np.nanmin(values)) - 1e-9
                return LimitRule(key, limit, key, limit)
        return LimitRule("uncertainty", math.inf, "uncertainty", math.inf)

    def accepted(self, rule: LimitRule, decisions: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Whether each face is accepted: by the rule, unless the user has decided about its crop.

        Faces that were rejected for another reason than their uncertainty stay rejected.
        """
        values = self.columns[rule.key]
        can = np.array([reason in ("", "uncertain") for reason in self.reasons])
        by_rule = np.isfinite(values) & (values <= rule.limit) & can[self.columns["reason"]]
        decided = decisions[self.columns["crop"]]
        accepted: NDArray[np.bool_] = np.where(decided == UNDECIDED, by_rule, decided == ACCEPT)
        return accepted

    def accepted_sources(self, accepted: NDArray[np.bool_], frame_rule: str = "all") -> NDArray[np.bool_]:
        """Whether each input is accepted, as `facereject filter` decides.

        An image by the frame rule, a video by the share of its frames in the table that are accepted.
        """
        assert frame_rule in FRAME_RULES
        columns, n = self.columns, len(self.sources)
        frames, frame_of = np.unique(
            np.stack([columns["source"].astype(np.int64), columns["frame"]], axis=1),
            axis=0,
            return_inverse=True,
        )
        frame_of = frame_of.ravel()
        size = np.bincount(frame_of, minlength=len(frames))
        good = np.bincount(frame_of, weights=accepted, minlength=len(frames))
        if frame_rule == "largest":
            area = columns["width"] * columns["height"]
            order = np.lexsort((-area, frame_of))
            first = order[np.unique(frame_of[order], return_index=True)[1]] if len(order) else order
            fine = accepted[first]
        else:
            fine = good == size if frame_rule == "all" else good > 0
        source = frames[:, 0] if len(frames) else np.empty(0, np.int64)
        total = np.bincount(source, minlength=n) + self.empty_frames
        share: NDArray[np.bool_] = np.bincount(source, weights=fine, minlength=n) >= (
            SortedFiles.video_share * np.maximum(total, 1)
        )
        return share & (np.bincount(source, minlength=n) > 0)


def read_faces(table: str, on_row: Callable[[int], None] | None = None) -> ReviewFaces:
    """Read the faces of a table.

    Parameters
    ----------
    table : str
        Of facereject, in any of its formats.
    on_row : callable or None
        Called with the number of rows read, every thousand rows.

    Raises
    ------
    TableFormatError
        The file is not a table of facereject, or is damaged.
    """
    faces = ReviewFaces(table, n_points=points_in_table(table) or N_LANDMARKS)
    name = display_name(table)
    sources: dict[str, int] = {}
    reasons, causes = {"": 0}, {"": 0}
    crops: dict[tuple[Any, ...], int] = {}
    empty: list[int] = []
    cells: dict[str, list[Any]] = {column: [] for column in _TYPES}
    points = bytearray()
    missing = np.full(3 * faces.n_points, np.nan, np.float32).tobytes()
    for count, row in enumerate(read_rows(table), 1):
        if on_row is not None and count % 1000 == 0:
            on_row(count)
        values = dict(zip(HEAD, row, strict=False))
        source = sources.setdefault(values["source"], len(sources))
        if source == len(empty):
            empty.append(0)
        if values["x"] is None:
            empty[source] += 1
            continue
        box = [values[field] for field in Box._fields]
        if None in box or not all(map(math.isfinite, box)) or min(box[2:]) <= 0:
            said = ", ".join(map(str, box))
            raise TableFormatError(f"{name}, row {count}: x, y, width and height are no box: {said}")
        numbers = points_of(row)
        points += missing if numbers is None else numbers.astype(np.float32).tobytes()
        values["source"] = source
        values["reason"] = reasons.setdefault(values["reason"], len(reasons))
        values["cause"] = causes.setdefault(values["cause"], len(causes))
        values["crop"] = mine = len(cells["crop"])
        if values["time_s"] is not None:
            # of a video the first face of a track in each second is shown
            track = values["track"]
            who = ("face", values["face"]) if track is None else ("track", track)
            values["crop"] = crops.setdefault((source, *who, math.floor(values["time_s"])), mine)
        for column, collected in cells.items():
            collected.append(values[column])
    faces.sources, faces.reasons, faces.causes = list(sources), list(reasons), list(causes)
    faces.points = np.frombuffer(points, np.float32).reshape(-1, 3 * faces.n_points)
    faces.empty_frames = np.array(empty, np.int64)
    for column, collected in cells.items():
        kind = np.dtype(_TYPES[column])
        unknown = -1 if kind.kind == "i" else math.nan
        try:
            faces.columns[column] = np.array([unknown if cell is None else cell for cell in collected], kind)
        except OverflowError:
            raise TableFormatError(f"{name}: the column {column} has a number that is too large") from None
    if faces.n_points == N_LANDMARKS:
        errors = faces.points[:, 2 * N_LANDMARKS :]
        for region, chosen in REGIONS.items():
            faces.columns[f"error_{region}"] = errors[:, list(chosen)].mean(axis=1).astype("<f4")
    return faces


def packed_columns(columns: dict[str, NDArray[Any]]) -> tuple[list[dict[str, Any]], list[NDArray[Any]]]:
    """Columns for the page: names, types and positions in bytes; and the arrays in that order."""
    described, position = [], 0
    # the largest numbers first, so that each array begins where its type may begin
    ordered = sorted(columns.items(), key=lambda item: -item[1].dtype.itemsize)
    for name, values in ordered:
        kind = f"{values.dtype.kind}{values.dtype.itemsize}"
        described.append({"name": name, "type": kind, "offset": position})
        position += values.nbytes
    return described, [values for _, values in ordered]


def choose_faces(faces: ReviewFaces, n: int, seed: int = 0) -> list[int]:
    """Faces whose annotation teaches most, in a random order.

    A systematic sample: every photo has the same chance, as it must have for an honest unit, and yet the
    sample covers the whole range. Photos are ranked by uncertainty, cut into strata, and ranked by typicality
    within each, forth and back; then every k-th is taken from a random start. The order is random, so that
    any first part of it is a sample of the whole, too.

    Parameters
    ----------
    faces : ReviewFaces
    n : int
        How many; fewer if there are fewer photos with a scored face.
    seed : int
    """
    rng = np.random.default_rng(seed)
    columns = faces.columns
    scored = np.flatnonzero(np.isfinite(columns["uncertainty"]))
    # one face of each photo at random; of a video one of each track and second counts as a photo
    unit = np.where(np.isfinite(columns["time_s"]), columns["crop"].astype(np.int64) + len(faces.sources), 0)
    unit = np.where(unit > 0, unit, columns["source"])
    scored = rng.permutation(scored)
    _, first = np.unique(unit[scored], return_index=True)
    one = scored[first]
    ranked = one[np.argsort(columns["uncertainty"][one], kind="stable")]
    if "typicality" in columns and np.isfinite(columns["typicality"][ranked]).all():
        strata = np.array_split(ranked, max(1, round(np.sqrt(min(n, len(ranked))))))
        for k, part in enumerate(strata):
            order = np.argsort(columns["typicality"][part], kind="stable")
            strata[k] = part[order[:: -1 if k % 2 else 1]]
        ranked = np.concatenate(strata)
    n = min(n, len(ranked))
    places = np.floor((np.arange(n) + rng.random()) * len(ranked) / max(n, 1)).astype(int)
    return [int(number) for number in rng.permutation(ranked[places])]
