"""What to know before figures are believed: small samples, and photographs that were seen in training."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from facereject.faces.datasets import FaceSample

#: SHA-256 of dlib's published 68-point model
PUBLISHED_PREDICTOR = "fbdc2cb80eb9aa7a758672cbfdda32ba6300efe9b6e6c7a299ff7e736b11b92f"

#: fewer photographs than this leave scores, targets and expected errors largely to chance
FEW_PHOTOGRAPHS = 200

# folders of iBUG 300-W
_PARTS_OF_300W = {"300w", "300-w", "afw", "helen", "lfpw", "ibug"}


def data_warnings(
    samples: Sequence[FaceSample], predictor: Any, info: dict[str, Any] | None = None
) -> list[str]:
    """Sentences about a data set; empty if there is nothing to say.

    Parameters
    ----------
    samples : sequence of FaceSample
    predictor : callable
        Known by its ``fingerprint``.
    info : dict or None
        ``FaceRejector.info`` of the model that is evaluated or calibrated; None while training.
    """
    found = []
    photographs = len({sample.photo for sample in samples})
    if photographs < FEW_PHOTOGRAPHS:
        found.append(
            f"only {photographs} photographs: another {photographs} could give quite different figures, "
            f"as with any fewer than {FEW_PHOTOGRAPHS}"
        )
    if getattr(predictor, "fingerprint", None) == PUBLISHED_PREDICTOR:
        known = sum(_of_300w(sample) for sample in samples)
        if known:
            found.append(
                f"{known} of {len(samples)} faces are from 300-W, on which dlib's published model was "
                "trained: their errors are training errors, lower than on new photographs"
            )
    seen = set((info or {}).get("photo_digests") or ())
    if seen:
        again = len(seen.intersection(photo_digests(samples)))
        if again:
            found.append(
                f"{again} of the photographs were used to train this model: what follows flatters it and "
                "carries no guarantee"
            )
    return found


def photo_digests(samples: Sequence[FaceSample]) -> list[str]:
    """Short digests of the image files, sorted, each once; unreadable files are left out."""
    digests = set()
    for path in {sample.image_path for sample in samples}:
        try:
            digests.add(hashlib.blake2b(path.read_bytes(), digest_size=6).hexdigest())
        except OSError:
            continue
    return sorted(digests)


def _of_300w(sample: FaceSample) -> bool:
    return not _PARTS_OF_300W.isdisjoint(part.lower() for part in sample.image_path.parts)
