"""How a rejector is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from facereject._options import OptionError, option
from facereject.faces.features.hog import LandmarkHOG
from facereject.faces.features.recipe import THOROUGH_ANGLES, RefinedRuns, Stability

#: regularisation tried for linear scores; see `facereject.scores` for its meaning
ALPHAS = (0.1, 0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True)
class Training:
    """How a rejector is trained: features, degraded copies, regularisation and folds.

    Parameters
    ----------
    hog : LandmarkHOG or None
        Sizes of the features; its points are replaced by those of the predictor.
    stability : MirroredRuns, LandmarkStability, "thorough" or None
        More predictions per face that tell how stable the first one is: two on mirrored and turned images,
        whose mean also takes the place of the landmarks, or six on moved boxes (not for "compact").
        "thorough" is the five further runs of that model.
    normalizer : str or None
        Rule by which errors are normalised, see `facereject.losses.landmark_scale`. None is what the
        predictor declares, else "outer_eyes" for 68 points and "box" for others.
    feature_points : sequence of int or None
        Points that features are computed at, for dense meshes. None is what the predictor declares, else
        all of them.
    degradations : int
        Degraded versions of every photo.
    clip : float or None
        Losses above, in percent, count as this much in training: how wrong a lost face is does not matter,
        and it would drown the rest. Calibration and evaluation use the losses as they are.
    alphas : sequence of float
        Regularisation tried (not for "boosted").
    folds : int
        Number of groups of photos for cross-validation.
    seed : int
        Of degradations and folds.

    Raises
    ------
    OptionError
        A number is negative.

    See Also
    --------
    train_face_rejector : Takes it.

    Examples
    --------
    >>> from facereject.faces import Training
    >>> Training(degradations=2).folds
    4
    """

    hog: LandmarkHOG | None = None
    stability: Stability | Literal["thorough"] | None = option(
        None,
        help="",
        switches={
            "--thorough": "As the model thorough: average six runs of the predictor per face and use how far "
            "they differ. More accurate and ranks better, but slower."
        },
    )
    normalizer: str | None = option(
        None,
        metavar="RULE",
        help="What errors are percentages of: outer_eyes (68 landmarks), box (size of the box around the "
        "landmarks), or points:I,J (distance between two landmarks). By default the predictor's rule.",
    )
    feature_points: Sequence[int] | None = None
    degradations: int = option(8, metavar="N", help="Degraded versions of every photo to train on.")
    clip: float | None = 10.0
    alphas: Sequence[float] = ALPHAS
    folds: int = 4
    seed: int = option(0, metavar="N", help="Equal seeds give equal models.")

    def __post_init__(self) -> None:
        for name in ("degradations", "seed"):
            if (value := getattr(self, name)) < 0:
                raise OptionError(f"`{name}` must be 0 or more; got {value}")

    @property
    def runs(self) -> Stability | None:
        """The further runs of the predictor."""
        return RefinedRuns(THOROUGH_ANGLES) if self.stability == "thorough" else self.stability
