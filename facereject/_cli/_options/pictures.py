"""Pictures that `filter` makes: aligned faces, drawn photographs, best frames, a contact sheet."""

from __future__ import annotations

from typing import Annotated

import typer

_PANEL = "Pictures to make (folders are made, foreign files are never overwritten)"

CropsOption = Annotated[
    str | None,
    typer.Option(
        "--crops",
        metavar="DIR",
        help="Accepted faces, upright and in one size: all of a photograph, the best of each person in a "
        "video.",
        rich_help_panel=_PANEL,
    ),
]
SizeOption = Annotated[
    int, typer.Option("--size", metavar="PIXELS", help="Side of the crops.", rich_help_panel=_PANEL)
]
FramesOption = Annotated[
    str | None,
    typer.Option(
        "--frames",
        metavar="DIR",
        help="The frames of a video that show each person best: certain, sharp and frontal.",
        rich_help_panel=_PANEL,
    ),
]
BestPerTrackOption = Annotated[
    int | None,
    typer.Option(
        "--best-per-track",
        metavar="N",
        help="With --crops or --frames: so many pictures of each person of a video, at least half a second "
        "apart, instead of one.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
AnnotatedOption = Annotated[
    str | None,
    typer.Option(
        "--annotated",
        metavar="DIR",
        help="Photographs with landmarks, expected error and decision drawn.",
        rich_help_panel=_PANEL,
    ),
]
ContactSheetOption = Annotated[
    str | None,
    typer.Option(
        "--contact-sheet",
        metavar="FILE",
        help="One picture (.png or .jpg) of up to 240 faces from certain to uncertain; of a video, the most "
        "and the least certain frame of each person.",
        rich_help_panel=_PANEL,
    ),
]
