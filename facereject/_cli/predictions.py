"""facereject predictions: the predictions of any model in a file, and which of them to accept."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from facereject._cli._annotated import OverwriteOption, results, tell
from facereject._cli._commands import PlainCommand, PlainGroup
from facereject._cli._panels import Given, command
from facereject._cli._shared import QuietOption, option, paragraphs, printable, say, stop
from facereject._options import option as field_option

if TYPE_CHECKING:
    from facereject.predictions import ColumnNames, LearnedScore, PredictionFile

PREDICTIONS_EXAMPLES = """[bold]Examples[/bold]
facereject predictions report predictions.csv
facereject predictions threshold labelled.csv --max-risk 0.05 -o rule.json
facereject predictions apply rule.json new.csv -o decided.csv"""

predictions_app = typer.Typer(
    name="predictions",
    cls=PlainGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help=paragraphs("""Add a reject option to predictions of any model in a file.

    Compare scores, find a threshold with a guarantee, accept and reject, monitor, learn a score. This has
    nothing to do with faces."""),
    epilog=PREDICTIONS_EXAMPLES,
)

_COLUMNS = "Columns (obvious names are recognised)"
_SEVERAL = "May be given several times."


@dataclass(frozen=True)
class LossColumns:
    """The columns that tell the losses."""

    label: str | None = field_option(None, metavar="COLUMN", help="True class or value.")
    prediction: str | None = field_option(
        None,
        metavar="COLUMN",
        help="Predicted class or value. Without it: the largest of the probabilities p_0, p_1, … or logits "
        "logit_0, …",
    )
    loss: str | None = field_option(
        None,
        metavar="LOSS",
        help="zero-one (default), absolute, squared, or a column that holds the losses.",
    )

    panel: ClassVar[str] = _COLUMNS

    def names(self) -> ColumnNames:
        """The columns, as the library takes them."""
        from facereject.predictions import ColumnNames

        return ColumnNames(self.label, self.prediction, loss=self.loss)


@dataclass(frozen=True)
class ScoredColumns(LossColumns):
    """The columns that tell losses and scores."""

    confidence: list[str] | None = field_option(
        None, metavar="COLUMN", help=f"Score that is higher for more certain predictions. {_SEVERAL}"
    )
    uncertainty: list[str] | None = field_option(
        None,
        metavar="COLUMN",
        help="Score that is higher for less certain predictions, or the name of one that `report` has read "
        f"from the outputs, such as entropy. {_SEVERAL}",
    )

    def names(self) -> ColumnNames:
        """The columns, as the library takes them."""
        return replace(
            super().names(),
            confidence=tuple(self.confidence or ()),
            uncertainty=tuple(self.uncertainty or ()),
        )


FileArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help=".csv, .tsv, .jsonl, .parquet, .sqlite or .npz file, one row per prediction.",
        show_default=False,
    ),
]
TableOption = Annotated[
    str | None, typer.Option("--table", metavar="NAME", help="Table of a SQLite file that has several.")
]
ScoreOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--score",
        metavar="FILE",
        help="Score written by `facereject predictions learn`.",
        rich_help_panel=_COLUMNS,
        show_default=False,
    ),
]

REPORT_EXAMPLES = paragraphs("""[bold]Examples[/bold]

facereject predictions report predictions.csv

facereject predictions report ages.csv --label age --prediction guess --loss absolute --uncertainty sigma

facereject predictions report test.npz --score score.safetensors -o compared.html

