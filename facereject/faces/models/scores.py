"""The scores there are: how each is learned, what a model file keeps of it, what the card and help say.

One list serves training, model files, the command line and the card. Nothing heavy is imported before a score
is fitted or loaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from facereject.faces.models.score_models import LinearScoreModel, ScoreModel
    from facereject.modelfile import ArraySpec

# relative distance from the optimum; far below what changes a ranking, so that models are reproducible
_TOLERANCE = 1e-4

# values in a table; threads only pay on larger ones
_LARGE_TABLE = 1_000_000


@dataclass(frozen=True)
class ScoreKind:
    """One way to learn a score.

    Attributes
    ----------
    name : str
        As in ``train_face_rejector(score=...)``, ``facereject train --score`` and ``info["score"]``.
    stored_as : str
        Class of `facereject.faces.models.score_models` that it becomes; its ``kind`` stands in model files.
    card : str
        What the card of a model says.
    help : str
        What the command line says.
    fit : callable or None
        (features, losses, alpha) -> ScoreModel; None if it takes more than these, see
        `facereject.faces.training.compact`.
    regularised : bool
        Whether several ``alpha`` are tried.
    trees : bool
        Whether fitting needs LightGBM, which may be installed without the system library it links to.
    """

    name: str
    stored_as: str
    card: str
    help: str
    fit: Callable[[NDArray[np.float32], NDArray[np.float64], Any], ScoreModel] | None
    regularised: bool = True
    trees: bool = False


def score_kind(name: str) -> ScoreKind:
    """The score of a name; ValueError if there is none."""
    if name not in SCORES:
        raise ValueError(f"score must be one of {', '.join(SCORES)}; got {name!r}")
    return SCORES[name]


def score_model(kind: Any) -> Any:
    """The class of `score_models` whose ``kind`` this is; ValueError if there is none."""
    from facereject.faces.models import score_models

    classes = (getattr(score_models, score.stored_as) for score in SCORES.values())
    known = {cls.kind: cls for cls in classes}
    if not isinstance(kind, str) or kind not in known:
        raise ValueError(f"score must be one of {', '.join(known)}; got {kind!r}")
    return known[kind]


def array_specs(kind: Any) -> dict[str, ArraySpec]:
    """What a model file with a score of this kind must hold; nothing for an unknown kind."""
    try:
        return dict(score_model(kind).specs)
    except ValueError:
        return {}


def _fit_sele(features: NDArray[np.float32], losses: NDArray[np.float64], alpha: Any) -> ScoreModel:
    from facereject.scores import SELEScore

    return _linear(SELEScore(alpha=alpha, tol=_TOLERANCE).fit(features, losses))


def _fit_regression(features: NDArray[np.float32], losses: NDArray[np.float64], alpha: Any) -> ScoreModel:
    from facereject.scores import RegressionScore

    return _linear(RegressionScore(alpha=alpha).fit(features, losses))


def _fit_boosted(features: NDArray[np.float32], losses: NDArray[np.float64], alpha: Any) -> ScoreModel:
    from facereject.faces.models.score_models import TreeScore
    from facereject.scores import BoostedSELEScore

    threads = os.cpu_count() or 1 if features.size > _LARGE_TABLE else 1
    fitted = BoostedSELEScore(n_jobs=threads).fit(features, losses)
    return TreeScore.from_lightgbm(fitted.booster_)


def _linear(fitted: Any) -> LinearScoreModel:
    """Weights of a fitted score on features as they are: its standardisation folded in."""
    import numpy as np

    from facereject.faces.models.score_models import LinearScoreModel

    coef = fitted.coef_[0] / fitted.scale_
    return LinearScoreModel(coef.astype(np.float32), float(fitted.intercept_[0] - coef @ fitted.mean_))


#: all scores by name, the default first
SCORES = {
    score.name: score
    for score in (
        ScoreKind(
            "sele",
            "LinearScoreModel",
            "linear, SELE risk over all pairs",
            "linear, ranks by the SELE risk",
            _fit_sele,
        ),
        ScoreKind(
            "reg",
            "LinearScoreModel",
            "linear regression of the error",
            "linear, predicts the error",
            _fit_regression,
        ),
        ScoreKind(
            "compact",
            "CompactScoreModel",
            "trees on compact features, SELE risk",
            "trees on compact features, ranks best",
            None,
            trees=True,
        ),
        ScoreKind(
            "boosted",
            "TreeScore",
            "boosted trees on the SELE risk",
            "trees",
            _fit_boosted,
            regularised=False,
            trees=True,
        ),
    )
}
