"""The page of an evaluation report, with its figures and faces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from facereject import __version__
from facereject._html import HTML
from facereject._words import counted
from facereject.faces import FaceSample, ImageError
from facereject.faces.evaluation.evidence import FAILURE_LEVELS, ReliabilityGroup, at_coverages, failure_rates
from facereject.faces.images import ImageArray, Views
from facereject.faces.models.card import error_unit, model_facts, predictor_name
from facereject.faces.plugins import color_of, fingerprint_of, name_of
from facereject.faces.training.extract import Extractor
from facereject.outputs._drawing.crops import face_crop
from facereject.plotting import RiskCoverageDisplay
from facereject.plotting._style import GREY, PALETTE, tidy
from facereject.reports import pages

if TYPE_CHECKING:
    from facereject.reports.evaluation import EvaluationReport, GroupEvidence

# coverages that the page shows; the CSV has all
_SHOWN = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)

# faces of each kind
_FACES = 6

# of the figures, by their names in the page
_CAPTIONS = {
    "risk": "Mean error of accepted faces against the share accepted. Dot: the model's threshold.",
    "calibration": "Expected and true error of faces in groups of equal size; bars: 95 % intervals.",
    "cumulative": "Share of faces with at most this error; dotted: 8 and 10 %.",
}

# inches; small, so that the letters are still large enough when a phone shrinks the figure to its width
_SIZE = (5.2, 3.9)

# share of the errors that the axis of the cumulative curve spans; the last few would make it too wide
_SPANNED = 0.98

Figures = tuple[Figure, Figure, Figure]


def report_page(report: EvaluationReport, figures: Sequence[Figures], files: Sequence[str]) -> str:
    """The page, with the figures of every group; ``files`` are the names of what lies beside it."""
    evaluation, alone = report.evaluation, len(report.groups) == 1
    pieces = [pages.note(f"{text[:1].upper()}{text[1:]}.") for text in report.notes]
    if evaluation.domain is not None and evaluation.domain.unlike:
        pieces.append(pages.note(evaluation.domain.sentence))
    elif compared := evaluation.not_compared or (evaluation.domain and evaluation.domain.sentence):
        pieces.append(pages.paragraph(compared, soft=True))
    for group, shown in zip(report.groups, figures, strict=True):
        pieces += [] if alone else [pages.heading(f"Photos, {group.name}")]
        pieces += _group_pieces(group, shown, report.rejector.selector.threshold_)
    for group in report.groups:
        title = f"Best and worst faces{'' if alone else f', photos {group.name}'}"
        pieces.append(pages.section(title, *_face_pieces(report, group)))
    pieces.append(pages.section("Data and model", *_background(report)))
    pieces.append(pages.links("Files:", [(name, name) for name in files]))
    unit = error_unit(report.rejector)
    lead = f"{report.model}, on {len(report.samples):,} annotated faces of {report.data}. Errors in {unit}."
    footer = f"facereject {__version__}"
    return pages.page("How well does the model rank and reject?", lead, *pieces, footer=footer)


def _group_pieces(group: GroupEvidence, figures: Figures, threshold: float) -> list[HTML]:
    result, (low, high) = group.result, group.interval
    rejected = group.losses[~group.accepted]
    rates_all, rates = failure_rates(group.losses), failure_rates(group.losses[group.accepted])
    annotated = result.n + result.missed + result.failed
    tiles = pages.tiles(
        [
            (f"{result.mean_error:.2f} %", f"mean error of all {result.n:,} faces found"),
            (f"{result.coverage:.0%}", f"accepted; mean error {_percent(result.accepted_error)}"),
            (_percent(rejected.mean() if rejected.size else math.nan), "mean error of the rejected"),
            (f"{rates_all[1]:.1%} → {_share(rates[1])}", "errors above 10 %: all → accepted"),
            (
                _share(result.gap_closed, 0),
                f"of the gap closed (95 %: {_share(low, 0)} to {_share(high, 0)})",
            ),
        ]
    )
    detail = (
        f"Of {annotated:,} annotated faces the detector missed {result.missed:,}, and the predictor gave no "
        f"landmarks for {result.failed:,}; both are rejections. Of all of them "
        f"{group.accepted.sum() / annotated:.1%} are accepted. The mean expected error is "
        f"{_percent(result.expected_error)}; the 80 % intervals hold {_share(result.interval_coverage, 0)} "
        "of the errors."
    )
    ranking = pages.table(
        ["ranked by", "AuRC (%)", "gap closed"],
        [
            ["detector's score", f"{result.aurc_detector:.3f}", "0%"],
            ["this model", f"{result.aurc_score:.3f}", _share(result.gap_closed, 0)],
            ["oracle: the error itself", f"{result.aurc_oracle:.3f}", "100%"],
        ],
    )
    name = group.name.replace(" ", "-")
    charts = (
        pages.chart(figure, f"{kind}-{name}", caption)
        for figure, (kind, caption) in zip(figures, _CAPTIONS.items(), strict=True)
    )
    about = (
        "AuRC: mean error over all coverages, lower is better. Gap: from the detector's score to the oracle, "
        "with a 95 % interval over photos."
    )
    shown = (pages.paragraph(detail), pages.charts(*charts), ranking, pages.paragraph(about, soft=True))
    return [
        tiles,
        pages.section("Ranking and calibration", *shown),
        pages.section("Which threshold?", *_threshold_table(group, threshold)),
    ]


def _threshold_table(group: GroupEvidence, threshold: float) -> list[HTML]:
    shown = at_coverages(group.thresholds, _SHOWN)
    own = None
    if group.accepted.any():
        (mine,) = at_coverages(group.thresholds, (group.result.coverage,))
        shown = sorted({*shown, mine}, key=lambda row: row.n)
        own = shown.index(mine)
    columns = ["accepted", "faces", "threshold", "mean error", "of the rejected", "above 8 %", "above 10 %"]
    columns += ["by detector score", "oracle"]
    rows = [
        [f"{row.coverage:.1%}", f"{row.n:,}", f"{row.threshold:.4f}", f"{row.error:.2f} %"]
        + [_percent(row.rejected_error), *(_share(rate) for rate in row.failures)]
        + [f"{row.detector_error:.2f} %", f"{row.oracle_error:.2f} %"]
        for row in shown
    ]
    text = "Accept faces whose uncertainty is at most the threshold."
    if own is not None:
        rule = "accepts every face" if math.isinf(threshold) else f"threshold {threshold:.4f}"
        text += f" Marked: the model's own rule ({rule})."
    every = "These figures hold for this sample; `facereject calibrate` finds a threshold with a guarantee."
    return [pages.paragraph(text), pages.table(columns, rows, own=own), pages.paragraph(every, soft=True)]


def _face_pieces(report: EvaluationReport, group: GroupEvidence) -> list[HTML]:
    """The most and the least certain faces, and the decisions that turned out worst."""
    text = "Green and red: predicted landmarks of accepted and rejected faces. White: the annotation."
    yes, no = np.flatnonzero(group.accepted), np.flatnonzero(~group.accepted)
    losses, uncertainty = group.losses, group.uncertainty
    chosen = {
        "Most certain": yes[np.argsort(uncertainty[yes])],
        "Least certain": no[np.argsort(-uncertainty[no])],
        "Accepted, with the largest errors": yes[np.argsort(-losses[yes])],
        "Rejected, with the smallest errors": no[np.argsort(losses[no])],
    }
    pieces = [pages.paragraph(text)]
    for title, order in chosen.items():
        faces = [_face(report, row) for row in group.rows[order[:_FACES]].tolist()]
        shown = [face for face in faces if face is not None]
        pieces += [pages.heading(title), pages.faces(shown) if shown else pages.paragraph("None.", soft=True)]
    return pieces


def _face(report: EvaluationReport, row: int) -> HTML | None:
    """A face of the table with its points and figures; None if its image cannot be made again."""
    table, rejector = report.evaluation.table, report.rejector
    index, variant = int(table.sample[row]), int(table.variant[row])
    image = _picture(report.evaluation.extractor, report.samples[index], index, variant)
    if image is None:
        return None
    uncertainty = float(report.evaluation.uncertainty[row])
    lines = [
        f"error {table.losses[row]:.1f} %",
        f"expected {rejector.calibration.expected_error(uncertainty):.1f} %",
        f"uncertainty {uncertainty:.3f}",
    ]
    if variant:
        lines.append(table.kinds[row].replace("_", " ").replace("+", ", "))
    accepted = rejector.decide(uncertainty)
    points, truth = (each[row].astype(np.float64) for each in (table.landmarks, table.truth))
    crop = face_crop(image, points, accepted, truth)
    return pages.face(crop, accepted, report.samples[index].image_path.name, lines)


def _picture(extractor: Extractor | None, sample: FaceSample, index: int, variant: int) -> ImageArray | None:
    """The image of a row, degraded as it was; None if it cannot be made again."""
    if extractor is None:
        return None
    try:
        view = Views(sample.load())
    except ImageError:
        return None
    if sample.predicted is not None:
        # landmarks from a file are of the image as it is, and no detector is run
        return view.rgb
    gray = color_of(extractor.predictor) == color_of(extractor.detector) == "gray"
    made = extractor.picture(view.gray if gray else view.rgb, sample.landmarks, index, variant)
    # the file has changed since it was evaluated, so the crop would mislead
    if made is None:
        return None
    return made.view.rgb if variant else view.rgb


def _background(report: EvaluationReport) -> list[HTML]:
    rejector, problems = report.rejector, report.evaluation.problems
    n_photos = len({sample.photo for sample in report.samples})
    of, unit = f"mean distance of the {rejector.n_points} landmarks from the annotation", error_unit(rejector)
    known = [
        ("faces", f"{len(report.samples):,} of {n_photos:,} photos"),
        ("error", f"{of}, in {unit}"),
        ("landmarks by", predictor_name(fingerprint_of(rejector.predictor), name_of(rejector.predictor))),
    ]
    pieces = [pages.facts([*known, *model_facts(rejector)])]
    if problems:
        pieces.append(pages.heading(f"Left out: {counted(len(problems), 'entry', 'entries')}"))
        pieces.append(pages.table(["entry", "reason"], [[each.entry, each.reason] for each in problems[:20]]))
    if len(problems) > 20:
        pieces.append(pages.paragraph("The rest is in summary.json.", soft=True))
    return pieces


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f} %"


def _share(value: float, digits: int = 1) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}%}"


def figure_and_axes() -> tuple[Figure, Axes]:
    """An empty figure of a report."""
    figure = Figure(figsize=_SIZE)
    figure.subplots_adjust(left=0.12, right=0.95, bottom=0.13, top=0.97)
    return figure, figure.subplots()


def drawn(group: GroupEvidence) -> Figures:
    """The figures of a group: risk against coverage, expected against true errors, cumulative errors."""
    return _risk_coverage(group), _reliability(group.groups), _cumulative(group.losses, group.accepted)


def _risk_coverage(group: GroupEvidence) -> Figure:
    """Mean error of the accepted faces by coverage: this model, the detector's score, the oracle."""
    figure, axes = figure_and_axes()
    scores = {"this model": group.uncertainty, "detector's score": -group.detector_scores}
    display = RiskCoverageDisplay.from_predictions(
        group.losses, scores, ax=axes, risk_label="mean error of the accepted (%)"
    )
    if math.isfinite(group.result.accepted_error):
        own = [group.result.coverage], [group.result.accepted_error]
        color = display.lines_["this model"].get_color()
        axes.plot(*own, "o", color=color, markersize=8, zorder=4, clip_on=False)
    axes.set_xlabel("accepted share of the faces found")
    # the oracle needs the room at the lower left to be seen
    axes.legend(loc="lower right", frameon=False, fontsize="small")
    return figure


