"""The contact sheet of a run: faces of all inputs on one image, from certain to uncertain."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import MISSING, dataclass, field
from typing import NamedTuple

import cv2
import numpy as np

from facereject._files import display_name, suffix_of
from facereject._options import option
from facereject._words import counted
from facereject.faces.face import Box, FaceFrame
from facereject.faces.images import ImageArray, ImageError, read_image
from facereject.outputs._drawing.crops import face_crop
from facereject.outputs._drawing.faces import GREEN, RED, SILVER
from facereject.outputs._drawing.text import WHITE, put_panel, put_text, text_mask
from facereject.outputs._folders import check_file, write_output
from facereject.outputs.base import Media, Output, RunInfo
from facereject.outputs.images import is_own_picture, jpeg, png
from facereject.sources.video import VideoError, open_video

_GROUND = (24, 26, 30)

_GAP = 6

_LEGEND = (
    "+ accepted (green), x rejected (red)",
    "number: expected error in percent",
    "from the most certain face to the least",
)

_SUFFIXES = (".png", ".jpg", ".jpeg")

# faces on a sheet, at most
_FACES = 240


class _FoundFace(NamedTuple):
    """A face of a run: enough to find it again."""

    uncertainty: float
    path: str
    frame: int
    time_s: float
    box: Box
    expected_error: float
    accepted: bool


@dataclass
class ContactSheet(Output):
    """Show up to 240 faces on one image, evenly from the most certain to the least.

    Each person of a video is shown twice: in the most and in the least certain frame.

    Parameters
    ----------
    path : path
        ``.png`` or ``.jpg``.

    See Also
    --------
    Crops : Every face as a file.

    Examples
    --------
    >>> from facereject import score_files
    >>> from facereject.outputs import ContactSheet
    >>> score_files("photos", ContactSheet("sheet.jpg"))  # doctest: +SKIP
    """

    place = "end"
    panel = "Images to make (folders are made if needed)"

    path: str = option(
        MISSING,
        "--contact-sheet",
        metavar="FILE",
        help="Save one image (.png or .jpg) of up to 240 faces from certain to uncertain, with their file "
        "names; for a video, the most and the least certain frame of each person.",
    )

    n_shown: int = field(default=0, init=False, repr=False)
    _run: RunInfo | None = field(default=None, init=False, repr=False)
    _path: str = field(default="", init=False, repr=False)
    _stills: list[_FoundFace] = field(default_factory=list, init=False, repr=False)
    _tracks: dict[tuple[str, int | None], tuple[_FoundFace, _FoundFace]] = field(
        default_factory=dict, init=False, repr=False
    )

    def prepare(self, run: RunInfo) -> None:
        """Check the name of the file."""
        self._run = run
        self.path = check_file(
            "ContactSheet.path", self.path, _SUFFIXES, overwrite=run.overwrite, is_own=is_own_picture
        )

    def files(self) -> list[str]:
        """The sheet."""
        return [self.path]

    def begin(self, media: Media) -> None:
        """Another input begins."""
        self._path = media.path

    def write(self, frame: FaceFrame) -> None:
        """Remember where the faces of a frame are."""
        for face in frame.faces:
            if not math.isfinite(face.uncertainty):
                continue
            seen = _FoundFace(
                face.uncertainty,
                self._path,
                frame.index,
                frame.time_s,
                face.box,
                face.expected_error,
                face.accepted,
            )
            if math.isnan(frame.time_s):
                self._stills.append(seen)
                continue
            best, worst = self._tracks.get((self._path, face.track), (seen, seen))
            self._tracks[self._path, face.track] = min(best, seen), max(worst, seen)

    def close(self) -> None:
        """Open the inputs once more and write the sheet; without any face nothing is written."""
        if self._run is None:
            raise ValueError("ContactSheet is not prepared: pass it to score_files")
        by_path: dict[str, list[_FoundFace]] = {}
        for seen in self._chosen():
            by_path.setdefault(seen.path, []).append(seen)
        inputs = [(self._where(path), faces) for path, faces in by_path.items()]
        with closing(self._run.engine.run(_Cutter(self._run.max_pixels), inputs)) as outcomes:
            # a file that cannot be read any more is left out
            crops = [outcome.chunk for outcome in outcomes if outcome.chunk is not None]
        self.n_shown = len(crops)
        if not crops:
            return
        sheet = contact_sheet(crops)
        write_output(self.path, png(sheet) if suffix_of(self.path) == ".png" else jpeg(sheet))

    def report(self) -> list[str]:
        """Where the sheet is."""
        made = f"{self.path} ({counted(self.n_shown, 'face')})" if self.n_shown else "none, there is no face"
        return [f"Contact sheet: {made}"]

    def _where(self, path: str) -> str:
        for output in self._run.outputs if self._run is not None else ():
            path = output.where(path)
        return path

    def _chosen(self) -> list[_FoundFace]:
        of_videos = {seen for pair in self._tracks.values() for seen in pair}
        found = sorted([*self._stills, *of_videos])
        if len(found) <= _FACES:
            return found
        return [found[round(i * (len(found) - 1) / (_FACES - 1))] for i in range(_FACES)]


@dataclass(frozen=True)
class _Cutter:
    """The task that opens an input again and cuts out some of its faces."""

    max_pixels: int

    def __call__(self, item: tuple[str, list[_FoundFace]]) -> Iterator[SheetFace]:
        for seen, image in _images(*item, self.max_pixels):
            x, y, width, height = seen.box
            around = np.array([(x, y), (x + width, y + height)])
            crop = face_crop(image, None, seen.accepted, around=around, side=160, margin=0.2)
            name = display_name(os.path.basename(seen.path))
            if not math.isnan(seen.time_s):
                name = f"{name} {int(seen.time_s // 60)}:{seen.time_s % 60:04.1f}"
            yield SheetFace(crop, seen.uncertainty, seen.expected_error, seen.accepted, name)


def _images(path: str, faces: list[_FoundFace], max_pixels: int) -> Iterator[tuple[_FoundFace, ImageArray]]:
    """The images that show these faces; files that are gone are left out."""
    try:
        if math.isnan(faces[0].time_s):
            image = read_image(path, max_pixels=max_pixels)
            yield from ((seen, image) for seen in faces)
            return
        wanted = sorted(faces, key=lambda seen: seen.frame)
        with open_video(path, max_pixels=max_pixels) as frames:
            for frame in frames:
                while wanted and wanted[0].frame == frame.index:
                    yield wanted.pop(0), frame.image
                if not wanted:
                    return
    except (ImageError, VideoError):
        return


class SheetFace(NamedTuple):
    """One face of a contact sheet.

    Attributes
    ----------
    picture : ndarray of shape (H, W, 3), uint8
        Square; it is brought to the size of a cell.
    uncertainty, expected_error : float
        The first orders the sheet, the second is shown if it is known.
    accepted : bool
    name : str
        Written below the face, shortened if need be.
    """

    picture: ImageArray
    uncertainty: float
    expected_error: float
    accepted: bool
    name: str = ""


def contact_sheet(faces: Sequence[SheetFace], *, cell: int = 112, width: int = 12) -> ImageArray:
    """One image of all faces, row by row from the most certain to the least.

    Parameters
    ----------
    faces : sequence of SheetFace
    cell : int, default=112
        Side of a face in pixels.
    width : int, default=12
        Faces in a row, at most.

    Returns
    -------
    ndarray of shape (H, W, 3), uint8
    """
    if not faces:
        raise ValueError("faces must not be empty: there is nothing to show")
    # NaN has no order
    ordered = sorted(faces, key=lambda face: math.inf if math.isnan(face.uncertainty) else face.uncertainty)
    size = max(10, cell // 9)
    line = text_mask("", size).shape[0]
    width = min(width, len(ordered))
    rows, down, right = math.ceil(len(ordered) / width), cell + line + _GAP, cell + _GAP
    legend = _wrapped(_LEGEND, width * right, size)
    across = max(width * right, *(text_mask(text, size).shape[1] for text in legend)) + 2 * _GAP
    shape = (rows * down + len(legend) * line + 2 * _GAP, across, 3)
    sheet = np.full(shape, _GROUND, dtype=np.uint8)
    for i, face in enumerate(ordered):
        y, x = _GAP + i // width * down, _GAP + i % width * right
        sheet[y : y + cell, x : x + cell] = _cell(face, cell, size)
        put_text(sheet, _shortened(face.name, cell, size), x, y + cell, size, SILVER)
    for i, text in enumerate(legend):
        put_text(sheet, text, _GAP, rows * down + _GAP + i * line, size, SILVER)
    return sheet


def _cell(face: SheetFace, side: int, size: int) -> ImageArray:
    small = cv2.resize(face.picture, (side, side), interpolation=cv2.INTER_AREA)
    picture = np.asarray(small, dtype=np.uint8)
    # a sign beside the colour, for colour-blind readers
    known = math.isfinite(face.expected_error)
    text = ("+ " if face.accepted else "x ") + (f"{face.expected_error:.1f} %" if known else "")
    mask = text_mask(text, size)
    put_panel(picture, 3, side - mask.shape[0] - 5, mask.shape[1] + 8, mask.shape[0] + 2)
    put_text(picture, text, 7, side - mask.shape[0] - 4, size, WHITE)
    cv2.rectangle(picture, (0, 0), (side - 1, side - 1), GREEN if face.accepted else RED, 3)
    return picture


def _shortened(name: str, width: int, size: int) -> str:
    """Shorten a name in the middle until it fits."""
    shown, kept = name, len(name)
    while kept > 2 and text_mask(shown, size).shape[1] > width:
        kept -= 1
        shown = f"{name[: kept // 2]}..{name[len(name) - (kept + 1) // 2 :]}"
    return shown


def _wrapped(parts: Sequence[str], width: int, size: int) -> list[str]:
    """Join the parts in as few lines as fit."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]};  {part}"
        if text_mask(longer, size).shape[1] <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines
