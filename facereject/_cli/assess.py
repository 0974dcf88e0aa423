"""facereject assess: landmarks that another tool wrote, scored without running a predictor."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from facereject._cli._shared import ColumnsOption, ModelOption, QuietOption, load_rejector, say, stop
from facereject._words import counted

ASSESS_EXAMPLES = """[bold]Examples[/bold]
facereject assess processed --images photos -o faces.csv
facereject assess clip.csv --images clip.mp4 -o faces.csv    [dim]OpenFace on a video[/dim]
facereject assess wflw.json --images photos -o faces.parquet
facereject assess faces.csv --images photos -o again.csv --model thorough
facereject assess points --images photos -o faces.csv --format pts

[bold]Formats[/bold]: facereject (its own tables), openface, deeplabcut, coco, mediapipe, pts,
plain (image,x0,y0,x1,y1,… as CSV, TSV, Parquet or JSON lines; NPZ, NPY)

[bold]Exit codes[/bold]: 0 done, 1 some images are missing or unreadable (they are listed), 2 wrong usage"""


def assess(
    landmarks: Annotated[
        Path,
        typer.Argument(
            metavar="LANDMARKS", help="A file of landmarks, or a folder of such files.", show_default=False
        ),
    ],
    images: Annotated[
        Path,
        typer.Option(
            "--images",
            metavar="FOLDER|FILE",
            help="The images and videos the landmarks are about: a folder, or one file.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="TABLE",
            help=".csv, .jsonl, .parquet or .sqlite; - writes CSV to stdout.",
        ),
    ] = "-",
    columns: ColumnsOption = "all",
    format: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="NAME", help="Format of the landmarks; without it, their content decides."
        ),
    ] = None,
    model: ModelOption = "default",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Start again although an unfinished table exists.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Score landmarks that OpenFace, MediaPipe, DeepLabCut, a COCO or 300-W file or an earlier table holds.

    The table is that of [bold]facereject score[/bold]; detector_score is the tool's own confidence. Ranking
    carries over to other predictors; percentages do not: run [bold]facereject calibrate[/bold] with a few
    annotated faces, or train a model for the predictor.
    """
    from facereject._cli._output.progress import ProgressBar
    from facereject.outputs import Table
    from facereject.pipeline import Running, assess_files
    from facereject.sources.landmark_files.found import LandmarkFileError
    from facereject.tables.errors import TableError

    rejector = load_rejector(model)
    target = sys.stdout.buffer if output == "-" else output
    try:
        with ProgressBar(quiet=quiet) as bar:
            summary = assess_files(
                landmarks,
                images,
                Table(target, columns=columns),
                rejector=rejector,
                format=format,
                running=Running(overwrite=overwrite),
                progress=lambda state: bar.show(state.faces, None, "faces"),
            )
    except LandmarkFileError as error:
        stop(str(error))
    except (TableError, ValueError) as error:
        stop(f"--output: {error}")
    total = summary.total
    if not quiet:
        pictures = counted(total.frames, "image or frame", "images and frames")
        say(
            f"{counted(total.faces, 'face')} of {pictures}, {total.accepted_faces:,} accepted"
            + (f": {output}" if output != "-" else "")
        )
    if summary.failures:
        for name, reason in summary.failures:
            say(f"{name}: {reason}")
        if summary.failed > len(summary.failures):
            say(f"and {summary.failed - len(summary.failures):,} more; the table has all of them")
        raise typer.Exit(1)
