"""Limits of the pose: how far a head may be turned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from facereject._cli._shared import stop

if TYPE_CHECKING:
    from facereject.faces import FaceRejector

_PANEL = "How far a head may be turned (further away it is rejected)"

MaxYawOption = Annotated[
    float | None,
    typer.Option("--max-yaw", metavar="DEGREES", help="To the left or right.", rich_help_panel=_PANEL),
]
MaxPitchOption = Annotated[
    float | None,
    typer.Option("--max-pitch", metavar="DEGREES", help="Up or down.", rich_help_panel=_PANEL),
]
MaxRollOption = Annotated[
    float | None,
    typer.Option("--max-roll", metavar="DEGREES", help="Tilted to a shoulder.", rich_help_panel=_PANEL),
]


def with_limits(
    rejector: FaceRejector, yaw: float | None, pitch: float | None, roll: float | None
) -> FaceRejector:
    """The rejector with limits of the pose; what is wrong with them ends the command with code 2."""
    if yaw is pitch is roll is None:
        return rejector
    try:
        return rejector.with_pose_limits(max_yaw=yaw, max_pitch=pitch, max_roll=roll)
    except ValueError as error:
        stop(str(error).replace("max_", "--max-"))