def _reliability(groups: Sequence[ReliabilityGroup]) -> Figure:
    """Mean true error of groups of faces against their mean expected error, with the diagonal."""
    figure, axes = figure_and_axes()
    expected = [group.expected for group in groups]
    observed = [group.observed for group in groups]
    bars = [0.0 if math.isnan(group.half_width) else group.half_width for group in groups]
    top = 1.1 * max(*expected, *(value + bar for value, bar in zip(observed, bars, strict=True)), 1e-9)
    axes.plot([0, top], [0, top], color=GREY, linestyle="--", linewidth=1.2, label="expected = true")
    axes.errorbar(expected, observed, yerr=bars, fmt="o", color=PALETTE[0], capsize=3, label="faces")
    axes.set(xlim=(0, top), ylim=(0, top))
    axes.set_xlabel("expected error (%)")
    axes.set_ylabel("true error (%)")
    axes.legend(loc="upper left", frameon=False, fontsize="small")
    tidy(axes, grid="both")
    return figure


def _cumulative(losses: Any, accepted: Any) -> Figure:
    """Share of the faces whose error is at most x: of all that were found, and of the accepted ones."""
    figure, axes = figure_and_axes()
    right = max(1.2 * max(FAILURE_LEVELS), float(np.quantile(losses, _SPANNED)))
    lines = {"accepted": (losses[accepted], PALETTE[0], "-"), "all that were found": (losses, GREY, "--")}
    for name, (errors, color, style) in lines.items():
        if not len(errors):
            continue
        shares = np.arange(len(errors) + 1) / len(errors)
        # beyond the largest error the curve goes on at 1
        steps = np.concatenate([[0.0], np.sort(errors), [max(right, errors.max())]])
        axes.step(steps, [*shares, 1.0], where="post", color=color, linestyle=style, label=name)
    for level in FAILURE_LEVELS:
        axes.axvline(level, color=GREY, linewidth=0.8, linestyle=":")
    axes.set(xlim=(0, right), ylim=(0, 1.02))
    axes.set_xlabel("error (%)")
    axes.set_ylabel("share of the faces with at most this error")
    axes.legend(loc="lower right", frameon=False, fontsize="small")
    tidy(axes, grid="both")
    return figure
