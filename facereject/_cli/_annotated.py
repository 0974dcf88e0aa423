"""What the commands on annotated faces share: reading the data set, where to write."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from facereject._cli._shared import console, printable, say, stop
from facereject._files import output_problem, output_that_is_read
from facereject._words import counted

if TYPE_CHECKING:
    from facereject.faces import FaceDataset, FaceSample, Problem

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
AnnotationOption = Annotated[
    Path | None,
    typer.Option(
        "--annotation",
        metavar="FILES",
        help="The true landmarks, in any format that `facereject assess` reads.",
        rich_help_panel="Landmarks in files",
        show_default=False,
    ),
]
ImagesOption = Annotated[
    Path | None,
    typer.Option(
        "--images",
        metavar="FOLDER",
        help="The images that the annotation is about; without it they are beside the annotation.",
        rich_help_panel="Landmarks in files",
        show_default=False,
    ),
]
PredictionsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--predictions",
        metavar="FILES",
        help="What a tool predicted for the annotated faces, in any of these formats; the tool is never run. "
        "Given several times, the errors of the first are learned from its disagreement with the others, "
        "too, which ranks better than either alone: other tools, or your tool trained with other seeds.",
        rich_help_panel="Landmarks in files",
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
JobsOption = Annotated[
    int | None,
    typer.Option("--workers", "-j", metavar="N", min=1, help="Worker processes; by default one per core."),
]
CacheOption = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="DIR",
        help="Folder for computed features: the next run is much faster.",
    ),
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")]

# more bad entries than this are counted, not listed
_LISTED = 10


def one_dataset(dataset: Path | None, annotation: Path | None) -> Path:
    """The annotation, given as DATASET or by --annotation."""
    if dataset is not None and annotation is not None:
        stop("DATASET and --annotation are the same; give one of them")
    chosen = annotation if dataset is None else dataset
    if chosen is None:
        stop(
            "DATASET is missing: name a folder or file of annotated faces (after MODEL, if the command takes "
            "one), or --annotation FILES and --images FOLDER"
        )
    return chosen


def read_dataset(
    path: Path,
    *,
    images: Path | None = None,
    predictions: Sequence[Path] | None = None,
    points: Sequence[int] | None = None,
    quiet: bool = False,
) -> FaceDataset:
    """The data set, with those of its points that are asked for, and with the predictions of tools.

    What is wrong with it as a whole ends the command; bad entries are listed.
    """
    from facereject import annotated_faces
    from facereject.faces import DatasetError

    if not os.path.exists(path):
        stop(f"DATASET {path}: no such file or folder")
    if points is not None and len(set(points)) < max(2, len(points)):
        stop(f"--points: points must be two or more different numbers, got {list(points)}")
    try:
        dataset = annotated_faces(path, images, predictions or None, points=points)
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
    list_problems(dataset.problems)
    return dataset


def list_problems(problems: Sequence[Problem]) -> None:
    """Name the entries that were left out, the first few of them in full."""
    if not problems:
        return
    say(f"Warning: {len(problems):,} {'entry was' if len(problems) == 1 else 'entries were'} left out:")
    for problem in problems[:_LISTED]:
        say(f"  {problem.entry}: {problem.reason}")
    if len(problems) > _LISTED:
        say(f"  … and {len(problems) - _LISTED:,} more")


@contextlib.contextmanager
def cache_warnings() -> Iterator[None]:
    """Report problems of the cache after the progress bar."""
    from facereject.faces.training.table import CacheWarning

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


def check_not_read(option: str, outputs: Iterable[Path], inputs: Iterable[str | Path | None]) -> None:
    """End the command before any work if an output would replace what it reads."""
    found = output_that_is_read(outputs, (path for path in inputs if path is not None))
    if found is not None:
        stop(f"{option} {found}: this is a file that is read; choose another name")


def files_of_dataset(dataset: Path, samples: Iterable[FaceSample]) -> Iterator[Path]:
    """The files that were read for a data set: its own, the images, and the landmarks beside them."""
    yield dataset
    for sample in samples:
        yield sample.image_path
        yield sample.image_path.with_suffix(".pts")


def check_report(folder: Path, *, overwrite: bool) -> list[Path]:
    """The files of a report; ends the command before any work if they cannot be written there."""
    from facereject.reports.evaluation import FILES, check_report_folder

    check_folder("--report", folder)
    try:
        check_report_folder(folder, overwrite=overwrite)
    except FileExistsError as error:
        stop(f"--report {error.filename}: {str(error.strerror).replace('`overwrite`', '--overwrite')}")
    return [folder / name for name in FILES]


def landmark_inputs(paths: Sequence[Path] | None) -> list[str]:
    """The landmark files that some paths stand for."""
    from facereject.sources.landmark_files import landmark_files

    return [file for path in paths or () for file in landmark_files(path)]


def check_folder(option: str, path: Path) -> None:
    """End the command before any work if no such folder, which need not exist yet, can be written."""
    there = next(folder for folder in (path, *path.absolute().parents) if os.path.exists(folder))
    if not os.path.isdir(there):
        stop(f"{option} {path}: {there} is a file, not a folder; choose another name")
    if not os.access(there, os.W_OK):
        stop(f"{option} {path}: the folder {there} cannot be written; choose another place")
