"""The page of an evaluation report."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.figure import Figure

from facereject import __version__
from facereject._html import HTML
from facereject.faces import FaceEvaluation, FaceRejector, FaceSample
from facereject.faces.evaluation.evidence import at_coverages, failure_rates
from facereject.faces.models.card import error_unit, model_facts, predictor_name
from facereject.faces.plugins import fingerprint_of, name_of
from facereject.reports import pages
from facereject.reports.evaluation.faces import face_groups
from facereject.reports.evaluation.numbers import GroupEvidence

# coverages that the page shows; the CSV has all
_SHOWN = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)


def report_page(
    groups: Sequence[GroupEvidence],
    rejector: FaceRejector,
    samples: Sequence[FaceSample],
    evaluation: FaceEvaluation,
    model: str,
    data: str,
    notes: Sequence[str],
    figures: Sequence[tuple[Figure, Figure, Figure]],
    files: Sequence[str],
) -> str:
    """The page.

    ``figures`` holds risk against coverage, calibration and cumulative errors of every group, ``files`` the
    names of what lies beside the page.
    """
    pieces = [pages.note(f"{text[:1].upper()}{text[1:]}.") for text in notes]
    if evaluation.domain is not None:
        pieces.append(pages.note(evaluation.domain.sentence))
    elif evaluation.not_compared:
        pieces.append(pages.paragraph(evaluation.not_compared, soft=True))
    alone = len(groups) == 1
    for group, drawn in zip(groups, figures, strict=True):
        pieces += _group_pieces(group, drawn, rejector.selector.threshold_, alone=alone)
    pieces += [_face_section(rejector, samples, evaluation, group, alone=alone) for group in groups]
    pieces.append(_background(rejector, samples, evaluation))
    pieces.append(pages.links("Files:", [(name, name) for name in files]))
    lead = f"{model}, on {len(samples):,} annotated faces of {data}. Errors in {error_unit(rejector)}."
    footer = f"facereject {__version__}"
    return pages.page("How well does the model rank and reject?", lead, *pieces, footer=footer)


def _group_pieces(
    group: GroupEvidence, figures: tuple[Figure, Figure, Figure], threshold: float, *, alone: bool
) -> list[HTML]:
    curve, honest, cumulative = figures
    result = group.result
    rejected = group.losses[~group.accepted]
    rates_all, rates = failure_rates(group.losses), failure_rates(group.losses[group.accepted])
    annotated = result.n + result.missed + result.failed
    low, high = group.interval
    pieces = [] if alone else [pages.heading(f"{group.name.capitalize()} photos")]
    pieces.append(
        pages.tiles(
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
    pieces.append(
        pages.section(
            "Ranking and calibration",
            pages.paragraph(detail),
            pages.charts(
                pages.chart(
                    curve,
                    f"risk-{name}",
                    "Mean error of accepted faces against the share accepted. Dot: the model's threshold.",
                ),
                pages.chart(
                    honest,
                    f"calibration-{name}",
                    "Expected and true error of faces in groups of equal size; bars: 95 % intervals.",
                ),
                pages.chart(
                    cumulative,
                    f"cumulative-{name}",
                    "Share of faces with at most this error; dotted: 8 and 10 %.",
                ),
            ),
            ranking,
            pages.paragraph(
                "AuRC: mean error over all coverages, lower is better. Gap: from the detector's score to the "
                "oracle, with a 95 % interval over photos.",
                soft=True,
            ),
        )
    )
    pieces.append(pages.section("Which threshold?", *_threshold_table(group, threshold)))
    return pieces


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


def _face_section(
    rejector: FaceRejector,
    samples: Sequence[FaceSample],
    evaluation: FaceEvaluation,
    group: GroupEvidence,
    *,
    alone: bool,
) -> HTML:
    pieces = [
        pages.paragraph(
            "Green and red: predicted landmarks of accepted and rejected faces. White: the annotation."
        )
    ]
    for title, shots in face_groups(rejector, samples, evaluation, group.rows, group.accepted):
        pieces.append(pages.heading(title))
        shown = [pages.face(shot.image, shot.accepted, shot.name, shot.lines) for shot in shots]
        pieces.append(pages.faces(shown) if shown else pages.paragraph("None.", soft=True))
    return pages.section(f"Best and worst faces{'' if alone else f', {group.name} photos'}", *pieces)


def _background(rejector: FaceRejector, samples: Sequence[FaceSample], evaluation: FaceEvaluation) -> HTML:
    n_photos = len({sample.photo for sample in samples})
    predictor, n_points = rejector.predictor, rejector.n_points
    known = [
        ("faces", f"{len(samples):,} of {n_photos:,} photos"),
        (
            "error",
            f"mean distance of the {n_points} landmarks from the annotation, in {error_unit(rejector)}",
        ),
        ("landmarks by", predictor_name(fingerprint_of(predictor), name_of(predictor))),
    ]
    pieces = [pages.facts([*known, *model_facts(rejector)])]
    if evaluation.problems:
        count = len(evaluation.problems)
        pieces.append(pages.heading(f"Left out: {count} entr{'y' if count == 1 else 'ies'}"))
        rows = [[problem.entry, problem.reason] for problem in evaluation.problems[:20]]
        pieces.append(pages.table(["entry", "reason"], rows))
        if count > 20:
            pieces.append(pages.paragraph("The rest is in summary.json.", soft=True))
    return pages.section("Data and model", *pieces)


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f} %"


def _share(value: float, digits: int = 1) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}%}"
