"""Which faces to annotate: spread over uncertainty and typicality, one of each photo."""

from __future__ import annotations

import numpy as np

from facereject.serve.review.faces import ReviewFaces


def choose_faces(faces: ReviewFaces, n: int, seed: int = 0) -> list[int]:
    """Faces whose annotation teaches most, in a random order.

    A systematic sample: every photo has the same chance, as it must have for an honest unit, and yet the
    sample covers the whole range. Photos are ranked by uncertainty, cut into strata, and ranked by typicality
    within each, forth and back; then every k-th is taken from a random start. The order is random, so that
    any first part of it is a sample of the whole, too.

    Parameters
    ----------
    faces : ReviewFaces
    n : int
        How many; fewer if there are fewer photos with a scored face.
    seed : int
    """
    rng = np.random.default_rng(seed)
    columns = faces.columns
    scored = np.flatnonzero(np.isfinite(columns["uncertainty"]))
    # one face of each photo at random; of a video one of each track and second counts as a photo
    unit = np.where(np.isfinite(columns["time_s"]), columns["crop"].astype(np.int64) + len(faces.sources), 0)
    unit = np.where(unit > 0, unit, columns["source"])
    scored = rng.permutation(scored)
    _, first = np.unique(unit[scored], return_index=True)
    one = scored[first]
    ranked = one[np.argsort(columns["uncertainty"][one], kind="stable")]
    if "typicality" in columns and np.isfinite(columns["typicality"][ranked]).all():
        strata = np.array_split(ranked, max(1, round(np.sqrt(min(n, len(ranked))))))
        for k, part in enumerate(strata):
            order = np.argsort(columns["typicality"][part], kind="stable")
            strata[k] = part[order[:: -1 if k % 2 else 1]]
        ranked = np.concatenate(strata)
    n = min(n, len(ranked))
    places = np.floor((np.arange(n) + rng.random()) * len(ranked) / max(n, 1)).astype(int)
    return [int(number) for number in rng.permutation(ranked[places])]