[bold]Exit codes[/bold]: 0 written, 1 it could not be written, 2 wrong usage or a file that cannot be used,
130 interrupted""")


@command(lambda: (ScoredColumns,))
def report(
    given: Given,
    file: FileArgument,
    output: Path = option(Path("report.html"), "--output", "-o", metavar="FILE", help="HTML page to write."),
    score: ScoreOption = None,
    coverage: float = option(
        0.9, metavar="SHARE", help="Accepted share at which the confusion matrix is shown."
    ),
    max_discard: float = option(0.2, metavar="SHARE", help="Where the partial area under the EDC ends."),
    table: TableOption = None,
    seed: int = option(0, metavar="N", min=0, help="Seed of the bootstrap."),
    overwrite: OverwriteOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare the scores in a file of labelled predictions, and write a page.

    Risk-coverage curves with bootstrap bands, AuRC, E-AuRC, AUGRC, error against discard, what thresholds
    keep, paired tests between scores, calibration of the expected error, and the confusion matrix before and
    after rejection.
    """
    from facereject.predictions import report_predictions
    from facereject.predictions._files import check_output

    with _sentences(output):
        check_output(output, [file, *(score or ())], overwrite=overwrite)
        made = report_predictions(
            _open(file, table),
            output,
            columns=given.make(ScoredColumns).names(),
            learned=_scores(score),
            coverage=coverage,
            max_discard=max_discard,
            overwrite=overwrite,
            seed=seed,
        )
    if quiet:
        return
    for note in made.notes:
        tell(f"Note: {_as_options(note)}.")

    from facereject.predictions._page import area_columns, area_rows, kept_columns, kept_rows, test_rows

    compared = made.comparison
    _show(
        f"{compared.n:,} predictions, mean loss {compared.mean_loss:.4g}",
        area_columns(compared),
        area_rows(compared, intervals=False),
    )
    best = compared.best
    tests = [row for row in test_rows(compared) if best in row[:2]]
    if tests:
        _show("Paired tests with the best", ["score", "against", "difference of AuRC", "p-value"], tests)
    _show(f"Thresholds of {best}", kept_columns(made, best), kept_rows(made, best))
    say(f"Report: {output}")


THRESHOLD_EXAMPLES = paragraphs("""[bold]Examples[/bold]

facereject predictions threshold labelled.csv --max-risk 0.05

facereject predictions threshold labelled.csv --max-risk 0.05 --group camera -o rule.json

facereject predictions threshold ages.csv --loss absolute --max-risk 4 --loss-bound 30

[bold]Exit codes[/bold]: 0 written, 1 no threshold can guarantee this (nothing is written), 2 wrong usage or a
file that cannot be used, 130 interrupted""")


@command(lambda: (ScoredColumns,))
def threshold(
    given: Given,
    file: FileArgument,
    max_risk: float = option(
        ..., metavar="RISK", help="Limit for the mean loss of accepted predictions: 0.05 is 5 % errors."
    ),
    output: Path = option(
        Path("rule.json"), "--output", "-o", metavar="FILE", help="Rule to write, as JSON."
    ),
    delta: float = option(0.05, metavar="SHARE", help="Probability that the guarantee fails."),
    group: str | None = option(
        None, metavar="COLUMN", help="A threshold for each group; the guarantee holds in all of them at once."
    ),
    loss_bound: float | None = option(
        None, metavar="LOSS", help="Larger losses count as this; needed unless the loss is zero-one."
    ),
    score: ScoreOption = None,
    table: TableOption = None,
    overwrite: OverwriteOption = False,
    quiet: QuietOption = False,
) -> None:
    """Find a threshold with a guarantee on labelled predictions, and write it as a rule.

    FILE must hold predictions that neither the predictor nor the score was trained on, drawn like those the
    rule will be used on.
    """
    from facereject.predictions import find_rule
    from facereject.predictions._files import check_output
    from facereject.selection import NoValidThresholdError

    with _sentences(output):
        check_output(output, [file, *(score or ())], overwrite=overwrite)
        try:
            rule = find_rule(
                _open(file, table),
                max_risk,
                delta,
                columns=replace(given.make(ScoredColumns).names(), group=group),
                learned=_scores(score),
                loss_bound=loss_bound,
            )
        except NoValidThresholdError as error:
            stop(f"{file}: {error}. Nothing is written.", 1)
        rule.save(output, overwrite=overwrite)
    if quiet:
        return
    results.print(printable(rule.statement), markup=False, soft_wrap=not results.is_terminal)
    confident = "confidence" in rule.score.definition()
    limit = f"{rule.score.name} at {'least' if confident else 'most'}"
    if "reading" in rule.score.definition():
        # not the probability itself, for instance
        limit = f"uncertainty ({rule.score.name}) at most"
    rows = [[name or "all", _limit(value, confident)] for name, value in rule.thresholds.items()]
    _show("", ["group", limit], rows)
    risk = "an error rate" if rule.columns.loss == "zero-one" else "a mean loss"
    tell(f"Accepts {rule.coverage:.1%} of these predictions, with {risk} of {rule.risk:.4g}.")
    tell("The guarantee is about predictions drawn like these, on average.")
    say(f"Written: {output}")


