"""The contact sheet of a run: faces of all inputs on one picture, chosen evenly from certain to uncertain."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import PIL.Image
import PIL.PngImagePlugin

from facereject._files import NOT_MADE_HERE, display_name, folder_problem, suffix_of, write_whole
from facereject.faces.face import Box
from facereject.faces.images.files import MAX_PIXELS, read_image
from facereject.faces.images.load import ImageArray, ImageError
from facereject.outputs._drawing.crops import face_crop
from facereject.outputs._drawing.sheet import SheetFace, contact_sheet
from facereject.outputs._images import PictureError, is_own_picture, jpeg
from facereject.parallel import Engine, SerialEngine
from facereject.sources.inputs import Input
from facereject.sources.video import VideoError, open_video
from facereject.tables.formats import read_table
from facereject.tables.rows import Chunk, Row

#: faces on a sheet, at most
SHEET_FACES = 240

_SUFFIXES = (".png", ".jpg", ".jpeg")


class _SeenFace(NamedTuple):
    """A face of a run: enough to find it again."""

    uncertainty: float
    path: str
    frame: int
    box: Box
    expected_error: float
    accepted: bool
    video: bool


@dataclass
class SheetCollector:
    """Collects the faces of a run; an observer. Of a video, each person counts twice: most and least certain.

    Parameters
    ----------
    faces : int
        On the sheet, at most: evenly from the most certain to the least.
    max_pixels : int
        Larger pictures are not opened again.
    """

    faces: int = SHEET_FACES
    max_pixels: int = MAX_PIXELS
    _stills: list[_SeenFace] = field(default_factory=list, init=False)
    _tracks: dict[tuple[str, int | None], tuple[_SeenFace, _SeenFace]] = field(
        default_factory=dict, init=False
    )

    @classmethod
    def of_table(cls, table: str, faces: int = SHEET_FACES, max_pixels: int = MAX_PIXELS) -> SheetCollector:
        """The faces of a finished table; its inputs are opened by the names that stand there."""
        sheet = cls(faces, max_pixels)
        for row in read_table(table):
            sheet.add(row.source, [row])
        return sheet

    def __call__(self, item: Input, chunk: Chunk, last: bool) -> None:
        """Take the rows of a chunk."""
        self.add(item.path, chunk.rows)

    def add(self, path: str, rows: Iterable[Row]) -> None:
        """Take rows of an input."""
        for row in rows:
            if row.box is None or row.uncertainty is None or not math.isfinite(row.uncertainty):
                continue
            error = math.nan if row.expected_error is None else row.expected_error
            video = row.time_s is not None
            seen = _SeenFace(row.uncertainty, path, row.frame or 0, row.box, error, row.accepted, video)
            if not video:
                self._stills.append(seen)
                continue
            best, worst = self._tracks.get((path, row.track), (seen, seen))
            self._tracks[path, row.track] = min(best, seen), max(worst, seen)

    def write(
        self,
        path: str,
        *,
        overwrite: bool = False,
        engine: Engine | None = None,
        folder: str = "",
        where: Callable[[str], str] = str,
    ) -> int:
        """Write the sheet and return how many faces it shows; without any face nothing is written.

        Parameters
        ----------
        path : str
        overwrite : bool, default=False
            As in `check_sheet_path`.
        engine : Engine or None
            Opens the inputs again: they are decoded where they were before. None is this process.
        folder : str
            Where relative paths are taken from there.
        where : callable
            Where an input is now, as it may have been moved.
        """
        check_sheet_path(path, overwrite=overwrite)
        by_path: dict[str, list[_SeenFace]] = {}
        for seen in self._chosen():
            by_path.setdefault(seen.path, []).append(seen)
        inputs = [(os.path.join(folder, where(path)), faces) for path, faces in by_path.items()]
        with closing((engine or SerialEngine()).run(_FaceCutter(self.max_pixels), inputs)) as outcomes:
            # a file that cannot be read any more is left out
            pictures = [outcome.chunk for outcome in outcomes if outcome.chunk is not None]
        if not pictures:
            return 0
        sheet = contact_sheet(pictures)
        try:
            write_whole(path, _png(sheet) if suffix_of(path) == ".png" else jpeg(sheet))
        except OSError as error:
            raise PictureError(f"{display_name(path)}: cannot be written ({error.strerror})") from None
        return len(pictures)

    def _chosen(self) -> list[_SeenFace]:
        of_videos = {seen for pair in self._tracks.values() for seen in pair}
        found = sorted([*self._stills, *of_videos])
        if len(found) <= self.faces:
            return found
        return [found[round(i * (len(found) - 1) / (self.faces - 1))] for i in range(self.faces)]


@dataclass(frozen=True)
class _FaceCutter:
    """The task that opens an input again and cuts out some of its faces."""

    max_pixels: int

    def __call__(self, item: tuple[str, list[_SeenFace]]) -> Iterator[SheetFace]:
        for seen, image in _images(*item, self.max_pixels):
            x, y, width, height = seen.box
            around = np.array([(x, y), (x + width, y + height)])
            picture = face_crop(image, None, seen.accepted, around=around, side=160, margin=0.2)
            yield SheetFace(picture, seen.uncertainty, seen.expected_error, seen.accepted)


def check_sheet_path(path: str, *, overwrite: bool = False) -> None:
    """Raise PictureError if no sheet can be written under this name."""
    name = display_name(path)
    if suffix_of(path) not in _SUFFIXES:
        raise PictureError(f"{name}: a contact sheet is written as .png or .jpg")
    problem = "this is a folder; name a file" if os.path.isdir(path) else folder_problem(path)
    if problem:
        raise PictureError(f"{name}: {problem}")
    if os.path.lexists(path) and not overwrite and not is_own_picture(path):
        raise PictureError(f"{name}: {NOT_MADE_HERE}")


def _images(path: str, faces: list[_SeenFace], max_pixels: int) -> Iterable[tuple[_SeenFace, ImageArray]]:
    """The pictures that show these faces; what has gone in the meantime is left out."""
    try:
        if not faces[0].video:
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


def _png(image: ImageArray) -> bytes:
    made = PIL.PngImagePlugin.PngInfo()
    made.add_text("Software", "facereject")
    data = io.BytesIO()
    PIL.Image.fromarray(image).save(data, "PNG", pnginfo=made)
    return data.getvalue()
