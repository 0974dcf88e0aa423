"""How much more a covered point counts: cross-validated on the photographs to fit, for both shipped models.

    python tools/select_points.py ../shared/data/faces/300w --cache cache

For growing weights of the log-odds that a point is covered, prints how well covered points stand out within
their face (area under the ROC curve, as the card states it), the rank correlation of expected and true errors
over all points, and the ratio of their means. All of it out of fold over photographs; those set aside for the
card are not looked at. What a weight finds more of covered points, it loses in rank correlation; at 0.1, the
weight in ``facereject/faces/training/point_errors.py``, the area and the mean of both rank correlations have
the largest sum for `thorough` (``--models thorough --faces 5000``).
"""

from __future__ import annotations

import numpy as np
from fit_part import Columns, Part, columns_out_of_fold, fit_parts, options_of
from model_card_points import inside, within_faces
from scipy.stats import spearmanr
from train_default_model import FIT_SEED

from facereject.faces.training.compact import point_errors
from facereject.faces.training.point_errors import MOST_FACES, calibrated, fit_point_errors

WEIGHTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)


def main() -> None:
    parser = options_of(__doc__.splitlines()[0])
    parser.add_argument(
        "--faces", type=int, default=MOST_FACES, help="rows to learn from, all clean ones first"
    )
    options = parser.parse_args()
    print("model     weight  AUC covered  Spearman clean  degraded  expected / true clean  degraded")
    for part in fit_parts(options):
        for weight, figures in judge(part, columns_out_of_fold(part), options.faces).items():
            area, clean, degraded, *ratios = figures
            print(
                f"{part.name:8s}  {weight:6.2f}  {area:11.4f}  {clean:14.4f}  {degraded:8.4f}  "
                f"{ratios[0]:21.3f}  {ratios[1]:8.3f}",
                flush=True,
            )


def judge(part: Part, columns: Columns, faces: int) -> dict[float, tuple[float, ...]]:
    """By weight: area of covered points, rank correlations, expected over true error; clean, degraded."""
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
    )
    table, errors = part.table.rows(fitted.rows), errors[fitted.rows]
    covered, seen = table.hidden & inside(table), ~table.hidden
    found = {}
    for weight in WEIGHTS:
        said = fitted.said + weight * fitted.hidden
        knots, heights = calibrated(said.ravel(), errors.ravel())
        expected = np.interp(said, knots, heights)
        ratio = expected / np.median(expected[table.clean], axis=0)
        groups = (table.clean, ~table.clean)
        found[weight] = (
            float(np.mean(within_faces(ratio, covered, seen))),
            *(float(spearmanr(expected[rows].ravel(), errors[rows].ravel())[0]) for rows in groups),
            *(float(expected[rows].mean() / errors[rows].mean()) for rows in groups),
        )
    return found


if __name__ == "__main__":
    main()
