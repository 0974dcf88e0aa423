"""A contact sheet: many faces on one picture, the most certain first, accepted green and rejected red."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np

from facereject.faces.images.load import ImageArray
from facereject.outputs._drawing.faces import GREEN, RED
from facereject.outputs._drawing.text import WHITE, put_panel, put_text, text_mask

_GROUND = (24, 26, 30)
_GAP = 6


class SheetFace(NamedTuple):
    """One face of a contact sheet.

    Attributes
    ----------
    picture : ndarray of shape (H, W, 3), uint8
        Square; it is brought to the size of a cell.
    uncertainty, expected_error : float
        The first orders the sheet, the second is shown if it is known.
    accepted : bool
    """

    picture: ImageArray
    uncertainty: float
    expected_error: float
    accepted: bool


def contact_sheet(faces: Sequence[SheetFace], *, cell: int = 112, width: int = 12) -> ImageArray:
    """One picture of all faces, row by row from the most certain to the least.

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
    width = min(width, len(ordered))
    rows, step = math.ceil(len(ordered) / width), cell + _GAP
    sheet = np.full((rows * step + _GAP, width * step + _GAP, 3), _GROUND, dtype=np.uint8)
    size = max(10, cell // 9)
    for i, face in enumerate(ordered):
        y, x = _GAP + i // width * step, _GAP + i % width * step
        small = cv2.resize(face.picture, (cell, cell), interpolation=cv2.INTER_AREA)
        picture = np.asarray(small, dtype=np.uint8)
        color = GREEN if face.accepted else RED
        # the word stands beside the colour for those who do not see it
        known = math.isfinite(face.expected_error)
        text = ("+ " if face.accepted else "x ") + (f"{face.expected_error:.1f} %" if known else "")
        mask = text_mask(text, size)
        put_panel(picture, 3, cell - mask.shape[0] - 5, mask.shape[1] + 8, mask.shape[0] + 2)
        put_text(picture, text, 7, cell - mask.shape[0] - 4, size, WHITE)
        cv2.rectangle(picture, (0, 0), (cell - 1, cell - 1), color, 3)
        sheet[y : y + cell, x : x + cell] = picture
    return sheet
