"""What to know before believing figures: small samples, and photos that were seen in training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facereject._validation import FloatArray
from facereject._words import counted
from facereject.faces.datasets import FaceSample, photo_digests
from facereject.faces.landmarks.dlib_trees import PUBLISHED_PREDICTOR
from facereject.faces.plugins import fingerprint_of

#: fewer photos than this leave scores, targets and expected errors largely to chance
FEW_PHOTOS = 200

# percent; landmarks in files are rounded, and a person never places all of them so closely
_SAME = 0.05

# folders of iBUG 300-W
_PARTS_OF_300W = {"300w", "300-w", "afw", "helen", "lfpw", "ibug"}


def data_warnings(
    samples: Sequence[FaceSample], predictor: Any, info: dict[str, Any] | None = None, *, few: bool = True
) -> list[str]:
    """Sentences about a data set; empty if there is nothing to say.

    Parameters
    ----------
    samples : sequence of FaceSample
    predictor : callable
        Known by its ``fingerprint``.
    info : dict or None
        ``FaceRejector.info`` of the model that is evaluated or calibrated; None while training.
    few : bool, default=True
        Warn of few photos.
    """
    found = []
    n_photos = len({sample.photo for sample in samples})
    if few and n_photos < FEW_PHOTOS:
        found.append(
            f"only {counted(n_photos, 'photo')}; with fewer than {FEW_PHOTOS}, another sample could "
            "give quite different results"
        )
    if fingerprint_of(predictor) == PUBLISHED_PREDICTOR:
        known = sum(_of_300w(sample) for sample in samples)
        if known:
            found.append(
                f"{known} of {counted(len(samples), 'face')} {'is' if known == 1 else 'are'} from 300-W, on "
                "which dlib's published model was trained: such errors are training errors, lower than on "
                "new photos"
            )
    seen = set((info or {}).get("photo_digests") or ())
    if seen:
        again = len({sample.photo for sample in samples if not seen.isdisjoint(photo_digests([sample]))})
        if again:
            found.append(
                f"{again} of {counted(n_photos, 'photo')} {'was' if again == 1 else 'were'} used to train "
                "this model: what follows flatters it and carries no guarantee"
            )
    return found


def check_corrected(losses: FloatArray) -> list[str]:
    """What there is to know if faces are annotated with the very landmarks that were predicted for them.

    Raises ValueError if all of them are.
    """
    same = int((losses < _SAME).sum())
    if same == len(losses):
        raise ValueError(
            "its landmarks are those that were predicted, so no error can be measured. Correct them by hand, "
            "for example with `facereject annotate`"
        )
    if not same:
        return []
    have = "has" if same == 1 else "have"
    return [
        f"{same:,} of {counted(len(losses), 'face')} {have} the very landmarks that were predicted: errors "
        "are too low if nobody has looked at them"
    ]


def _of_300w(sample: FaceSample) -> bool:
    return not _PARTS_OF_300W.isdisjoint(part.lower() for part in sample.image_path.parts)
