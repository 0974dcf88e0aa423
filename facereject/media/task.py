"""What is done with one input: decode it, find and judge its faces, give the rows of the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ..faces import FaceRejector
from ..faces.images import ImageError
from .images import read_image
from .inputs import Input
from .table import Row, display_name, rows_of_frame, unreadable_row


class Chunk(NamedTuple):
    """Some rows of one input, in order.

    Attributes
    ----------
    rows : list of Row
    frames : int
        Decoded frames these rows cover; 0 for the row of an unreadable input.
    undecodable : int
        Frames that could not be decoded and have no row.
    """

    rows: list[Row]
    frames: int = 0
    undecodable: int = 0


@dataclass(frozen=True)
class ScoreTask:
    """Turns an `Input` into rows, a chunk at a time. It pickles, so any engine can run it anywhere."""

    rejector: FaceRejector
    max_pixels: int = 200_000_000

    def __call__(self, item: Input) -> Iterator[Chunk]:
        source = display_name(item.path)
        try:
            image = read_image(item.path, max_pixels=self.max_pixels)
        except ImageError as error:
            yield Chunk([unreadable_row(source, str(error))])
            return
        yield Chunk(rows_of_frame(source, self.rejector(image)), frames=1)
