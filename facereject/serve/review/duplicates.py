"""Near duplicates, such as the photos of a burst: crops whose hashes hardly differ."""

from __future__ import annotations

from collections.abc import Mapping

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from facereject.faces.images import ImageArray
from facereject.serve.review.images import NoImageError
from facereject.serve.review.session import Progress, Session

# squares across the crop; their differences give 256 bits
_SQUARES = 16

#: bits in which the hashes of two near duplicates may differ: see tools/bench/review.py duplicates
MOST_BITS = 40

# number of preceding faces that each face is compared with: photos of a burst are neighbours by name
_WINDOW = 24

_BITS = np.array([bin(value).count("1") for value in range(256)], np.uint8)


def crop_hash(jpeg: bytes) -> NDArray[np.uint8]:
    """256 bits of a crop: whether it gets brighter from each square to the next one on the right."""
    gray: ImageArray = np.asarray(cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_GRAYSCALE), np.uint8)
    small = cv2.resize(gray, (_SQUARES + 1, _SQUARES), interpolation=cv2.INTER_AREA).astype(np.int16)
    return np.packbits(small[:, 1:] > small[:, :-1])


def find_duplicates(session: Session, progress: Progress) -> None:
    """Find groups of two and more near duplicates among the faces that are shown.

    Parameters
    ----------
    session : Session
    progress : Progress
        Kept up to date; it gets the groups.
    """
    faces, images = session.faces, session.images
    shown = np.unique(faces.columns["crop"])
    progress.begin("crops", len(shown))
    hashes: dict[int, NDArray[np.uint8]] = {}
    for number in shown.tolist():
        if number not in hashes:
            try:
                made = images.make("plain", number)
            except NoImageError:
                made = {}
            # those of neighbours come with it
            hashes |= {each: crop_hash(data) for (_, each), data in made.items()}
        progress.done += 1
    names = np.array(faces.sources)[faces.columns["source"][shown]]
    ranked = [number for number in shown[np.lexsort((shown, names))].tolist() if number in hashes]
    progress.groups = group_hashes(ranked, hashes)


def group_hashes(ranked: list[int], hashes: Mapping[int, NDArray[np.uint8]]) -> list[list[int]]:
    """Groups of near duplicates among faces in the order of their file names.

    Two faces are duplicates if their hashes differ in at most `MOST_BITS` bits and they are close by in that
    order, or if their hashes are equal; groups are what such pairs connect.
    """
    pairs: list[tuple[int, int]] = []
    same: dict[bytes, int] = {}
    for place, number in enumerate(ranked):
        mine = hashes[number]
        pairs.append((place, same.setdefault(mine.tobytes(), place)))
        for other in range(max(0, place - _WINDOW), place):
            if int(_BITS[mine ^ hashes[ranked[other]]].sum()) <= MOST_BITS:
                pairs.append((place, other))
    if not pairs:
        return []
    shape = len(ranked), len(ranked)
    _, group_of = connected_components(coo_array((np.ones(len(pairs)), np.transpose(pairs)), shape=shape))
    groups: dict[int, list[int]] = {}
    for number, group in zip(ranked, group_of.tolist(), strict=True):
        groups.setdefault(group, []).append(number)
    return [group for group in groups.values() if len(group) > 1]
