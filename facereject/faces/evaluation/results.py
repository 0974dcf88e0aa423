"""How good a rejector is on annotated photos: AuRC between the detector score and the oracle."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject._html import facts_html
from facereject.faces.datasets import FaceSample, Problem
from facereject.faces.domain_monitor import compared, why_not_compared
from facereject.faces.landmarks.point_set import POINTS_300W
from facereject.faces.models.calibration import RegionSample
from facereject.faces.models.domain import DomainCheck
from facereject.faces.models.ranking import gap_closed
from facereject.faces.models.score_models import CompactScoreModel, RegionScore
from facereject.faces.rejector import FaceRejector
from facereject.faces.training.annotation import common_count
from facereject.faces.training.extract import Extractor, FaceTable, extract
from facereject.faces.training.fit_compact import point_errors
from facereject.metrics import aurc
from facereject.parallel import RunProgress

# rows whose landmarks are scored at once
_BLOCK = 500


@dataclass(frozen=True, repr=False)
class GroupResult:
    """Results on one group of images; errors and AuRC in percent, by the rule of the point set.

    Attributes
    ----------
    n, missed, failed : int
        Faces found and assessed; faces the detector did not find; faces the predictor gave no usable
        landmarks for. The last two are rejections too.
    mean_error : float
        Mean error without rejection.
    aurc_detector, aurc_score, aurc_oracle : float
        Area under the risk-coverage curve if faces are ranked by the detector's score, by the uncertainty and
        by the error itself.
    gap_closed : float
        (aurc_detector - aurc_score) / (aurc_detector - aurc_oracle): 0 as good as the detector's score, 1 as
        good as knowing the errors.
    coverage, accepted_error : float
        Accepted share of the found faces under the rejector's target, and their mean error.
    expected_error : float
        Mean of the faces' expected error: equals ``mean_error`` if the calibration carries over.
    interval_coverage : float
        Share of the faces whose error lies in their 80 % interval; NaN if unknown.
    """

    n: int
    missed: int
    failed: int
    mean_error: float
    aurc_detector: float
    aurc_score: float
    aurc_oracle: float
    gap_closed: float
    coverage: float
    accepted_error: float
    expected_error: float
    interval_coverage: float = math.nan

    def facts(self) -> dict[str, str]:
        """The main numbers by name, in words."""
        return {
            "faces": f"{self.n:,} found, {self.missed:,} missed, {self.failed:,} without landmarks",
            "mean error": f"{self.mean_error:.2f} %",
            "AuRC": f"{self.aurc_score:.3f} % (detector score {self.aurc_detector:.3f} %, "
            f"oracle {self.aurc_oracle:.3f} %)",
            "gap closed": f"{self.gap_closed:.0%}",
            "accepted": f"{self.coverage:.1%}, mean error {self.accepted_error:.2f} %",
            "expected error": f"{self.expected_error:.2f} % in the mean; 80 % intervals hold "
            f"{self.interval_coverage:.0%} of the errors",
        }

    def __repr__(self) -> str:
        return (
            f"GroupResult({self.n:,} faces, mean error {self.mean_error:.2f} %, "
            f"gap closed {self.gap_closed:.0%}, "
            f"accepted {self.coverage:.1%} with mean error {self.accepted_error:.2f} %)"
        )

    def _repr_html_(self) -> str:
        return facts_html("GroupResult", self.facts())


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False, repr=False)
class FaceEvaluation:
    """Results on clean and on degraded photos, with the rows they came from.

    ``problems`` lists the entries the data set left out, photos that could not be read and faces the
    predictor failed on. ``regions`` has expected and true errors of the regions of every row, if the model
    gives them. Losses are those of the regions that decide, if there are any. ``extractor`` made the rows,
    and makes their images again. ``domain`` tells whether the clean faces are like those the model was
    calibrated on; where it is None, ``not_compared`` says why.
    """

    clean: GroupResult
    degraded: GroupResult | None
    uncertainty: NDArray[np.float64]
    table: FaceTable
    problems: tuple[Problem, ...]
    regions: RegionSample | None = None
    extractor: Extractor | None = None
    domain: DomainCheck | None = None
    not_compared: str = ""

    def summary(self) -> dict[str, Any]:
        """The numbers as plain JSON."""
        groups = {"clean": self.clean, "degraded": self.degraded}
        return {name: asdict(group) for name, group in groups.items() if group is not None}

    def under(self, rejector: FaceRejector) -> FaceEvaluation:
        """The results with the calibration and threshold of another rejector with the same score."""
        return _evaluation(rejector, self.table, self.problems, self.regions, self.extractor)

    def __repr__(self) -> str:
        degraded = "" if self.degraded is None else f", degraded={self.degraded!r}"
        return f"FaceEvaluation(clean={self.clean!r}{degraded}, {len(self.problems):,} problems)"

    def _repr_html_(self) -> str:
        groups = {"clean": self.clean, "degraded": self.degraded}
        return "".join(facts_html(name, group.facts()) for name, group in groups.items() if group is not None)


def evaluate_face_rejector(
    rejector: FaceRejector,
    samples: Sequence[FaceSample],
    *,
    degradations: int = 8,
    random_state: int = 1,
    workers: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Callable[[RunProgress], None] | None = None,
) -> FaceEvaluation:
    """Evaluate on annotated photos, clean and degraded.

    Use photos the rejector was not trained on, annotated with the landmarks of its predictor. Detector and
    predictor are those of the rejector.

    Parameters
    ----------
    rejector : FaceRejector
        The model.
    samples : sequence of FaceSample
        Annotated faces, such as a `FaceDataset`.
    degradations : int, default=8
        Degraded versions of every photo; 0 for clean ones only.
    random_state : int, default=1
        Seed of the degradations.
    workers, cache, progress
        As in `facereject.faces.training.extract.extract`.

    Returns
    -------
    FaceEvaluation
        Results on clean and on degraded photos; ``summary()`` has them as plain values.

    See Also
    --------
    train_face_rejector : Train one.

    Examples
    --------
    >>> from facereject import FaceRejector
    >>> from facereject.faces import FaceDataset, evaluate_face_rejector
    >>> faces = FaceDataset.load("annotated")  # doctest: +SKIP
    >>> evaluate_face_rejector(FaceRejector.pretrained(), faces).summary()  # doctest: +SKIP
    """
    n_points = common_count(samples)
    if n_points < rejector.n_points:
        raise ValueError(
            f"samples: annotated with {n_points} points, but the model is for {rejector.n_points}; annotate "
            "all of them, for example with `facereject annotate`, or train a model for these points"
        )
    if n_points != rejector.n_points:
        raise ValueError(
            f"samples: annotated with {n_points} points, but the model is for {rejector.n_points}; choose "
            "the annotated points that are its own, in its order (FaceDataset.with_points, --points)"
        )
    extractor = Extractor(
        rejector.predictor,
        rejector.detector,
        rejector.hog,
        rejector.stability,
        degradations,
        random_state,
        rejector.context,
        rejector.upright_beyond,
        rejector.features.correction,
    )
    table = extract(samples, extractor, workers=workers, cache=cache, progress=progress)
    regions = _regions(rejector, table)
    if rejector.region and regions is not None:
        table = replace(table, losses=regions.calibration(rejector.region).losses)
    problems = (*getattr(samples, "problems", ()), *table.problems, *table.failures)
    return _evaluation(rejector, table, problems, regions, extractor)


def _evaluation(
    rejector: FaceRejector,
    table: FaceTable,
    problems: tuple[Problem, ...],
    regions: RegionSample | None,
    extractor: Extractor | None,
) -> FaceEvaluation:
    uncertainty = rejector.score(table.features)
    missed, failed = table.missed.tolist(), table.failed.tolist()
    clean = evaluate_rows(rejector, table, uncertainty, table.clean, missed[0], failed[0])
    degraded = None
    if (~table.clean).any():
        degraded = evaluate_rows(rejector, table, uncertainty, ~table.clean, missed[1], failed[1])
    domain, not_compared = rejector.domain, why_not_compared(rejector, int(table.clean.sum()))
    check = None
    if domain is not None and not not_compared:
        described = domain.describe(domain.columns(table.features[table.clean]))
        check = compared(rejector, described, uncertainty[table.clean])
    return FaceEvaluation(
        clean, degraded, uncertainty, table, problems, regions, extractor, check, not_compared
    )


def _regions(rejector: FaceRejector, table: FaceTable) -> RegionSample | None:
    """Expected and true errors of the regions of every row; None if the model does not tell them."""
    score = rejector.score.score if isinstance(rejector.score, RegionScore) else rejector.score
    points = rejector.points
    known = isinstance(score, CompactScoreModel) and score.point_errors is not None
    if not known or points.n != POINTS_300W.n or points.used is not None:
        return None
    assert isinstance(score, CompactScoreModel)
    assert score.point_errors is not None
    blocks = np.array_split(table.features, max(1, len(table) // _BLOCK))
    expected = [score.point_errors(block, score.columns(block)).errors for block in blocks]
    return RegionSample.of_points(np.concatenate(expected), point_errors(table, points))


def evaluate_rows(
    rejector: FaceRejector,
    table: FaceTable,
    uncertainty: NDArray[np.float64],
    rows: NDArray[np.bool_],
    missed: int = 0,
    failed: int = 0,
) -> GroupResult:
    """Results on some rows of a table."""
    if not rows.any():
        raise ValueError(f"no face to evaluate on: the detector missed {missed}, {failed} got no landmarks")
    losses, scores, ranking = table.losses[rows], table.detector_scores[rows], uncertainty[rows]
    accepted = rejector.decide(ranking)
    low, high = rejector.calibration.error_interval(ranking)
    return GroupResult(
        n=int(rows.sum()),
        missed=missed,
        failed=failed,
        mean_error=float(losses.mean()),
        aurc_detector=aurc(losses, -scores),
        aurc_score=aurc(losses, ranking),
        aurc_oracle=aurc(losses, losses),
        gap_closed=gap_closed(losses, scores, ranking),
        coverage=float(accepted.mean()),
        accepted_error=float(losses[accepted].mean()) if accepted.any() else float("nan"),
        expected_error=float(rejector.calibration.expected_error(ranking).mean()),
        interval_coverage=float(((losses >= low) & (losses <= high)).mean()),
    )
