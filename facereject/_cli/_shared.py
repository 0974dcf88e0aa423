"""What the commands share: how they stop, what they say to people, common options, loading a model."""

from __future__ import annotations

import inspect
import math
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console

from facereject._files import is_special, suffix_of

if TYPE_CHECKING:
    from facereject.faces import FaceRejector


# imports of dlib, cv2 and scikit-learn wait for the functions: `facereject --help` needs none of them

# control characters of ASCII but the tab and beyond it (U+009B starts a command as ESC [ does), separators
# of lines, and marks that reverse the direction of what follows
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

#: everything for people goes to stderr; stdout carries data only
# a file may be called :fire:.jpg
console = Console(stderr=True, highlight=False, emoji=False)


def option(
    default: Any, *flags: str, help: str, metavar: str | None = None, panel: str | None = None, **more: Any
) -> Any:
    """The default of a parameter that is an option of the command line; ``...`` if it is required."""
    return typer.Option(
        default,
        *flags,
        help=help,
        metavar=metavar,
        rich_help_panel=panel,
        # nothing is said by what is not there; 0 is a value
        show_default=not any(default is each for each in (None, False, ...)),
        **more,
    )


ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        metavar="NAME|FILE",
        help="default, thorough (better and slower), dlib (the detector and score of the paper), mesh or "
        "mesh-free (MediaPipe's landmarks), or a model file.",
    ),
]


DETECTOR_PANEL = "Face detector"


def _set_offline(given: bool) -> bool:
    if given:
        from facereject.faces.weights import OFFLINE_VARIABLE

        # worker processes inherit it
        os.environ[OFFLINE_VARIABLE] = "1"
    return given


OfflineOption = Annotated[
    bool,
    typer.Option(
        "--offline",
        help="Download nothing: without the weights of YuNet, dlib's detector finds the faces. The same as "
        "FACEREJECT_OFFLINE=1.",
        callback=_set_offline,
        rich_help_panel=DETECTOR_PANEL,
    ),
]


ColumnsOption = Annotated[
    str,
    typer.Option(
        "--columns",
        metavar="all|short|NAMES",
        help="Columns of the table: all; short (no landmarks); or names, such as expected_error,accepted. "
        "box, pose, landmarks and landmark_errors are groups of columns; source is always included. "
        "`facereject score --help` explains every column.",
    ),
]
RegionOption = Annotated[
    str | None,
    typer.Option(
        "--region",
        metavar="NAMES",
        help="Score only these parts of the face: jaw, brows, nose, eyes, mouth, or several (eyes,mouth). "
        "Uncertainty, expected error and decision then refer to them.",
    ),
]
FrameRuleOption = Annotated[
    str,
    typer.Option(
        "--frame-rule",
        metavar="all|any|largest",
        help="Accept an image or frame if all of its faces are accepted, if any is, or if the largest is.",
    ),
]
RestartOption = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Start again although an unfinished table exists, and allow replacing files that facereject did "
        "not create.",
    ),
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show errors only: no progress, no summary.")
]


def say(message: str) -> None:
    """One message for people, on stderr; names of files are shown as they are, never read as markup."""
    # a wrapped line could not be copied as a path
    console.print(printable(message), markup=False, highlight=False, soft_wrap=True)


def stop(message: str, code: int = 2) -> NoReturn:
    """End the command with one sentence on stderr; the code is 2 for wrong usage, 1 for failed work."""
    typer.echo(printable(message), err=True)
    raise typer.Exit(code)


def has_table_name(path: str) -> bool:
    """Whether a file has the suffix of a table; no image or video has one of these."""
    from facereject.tables.writing import SUFFIXES

    return os.path.isfile(path) and suffix_of(path) in SUFFIXES


