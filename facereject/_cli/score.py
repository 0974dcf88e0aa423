"""facereject score and filter: faces of any number of images and videos, decided upon and sorted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from facereject._cli._choices import BatchTargetChoice, EngineChoice, ModelChoice
from facereject._cli._panels import Given, command
from facereject._cli._run import run_job, with_listed
from facereject._cli._shared import (
    ColumnsOption,
    FrameRuleOption,
    QuietOption,
    has_table_name,
    option,
    stop,
)

if TYPE_CHECKING:
    from facereject.outputs import Output

PathsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH",
        help="Images, videos, folders (with subfolders), patterns in quotes such as 'photos/*.jpg', "
        "@list.txt (a text file with one path per line), or - for such a list on stdin.",
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
        "Without --output or another output, a pipe gets CSV and a terminal one line per face.",
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
    json: bool = option(
        False, "--json", help="Write JSON lines to stdout: an object per face, with the same names."
    ),
    columns: ColumnsOption = "all",
    quiet: QuietOption = False,
) -> None:
    """Find faces and predict how wrong their landmarks are.

    The result is a table with one row per face, and one for every input without a face or that cannot be
    read. Until it is complete it is called TABLE.partial; after an interruption, run the same command with
    --resume. [bold]accepted[/bold] uses the target stored in the model; [bold]facereject filter[/bold] lets
    you choose one.

    Columns: [bold]source[/bold], the input; [bold]frame[/bold] and [bold]time_s[/bold] in a video;
    [bold]face[/bold], its number in the frame; [bold]track[/bold], the same number for the same face
    throughout a video; the box [bold]x, y, width, height[/bold] in pixels; [bold]detector_score[/bold];
    [bold]uncertainty[/bold], higher is less certain; [bold]expected_error[/bold] of the landmarks, in percent
    of the distance between the outer eye corners; [bold]accepted[/bold]; [bold]reason[/bold] if rejected;
    [bold]cause[/bold], what made it difficult; [bold]yaw, pitch, roll[/bold] of the head in degrees;
    [bold]detector[/bold] that found it; [bold]typicality[/bold], the share of the calibration faces that are
    at least as unusual; [bold]error_low, error_high[/bold], an interval for the error with a probability of
    80 %; the landmarks [bold]x_0[/bold] … [bold]x_67[/bold], [bold]y_0[/bold] … [bold]y_67[/bold] in pixels
    and their expected errors [bold]e_0[/bold] … [bold]e_67[/bold]. --columns chooses among them.

    Reasons: uncertain, turned, no_face, no_landmarks, no_score, "unreadable: …", "failed: …".

    [bold]Examples[/bold]
    facereject score photo.jpg                        [dim]one line per face[/dim]
    facereject score photo.jpg -o faces.csv
    facereject score photos -o faces.parquet --workers 4
    facereject score clip.mp4 'more/*.png' @list.txt -o faces.jsonl
    facereject score photos -o faces.csv --resume     [dim]after an interruption[/dim]
    facereject score photos -o faces.csv --columns short  [dim]all but the landmarks[/dim]
    find . -name '*.jpg' | facereject score - --json  [dim]names from stdin, a JSON object per face[/dim]

    [bold]Exit codes[/bold]: 0 done, 1 some inputs failed (they are listed), 2 wrong usage, 130 interrupted,
    143 by SIGTERM
    """
    if json and output not in (None, "-"):
        stop("--json writes to stdout; for a file use --output TABLE.jsonl without --json")
    from facereject._cli._rows import made_outputs

    outputs = made_outputs(given, (), "-" if json else output, columns, "jsonl" if json else "csv")
    _run(given, paths, outputs, quiet=quiet)


@command(_filter_options)
def filter_(
    given: Given,
    paths: PathsArgument,
    output: OutputOption = None,
    columns: ColumnsOption = "all",
    frame_rule: FrameRuleOption = "all",
    quiet: QuietOption = False,
) -> None:
    """Accept or reject faces: sort photos, cut videos, save crops.

    State at most one target (below); without one, that of the model is used. Targets hold for faces like
    those the model was calibrated on; for other kinds of images, run [bold]facereject calibrate[/bold] on
    faces of your own first. --keep-best and --keep-best-photos decide when all inputs have been scored.

    The table is that of [bold]facereject score[/bold]. If PATH is such a table, new decisions are made from
    it, without scoring the images again.

    [bold]Examples[/bold]
    facereject filter photos --max-error 4                           [dim]lists the faces[/dim]
    facereject filter photos --max-error 4 --accepted good --rejected bad
    facereject filter photos --coverage 0.9 -o faces.csv --workers 4
    facereject filter photos --keep-best-photos 100 --accepted good  [dim]of this batch[/dim]
    facereject filter photos --cost 6 --accepted good --link -o faces.csv
    facereject filter clip.mp4 --save good.mp4 --timeline spans.csv  [dim]good frames[/dim]
    facereject filter clip.mp4 --save shown.mp4 --annotate           [dim]with faces drawn[/dim]
    facereject filter clip.mp4 --best-per-track 3 --crops people     [dim]each person, aligned[/dim]
    facereject filter photos --annotated drawn --contact-sheet sheet.jpg
    facereject filter faces.csv --max-error 3.5 --accepted good      [dim]from a table[/dim]

    [bold]Exit codes[/bold]: 0 done, 1 some inputs failed (they are listed), 2 wrong usage, 130 interrupted,
    143 by SIGTERM
    """
    from facereject._cli._rows import Strips, made_outputs
    from facereject.outputs import OUTPUTS, Timeline

    target = given.make(BatchTargetChoice)
    remark = ""
    if target.coverage is not None:
        remark = (
            f"--coverage {target.coverage:g} holds for faces like those the model was calibrated on, not for "
            f"every batch; --keep-best {float(target.coverage)} accepts that share of this one."
        )
    outputs = made_outputs(given, OUTPUTS, output, columns, target=target, rule=frame_rule)
    if not any(isinstance(each, Timeline) for each in outputs):
        outputs.append(Strips(**given.values(Timeline)))
    _run(given, paths, outputs, quiet=quiet, target=target, frame_rule=frame_rule, remark=remark)


def _run(
    given: Given,
    paths: list[str],
    outputs: Sequence[Output],
    *,
    quiet: bool,
    target: BatchTargetChoice | None = None,
    frame_rule: str = "all",
    remark: str = "",
) -> None:
    """Score the inputs; with a target, the one input may be a table, whose faces are decided anew."""
    from facereject.pipeline import Job, Running
    from facereject.pipeline.decide import TableJob, is_table
    from facereject.tracking import Tracking

    paths = with_listed(paths)
    tables = [path for path in paths if has_table_name(path)]
    if tables and target is None:
        stop(f"{tables[0]}: a table cannot be scored; name images and videos, or use facereject filter")
    if tables and len(paths) > 1:
        stop(f"{tables[0]}: a table has to be the only input")
    options = given.values(Running)
    # first: workers import what they need while this process still does
    engine = given.make(EngineChoice).make(options.pop("workers"), options.pop("timeout"), paths)
    chosen, best = (target.chosen(), target.best) if target else ({}, {})
    common: dict[str, Any] = {"frame_rule": frame_rule, **best}
    job: Job
    if target and len(paths) == 1 and (tables or is_table(paths[0])):
        job = TableJob(paths[0], outputs, running=Running(**options), **common)
    else:
        tracking = Tracking(**given.values(Tracking))
        job = Job(paths, outputs, tracking=tracking, running=Running(engine=engine, **options), **common)
    rejector = given.make(ModelChoice).load(chosen, finds=job.finds_faces)
    run_job(job, rejector, quiet=quiet, remark=remark, targets=target is not None)
