"""facereject info: what is installed, and what a model is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from facereject._cli._options.annotated import results
from facereject._cli._shared import PredictorOption, load_rejector, paragraphs, printable

INFO_EXAMPLES = paragraphs("""[bold]Examples[/bold]

facereject info

facereject info thorough

facereject info model.safetensors --predictor mine.dat""")


def info(
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="default, thorough, or a model file.", show_default=False),
    ] = None,
    predictor: PredictorOption = None,
) -> None:
    """Show versions and licences; of a model also its data, results, target, threshold and guarantee."""
    from facereject.faces.models.card import LICENCE, UNIT, model_facts, predictor_name
    from facereject.faces.models.installation import (
        extras,
        landmark_model,
        pretrained_models,
        trained_for,
        versions,
    )

    if model is not None:
        rejector = load_rejector(model, predictor=predictor, argument="MODEL")
        used, right = getattr(rejector.predictor, "fingerprint", None), trained_for(model)
        match = "the same" if used == right else f"NOT the same: {predictor_name(used)}"
        facts = [*model_facts(rejector), ("trained for", predictor_name(right)), ("used with", match)]
        _show(f"Model {model}", [*facts, ("errors in", UNIT)])
    else:
        _show("Installed", versions())
        missing = "not installed: pip install 'facereject[{}]'"
        _show(
            "Optional",
            [(e.package, f"{e.version or missing.format(e.extra)}  ({e.adds})") for e in extras()],
        )
        shipped = f"{', '.join(pretrained_models())}; `facereject info NAME` says more"
        _show("Models", [("shipped", shipped), ("landmarks", landmark_model())])
    results.print("[bold]Licence[/bold]")
    results.print(LICENCE, markup=False)


def _show(title: str, rows: Iterable[tuple[str, str]]) -> None:
    results.print(printable(title), style="bold", markup=False, soft_wrap=True)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows:
        # square brackets, as in names of extras, are no markup
        table.add_row(name, Text(printable(text)))
    results.print(table)
    results.print()
