"""A contact sheet: many faces on one image, the most certain first, with the names of their files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np

from facereject.faces.images import ImageArray
from facereject.outputs._drawing.faces import GREEN, RED, SILVER
from facereject.outputs._drawing.text import WHITE, put_panel, put_text, text_mask

_GROUND = (24, 26, 30)
_GAP = 6

_LEGEND = (
    "+ accepted (green), x rejected (red)",
    "number: expected error in percent",
    "from the most certain face to the least",
)


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
