"""What to try after a run that found few faces, or accepted almost none or almost all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from facereject._words import percent

if TYPE_CHECKING:
    from facereject.faces import FaceRejector
    from facereject.outputs.summary import Counts

# of fewer faces or frames nothing can be told
_ENOUGH = 20

# shares that are said to be almost nothing and almost everything
_FEW, _MOST = 0.1, 0.995


def advice(total: Counts, rejector: FaceRejector, *, decided: bool) -> list[str]:
    """Sentences about a run, or none.

    Parameters
    ----------
    total : Counts
        Of all inputs.
    rejector : FaceRejector
    decided : bool
        The decisions are those of its target, not of the best of a batch.
    """
    sentences = []
    if getattr(rejector, "fell_back", False):
        sentences.append(
            "Faces were found by dlib's detector, as the weights of YuNet are not installed: it finds fewer "
            "faces. `facereject models get` installs them."
        )
    if total.frames >= _ENOUGH and total.no_face > total.frames / 2:
        share = percent(total.no_face, total.frames)
        sentences.append(
            f"In {share} of the images and frames no face was found: try --min-face 20 for small faces, or "
            "--detector both."
        )
    target = getattr(rejector, "target", None)
    if not decided or total.faces < _ENOUGH or target is None or target.kind != "max_error":
        return sentences
    if total.accepted_faces < _FEW * total.faces:
        half = rejector.with_target(coverage=0.5).selector.selective_risk_
        reached = percent(rejector.selector.coverage_, 1.0)
        sentences.append(
            f"Few faces are accepted: with a mean error of {target.value:.3g} % this model accepts {reached} "
            f"of its calibration faces, and half of them at {half:.2g} %. Try a higher --max-error, "
            "--model thorough, or --keep-best."
        )
    elif total.accepted_faces > _MOST * total.faces:
        sentences.append(
            "Almost all faces are accepted: their expected errors are low enough for a mean of "
            f"{target.value:.3g} %. A lower --max-error rejects more."
        )
    return sentences
