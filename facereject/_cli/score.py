"""facereject score and filter: faces of any number of images and videos, decided upon and sorted."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from facereject._cli._choices import BatchTargetChoice, EngineChoice, ModelChoice
from facereject._cli._panels import Given, command
from facereject._cli._run import default_output, run_job, with_listed, wrong_usage
from facereject._cli._shared import FrameRuleOption, QuietOption, stop

if TYPE_CHECKING:
    from facereject.outputs import Output

SCORE_EXAMPLES = """[bold]Examples[/bold]
facereject score photo.jpg                        [dim]one line per face[/dim]
facereject score photo.jpg -o faces.csv
facereject score photos -o faces.parquet --workers 4
facereject score clip.mp4 'more/*.png' @list.txt -o faces.jsonl
facereject score photos -o faces.csv --resume     [dim]after an interruption[/dim]
facereject score photo.jpg | cut -d, -f1-18       [dim]all but the landmarks[/dim]
find . -name '*.jpg' | facereject score - --json  [dim]names from stdin, a JSON object per face[/dim]

[bold]Exit codes[/bold]: 0 done, 1 some inputs failed (they are listed), 2 wrong usage, 130 interrupted,
143 by SIGTERM"""

FILTER_EXAMPLES = """[bold]Examples[/bold]
facereject filter photos --max-error 4                           [dim]lists faces[/dim]
facereject filter photos --max-error 4 --accepted good --rejected bad
facereject filter photos --coverage 0.9 -o faces.csv --workers 4
facereject filter photos --keep-best 100 --accepted good         [dim]of this batch[/dim]
facereject filter photos --cost 6 --accepted good --link -o faces.csv
facereject filter clip.mp4 --save good.mp4 --timeline spans.csv  [dim]good frames[/dim]
facereject filter clip.mp4 --save shown.mp4 --annotate           [dim]with faces drawn[/dim]
facereject filter clip.mp4 --best-per-track 3 --crops people     [dim]each person, aligned[/dim]
facereject filter photos --annotated drawn --contact-sheet sheet.jpg
facereject filter faces.csv --max-error 3.5 --accepted good      [dim]from a table, no pixels[/dim]

[bold]Exit codes[/bold]: 0 done, 1 some inputs failed (they are listed), 2 wrong usage, 130 interrupted,
143 by SIGTERM"""

PathsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH",
        help="Images, videos, folders (with all subfolders), patterns in quotes such as 'photos/*.jpg', "
        "@list.txt, a text file with one path per line, or - for such a list on stdin.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="TABLE",
        help="Table with one row per face: .csv, .jsonl, .parquet or .sqlite; - writes CSV to stdout. "
        "Without any output, CSV goes into a pipe, and a terminal shows one short line per face.",
        show_default=False,
    ),
]


def _score_options() -> Sequence[type]:
    from facereject.pipeline import Running
    from facereject.tracking import Tracking

    return ModelChoice, Tracking, Running, EngineChoice


def _filter_options() -> Sequence[type]:
    from facereject.outputs import OUTPUTS

    return BatchTargetChoice, *OUTPUTS, *_score_options()


@command(_score_options)
def score(
    given: Given,
    paths: PathsArgument,
    output: OutputOption = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Write JSON lines to stdout: an object per face, with the same names."),
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Find faces and say how far their landmarks can be trusted: a table with one row per face.

    Columns: source, frame, time_s, face, track; the box x, y, width, height; detector_score; uncertainty
    (higher = less certain); expected_error (landmark error in percent of the distance of the outer eye
    corners); accepted and reason; yaw, pitch and roll of the head in degrees; the landmarks x_0 ... x_67,
    y_0 ... y_67 in pixels, and their expected errors e_0 ... e_67.

    An input without a face, or one that cannot be read, has a row that says so. The reason is empty for what
    is accepted, else uncertain, turned, no_face, no_landmarks, no_score, "unreadable: ..." or "failed: ...".

    [bold]accepted[/bold] follows the target the model was made for; to choose one yourself use
    [bold]facereject filter[/bold].

    While it runs, the table is called TABLE.partial; it gets its name when it is complete. After an
    interruption the same command with --resume continues.
    """
    if json and output not in (None, "-"):
        stop("--json writes to stdout; for a file of that kind use --output TABLE.jsonl alone")
    _run(given, paths, "-" if json else output, quiet=quiet, stream_format="jsonl" if json else "csv")


