"""The hand-placed points of the Face Research Lab London Set in the mark-up of 300-W.

The 189 points of its template follow the contours of jaw, brows, eyes, nose and lips. Most of the 68 points
of 300-W lie on them; the bridge of the nose and the inner lips, which the template does not mark in the same
places, are left to the predictor on the photograph as it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from facereject.faces.geometry import fit_similarity, transform_points
from facereject.faces.landmarks.point_set import MEAN_SHAPE

# contour of the jaw from the ear on the left of the image to the chin, and on to the other ear
_LEFT = (109, 185, 110, 186, 111, 125, 126, 127, 128, 129)
_RIGHT = (129, 130, 131, 132, 133, 114, 188, 113, 187, 112)

# number in 300-W -> numbers in the template whose middle it is
_MIDDLES = {
    17: (71,), 18: (72,), 19: (73,), 20: (74,), 21: (75, 76),
    22: (77, 78), 23: (79,), 24: (80,), 25: (81,), 26: (82,),
    31: (63, 64), 32: (64, 170), 33: (55,), 34: (69, 172), 35: (68, 69),
    36: (18,), 37: (19, 20), 38: (20, 21), 39: (22,), 40: (29, 30), 41: (28, 29),
    42: (23,), 43: (24, 25), 44: (25, 26), 45: (27,), 46: (32, 33), 47: (31, 32),
    48: (87,), 49: (88,), 50: (89,), 51: (90,), 52: (91,), 53: (92,), 54: (93,),
    55: (108,), 56: (107,), 57: (106,), 58: (105,), 59: (104,),
}  # fmt: skip


def points_68(template, own):
    """The 68 points of one face from the 189 placed by hand; those without a place stay as in ``own``."""
    points = np.array(own, dtype=np.float64)
    points[:9], points[8:17] = _evenly(template[list(_LEFT)]), _evenly(template[list(_RIGHT)])
    for number, places in _MIDDLES.items():
        points[number] = template[list(places)].mean(axis=0)
    return points


def hand_placed(folder, samples):
    """The points placed by hand, by the number of the sample; smiling faces have none.

    Points that nobody placed are those of the predictor, which the samples have.
    """
    with np.load(folder / "points189.npz") as stored:
        return {
            number: points_68(stored[sample.image_path.stem].astype(np.float64), sample.landmarks)
            for number, sample in enumerate(samples)
            if sample.image_path.stem in stored.files
        }


def _evenly(contour, number=9):
    """Points at equal distances along a contour, its ends among them."""
    steps = np.linalg.norm(np.diff(contour, axis=0), axis=1)
    along = np.concatenate([[0], np.cumsum(steps)])
    wanted = np.linspace(0, along[-1], number)
    return np.column_stack([np.interp(wanted, along, contour[:, k]) for k in (0, 1)])


class ByHand(NamedTuple):
    """Mean errors in percent of the neutral faces, over the points that were placed by hand.

    Attributes
    ----------
    expected : float
        By `Face.landmark_errors`.
    raw : float
        Distance from the points placed by hand.
    true : float
        The same, without what the two mark-ups differ by.
    """

    expected: float
    raw: float
    true: float


def errors_by_hand(rejector, folder):
    """The errors of a rejector's landmarks on the London Set, `ByHand`.

    The jaw is left out: points along a contour have no places of their own. The mark-ups differ by an offset
    of every point in the frame of the face. It is estimated on every other person and taken off the others.
    """
    placed, expected, apart = list(_MIDDLES), [], []
    with np.load(folder / "points189.npz") as stored:
        for name in stored.files:
            faces = rejector(folder / f"{name}.jpg")
            if not faces or faces[0].landmark_errors is None:
                continue
            face = faces[0]
            points = points_68(stored[name].astype(np.float64), face.landmarks)
            frame = fit_similarity(points, MEAN_SHAPE)
            own, true = (transform_points(frame, each) for each in (face.landmarks, points))
            apart.append(100 * (own - true)[placed] / np.linalg.norm(true[45] - true[36]))
            expected.append(face.landmark_errors[placed].mean())
    apart = np.array(apart)
    halves = [(apart[::2], apart[1::2]), (apart[1::2], apart[::2])]
    left = np.concatenate([one - other.mean(axis=0) for one, other in halves])
    return ByHand(float(np.mean(expected)), *(float(_lengths(values)) for values in (apart, left)))


def _lengths(values):
    return np.linalg.norm(values, axis=2).mean()
