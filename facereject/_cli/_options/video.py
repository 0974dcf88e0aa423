"""What `score` and `filter` offer for videos: how faces are followed, videos to save, timelines."""

from __future__ import annotations

from typing import Annotated

import typer

_PANEL = "Videos"

EveryFrameOption = Annotated[
    bool,
    typer.Option(
        "--every-frame",
        help="Look for faces in the whole of every frame. Usually the uncertainty decides when that is "
        "needed, which is several times as fast.",
        rich_help_panel=_PANEL,
    ),
]
DetectEveryOption = Annotated[
    int,
    typer.Option(
        "--detect-every",
        metavar="K",
        help="Look for new faces at least every K frames, twice as often while none is in view.",
        rich_help_panel=_PANEL,
    ),
]
SmoothOption = Annotated[
    float,
    typer.Option(
        "--smooth",
        metavar="SECONDS",
        help="Average the uncertainty of each face over about this time; expected error and decision follow.",
        rich_help_panel=_PANEL,
    ),
]
SmoothLandmarksOption = Annotated[
    bool,
    typer.Option(
        "--smooth-landmarks",
        help="Steady the landmarks of videos: certain points follow at once, uncertain ones lean on the past "
        "and on their neighbours. Decisions stay those of the frame itself.",
        rich_help_panel=_PANEL,
    ),
]
SaveOption = Annotated[
    str | None,
    typer.Option(
        "--save",
        metavar="VIDEO|DIR",
        help="Write the accepted frames, with their sound, as a video (.mp4, .mov, .mkv, .webm or .avi); for "
        "several videos, a folder.",
        rich_help_panel=_PANEL,
    ),
]
AnnotateOption = Annotated[
    bool,
    typer.Option(
        "--annotate",
        help="With --save: the whole video, with landmarks, score and decision drawn.",
        rich_help_panel=_PANEL,
    ),
]
NoAudioOption = Annotated[
    bool,
    typer.Option("--no-audio", help="With --save: leave the sound out.", rich_help_panel=_PANEL),
]
BridgeOption = Annotated[
    float,
    typer.Option(
        "--bridge",
        metavar="SECONDS",
        help="With --save or --timeline: keep rejected stretches between accepted ones that are shorter.",
        rich_help_panel=_PANEL,
    ),
]
MinSpanOption = Annotated[
    float,
    typer.Option(
        "--min-span",
        metavar="SECONDS",
        help="With --save or --timeline: drop accepted stretches that are shorter.",
        rich_help_panel=_PANEL,
    ),
]
TimelineOption = Annotated[
    str | None,
    typer.Option(
        "--timeline",
        metavar="FILE",
        help="Write the accepted and rejected stretches of the videos: .csv or .json.",
        rich_help_panel=_PANEL,
    ),
]
