"""facereject assess: landmarks that another tool wrote, scored without running a predictor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from facereject._cli._choices import BatchTargetChoice, ScoreChoice
from facereject._cli._panels import Given, command
from facereject._cli._run import run_job
from facereject._cli._shared import ColumnsOption, FrameRuleOption, QuietOption, RestartOption, option, stop


def _assess_options() -> Sequence[type]:
    from facereject.outputs import OUTPUTS

    return BatchTargetChoice, *OUTPUTS, ScoreChoice


@command(_assess_options)
def assess(
    given: Given,
    landmarks: Annotated[
        Path | None,
        typer.Argument(
            metavar="LANDMARKS", help="A file of landmarks, or a folder of such files.", show_default=False
        ),
    ] = None,
    predictions: list[Path] | None = option(
        None,
        metavar="FILES",
        help="The same as LANDMARKS. Given several times, the first is scored and compared with the "
        "others, by a model that was trained so.",
    ),
    images: Path | None = option(
        None,
        metavar="FOLDER|FILE",
        help="The images and videos that the landmarks belong to: a folder, or one file.",
    ),
    output: str | None = option(
        None,
        "--output",
        "-o",
        metavar="TABLE",
        help=".csv, .jsonl, .parquet or .sqlite; - writes CSV to stdout. Without --output or another "
        "output, a pipe gets CSV and a terminal one line per face.",
    ),
    columns: ColumnsOption = "all",
    format: str | None = option(
        None, metavar="NAME", help="Format of the landmarks; by default it is recognised by content."
    ),
    frame_rule: FrameRuleOption = "all",
    overwrite: RestartOption = False,
    quiet: QuietOption = False,
) -> None:
    """Score landmarks that another tool wrote to files.

    No face detector is run. Table, targets and outputs are those of [bold]facereject filter[/bold];
    detector_score is the tool's own confidence.

    Ranking carries over to other predictors; percentages do not. To correct them, annotate 20 to 50 faces and
    run [bold]facereject calibrate --predictions[/bold]; with 200 and more, [bold]facereject train
    --predictions[/bold] makes a model for the tool.

    [bold]Examples[/bold]
    facereject assess processed --images photos -o faces.csv
    facereject assess clip.csv --images clip.mp4 -o faces.csv    [dim]OpenFace on a video[/dim]
    facereject assess wflw.json --images photos --max-error 4 --accepted good
    facereject assess points --images photos --contact-sheet sheet.jpg
    facereject assess points --images photos --model mine.safetensors
    facereject assess a --predictions b --images photos --model mine.safetensors

    [bold]Formats[/bold]: facereject (its own tables), openface (2 and 3), sleap (H5), deeplabcut (CSV, H5),
    label-studio, fiftyone, coco (keypoints and results), mediapipe, pts, dlib (XML), cvat (XML), wflw
    (lists), plain (image,x0,y0,x1,y1,… or source,x_0,…,y_0,… as CSV, TSV, Parquet or JSON lines; NPZ, NPY)

    [bold]Exit codes[/bold]: 0 done, 1 some images are missing or unreadable (they are listed), 2 wrong usage
    """
    from facereject._cli._rows import made_outputs
    from facereject.outputs import OUTPUTS
    from facereject.pipeline import Running
    from facereject.pipeline.assess import AssessJob

    files = [file for file in (landmarks, *(predictions or ())) if file is not None]
    if not files:
        stop("name the landmarks: facereject assess LANDMARKS --images FOLDER")
    if images is None:
        stop("--images: name the folder of the images that the landmarks belong to")
    target = given.make(BatchTargetChoice)
    outputs = made_outputs(given, OUTPUTS, output, columns, target=target, rule=frame_rule)
    job = AssessJob(
        files,
        images,
        outputs,
        format=format,
        running=Running(overwrite=overwrite),
        frame_rule=frame_rule,
        **target.best,
    )
    rejector = given.make(ScoreChoice).load(target.chosen(), finds=job.finds_faces)
    run_job(job, rejector, quiet=quiet)