@command(_filter_options)
def filter_(
    given: Given,
    paths: PathsArgument,
    output: OutputOption = None,
    frame_rule: FrameRuleOption = "all",
    quiet: QuietOption = False,
) -> None:
    """Accept or reject faces by a target you state, and sort the files accordingly.

    State at most one target; without any, the one the model was made for holds. The threshold is tuned on
    annotated faces that are stored in the model; if your images are of another kind, [bold]facereject
    calibrate[/bold] tunes it on yours. With --keep-best it is chosen when all inputs have been scored, and
    only then are files sorted.

    The table is that of [bold]facereject score[/bold]; accepted and reason follow your target. Such a table
    as the only PATH is decided anew, without looking at the images again.
    """
    from facereject._cli._output.rows import BestOfBatch
    from facereject._cli._output.videos import Strips
    from facereject.outputs import OUTPUTS, Timeline

    target = given.make(BatchTargetChoice)
    chosen = target.chosen()
    remark = ""
    if target.coverage is not None:
        remark = (
            f"--coverage {target.coverage:g} holds for faces like those the model was calibrated on, not for "
            f"every batch; --keep-best {float(target.coverage)} accepts that share of this one."
        )
    outputs = given.outputs(OUTPUTS)
    if output is None and not outputs:
        output = default_output()
        outputs = [] if output else _lines()
    if not any(isinstance(each, Timeline) for each in outputs):
        outputs.append(Strips(**given.values(Timeline)))
    if target.best is not None:
        outputs.append(BestOfBatch())
    _run(
        given,
        paths,
        output,
        outputs,
        quiet=quiet,
        target=chosen,
        best=target.best,
        frame_rule=frame_rule,
        remark=remark,
        tables=True,
    )


def _run(
    given: Given,
    paths: list[str],
    output: str | None,
    outputs: Sequence[Output] | None = None,
    *,
    quiet: bool,
    stream_format: str = "csv",
    target: dict[str, float] | None = None,
    best: float | None = None,
    frame_rule: str = "all",
    remark: str = "",
    tables: bool = False,
) -> None:
    """Score the inputs, or with ``tables`` decide about those of a table.

    Without ``outputs`` there is the table, or lines on a terminal.
    """
    from facereject.outputs import Table
    from facereject.pipeline import Job, Running
    from facereject.pipeline.decide import TableJob, is_table
    from facereject.tracking import Tracking

    if outputs is None:
        output = output or default_output()
        outputs = [] if output else _lines()
    paths = with_listed(paths)
    options = given.values(Running)
    # first: workers import what they need while this process still does
    engine = given.make(EngineChoice).make(options.pop("workers"), options.pop("timeout"), paths)
    with wrong_usage():
        table = (
            [] if output is None else [Table(sys.stdout.buffer if output == "-" else output, stream_format)]
        )
        common: dict[str, Any] = {"frame_rule": frame_rule, "keep_best": best}
        job: Job
        if tables and len(paths) == 1 and is_table(paths[0]):
            job = TableJob(paths[0], [*table, *outputs], running=Running(**options), **common)
        else:
            tracking = Tracking(**given.values(Tracking))
            running = Running(engine=engine, **options)
            job = Job(paths, [*table, *outputs], tracking=tracking, running=running, **common)
    run_job(job, given.make(ModelChoice).load(target), quiet=quiet, remark=remark)


def _lines() -> list[Output]:
    from facereject._cli._output.rows import Lines

    return [Lines()]
