"""The page of a report on predictions."""

from __future__ import annotations

import math
from collections.abc import Iterable

import matplotlib.figure
from matplotlib.axes import Axes

from facereject import __version__
from facereject._html import HTML
from facereject._words import percent
from facereject.plotting import ErrorDiscardDisplay, ExpectedErrorDisplay
from facereject.predictions._comparison import Calibrated, Estimate, ScoreComparison
from facereject.predictions._report import Confusion, PredictionReport
from facereject.reports import pages

# inches; small, so that letters are still large enough when a phone shrinks the figure to its width
_SIZE = (5.4, 4.0)


def report_page(report: PredictionReport) -> str:
    """The page as HTML."""
    compared = report.comparison
    pieces = [pages.note(f"{note.replace('`', '')}.") for note in report.notes]
    pieces += [_tiles(compared), _ranking(compared), _kept(report), _calibration(compared)]
    if report.confusion is not None:
        pieces.append(_confusion(report.confusion))
    lead = f"{compared.n:,} predictions of {report.source}, loss: {report.loss}"
    return pages.page("Which predictions can be trusted?", lead, *pieces, footer=f"facereject {__version__}")


def number(value: float) -> str:
    """Three digits, without an exponent where a reader does not expect one."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if not 1e-4 <= abs(value) < 1e6:
        return f"{value:.2e}"
    # "#" keeps zeros at the end, but also the bare point of "123."
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:#.3g}".rstrip(".")


def with_interval(estimate: Estimate) -> str:
    """A value and its interval."""
    return f"{number(estimate.value)} ({number(estimate.low)} to {number(estimate.high)})"


def p_value(value: float) -> str:
    """A p-value to the digits that mean something."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def area_rows(compared: ScoreComparison, *, intervals: bool = True) -> list[list[str]]:
    """One row per score, best first: name and areas; without ``intervals`` only the AuRC has one."""
    ordered = sorted(compared.scores.items(), key=lambda item: item[1].aurc.value)
    rows = []
    for name, result in ordered:
        others = (result.eaurc, result.augrc, result.edc)
        cells = (with_interval(value) if intervals else number(value.value) for value in others)
        rows.append([name, with_interval(result.aurc), *cells])
    oracle, chance = number(compared.oracle_aurc), number(compared.mean_loss)
    return [*rows, ["oracle", oracle, "0", "", ""], ["random rejection", chance, "", "", ""]]


def area_columns(compared: ScoreComparison) -> list[str]:
    """Names of the columns of `area_rows`."""
    return ["score", "AuRC", "E-AuRC", "AUGRC", f"EDC to {compared.max_discard:.0%}"]


def test_rows(compared: ScoreComparison) -> list[list[str]]:
    """One row per pair of scores: names, difference of the AuRC, p-value."""
    return [
        [test.first, test.second, with_interval(test.difference), p_value(test.p_value)]
        for test in compared.tests
    ]


def kept_columns(report: PredictionReport, name: str) -> list[str]:
    """Names of the columns of `kept_rows`."""
    limit = "confidence at least" if name in report.confidences else "uncertainty at most"
    return ["coverage", "kept", limit, "risk"]


def kept_rows(report: PredictionReport, name: str) -> list[list[str]]:
    """One row per coverage of a score: coverage, number kept, threshold, risk."""
    sign = -1 if name in report.confidences else 1
    return [
        [
            percent(kept.coverage, 1, 1),
            f"{kept.n:,}",
            f"{sign * kept.threshold:.6g}",
            with_interval(kept.risk),
        ]
        for kept in report.comparison.scores[name].kept
    ]


def _tiles(compared: ScoreComparison) -> HTML:
    best = compared.scores[compared.best]
    nearest = min(best.kept, key=lambda kept: abs(kept.coverage - 0.9))
    gap = compared.mean_loss - compared.oracle_aurc
    closed = (compared.mean_loss - best.aurc.value) / gap if gap > 0 else math.nan
    return pages.tiles(
        [
            (f"{compared.n:,}", "predictions"),
            (number(compared.mean_loss), "mean loss of all"),
            (
                number(nearest.risk.value),
                f"mean loss of the {nearest.coverage:.0%} most certain by {compared.best}",
            ),
            (number(best.aurc.value), f"lowest AuRC: {compared.best}"),
            (
                "–" if math.isnan(closed) else f"{closed:.0%}",
                "of the way from random rejection to the oracle",
            ),
        ]
    )


