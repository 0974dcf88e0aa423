"""facereject calibrate: a threshold with a guarantee, or a unit from few faces, written into the model."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from facereject._cli._annotated import (
    AnnotatedChoice,
    DatasetArgument,
    ModelArgument,
    check_not_read,
    check_report,
    check_writable,
    results,
    save_model,
    tell,
    writing_report,
)
from facereject._cli._choices import PartsChoice
from facereject._cli._panels import Given, command
from facereject._cli._shared import QuietOption, RegionOption, option, say, stop
from facereject._words import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from facereject.faces import FaceRejector

# a factor of expected errors that annotation of other images or in another order is more likely to give
_FAR_OFF = 3

# fewer faces than this seldom guarantee anything
_FEW = 500


@command(lambda: (AnnotatedChoice, PartsChoice))
def calibrate(
    given: Given,
    model: ModelArgument,
    dataset: DatasetArgument = None,
    max_error: float | None = option(
        None,
        metavar="PERCENT",
        help="The mean error of accepted faces that must not be exceeded: find a threshold that "
        "guarantees it. This takes hundreds of faces.",
    ),
    unit: bool = option(
        False,
        "--unit",
        help="Correct the expected errors to fit 20 to 50 faces (at least 10). Nothing is guaranteed. "
        "This is the default without --max-error.",
    ),
    confidence: float = option(0.95, metavar="SHARE", help="Probability that the guarantee holds."),
    loss_bound: float = option(
        20.0,
        metavar="PERCENT",
        help="Larger errors count as this: without a limit no guarantee is possible. Choose it before "
        "looking at the errors.",
    ),
    output: Path | None = option(None, "--output", "-o", metavar="FILE", help="Model file to write."),
    in_place: bool = option(False, "--in-place", help="Change MODEL itself."),
    report: Path | None = option(
        None,
        metavar="DIR",
        help="Also write a report about these faces and the new model, as evaluate does. Where none "
        "can be written, it says why and what can be done.",
    ),
    region: RegionOption = None,
    seed: int = option(0, metavar="N", min=0, help="Chooses one face where photos show several."),
    accept_everything: bool = option(
        False, "--accept-everything", help="Write the model even if it would reject none of these faces."
    ),
    quiet: QuietOption = False,
) -> None:
    """Adapt a model to annotated faces, with a guarantee if wanted.

    DATASET must hold faces that neither the landmark predictor nor the model was trained on, drawn at random
    from those the model will be used on.

    With --unit (20 to 50 faces) the expected errors are multiplied by a factor that fits these faces; the
    uncertainty of the factor is shown. With --max-error (hundreds of faces) a threshold is found that
    guarantees the mean error of accepted faces, and the expected errors are fitted to these faces, too. One
    face of each photo is used.

    [bold]Examples[/bold]
    facereject calibrate default mine --unit -o mine.safetensors
    facereject calibrate my.safetensors new.csv --max-error 5 -o safe.safetensors
    facereject calibrate my.safetensors new --max-error 4 --in-place
    facereject calibrate default --predictions a --annotation pts -o a.safetensors
    facereject filter photos --model safe.safetensors --accepted good

    [bold]Exit codes[/bold]: 0 written, 1 no threshold can guarantee this, or none is needed (nothing is
    written), 2 wrong usage, 130 interrupted
    """
    faces, parts = given.make(AnnotatedChoice), given.make(PartsChoice)
    path = faces.path(dataset)
    if (output is None) != in_place:
        stop("give either --output FILE or --in-place" + (", not both" if in_place else ""))
    if unit and max_error is not None:
        stop("--unit and --max-error exclude each other: a guarantee fits the expected errors as well")
    from facereject.faces.models.storage import pretrained_models

    if in_place and (model in pretrained_models() or not os.path.isfile(model)):
        stop(f"--in-place: MODEL {model} is no file of yours; write to another one with --output FILE")
    if not 0 < confidence < 1:
        stop(f"--confidence must lie between 0 and 1, got {confidence:g}")
    target = Path(model) if output is None else output
    check_writable("--output", target, overwrite=faces.overwrite or in_place)
    pages = [] if report is None else check_report(report, overwrite=faces.overwrite)
    rejector = parts.load_parts(model, region=region, argument="MODEL", given=bool(faces.predictions))

    from facereject.faces.evaluation.data_warnings import data_warnings
    from facereject.faces.models.card import promise_of
    from facereject.faces.training.certify import certified, check_promise, independent_rows
    from facereject.selection import NoValidThresholdError

    try:
        if max_error is not None:
            check_promise(max_error, 1 - confidence, loss_bound)
    except ValueError as error:
        stop(f"{str(error).replace('max_error', '--max-error').replace('loss_bound', '--loss-bound')}")
    samples = faces.read(path, faces.predictions, quiet=quiet)
    read = faces.files_read(path, samples, parts.landmarks)
    check_not_read("--output", [target], read if in_place else [model, *read])
    check_not_read("--report", pages, [model, *read])
    known_by = None if faces.predictions else rejector.predictor
    notes = data_warnings(samples, known_by, rejector.info, few=max_error is not None)
    for text in notes:
        tell(f"Warning: {text}")
    evaluation = faces.evaluate(rejector, samples, path, quiet=quiet, degradations=0)
    table = evaluation.table

    def write_page(*sentences: str, changed: FaceRejector | None = None) -> None:
        """About the new model, or about MODEL if no new one is written."""
        if report is None:
            return
        from facereject.reports.evaluation import write_report

        shown, name, outcome = rejector, model, "The model is unchanged"
        about = "the model is unchanged, and the figures below are about it"
        if changed is not None:
            shown, name, outcome = changed, str(target), f"{target} is written"
            about = "the figures below are about the faces that the model was fitted to"
        with writing_report(report, f". {outcome}"):
            page = write_report(
                report,
                shown,
                samples,
                evaluation.under(shown),
                model=name,
                data=str(path),
                notes=[*(text.removesuffix(".") for text in sentences), about, *notes],
                overwrite=faces.overwrite,
            )
        if not quiet:
            say(f"Report: {page}")

    if max_error is None:
        _give_unit(rejector, table.losses, evaluation.uncertainty, target, path, write_page, quiet)
        return
    rows = independent_rows([samples[i].photo for i in table.sample], seed)
    if len(rows) < len(table):
        alone = f"{counted(len(table), 'face')} found; one per photo counts, which leaves {len(rows):,}"
        notes.insert(0, alone)
        if not quiet:
            say(alone)
    try:
        promised = certified(
            rejector,
            losses=table.losses[rows],
            uncertainty=evaluation.uncertainty[rows],
            max_error=max_error,
            delta=1 - confidence,
            loss_bound=loss_bound,
            regions=None if evaluation.regions is None else evaluation.regions.rows(rows),
        )
    except NoValidThresholdError as error:
        advice = [str(error).replace("With a loss bound of", "With --loss-bound") + "."]
        if len(rows) < _FEW:
            advice.append(
                "To correct the expected errors without a guarantee, 20 to 50 faces are enough: --unit."
            )
        tell(f"DATASET {path}: {advice[0]} The model is unchanged.")
        for sentence in advice[1:]:
            tell(sentence)
        write_page(*advice)
        raise typer.Exit(1) from None
    if math.isinf(promised.selector.threshold_) and not accept_everything:
        needless = (
            "on faces like these, accepting every face already promises a mean error of at most "
            f"{max_error:g} %, so the model would never reject anything. Choose a lower --max-error or "
            "harder faces, or pass --accept-everything if that is what you want."
        )
        tell(f"DATASET {path}: {needless} The model is unchanged.")
        write_page(needless)
        raise typer.Exit(1)
    save_model(promised, target, ". The model is unchanged")
    promise = promise_of(promised) or ""
    write_page(promise, changed=promised)
    if quiet:
        return
    results.print(promise, soft_wrap=not results.is_terminal)
    selector = promised.selector
    # infinite where even accepting every face is safe enough
    everything = math.isinf(selector.threshold_)
    rule = "No threshold, nothing is rejected" if everything else f"Threshold {selector.threshold_:.6g}"
    results.print(
        f"{rule}: accepts {selector.coverage_:.1%} of the calibration faces, mean error "
        f"{selector.selective_risk_:.2f} %.",
        soft_wrap=not results.is_terminal,
    )
    tell(
        "The guarantee is about faces drawn like these and found by the detector, on average: not about one "
        "face, one person or one video, nor about photos the predictor or the model was trained on. "
        f"Expected errors were fitted again on these {len(rows):,} faces."
    )
    say(f"Written: {target}")


def _give_unit(
    rejector: FaceRejector,
    losses: Any,
    uncertainty: Any,
    target: Path,
    path: Path,
    write_page: Callable[..., None],
    quiet: bool,
) -> None:
    """Write the model with expected errors that fit some annotated faces."""
    before = float(rejector.calibration.expected_error(uncertainty).mean())
    try:
        changed = rejector.with_unit(losses, uncertainty)
    except ValueError as error:
        reason = str(error).removeprefix("losses: ")
        advice = f"{reason}. Annotate more of them, for example with `facereject annotate`"
        write_page(advice)
        stop(f"DATASET {path}: {advice}")
    save_model(changed, target, ". The model is unchanged")
    unit = changed.info["unit"]
    mean = float(changed.calibration.expected_error(uncertainty).mean())
    if not rejector.relative and not 1 / _FAR_OFF <= unit["factor"] <= _FAR_OFF:
        tell(
            f"Warning: errors are {unit['factor']:.2g} times what the model expects. Check that the "
            "landmarks belong to these images, in pixels and in the order of the model."
        )
    now = f"Expected errors now fit these {len(losses):,} faces: {mean:.2f} % in the mean"
    if rejector.relative:
        doubt = f"; that may be off by {math.expm1(1.96 * unit['standard_error']):.0%}"
    else:
        doubt = (
            f", {before:.2f} % before. Factor {unit['factor']:.2f}, 95 % interval {unit['factor_low']:g} to "
            f"{unit['factor_high']:g}"
        )
    sentence = f"{now}{doubt}. Nothing is guaranteed; --max-error asks for that."
    write_page(sentence, changed=changed)
    if not quiet:
        results.print(sentence, soft_wrap=not results.is_terminal)
        say(f"Written: {target}")
