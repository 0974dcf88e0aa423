"""DeepLabCut: CSV with the header lines scorer, (individuals,) bodyparts, coords; our likelihood."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject._options import OptionError, option
from facereject.faces.face import Face, FaceFrame
from facereject.outputs.base import Media
from facereject.outputs.keypoints.collected import KeypointFile, confidences

_SCORER = "facereject"


@dataclass
class DeepLabCut(KeypointFile):
    """Write the frames of one video, or photos, as a table of DeepLabCut.

    The likelihood of a point is 2 ** (-e / 5) for an expected error of e percent. Where a frame shows several
    faces they are individuals, by track or by their order.

    Parameters
    ----------
    path : path
        ``.csv``.

    See Also
    --------
    COCOKeypoints : A format that many tools read.

    Examples
    --------
    >>> from facereject import score_files
    >>> from facereject.outputs import DeepLabCut
    >>> score_files("clip.mp4", DeepLabCut("clipDLC_facereject.csv"))  # doctest: +SKIP
    """

    title = "DeepLabCut"
    suffixes = (".csv",)
    videos = True

    path: str = option(
        MISSING,
        "--deeplabcut",
        metavar="FILE",
        help="Table of DeepLabCut, of one video or of photos, with our confidence as likelihood (.csv).",
    )

    _rows: list[tuple[str, dict[int, NDArray[np.float32]]]] = field(
        default_factory=list, init=False, repr=False
    )

    def planned(self, videos: int) -> None:
        """One video only: its rows are the numbers of frames."""
        if videos > 1:
            raise OptionError("`DeepLabCut.path`: a table of DeepLabCut holds one video; name one at a time")

    def begin(self, media: Media) -> None:
        """Another input begins; pixels and sizes are not needed."""
        self.media, self.size = media, (0, 0)

    def take(self, frame: FaceFrame, faces: list[Face]) -> None:
        """A row."""
        name = str(frame.index) if self.media.kind == "video" else self.media.source
        found: dict[int, NDArray[np.float32]] = {}
        for k, face in enumerate(faces):
            key = k if face.track is None else face.track
            found[key] = np.column_stack([face.landmarks, confidences(face)]).astype(np.float32)
        self._rows.append((name, found))

    def assembled(self) -> Iterator[str]:
        """The table."""
        owners = sorted({owner for _, found in self._rows for owner in found}) or [0]
        columns = [
            (o, str(i), c) for o in owners for i in range(self.n_points) for c in ("x", "y", "likelihood")
        ]
        yield _line(["scorer", *[_SCORER] * len(columns)])
        if len(owners) > 1:
            yield _line(["individuals", *(f"face{owner}" for owner, _, _ in columns)])
        yield _line(["bodyparts", *(part for _, part, _ in columns)])
        yield _line(["coords", *(coordinate for _, _, coordinate in columns)])
        for name, found in self._rows:
            cells: list[Any] = [name]
            for owner in owners:
                if owner in found:
                    cells += [f"{value:.4f}" for value in found[owner].ravel().tolist()]
                else:
                    cells += [""] * (3 * self.n_points)
            yield _line(cells)


def _line(cells: Sequence[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
