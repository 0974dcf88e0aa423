"""How much more a covered point counts: cross-validated on the photographs to fit, for both shipped models.

    python -m tools.train.select_points ../shared/data/faces/300w --cache cache
        --faces 8000 20000 --emphasis 1 5

For growing weights of the log-odds that a point is covered, prints how well covered points stand out within
their face (area under the ROC curve, as the card states it), the rank correlation of expected and true errors
over all points, and the ratio of their means; then how many points are flagged. All of it out of fold over
photographs, on the same faces for all settings; those set aside for the card are not looked at.

More faces to learn from, and more weight of those with covered points, find more covered points at the same
rank correlation (5 was chosen on `thorough`). What a weight of the log-odds finds more, it loses in rank
correlation: at 0.1, as in ``facereject/faces/training/point_errors.py``, the area and the mean of both rank
correlations have the largest sum.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from facereject.faces.training.details import (
    EMPHASIS,
    MOST_FACES,
    calibrated,
    fit_point_errors,
    some_rows,
)
from facereject.faces.training.fit_compact import point_errors
from tools.train.default_model import FIT_SEED
from tools.train.fit_part import Columns, Part, columns_out_of_fold, fit_parts, options_of
from tools.train.model_card_points import inside, within_faces

WEIGHTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3)


class Figures(NamedTuple):
    """What a setting is judged by.

    Attributes
    ----------
    covered : float
        Area under the ROC curve of covered points within their face.
    clean, degraded : float
        Rank correlation of expected and true errors over all points.
    ratio_clean, ratio_degraded : float
        Mean expected over mean true error.
    flagged, wrongly : float
        Share of the covered points that is flagged, and of the visible points of degraded pictures, where 2 %
        of the visible points of clean ones are.
    """

    covered: float
    clean: float
    degraded: float
    ratio_clean: float
    ratio_degraded: float
    flagged: float
    wrongly: float


def main() -> None:
    parser = options_of(__doc__.splitlines()[0])
    parser.add_argument("--faces", type=int, nargs="+", default=[MOST_FACES], help="most faces to learn from")
    parser.add_argument(
        "--emphasis", type=float, nargs="+", default=[EMPHASIS], help="of faces with covered points"
    )
    options = parser.parse_args()
    print("model      faces  emphasis  weight  " + "  ".join(Figures._fields))
    for part in fit_parts(options):
        columns = columns_out_of_fold(part)
        judged = some_rows(part.table, FIT_SEED, None, min(options.faces))
        for faces, emphasis in itertools.product(options.faces, options.emphasis):
            for weight, figures in judge(part, columns, faces, emphasis, judged).items():
                cells = "  ".join(
                    f"{value:{len(name)}.4f}" for name, value in zip(figures._fields, figures, strict=True)
                )
                print(f"{part.name:8s}  {faces:6d}  {emphasis:8g}  {weight:6.2f}  {cells}", flush=True)


def judge(
    part: Part, columns: Columns, faces: int, emphasis: float, judged: NDArray[np.int64]
) -> dict[float, Figures]:
    """Figures on some of the rows that were learned from, out of fold, by weight."""
    errors = point_errors(part.table, part.extractor.points)
    fitted = fit_point_errors(
        part.table,
        errors,
        columns.compact,
        columns.seen,
        columns.fold,
        FIT_SEED,
        covered_weight=0.0,
        most=faces,
        emphasis=emphasis,
    )
    place = np.searchsorted(fitted.rows, judged)
    before, odds = fitted.said[place], fitted.hidden[place]
    table, errors = part.table.rows(judged), errors[judged]
    covered, seen, flagged = table.hidden & inside(table), ~table.hidden, odds > fitted.model.limit
    found = {}
    for weight in WEIGHTS:
        said = before + weight * odds
        knots, heights = calibrated(said.ravel(), errors.ravel())
        expected = np.interp(said, knots, heights)
        ratio = expected / np.median(expected[table.clean], axis=0)
        groups = (table.clean, ~table.clean)
        found[weight] = Figures(
            float(np.mean(within_faces(ratio, covered, seen))),
            *(float(spearmanr(expected[rows].ravel(), errors[rows].ravel())[0]) for rows in groups),
            *(float(expected[rows].mean() / errors[rows].mean()) for rows in groups),
            float(flagged[covered].mean()),
            float(flagged[seen & ~table.clean[:, None]].mean()),
        )
    return found


if __name__ == "__main__":
    main()
