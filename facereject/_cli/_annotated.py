"""What the commands on annotated faces share: reading the data set, where to write."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from facereject._cli._progress import ProgressBar
from facereject._cli._shared import console, printable, say, stop
from facereject._files import output_problem, output_that_is_read
from facereject._options import option
from facereject._words import counted

if TYPE_CHECKING:
    from facereject.faces import FaceDataset, FaceRejector, FaceSample, Problem
    from facereject.faces.evaluation.results import FaceEvaluation

#: results go to stdout, so that they can be kept; progress and warnings do not
results = Console(highlight=False, emoji=False)

DatasetArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="DATASET",
        help="Annotated faces, the same as --annotation: a folder of images with .pts files (as 300-W), or a "
        "file in any format that `facereject assess` reads, such as a table with the columns image, x0, y0, "
        "x1, y1, … (and photo, where several faces share one).",
        show_default=False,
    ),
]
ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="default, thorough, dlib, mesh, mesh-free, or a model file.",
        show_default=False,
    ),
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")]

WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", "-j", metavar="N", min=1, help="Worker processes; by default one per core."),
]
_FILES_PANEL = "Landmarks in files"

# more bad entries than this are counted, not listed
_LISTED = 10


@dataclass(frozen=True)
class AnnotatedChoice:
    """Annotated faces, the landmarks of tools on them, and how they are worked on."""

    annotation: Path | None = option(
        None,
        metavar="FILES",
        help="The true landmarks, in any format that `facereject assess` reads.",
        panel=_FILES_PANEL,
    )
    images: Path | None = option(
        None,
        metavar="FOLDER",
        help="The images that the annotation is about; without it they are beside the annotation.",
        panel=_FILES_PANEL,
    )
    predictions: list[Path] | None = option(
        None,
        metavar="FILES",
        help="What a tool predicted for the annotated faces, in any of these formats; the tool is never run. "
        "Given several times, the errors of the first are learned from its disagreement with the others, "
        "too, which ranks better than either alone: other tools, or your tool trained with other seeds.",
        panel=_FILES_PANEL,
    )
    points: str | None = option(
        None,
        metavar="I,J,...",
        help="Use only these annotated landmarks, counted from 0, in the order of the predictor. For dlib-5 "
        "and 300-W: 45,42,36,39,33.",
    )
    workers: WorkersOption = None
    cache: Path | None = option(
        None, metavar="DIR", help="Folder for computed features: the next run is much faster."
    )
    overwrite: OverwriteOption = False

    def path(self, dataset: Path | None) -> Path:
        """The annotation, given as DATASET or by --annotation."""
        if dataset is not None and self.annotation is not None:
            stop("DATASET and --annotation are the same; give one of them")
        chosen = self.annotation if dataset is None else dataset
        if chosen is None:
            stop(
                "DATASET is missing: name a folder or file of annotated faces (after MODEL, if the command "
                "takes one), or --annotation FILES and --images FOLDER"
            )
        return chosen

    def used_points(self) -> list[int] | None:
        """The numbers of --points."""
        if self.points is None:
            return None
        try:
            points = [int(number) for number in self.points.split(",")]
        except ValueError:
            stop(
                "--points must be whole numbers with commas between them, as 45,42,36,39,33; got "
                f"{self.points}"
            )
        if len(set(points)) < max(2, len(points)):
            stop(f"--points: points must be two or more different numbers, got {points}")
        return points

    def read(self, path: Path, predictions: Sequence[Path] | None, *, quiet: bool) -> FaceDataset:
        """The data set, with those of its points that are asked for, and with the predictions of tools.

        What is wrong with it as a whole ends the command; bad entries are listed.
        """
        from facereject import annotated_faces
        from facereject.faces import DatasetError
        from facereject.sources.annotated import look_predicted

        if not os.path.exists(path):
            stop(f"DATASET {path}: no such file or folder")
        try:
            dataset = annotated_faces(path, self.images, predictions or None, points=self.used_points())
        except DatasetError as error:
            named = any(str(each) in str(error) for each in predictions or ())
            stop(f"{'--predictions' if named else 'DATASET'} {error}")
        except OSError as error:
            stop(f"DATASET {path}: cannot be read ({error.strerror})")
        if not len(dataset):
            if dataset.problems and dataset.problems[0].reason.startswith("points must be"):
                stop(f"--points: {dataset.problems[0].reason}")
            first = "".join(f"; first: {entry}: {reason}" for entry, reason in dataset.problems[:1])
            stop(f"DATASET {path}: no usable face in it{first}")
        if not quiet:
            placed = f", with landmarks of {', '.join(map(str, predictions))}" if predictions else ""
            photos = counted(len(dataset.photos), "photo")
            say(f"{counted(len(dataset), 'face')} of {photos} in {path}{placed}")
        if path.is_file() and look_predicted(path):
            tell(
                f"Warning: every face in {path} has a confidence, as predictions have; if nobody has "
                "corrected the landmarks, errors cannot be measured against them"
            )
        list_problems(dataset.problems)
        return dataset

    def evaluate(
        self, rejector: FaceRejector, samples: FaceDataset, path: Path, *, quiet: bool, **options: Any
    ) -> FaceEvaluation:
        """The results of a model on the data set."""
        from facereject.faces import evaluate_face_rejector
        from facereject.faces.evaluation.data_warnings import check_corrected

        with self.working(f"DATASET {path}", quiet=quiet) as more:
            evaluation = evaluate_face_rejector(rejector, samples, **more, **options)
            notes = check_corrected(evaluation.table.losses)
        list_problems(evaluation.problems[len(samples.problems) :])
        for text in notes:
            tell(f"Warning: {text}")
        return evaluation

    @contextlib.contextmanager
    def working(self, argument: str, *, quiet: bool) -> Iterator[dict[str, Any]]:
        """Options for long work on the data set; what is wrong with the argument ends the command."""
        try:
            with cache_warnings(), ProgressBar(quiet=quiet, last_line=True) as bar:
                yield {"workers": self.workers, "cache": self.cache, "progress": bar}
        except ValueError as error:
            text = str(error).removeprefix("samples: ").replace("FaceDataset.with_points, ", "")
            stop(f"{argument}: {text}")

    def files_read(self, path: Path, samples: Iterable[FaceSample], *more: str | Path | None) -> list[Path]:
        """The files that are read: the data set, its images and the landmarks beside them, predictions."""
        from facereject.sources.landmark_files import landmark_files

        read = [path, *(Path(each) for each in more if each is not None)]
        read += [Path(file) for each in self.predictions or () for file in landmark_files(each)]
        for sample in samples:
            read += [sample.image_path, sample.image_path.with_suffix(".pts")]
        return read


def list_problems(problems: Sequence[Problem]) -> None:
    """Name the entries that were left out, the first few of them in full."""
    if not problems:
        return
    say(f"Warning: {len(problems):,} {'entry was' if len(problems) == 1 else 'entries were'} left out:")
    for problem in problems[:_LISTED]:
        say(f"  {problem.entry}: {problem.reason.removeprefix(f'{problem.entry}: ')}")
    if len(problems) > _LISTED:
        say(f"  … and {len(problems) - _LISTED:,} more")


@contextlib.contextmanager
def cache_warnings() -> Iterator[None]:
    """Report problems of the cache after the progress bar."""
    from facereject.faces.training.extract import CacheWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", category=CacheWarning)
        try:
            yield
        finally:
            for warning in caught:
                tell(f"Warning: {warning.message}")


def tell(sentence: str) -> None:
    """A sentence for people: wrapped at words on a terminal, in one line elsewhere."""
    console.print(printable(sentence), markup=False, soft_wrap=not console.is_terminal)


def check_writable(option: str, path: Path, *, overwrite: bool) -> None:
    """End the command before any work if the file cannot be written there."""
    problem = output_problem(path)
    if problem:
        stop(f"{option} {path}: {problem}")
    if os.path.lexists(path) and not overwrite:
        stop(f"{option} {path}: exists already; pass --overwrite to replace it, or choose another name")


def check_not_read(option: str, outputs: Iterable[Path], inputs: Iterable[str | Path]) -> None:
    """End the command before any work if an output would replace what it reads."""
    found = output_that_is_read(outputs, inputs)
    if found is not None:
        stop(f"{option} {found}: this is a file that is read; choose another name")


def check_report(folder: Path, *, overwrite: bool) -> list[Path]:
    """The files of a report; ends the command before any work if they cannot be written there."""
    from facereject.reports.evaluation import FILES, check_report_folder

    check_folder("--report", folder)
    with writing_report(folder):
        check_report_folder(folder, overwrite=overwrite)
    return [folder / name for name in FILES]


@contextlib.contextmanager
def writing_report(folder: Path, more: str = "") -> Iterator[None]:
    """End the command with one sentence, and what more there is to say, if a report cannot be written."""
    try:
        yield
    except FileExistsError as error:
        stop(f"--report {error.filename}: {str(error.strerror).replace('`overwrite`', '--overwrite')}")
    except OSError as error:
        stop(f"--report {folder}: cannot be written ({error.strerror}){more}", 1)


def check_folder(option: str, path: Path) -> None:
    """End the command before any work if no such folder, which need not exist yet, can be written."""
    there = next(folder for folder in (path, *path.absolute().parents) if os.path.exists(folder))
    if not os.path.isdir(there):
        stop(f"{option} {path}: {there} is a file, not a folder; choose another name")
    if not os.access(there, os.W_OK):
        stop(f"{option} {path}: the folder {there} cannot be written; choose another place")


def save_model(rejector: FaceRejector, path: Path, more: str = "") -> None:
    """Write a model file, or end the command with code 1."""
    try:
        rejector.save(path)
    except ValueError as error:
        stop(f"--output {path}: {error}", 1)
    except OSError as error:
        stop(f"--output {path}: cannot be written ({error.strerror}){more}", 1)


def show_facts(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """Print names and texts in two columns below a title."""
    from rich.table import Table

    results.print(printable(title), style="bold", markup=False, soft_wrap=True)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows:
        # square brackets, as in names of extras, are no markup
        table.add_row(name, Text(printable(text)))
    results.print(table)
    results.print()


def show_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str | Text]], *, lines: Sequence[int] = ()
) -> None:
    """Print rows below the names of their columns; ``lines`` are rows with a line below them."""
    from rich.table import Table

    # square brackets in a name are no markup
    shown = Table(title=Text(printable(title), style="bold") if title else None, title_justify="left")
    for k, name in enumerate(columns):
        shown.add_column(Text(printable(name)), justify="right" if k else "left", overflow="fold")
    for k, row in enumerate(rows):
        cells = (cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row)
        shown.add_row(*cells, end_section=k in lines)
    results.print(shown)
