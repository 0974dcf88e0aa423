"""The scores by name: what a model file stores of each, and what the card and the help say.

One list serves training (`facereject.faces.training.fit_score`), model files, the command line and the card.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from facereject.modelfile import ArraySpec


@dataclass(frozen=True)
class ScoreKind:
    """One way to learn a score.

    Attributes
    ----------
    name : str
        As in ``train_face_rejector(score=...)``, ``facereject train --score`` and ``info["score"]``.
    stored_as : str
        Class of `facereject.faces.models.score_models` that it becomes; model files hold its ``kind``.
    card : str
        What the card of a model says.
    help : str
        What the command line says.
    regularised : bool
        Whether several ``alpha`` are tried.
    trees : bool
        Whether fitting needs LightGBM, which may be installed without the system library it links to.
    """

    name: str
    stored_as: str
    card: str
    help: str
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
    from facereject.faces.models.score_models import AdaptedScoreModel

    classes: list[Any] = [getattr(score_models, score.stored_as) for score in SCORES.values()]
    known = {cls.kind: cls for cls in [*classes, AdaptedScoreModel]}
    if not isinstance(kind, str) or kind not in known:
        raise ValueError(f"score must be one of {', '.join(known)}; got {kind!r}")
    return known[kind]


def array_specs(kind: Any) -> dict[str, ArraySpec]:
    """What a model file with a score of this kind must hold; nothing for an unknown kind."""
    try:
        return dict(score_model(kind).specs)
    except ValueError:
        return {}


#: all scores by name, the default first
SCORES = {
    score.name: score
    for score in (
        ScoreKind(
            "sele",
            "LinearScoreModel",
            "linear, SELE risk over all pairs",
            "linear, ranks by the SELE risk",
        ),
        ScoreKind(
            "reg",
            "LinearScoreModel",
            "linear regression of the error",
            "linear, predicts the error",
        ),
        ScoreKind(
            "compact",
            "CompactScoreModel",
            "trees on compact features, SELE risk",
            "trees on compact features, ranks best",
            trees=True,
        ),
        ScoreKind(
            "boosted",
            "TreeScore",
            "boosted trees on the SELE risk",
            "trees",
            regularised=False,
            trees=True,
        ),
    )
}