def drop_output() -> None:
    """Write what is still to come on stdout nowhere: its reader has gone, and it would fail again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def paragraphs(text: str | None) -> str:
    """Help text from a docstring: lines are joined, as the terminal wraps them at its own width."""
    blocks = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(" ".join(block.split()) for block in blocks)


def described(function: Any) -> dict[str, Any]:
    """The help of a command and what stands below its options: its docstring, cut before the examples."""
    text = inspect.cleandoc(function.__doc__ or "")
    help, title, examples = text.partition("[bold]Examples[/bold]")
    return {"help": paragraphs(help), "epilog": title + examples}


def printable(text: str) -> str:
    r"""Text that any terminal takes: bytes of a file name that are not UTF-8 become ``\xNN``.

    So do control characters, line ends and marks of direction, which could move the cursor or change how the
    rest is read.
    """
    valid = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return _CONTROLS.sub(lambda found: _escape(ord(found[0])), valid)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _refused_target(rejector: FaceRejector, target: Mapping[str, float], error: ValueError) -> str:
    """What is wrong with a target, in the words of the option, and what could be asked for instead."""
    from facereject.selection import InfeasibleTargetError

    ((kind, value),) = target.items()
    option = "--" + kind.replace("_", "-")
    if isinstance(error, InfeasibleTargetError) and error.reachable is not None:
        unit = "" if rejector.relative else " %"
        # rounded up, so that it can be reached
        possible = math.ceil(100 * error.reachable) / 100
        return (
            f"{option} {value:g}: no threshold of this model keeps the mean error that low; "
            f"{possible:g}{unit} is the lowest it can keep"
        )
    if kind == "coverage" and 1 < value <= 100:
        share = f"for {value:g} % write {value / 100:g}"
        return f"{option} {value:g}: a share of the faces up to 1 is meant; {share}"
    return f"{option}: {error}"


def load_rejector(
    model: str = "default",
    *,
    detector: str | None = None,
    landmarks: str | None = None,
    upsample: int | None = None,
    min_face: float | None = None,
    detector_threshold: float | None = None,
    target: Mapping[str, float] | None = None,
    region: str | None = None,
    argument: str = "--model",
    given: bool = False,
    finds: bool = True,
) -> FaceRejector:
    """The rejector for the common options; what is wrong with them ends the command with code 2.

    Parameters
    ----------
    model : str
        Name of a pretrained model, or path of a model file, with a folder or a suffix.
    detector, landmarks : str or None
        As for --detector and --landmarks; None keeps the model's own.
    upsample, min_face, detector_threshold
        Detector options; None keeps the model's own.
    target : mapping or None
        As from `chosen_target`; empty or None keeps the model's own target.
    region : str or None
        As for --region.
    argument : str
        What the user calls the model, for messages.
    given : bool
        The landmarks come from files; else a model that was trained for such is refused.
    finds : bool
        Faces are searched for; if not, the weights of the model's own detector are not needed.
    """
    from facereject._cli._choices import chosen_detector, chosen_landmarks
    from facereject.faces import FaceDetector, FaceRejector
    from facereject.faces.detectors.base import change_options
    from facereject.faces.models.storage import pretrained_models
    from facereject.faces.weights import WeightsError
    from facereject.modelfile import ModelFileError

    shipped = pretrained_models()
    if model not in shipped:
        _check_model_file(model, argument, shipped)
    options = {"upsample": upsample, "min_face": min_face, "threshold": detector_threshold}
    changes: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            # a file of that name in the current folder must not take the place of a shipped model
            read = FaceRejector.pretrained if model in shipped else FaceRejector.load
            found_by = chosen_detector(detector) if finds or detector is not None else FaceDetector()
            rejector = read(model, detector=found_by, predictor=chosen_landmarks(landmarks))
        except WeightsError as error:
            stop(f"--landmarks: {error}" if landmarks is not None else str(error))
        except ModelFileError as error:
            stop(f"{argument} {error}")
        except OSError as error:
            stop(f"{argument} {model}: cannot be read ({error.strerror})")
    for warning in caught:
        say(f"Warning: {warning.message}")
    if rejector.from_files and not given:
        stop(
            f"{argument} {model}: scores landmarks that a tool wrote to files; use `facereject assess`, or "
            "--predictions"
        )
    try:
        if changes and finds:
            # the rejector has just been made, so nothing else uses its detector
            rejector.detector = change_options(rejector.detector, **changes)
    except ValueError as error:
        names = ", ".join("--" + _OPTION_OF.get(name, name) for name in changes)
        stop(f"{names}: {error}")
    try:
        rejector = rejector if region is None else rejector.for_region(region)
    except ValueError as error:
        stop(f"--region {region}: {error}")
    try:
        return rejector.with_target(**target) if target else rejector
    except ValueError as error:
        stop(_refused_target(rejector, target or {}, error))


def _check_model_file(model: str, argument: str, shipped: Sequence[str]) -> None:
    names = f"name a model file, or one of the shipped models: {', '.join(shipped)}"
    if os.path.isdir(model):
        stop(f"{argument} {model}: this is a folder; {names}")
    if is_special(model):
        stop(f"{argument} {model}: not a regular file; {names}")
    if not os.path.isfile(model):
        stop(f"{argument} {model}: no such file; {names}")
    if os.path.basename(model) == model and not suffix_of(model):
        # a later version may ship a model of that name
        stop(f"{argument} {model}: a plain name is a shipped model; for the file write ./{model}")


_OPTION_OF = {"min_face": "min-face", "threshold": "detector-threshold"}


_OPENCV = (
    "OpenCV cannot be loaded, as the system library {} is missing. Install libgl1 and libglib2.0-0 (Debian, "
    "Ubuntu: apt-get install), mesa-libGL, glib2 and libxcb (Fedora: dnf install), or libgl, glib and libxcb "
    "(conda install -c conda-forge); or replace opencv-python by opencv-python-headless, which does "
    "everything but show a window."
)

# beginnings of the names of what the wheel of OpenCV expects of the system
_OF_OPENCV = ("libGL", "libgthread", "libglib", "libxcb", "libX", "libSM", "libICE")


def missing_library(error: ImportError) -> str:
    """What to install if a library of the system is missing; empty if that is not the reason."""
    found = re.match(r"(lib[\w.+-]+): cannot open shared object file", str(error))
    if found is None:
        return ""
    if found[1].startswith(_OF_OPENCV):
        return _OPENCV.format(found[1])
    return f"The system library {found[1]} is missing; install the package that contains it."