def _limit(threshold: float, confident: bool) -> str:
    """A largest accepted uncertainty as a cell; of a confidence, the least one accepted."""
    if math.isinf(threshold):
        return "everything is accepted" if threshold > 0 else "no guarantee possible, all are rejected"
    # no -0
    return f"{(-threshold if confident else threshold) + 0.0:.6g}"


APPLY_EXAMPLES = paragraphs("""[bold]Examples[/bold]

facereject predictions apply rule.json new.csv -o decided.csv

facereject predictions apply score.safetensors new.npz -o scored.csv

[dim]Reasons: uncertain (above the threshold), no_score (the score is missing),
no_guarantee (no threshold of the group could be guaranteed), unknown_group.[/dim]

[bold]Exit codes[/bold]: 0 written, 1 it could not be written, 2 wrong usage or a file that cannot be used,
130 interrupted""")


def apply(
    rule: Annotated[
        Path,
        typer.Argument(metavar="RULE", help="Rule of `threshold`, or score of `learn`.", show_default=False),
    ],
    file: FileArgument,
    output: Path = option(
        ...,
        "--output",
        "-o",
        metavar="FILE",
        help=".csv, .tsv, .jsonl, .parquet or .sqlite file to write: the columns of FILE, then accepted, "
        "expected_error and reason.",
    ),
    table: TableOption = None,
    overwrite: OverwriteOption = False,
    quiet: QuietOption = False,
) -> None:
    """Accept and reject the predictions in a file; labels are not needed.

    A score in place of the rule decides nothing: it adds the columns uncertainty and expected_error.
    """
    from facereject.predictions import Rule, apply_rule

    with _sentences(output):
        learned = rule.suffix.lower() == ".safetensors"
        loaded = _scores([rule])[0] if learned else Rule.load(rule)
        decided = apply_rule(loaded, _open(file, table), output, overwrite=overwrite)
    if quiet:
        return
    share = f" ({decided.accepted / decided.n:.1%})" if decided.n else ""
    verb = "scored" if learned else "accepted"
    tell(f"{decided.accepted:,} of {decided.n:,} predictions {verb}{share}.")
    for reason, count in decided.reasons.items():
        tell(f"  {reason}: {count:,}")
    say(f"Written: {output}")


MONITOR_EXAMPLES = paragraphs("""[bold]Examples[/bold]

facereject predictions monitor rule.json labelled-since.csv

[bold]Exit codes[/bold]: 0 no alarm, 1 the guarantee no longer holds, 2 wrong usage or a file that cannot be
used, 130 interrupted""")


@command(lambda: (LossColumns,))
def monitor(
    given: Given,
    rule: Annotated[Path, typer.Argument(metavar="RULE", help="Rule of `threshold`.", show_default=False)],
    file: FileArgument,
    delta: float | None = option(
        None, metavar="SHARE", help="Probability of ever raising a false alarm; by default that of the rule."
    ),
    table: TableOption = None,
    quiet: QuietOption = False,
) -> None:
    """Check with new labels whether the guarantee of a rule still holds.

    Rows are used in their order; those without a label are skipped. You may run it after every new label: the
    probability of ever raising a false alarm stays below --delta.
    """
    from facereject.predictions import Rule, monitor_rule

    with _sentences(file):
        watched = monitor_rule(
            Rule.load(rule),
            _open(file, table),
            columns=given.make(LossColumns).names(),
            delta=delta,
        )
    for name, each in watched.monitors.items():
        if each.alarm_ or not quiet:
            text = f"{name}: {each.statement}" if name else each.statement
            results.print(printable(text), markup=False, soft_wrap=not results.is_terminal)
    if not quiet:
        tell(
            f"{watched.n:,} labelled predictions, {watched.accepted:,} of them accepted; "
            f"{watched.unlabelled:,} rows without a label."
        )
    if watched.alarm:
        raise typer.Exit(1)


LEARN_EXAMPLES = paragraphs("""[bold]Examples[/bold]

facereject predictions learn validation.npz -o score.safetensors

facereject predictions learn validation.csv --method boosted --feature width --feature height

facereject predictions threshold other.npz --score score.safetensors --max-risk 0.05

[bold]Exit codes[/bold]: 0 written, 1 it could not be written, 2 wrong usage or a file that cannot be used,
130 interrupted""")