def _ranking(compared: ScoreComparison) -> HTML:
    level = f"{compared.level:.0%}"
    figure, axes = _axes()
    compared.plot(axes, risk_label="risk: mean loss of the accepted")
    discard, discard_axes = _axes()
    kept = 1 - compared.coverage[::-1]
    ErrorDiscardDisplay(
        {name: (kept, result.risk[::-1]) for name, result in compared.scores.items()},
        areas={name: result.edc.value for name, result in compared.scores.items()},
        bands={name: (kept, *result.band[:, ::-1]) for name, result in compared.scores.items()},
        max_discard=compared.max_discard,
    ).plot(discard_axes, error_label="mean loss of the kept")
    pieces = [
        pages.charts(
            pages.chart(figure, "risk-coverage", f"Risk by coverage. Bands: {level} bootstrap intervals."),
            pages.chart(discard, "error-discard", "Error against discard (EDC). Shaded: the partial area."),
        ),
        pages.heading("Areas"),
        pages.table(area_columns(compared), area_rows(compared), own=0),
        pages.paragraph(
            f"Lower is better; {level} intervals. AuRC: mean risk over all coverages. E-AuRC: excess over "
            "the oracle. AUGRC: the same with rejected predictions as loss 0. EDC: mean error while up to "
            f"{compared.max_discard:.0%} are discarded.",
            soft=True,
        ),
    ]
    if compared.tests:
        pieces += [
            pages.heading("Paired tests"),
            pages.table(["score", "against", "difference of AuRC", "p-value"], test_rows(compared)),
            pages.paragraph(
                "Both scores on the same bootstrap draws; negative: the first is better. p-values are "
                "corrected for the number of pairs (Holm).",
                soft=True,
            ),
        ]
    return pages.section("Ranking", *pieces)


def _kept(report: PredictionReport) -> HTML:
    pieces = []
    scores = report.comparison.scores
    for name in sorted(scores, key=lambda name: scores[name].aurc.value):
        table = pages.table(kept_columns(report, name), kept_rows(report, name))
        pieces += [pages.heading(name), table]
    text = (
        "Of this sample. `facereject predictions threshold` finds a threshold with a guarantee for new data."
    )
    return pages.section("Coverage, risk and number kept", *pieces, pages.paragraph(text, soft=True))


def _calibration(compared: ScoreComparison) -> HTML:
    learned = {name: r.calibration for name, r in compared.scores.items() if r.calibration}
    stated = {name: r.stated for name, r in compared.scores.items() if r.stated}
    charts = [
        pages.chart(_expected_figure(groups), name, caption)
        for groups, name, caption in (
            (learned, "learned", "Expected error, learned on one half of the rows and checked on the other."),
            (stated, "stated", "The error that the score itself states: 1 − confidence."),
        )
        if groups
    ]
    if not charts:
        return HTML()
    rows = [
        [name, number(_distance(learned[name])), number(_distance(stated[name])) if name in stated else ""]
        for name in learned
    ]
    return pages.section(
        "Calibration of the expected error",
        pages.charts(*charts),
        pages.table(["score", "calibration error, learned", "as stated"], rows),
        pages.paragraph(
            "Calibration error: mean distance of expected and true error of the groups.", soft=True
        ),
    )


def _distance(groups: Iterable[Calibrated]) -> float:
    weighted = [(g.n, g.n * abs(g.expected - g.observed.value)) for g in groups]
    return sum(distance for _, distance in weighted) / sum(n for n, _ in weighted)


def _expected_figure(groups: dict[str, tuple[Calibrated, ...]]) -> matplotlib.figure.Figure:
    figure, axes = _axes()
    ExpectedErrorDisplay(
        {
            name: (
                [g.expected for g in mine],
                [g.observed.value for g in mine],
                [g.observed.low for g in mine],
                [g.observed.high for g in mine],
            )
            for name, mine in groups.items()
        }
    ).plot(axes)
    return figure


def _confusion(confusion: Confusion) -> HTML:
    def cell(i: int, j: int) -> str:
        total, accepted = int(confusion.total[i, j]), int(confusion.accepted[i, j])
        return f"{total:,} → {accepted:,}" if total else "·"

    size = range(len(confusion.classes))
    rows = []
    for i in size:
        total, accepted = int(confusion.total[i].sum()), int(confusion.accepted[i].sum())
        rejected = percent(total - accepted, total) if total else "–"
        rows.append([confusion.classes[i], *(cell(i, j) for j in size), rejected])
    text = (
        f"All predictions → accepted ones, with the {confusion.coverage:.1%} most certain by "
        f"{confusion.score} accepted. Rejected: {confusion.rejected_right:,} right and "
        f"{confusion.rejected_wrong:,} wrong predictions."
    )
    columns = ["label \\ prediction", *confusion.classes, "rejected"]
    return pages.section("Where it rejects", pages.paragraph(text), pages.table(columns, rows))


def _axes() -> tuple[matplotlib.figure.Figure, Axes]:
    figure = matplotlib.figure.Figure(figsize=_SIZE)
    axes = figure.subplots()
    figure.subplots_adjust(left=0.14, right=0.96, bottom=0.13, top=0.97)
    return figure, axes
