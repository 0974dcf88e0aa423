"""facereject train: annotated faces in, a model file out."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from facereject._cli._annotated import (
    AnnotatedChoice,
    DatasetArgument,
    cache_warnings,
    check_not_read,
    check_writable,
    save_model,
    show_facts,
    tell,
)
from facereject._cli._choices import (
    DetectorOption,
    LandmarksOption,
    TrainTarget,
    chosen_detector,
    chosen_landmarks,
)
from facereject._cli._panels import Given, command
from facereject._cli._progress import ProgressBar
from facereject._cli._shared import QuietOption, option, say, stop
from facereject.faces.models.scores import SCORES

_SCORE_HELP = (
    "auto: sele or compact, whichever ranks better. "
    + ". ".join(f"{name}: {score.help}" for name, score in SCORES.items()).replace("[", "\\[")
    + "."
)


def _kinds() -> tuple[type, ...]:
    from facereject.faces.training.options import Training

    return TrainTarget, AnnotatedChoice, Training


@command(_kinds)
def train(
    given: Given,
    output: Path = option(..., "--output", "-o", metavar="FILE", help="Model file to write."),
    dataset: DatasetArgument = None,
    landmarks: LandmarksOption = None,
    detector: DetectorOption = None,
    score: str = option(
        "auto",
        metavar="|".join(["auto", *SCORES]),
        help=_SCORE_HELP,
    ),
    unlabelled: bool = option(
        False,
        "--unlabelled",
        help="DATASET is a folder of photos without annotation: the predictor's own landmarks on them "
        "replace it. The model then ranks faces but has no percentages until `facereject "
        "calibrate`.",
    ),
    quiet: QuietOption = False,
) -> None:
    """Train a model that predicts how wrong a predictor is.

    It learns from annotated photos and degraded versions of them (blur, noise, darkness, occlusion, …). The
    score is chosen by cross-validation over photos, which also gives the results shown at the end. Without a
    target, the accepted faces have the mean error of the undegraded photos.

    With --predictions, the landmarks of another tool are read from files, and nothing is degraded: the model
    is for [bold]facereject assess[/bold]. With 68 landmarks the shipped model is adapted to the tool, which
    takes 200 faces; without a target it accepts three quarters of the faces. Name
    the predictions of other tools, or of the same tool with other seeds, as well: disagreement is among the
    best signs of an error.

    [bold]Examples[/bold]
    facereject train 300w -o my.safetensors
    facereject train faces.xml -o my.safetensors --landmarks my.dat --max-error 4
    facereject train faces.csv -o my.safetensors --thorough --cache tmp -j 8
    facereject train --predictions openface --annotation pts -o my.safetensors
    facereject train pts --predictions a --predictions b -o my.safetensors

    [dim]Set some photos aside first: `facereject evaluate` and `facereject calibrate` need faces that were
    not trained on. A few hundred photos are the minimum, two thousand are good.[/dim]
    """
    from facereject.faces.training.options import Training

    faces, target = given.make(AnnotatedChoice), given.make(TrainTarget).chosen()
    path, predictions = faces.path(dataset), faces.predictions
    training = given.make(Training)
    check_writable("--output", output, overwrite=faces.overwrite)
    _check_target(target)
    if score != "auto" and score not in SCORES:
        stop(f"--score must be one of auto, {', '.join(SCORES)}; got {score}")

    from facereject.faces import LandmarkModelError, make_landmarks, train_face_rejector
    from facereject.faces.evaluation.data_warnings import data_warnings
    from facereject.faces.models.card import model_facts
    from facereject.faces.training.annotation import photo_paths
    from facereject.scores._lightgbm import LightGBMNotAvailableError
    from facereject.selection import InfeasibleTargetError

    if predictions:
        if len(predictions) > 1 and score != "auto":
            stop(f"--score {score}: several --predictions are compared by --score auto only")
        for option, given_too in (("--landmarks", landmarks), ("--detector", detector)):
            if given_too is not None:
                stop(f"{option}: with --predictions no detector and no predictor is run")
        if unlabelled or training.stability:
            stop(f"--{'unlabelled' if unlabelled else 'thorough'} and --predictions exclude each other")
    try:
        placed_by = chosen_landmarks(landmarks) or make_landmarks("dlib")
    except LandmarkModelError as error:
        stop(str(error))
    # dlib's own has a threshold for training, which is the default
    found_by = None if detector == "dlib" else chosen_detector(detector)
    if unlabelled and not set(target) <= {"coverage"}:
        stop("--unlabelled: errors have no unit yet; the target can only be --coverage")
    samples = None if unlabelled else faces.read(path, predictions, quiet=quiet)
    try:
        photos = photo_paths(path) if samples is None else ()
    except ValueError as error:
        stop(f"DATASET {path}: {error}")
    read = faces.files_read(path, samples or (), landmarks)
    check_not_read("--output", [output], [*read, *photos])
    known_by = None if predictions else placed_by
    for text in data_warnings(samples, known_by) if samples is not None else ():
        tell(f"Warning: {text}")
    with cache_warnings(), ExitStack() as bars:
        bar = bars.enter_context(ProgressBar(quiet=quiet, last_line=True))
        try:
            rejector = train_face_rejector(
                samples,
                score,
                unlabelled=path if unlabelled else None,
                tool=predictions[0].name if predictions else "",
                predictor=placed_by,
                detector=found_by,
                training=training,
                workers=faces.workers,
                cache=faces.cache,
                progress=bar,
            )
        except LightGBMNotAvailableError as error:
            bars.close()
            stop(f"--score {score}: {error}. --score sele does without")
        except ValueError as error:
            bars.close()
            stop(f"DATASET {path}: {error}")
    if predictions and (used := faces.used_points()) is not None:
        # for files of all points, which `assess` is given later
        rejector.info["points_used"] = list(used)
    missing = ""
    try:
        rejector = rejector.with_target(**target) if target else rejector
    except InfeasibleTargetError as error:
        # the score is good all the same, and may have cost hours
        missing = str(error)
    save_model(rejector, output)
    if not quiet:
        show_facts(f"Model {output}", model_facts(rejector))
        say(f"Written: {output}. Next: facereject evaluate {output} HELD-OUT-FACES --report DIR")
    if missing:
        option = "--" + next(iter(target)).replace("_", "-")
        stop(f"{option}: {missing}. The model was written with its default target instead", 1)


def _check_target(given: dict[str, float]) -> None:
    from facereject.faces.models.calibration import checked_target

    for kind, value in given.items():
        try:
            checked_target(kind, value)
        except ValueError as error:
            stop(f"--{kind.replace('_', '-')}: {error}")
