"""Rejectors made from others: another target, other calibration faces, a unit, some regions, pose limits."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from facereject.faces.landmarks.point_set import PointSet
from facereject.faces.models.calibration import Calibration, RegionSample, Target
from facereject.faces.models.score_models import CompactScoreModel, RegionScore, ScoreModel
from facereject.faces.pose import PoseLimits, check_limits, pose_of
from facereject.faces.regions import region_names
from facereject.selection import Selector

_Variant = TypeVar("_Variant", bound="RejectorVariants")


class RejectorVariants:
    """What `FaceRejector` offers to make another one of it; the original stays as it is."""

    score: ScoreModel
    calibration: Calibration
    target: Target
    selector: Selector
    pose_limits: PoseLimits
    info: dict[str, Any]

    @property
    def points(self) -> PointSet:
        """The points of the predictor."""
        raise NotImplementedError

    @property
    def relative(self) -> bool:
        """Whether errors have no unit: the model was trained without annotation, and `with_unit` is to come.

        Expected errors are then unknown; the order of the uncertainties is what the model knows.
        """
        return self.info.get("relative") is True

    @property
    def region(self) -> tuple[str, ...]:
        """The regions that decide, see `for_region`; empty for the whole face."""
        return self.score.names if isinstance(self.score, RegionScore) else ()

    def with_target(
        self: _Variant,
        *,
        max_error: float | None = None,
        coverage: float | None = None,
        cost: float | None = None,
        threshold: float | None = None,
    ) -> _Variant:
        """A rejector with another rule, tuned on the same calibration faces.

        Parameters
        ----------
        max_error : float
            Accept as many faces as possible with a mean error of at most this, in percent.
        coverage : float
            Accept at least this share of the faces, those of least uncertainty; more if that lowers their
            mean error.
        cost : float
            Rejecting a face is as bad as an error of this many percent: accept where less is expected.
        threshold : float
            Accept up to this uncertainty.

        Exactly one of them is to be given. A rule that accepts all calibration faces accepts every face.
        Where calibration faces share the uncertainty at the threshold, all of them are accepted: a decision
        on one face is never left to chance (``selector.acceptance_`` is not used), so that coverage and error
        may exceed the target by that group.
        """
        options = {"max_error": max_error, "coverage": coverage, "cost": cost, "threshold": threshold}
        given = {kind: float(value) for kind, value in options.items() if value is not None}
        if len(given) != 1:
            raise ValueError(f"give exactly one of {', '.join(options)}; got {', '.join(given) or 'none'}")
        ((kind, value),) = given.items()
        if self.relative and kind in ("max_error", "cost"):
            raise ValueError(
                f"{kind} is in percent, and this model was trained without annotation: give its errors a "
                "unit with 50 or more annotated faces (with_unit, facereject calibrate), or choose coverage"
            )
        return self._changed(self.calibration, Target(kind, value))

    def with_pose_limits(
        self: _Variant,
        *,
        max_yaw: float | None = None,
        max_pitch: float | None = None,
        max_roll: float | None = None,
    ) -> _Variant:
        """A rejector that also rejects heads turned by more than so many degrees, as "turned".

        A target is tuned without these limits: what is left of the faces is accepted as before, fewer in all.
        They are not part of a model file.

        Parameters
        ----------
        max_yaw, max_pitch, max_roll : float or None
            To either side, see `Pose`; None is no limit.
        """
        limits = check_limits(PoseLimits(max_yaw, max_pitch, max_roll))
        if any(limit is not None for limit in limits) and pose_of(self.points.mean_shape) is None:
            raise ValueError("max_yaw, max_pitch and max_roll need the 68 points of 300-W to tell the pose")
        other = copy.copy(self)
        other.pose_limits = limits
        return other

    def with_calibration(
        self: _Variant, losses: ArrayLike, uncertainty: ArrayLike, regions: RegionSample | None = None
    ) -> _Variant:
        """A rejector whose expected errors and threshold come from your own annotated faces.

        Parameters
        ----------
        losses, uncertainty : array-like of shape (n,)
            Losses in percent.
        regions : RegionSample or None
            Of the same faces; without it there is nothing to calibrate `for_region` with.
        """
        other = self._changed(Calibration(losses, uncertainty, regions), self.target)
        other.info.pop("relative", None)
        return other

    def with_unit(self: _Variant, losses: ArrayLike, uncertainty: ArrayLike) -> _Variant:
        """A rejector whose expected errors are shifted and scaled to fit some annotated faces.

        It takes far fewer faces than `with_calibration`, and keeps the shape of the curve from training. With
        e(u) the expected error of an uncertainty before, a and b >= 0 minimise the sum of
        (loss - a - b e(u))^2 over the faces.

        Parameters
        ----------
        losses, uncertainty : array-like of shape (n,)
            Of at least 50 annotated faces; losses in percent.
        """
        calibration, factor = self.calibration.rescaled(losses, uncertainty)
        other = self._changed(calibration, self.target)
        if isinstance(other.score, CompactScoreModel) and other.score.point_errors is not None:
            errors = other.score.point_errors
            scaled = dataclasses.replace(errors, errors=(errors.errors * factor).astype(np.float32))
            other.score = dataclasses.replace(other.score, point_errors=scaled)
        other.info.pop("relative", None)
        return other

    def for_region(self: _Variant, names: str | Iterable[str]) -> _Variant:
        """A rejector for the points that matter: uncertainty, expected error and threshold are theirs.

        A face with a covered mouth is then accepted for its eyes and rejected for its mouth. Until
        `with_target` says otherwise it accepts the same share of the calibration faces as this one.

        Parameters
        ----------
        names : str or iterable of str
            Of `facereject.faces.REGIONS`, such as "eyes,mouth".

        Raises
        ------
        ValueError
            For an unknown region, or if the model does not tell the error of each point.
        """
        chosen = region_names(names)
        score = self.score.score if isinstance(self.score, RegionScore) else self.score
        regions = self.calibration.regions
        if not isinstance(score, CompactScoreModel) or score.point_errors is None or regions is None:
            raise ValueError(
                "this model does not tell the error of each point: use `default` or `thorough`, or train "
                "one with the score 'compact' for 68 points"
            )
        target = Target("coverage", max(self.selector.coverage_, 1e-6))
        return self._changed(regions.calibration(chosen), target, RegionScore(score, chosen))

    def _changed(
        self: _Variant, calibration: Calibration, target: Target, score: ScoreModel | None = None
    ) -> _Variant:
        other = copy.copy(self)
        other.score = self.score if score is None else score
        other.calibration, other.target = calibration, target
        other.selector = calibration.select(target)
        # a promise holds for the threshold it was made for
        other.info = {key: value for key, value in self.info.items() if key != "certificate"}
        return other
