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

import argparse
import dataclasses

import numpy as np
from model_card_points import inside, within_faces
from scipy.stats import spearmanr
from train_default_model import ALPHA, FIT_SEED, set_aside

from facereject.faces import (
    Extractor,
    FaceContext,
    FaceDataset,
    FaceDetector,
    LandmarkHOG,
    LandmarkPredictor,
    MirroredRuns,
    extract,
)
from facereject.faces.training.compact import LinearFit, fit_compact, linear_on_clean, point_errors
from facereject.faces.training.cross_validation import cross_fit, photo_folds
from facereject.faces.training.fit import fit_score
from facereject.faces.training.point_errors import calibrated, fit_point_errors, some_rows

WEIGHTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
FOLDS, CLIP = 4, 10.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder with annotated photographs (300-W layout)")
    parser.add_argument("--cache", help="folder for features that were already computed")
    parser.add_argument("--degradations", type=int, default=12)
    parser.add_argument("--faces", type=int, default=8_000, help="rows to look at, all clean ones among them")
    parser.add_argument("--models", nargs="+", default=["default", "thorough"])
    options = parser.parse_args()
    samples = FaceDataset.load(options.data)
    fit, _, group, _ = set_aside(samples)
    photos = [group[sample.photo] for sample in fit]
    print("model     weight  AUC covered  Spearman clean  degraded  expected / true clean  degraded")
    for name in options.models:
        extractor = Extractor(
            LandmarkPredictor(),
            FaceDetector(threshold=-1.0),
            LandmarkHOG(),
            MirroredRuns() if name == "thorough" else None,
            options.degradations,
            FIT_SEED,
            FaceContext(),
        )
        table = extract(fit, extractor, cache=options.cache)
        table = table.rows(some_rows(table, FIT_SEED, None, options.faces))
        for weight, figures in judge(table, photos, extractor).items():
            area, clean, degraded, *ratios = figures
            print(
                f"{name:8s}  {weight:6.2f}  {area:11.4f}  {clean:14.4f}  {degraded:8.4f}  "
                f"{ratios[0]:21.3f}  {ratios[1]:8.3f}",
                flush=True,
            )


def judge(table, photos, extractor):
    """By weight: area of covered points, rank correlations, expected over true error; clean, degraded."""
    points, n_hog = extractor.points, extractor.hog.n_features
    names = np.array([photos[i] for i in table.sample])
    fold = photo_folds(names.tolist(), FOLDS, FIT_SEED)
    # columns that the points see, as in training
    hog = dataclasses.replace(table, features=np.ascontiguousarray(table.features[:, :n_hog]))
    folded = cross_fit(hog, photos, "sele", ALPHA, clip=CLIP, folds=FOLDS, random_state=FIT_SEED)
    linear = LinearFit(fit_score(hog, "sele", ALPHA, CLIP), folded.uncertainty)
    clean = linear_on_clean(hog, fold, ALPHA, CLIP)
    compact = fit_compact(table, points, fold, names, linear, CLIP, clean)
    errors = point_errors(table, points)
    fitted = fit_point_errors(
        table, errors, compact.model.columns, compact.columns, fold, FIT_SEED, np.arange(len(table)), 0.0
    )
    covered, seen = table.hidden & inside(table), ~table.hidden
    found = {}
    for weight in WEIGHTS:
        said = fitted.said + weight * fitted.hidden
        knots, heights = calibrated(said.ravel(), errors.ravel())
        expected = np.interp(said, knots, heights)
        ratio = expected / np.median(expected[table.clean], axis=0)
        groups = (table.clean, ~table.clean)
        found[weight] = (
            np.mean(within_faces(ratio, covered, seen)),
            *(spearmanr(expected[rows].ravel(), errors[rows].ravel())[0] for rows in groups),
            *(expected[rows].mean() / errors[rows].mean() for rows in groups),
        )
    return found


if __name__ == "__main__":
    main()
