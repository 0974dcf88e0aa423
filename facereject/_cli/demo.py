"""facereject demo: one photo, degraded versions of it and a video, with a decision on each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from facereject._cli._annotated import check_folder, results, show_table
from facereject._cli._shared import (
    ModelOption,
    OfflineOption,
    QuietOption,
    load_rejector,
    option,
    say,
    stop,
)

if TYPE_CHECKING:
    from facereject.demo.make import Demo


def demo(
    output: Path = option(
        Path("demo-output"), "--output", "-o", metavar="DIR", help="Folder for the page and its files."
    ),
    model: ModelOption = "default",
    offline: OfflineOption = False,
    quiet: QuietOption = False,
) -> None:
    """Try facereject on a built-in photo and video; needs no input.

    It scores scikit-image's photo of an astronaut, degraded versions of it and a short video. It writes a
    page (index.html), the table that `facereject score` would write, and the video with the decisions drawn.
    It opens nothing and needs no camera.

    [bold]Examples[/bold]
    facereject demo
    facereject demo --model thorough --output results
    """
    check_folder("--output", output)
    rejector = load_rejector(model)

    from facereject.demo.make import make_demo
    from facereject.outputs._video.writer import VideoWriteError

    if not quiet:
        say("Scoring one photo, seven degraded versions of it and a video of seven seconds …")
    try:
        made = make_demo(output, rejector, model=model)
    except OSError as error:
        stop(f"--output {output}: cannot be written ({error.strerror})", 1)
    except VideoWriteError as error:
        stop(f"--output {error}", 1)
    if quiet:
        return
    _print(made, model)
    say(f"Page:    {made.page}  (open it in a browser)")
    say(f"Image:   {made.picture}")
    say(f"Table:   {made.table}")
    say("Next:    facereject score PHOTOS, with photos of your own")


def _print(made: Demo, model: str) -> None:
    rows: list[list[str | Text]] = []
    for version in made.scored:
        face, values = version.face, ("-", "-", "no face found")
        if face is not None:
            values = f"{face.expected_error:.1f} %", f"{version.moved:.1f} %", f"{face.detector_score:.2f}"
        decision = Text("accepted", "green") if version.accepted else Text("rejected", "red")
        rows.append([version.picture.name, *values, decision])
    columns = ["version", "expected error", "moved", "detector score", "decision"]
    show_table(f"scikit-image's astronaut, scored by the model {model}", columns, rows)
    results.print(
        "Expected error: of the landmarks, in percent of the distance between the outer eye corners. Moved: "
        "how far they are from those of the clean photo. The detector's score is high even where both are "
        "large."
    )
    results.print(
        f"Video of {made.seconds:.0f} seconds: {made.accepted} of {made.frames} frames accepted.",
    )
