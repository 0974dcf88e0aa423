"""facereject info: what is installed, and what a model is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from facereject._cli._annotated import results, show_facts
from facereject._cli._choices import DetectorOption, LandmarksOption
from facereject._cli._shared import OfflineOption, load_rejector, missing_library

if TYPE_CHECKING:
    from facereject._installation import Extra
    from facereject.faces.plugins import Registry


def info(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help="default, thorough, dlib, mesh, mesh-free, or a model file.",
            show_default=False,
        ),
    ] = None,
    landmarks: LandmarksOption = None,
    detector: DetectorOption = None,
    offline: OfflineOption = False,
) -> None:
    """Show versions, licences and plug-ins, or describe a model.

    Without MODEL: versions, what is missing, detectors and landmark predictors. With MODEL: its training
    data, results, licence, target, threshold and guarantee.

    [bold]Examples[/bold]
    facereject info
    facereject info thorough
    facereject info model.safetensors --landmarks mine.dat
    """
    from facereject._installation import extras, versions

    try:
        import cv2  # noqa: F401
    except ImportError as error:
        # everything about faces needs it; the rest can be told
        show_facts("Installed", [*versions(), ("MISSING", missing_library(error) or str(error))])
        show_facts("Optional", map(_told, extras()))
        return
    from facereject.faces.detectors import DETECTORS
    from facereject.faces.landmarks import LANDMARKS
    from facereject.faces.models.card import (
        LICENCE,
        MODEL_NOTES,
        error_unit,
        landmark_model,
        model_facts,
        predictor_name,
        trained_for,
    )
    from facereject.faces.models.licences import licence_chain
    from facereject.faces.models.storage import pretrained_models
    from facereject.faces.plugins import fingerprint_of, name_of

    if model is not None:
        rejector = load_rejector(model, detector=detector, landmarks=landmarks, argument="MODEL")
        used, right = fingerprint_of(rejector.predictor), trained_for(model)
        present = predictor_name(used, name_of(rejector.predictor))
        match = "the same" if used == right.fingerprint else f"NOT the same: {present}"
        facts = [*model_facts(rejector), ("trained for", predictor_name(*right)), ("used with", match)]
        note = [("for", MODEL_NOTES[model])] if model in MODEL_NOTES else []
        show_facts(f"Model {model}", [*note, *facts, ("errors in", error_unit(rejector))])
        chain = licence_chain(rejector)
        show_facts(
            "Licences of its parts", [(p.part, f"{p.licence}{_COMMERCIAL[p.commercial]}") for p in chain]
        )
    else:
        show_facts("Installed", versions())
        show_facts("Optional", map(_told, extras()))
        show_facts(
            "Models; `facereject info NAME` says more", [(m, MODEL_NOTES[m]) for m in pretrained_models()]
        )
        show_facts("Weights", [("landmarks", landmark_model()), *_missing_weights()])
        show_facts("Names for", [("--detector", _names(DETECTORS)), ("--landmarks", _names(LANDMARKS))])
    results.print("[bold]Licence[/bold]")
    results.print(LICENCE, markup=False)


#: behind a licence, by what is known about commercial use
_COMMERCIAL = {True: " (commercial use allowed)", False: " (NO COMMERCIAL USE)", None: ""}


# chosen by a file or a class, not by name
_NAMELESS = {"files", "onnx", "python"}


def _names(registry: Registry[Any]) -> str:
    """The registered names; those of other packages with the package."""
    origins = {name: origin for name, origin in registry.origins().items() if name not in _NAMELESS}
    return ", ".join(
        name if origin == "facereject" else f"{name} ({origin})" for name, origin in origins.items()
    )


def _missing_weights() -> list[tuple[str, str]]:
    """Weight files that the shipped models need and that are not installed."""
    from facereject.faces.weights import WEIGHTS, find_weights, how_to_get

    missing = [name for name in ("yunet", "mesh") if find_weights(name) is None]
    return [(name, f"not installed: {WEIGHTS[name].purpose}. {how_to_get(name)}") for name in missing]


def _told(extra: Extra) -> tuple[str, str]:
    state = extra.version or f"not installed: pip install {extra.package}"
    return extra.package, f"{state}{extra.problem and f', {extra.problem}'}  ({extra.adds})"
