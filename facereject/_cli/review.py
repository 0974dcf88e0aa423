"""facereject review and annotate: pages in the browser for the faces of a table or a folder."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from facereject._cli._panels import Given, command
from facereject._cli._progress import ProgressBar
from facereject._cli._shared import (
    FrameRuleOption,
    ModelOption,
    QuietOption,
    has_table_name,
    load_rejector,
    say,
    stop,
)
from facereject._cli._shared import option as parameter
from facereject._cli.serve import BrowserOption, PortOption, check_installed, listening, run_page
from facereject._options import option
from facereject._words import counted

if TYPE_CHECKING:
    from facereject.serve.review.faces import ReviewFaces
    from facereject.serve.review.session import Session

PathArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE|FOLDER",
        help="A table of facereject, or a folder, image or video, which is scored first.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class PageChoice:
    """Where the images are, how a folder is scored first, and how the page is served."""

    images: str | None = option(
        None,
        metavar="FOLDER",
        help="Where the files of the table are; files outside this folder are not opened. Default: as the "
        "table names them, below the current folder or that of the table.",
    )
    port: PortOption = None
    browser: BrowserOption = True
    workers: Annotated[
        int, typer.Option("--workers", "-j", metavar="N", help="Processes that score a folder.", min=1)
    ] = 1
    model: ModelOption = "default"
    quiet: QuietOption = False

    def faces(
        self, path: str, table: str, made: Sequence[str], predictions: str | None = None
    ) -> ReviewFaces:
        """The faces of a table, or of what is scored into one first; files in ``made`` are no inputs."""
        from facereject.parallel import RunProgress
        from facereject.serve.review.faces import read_faces
        from facereject.tables.errors import TableFormatError

        given = path
        if not has_table_name(path):
            if self.images is not None:
                stop("--images goes with a table; a folder is scored where it is")
            self._score(path, table, made, predictions)
            path = table
        try:
            with ProgressBar(quiet=self.quiet) as bar:
                found = read_faces(path, lambda done: bar(RunProgress(done, None, "rows")))
        except (TableFormatError, OSError) as error:
            stop(str(error))
        if not len(found):
            stop(f"{given}: no face was found in it")
        return found

    def _score(self, path: str, table: str, made: Sequence[str], predictions: str | None) -> None:
        """Score a folder into a table, or the landmarks of another tool; an existing table is completed."""
        from facereject._signals import exit_code, interruptible
        from facereject.outputs import Table
        from facereject.parallel import EngineError
        from facereject.pipeline import Job, Running
        from facereject.pipeline.assess import AssessJob
        from facereject.serve.review.scored_first import MadeHere, check_sources
        from facereject.sources.landmark_files._found import LandmarkFileError
        from facereject.tables.errors import TableError

        running = Running(workers=self.workers, resume=predictions is None)
        if predictions is None:
            try:
                check_sources(table, path)
            except TableError as error:
                stop(str(error))
        try:
            if predictions is None:
                job = Job([path], [Table(table), MadeHere(path, made)], running=running)
            else:
                job = AssessJob(predictions, path, [Table(table)], running=running)
            rejector = load_rejector(self.model, given=predictions is not None, finds=job.finds_faces)
            if not self.quiet:
                say(f"Scoring {predictions or path} into {table}")
            with interruptible(), ProgressBar(quiet=self.quiet) as bar:
                job.run(rejector, progress=bar)
        except KeyboardInterrupt as interrupt:
            say("Interrupted. The same command continues.")
            raise typer.Exit(exit_code(interrupt)) from None
        except LandmarkFileError as error:
            stop(f"--predictions {error}")
        except TableError as error:
            stop(str(error).replace("pass `overwrite`", f"move {table} away"), 1)
        except EngineError as error:
            stop(str(error), 1)

    @contextlib.contextmanager
    def opened(self, path: str, faces: ReviewFaces, **options: Any) -> Iterator[Session]:
        """The review of some faces, closed at the end."""
        from facereject.serve.review.session import ReviewError, open_session
        from facereject.tables.errors import TableError

        images = self.images
        if images is not None and not os.path.isdir(images):
            stop(f"--images {images}: there is no such folder")
        if images is None and not has_table_name(path):
            images = path if os.path.isdir(path) else os.path.dirname(path) or os.curdir
        try:
            session = open_session(faces, images=images, **options)
        except ReviewError as error:
            stop(str(error))
        except TableError as error:
            stop(str(error).replace("pass `overwrite`", "move it away"))
        with contextlib.closing(session):
            yield session

    def serve(self, session: Session, page: str) -> None:
        """Serve a page until it is stopped."""
        from facereject.serve.review.app import make_review_app

        with listening(None, self.port) as listener:
            token = secrets.token_urlsafe(24)
            lines = [
                f"{counted(len(session.queue or session.faces), 'face')}: open {{address}}",
                "Only this address, with its token, is answered. Ctrl-C stops; decisions are saved.",
            ]
            run_page(make_review_app(session, token, page=page), listener, token, lines, self.browser)
        if not self.quiet:
            decided = int((session.decisions.values > 0).sum())
            corrected = counted(len(session.decisions.landmarks), "face")
            say(f"Stopped. {counted(decided, 'decision')}, {corrected} with corrected landmarks.")


@command(lambda: (PageChoice,))
def review(
    given: Given,
    path: PathArgument,
    output: str | None = parameter(
        None, "--output", "-o", metavar="FOLDER", help="Where an export goes. Default: TABLE-reviewed."
    ),
    annotations: str | None = parameter(
        None,
        metavar="FOLDER",
        help="Where corrected landmarks go, as .pts files with copies of their images. Default: "
        "TABLE-annotated.",
    ),
    beside: bool = parameter(False, "--beside", help="Write the .pts files beside the photos instead."),
    decisions: str | None = parameter(
        None, metavar="FILE", help="Where decisions are saved. Default: TABLE.review."
    ),
    frame_rule: FrameRuleOption = "all",
) -> None:
    """Look through faces in the browser and overrule the model.

    The page shows face crops sorted by uncertainty, with a slider for what to accept. Your decisions are
    saved at once in a file beside the table, and loaded again next time. An export writes lists of accepted
    and rejected files, a table with a column "reviewed", a report and, on request, copies or links. Nothing
    is deleted or moved.

    A folder is scored first, into FOLDER-faces.csv in the current folder; the next time, only new files are.

    [bold]Examples[/bold]
    facereject review photos                          [dim]scores the folder first[/dim]
    facereject review faces.csv
    facereject review faces.csv --images /data/photos [dim]if they have moved[/dim]
    facereject review faces.csv --output clean --annotations corrected

    [bold]Exit codes[/bold]: 0 stopped by Ctrl-C or SIGTERM, 1 the port cannot be used, 2 wrong usage
    """
    from facereject.faces.face import FRAME_RULES

    if frame_rule not in FRAME_RULES:
        stop(f"--frame-rule must be one of {', '.join(FRAME_RULES)}; got {frame_rule}")
    if beside and annotations is not None:
        stop("--beside and --annotations exclude each other: give one of them")
    check_installed()
    choice = given.make(PageChoice)
    _check_exists(path)
    table = f"{os.path.basename(os.path.abspath(path)) or 'faces'}-faces.csv"
    stem = os.path.splitext(table)[0]
    faces = choice.faces(path, table, [annotations or f"{stem}-annotated", output or f"{stem}-reviewed"])
    places = {"decisions": decisions, "annotations": annotations, "beside": beside, "export_folder": output}
    with choice.opened(path, faces, frame_rule=frame_rule, **places) as session:
        choice.serve(session, "review")


@command(lambda: (PageChoice,))
def annotate(
    given: Given,
    path: PathArgument,
    number: int = parameter(40, "--number", "-n", metavar="N", help="How many faces to annotate.", min=1),
    output: str = parameter(
        "annotated",
        "--output",
        "-o",
        metavar="FOLDER",
        help="Where .pts files and copies of their images go: a data set for calibrate, train, evaluate.",
    ),
    predictions: str | None = parameter(
        None,
        metavar="FILES",
        help="Start from landmarks that another tool wrote, in any format that `facereject assess` "
        "reads; no detector or predictor is run.",
    ),
    seed: int = parameter(0, metavar="N", min=0, help="Chooses the faces."),
) -> None:
    """Annotate some faces in the browser, by dragging landmarks.

    It picks one face per photo, from certain to uncertain and from typical to unusual, and shows the
    predicted landmarks; drag the wrong ones to their place. Each face is saved when you go on to the next
    one. A folder is scored first; its table stays in the output folder.

    [bold]Examples[/bold]
    facereject annotate photos                        [dim]40 faces that teach most[/dim]
    facereject annotate photos -n 100 -o mine
    facereject annotate photos --predictions openface  [dim]landmarks of another tool[/dim]
    facereject calibrate default annotated --unit -o mine.safetensors  [dim]what they are for[/dim]

    [bold]Exit codes[/bold]: 0 stopped by Ctrl-C or SIGTERM, 1 the port cannot be used, 2 wrong usage
    """
    from facereject.serve.review.faces import choose_faces

    check_installed()
    _check_exists(path)
    choice = given.make(PageChoice)
    if predictions is not None and has_table_name(path):
        stop(f"{path}: with --predictions name the folder of the images, not a table")
    is_new = not os.path.lexists(output)
    try:
        os.makedirs(output, exist_ok=True)
    except OSError as error:
        stop(f"--output {output}: cannot be made ({error.strerror})")
    try:
        faces = choice.faces(path, os.path.join(output, "faces.csv"), [output], predictions)
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):
                # only if nothing is in it
                os.rmdir(output)
        raise
    saved = os.path.join(output, "faces.review")
    with choice.opened(path, faces, decisions=saved, annotations=output) as session:
        session.queue = choose_faces(faces, number, seed)
        if not choice.quiet and len(session.queue) < number:
            say(f"Only {counted(len(session.queue), 'photo')} with a scored face; each is used once.")
        choice.serve(session, "annotate")


def _check_exists(path: str) -> None:
    """End the command if there is no such file or folder."""
    if not os.path.exists(path):
        stop(f"{path}: no such file or folder")