@command(lambda: (ScoredColumns,))
def learn(
    given: Given,
    file: FileArgument,
    output: Path = option(
        Path("score.safetensors"), "--output", "-o", metavar="FILE", help="Score to write."
    ),
    method: str = option(
        "auto",
        metavar="NAME",
        help="confidence (weighs outputs and scores), sele (linear, also in features), boosted (trees), "
        "or auto: boosted where there are features, else confidence.",
    ),
    feature: list[str] | None = option(
        None,
        metavar="COLUMN",
        help=f"Feature to learn from; by default feature_0, x_0, emb_0, … {_SEVERAL}",
        panel=_COLUMNS,
    ),
    table: TableOption = None,
    max_rows: int = option(
        200_000, metavar="N", min=20, help="Of a longer file, learn from a random sample of the rows."
    ),
    seed: int = option(0, metavar="N", min=0, help="Seed for choosing the sample and the held-out rows."),
    overwrite: OverwriteOption = False,
    quiet: QuietOption = False,
) -> None:
    """Learn a score from labelled predictions and their features.

    FILE must hold predictions that the predictor was not trained on. A fifth of them shows how good the score
    is; then it is learned from all. Find its threshold on other rows.
    """
    from facereject.predictions import learn_score
    from facereject.predictions._files import check_output
    from facereject.predictions._learned import SUFFIX
    from facereject.scores._lightgbm import LightGBMNotAvailableError

    with _sentences(output):
        check_output(output, [file], overwrite=overwrite, suffix=SUFFIX)
        try:
            score = learn_score(
                _open(file, table),
                method,
                columns=given.make(ScoredColumns).names(),
                features=feature or (),
                max_rows=max_rows,
                seed=seed,
            )
        except LightGBMNotAvailableError as error:
            stop(str(error), 1)
        score.save(output, overwrite=overwrite)
    if score.n < score.n_rows:
        tell(f"Learned from a random sample: {score.n:,} of {score.n_rows:,} rows. --max-rows allows more.")
    if quiet or score.held_out is None:
        return

    from facereject.predictions._page import area_columns, area_rows, test_rows

    compared = score.held_out
    title = f"{score.method} on {compared.n:,} rows left out at first"
    _show(title, area_columns(compared), area_rows(compared, intervals=False))
    tests = [row for row in test_rows(compared) if "learned" in row[:2]]
    if tests:
        _show("Paired tests", ["score", "against", "difference of AuRC", "p-value"], tests)
    tell(f"Learned from {score.n:,} rows, {score.weighting}.")
    say(f"Written: {output}")


for _function, _examples in (
    (report, REPORT_EXAMPLES),
    (threshold, THRESHOLD_EXAMPLES),
    (apply, APPLY_EXAMPLES),
    (monitor, MONITOR_EXAMPLES),
    (learn, LEARN_EXAMPLES),
):
    predictions_app.command(cls=PlainCommand, help=paragraphs(_function.__doc__), epilog=_examples)(_function)


def _open(path: str, table: str | None) -> PredictionFile:
    from facereject.predictions import open_predictions

    return open_predictions(path, table)


def _scores(paths: Sequence[Path] | None) -> list[LearnedScore]:
    if not paths:
        return []
    # only then: learning imports much
    from facereject.predictions import LearnedScore

    return [LearnedScore.load(path) for path in paths]


@contextmanager
def _sentences(output: Any) -> Iterator[None]:
    """End the command with one sentence where a file, a column or a setting cannot be used."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        except ValueError as error:
            stop(_as_options(str(error)))
        except OSError as error:
            stop(f"{error.filename or output}: {error.strerror or error}", 1)
        finally:
            for warning in caught:
                if warning.category is UserWarning:
                    tell(f"Warning: {_as_options(str(warning.message))}.")


def _as_options(text: str) -> str:
    """Names of arguments in backticks as options of the command line."""
    return re.sub(r"`(\w+)`", lambda found: "--" + found[1].replace("_", "-"), text)


def _show(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=Text(printable(title), style="bold") if title else None, title_justify="left")
    for k, name in enumerate(columns):
        shown.add_column(Text(printable(name)), justify="right" if k else "left", overflow="fold")
    for row in rows:
        # square brackets in a name are no markup
        shown.add_row(*(Text(printable(cell)) for cell in row))
    results.print(shown)
