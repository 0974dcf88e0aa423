"""Which points of the face decide."""

from __future__ import annotations

from typing import Annotated

import typer

RegionOption = Annotated[
    str | None,
    typer.Option(
        "--region",
        metavar="NAMES",
        help="Decide by these parts of the face alone: jaw, brows, nose, eyes, mouth, or several as in "
        "eyes,mouth. Uncertainty, expected error and threshold are then theirs.",
    ),
]
