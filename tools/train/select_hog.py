"""Compares chips, cells and contrast floors of LandmarkHOG by cross-validated AuRC on the same pictures.

    python -m tools.train.select_hog ../shared/data/faces/300w --cache cache

prints, for every candidate, the share of the AuRC gap between detector score and oracle that a linear SELE
score closes on photographs it was not fitted to.
"""

from __future__ import annotations

import argparse
import dataclasses
from dataclasses import dataclass

import numpy as np

from facereject.faces.datasets import FaceDataset
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.features.hog import LandmarkHOG
from facereject.faces.landmarks.dlib_trees import LandmarkPredictor
from facereject.faces.training.extract import Extractor, extract
from facereject.faces.training.fit_score import cross_fit, photo_folds

# face size, cell size, contrast floor
CANDIDATES = [
    (64, 4, 1.0),
    (64, 8, 1.0),
    (100, 4, 0.0),
    (100, 4, 1.0),
    (100, 4, 3.0),
    (100, 6, 1.0),
    (100, 8, 1.0),
    (100, 12, 1.0),
    (128, 4, 1.0),
]


@dataclass(frozen=True)
class SeveralHOGs:
    """Candidates side by side, so that detection and prediction run once for all of them."""

    parts: tuple[LandmarkHOG, ...]

    @property
    def n_features(self):
        return sum(part.n_features for part in self.parts)

    @property
    def points(self):
        return self.parts[0].points

    @property
    def definition(self):
        return {"parts": [part.definition for part in self.parts]}

    def __call__(self, image, landmarks):
        return np.concatenate([part(image, landmarks) for part in self.parts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder with annotated photographs (300-W layout)")
    parser.add_argument("--cache", help="folder for features that were already computed")
    parser.add_argument("--degradations", type=int, default=8)
    parser.add_argument("--alpha", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    samples = FaceDataset.load(options.data)
    photos = [sample.photo for sample in samples]
    hogs = SeveralHOGs(tuple(LandmarkHOG(*sizes) for sizes in CANDIDATES))
    detector = FaceDetector(threshold=-1.0)
    extractor = Extractor(LandmarkPredictor(), detector, hogs, None, options.degradations, options.seed)
    table = extract(samples, extractor, cache=options.cache)
    print(f"{len(table)} pictures of {len(set(photos))} photographs, alpha = {options.alpha:g}")
    print("face_size  cell_size   chip  floor   gap closed: clean  degraded   mean")
    start = 0
    for hog in hogs.parts:
        part = dataclasses.replace(table, features=table.features[:, start : start + hog.n_features])
        start += hog.n_features
        fold = photo_folds([photos[i] for i in part.sample], 4, options.seed)
        fit = cross_fit(part, fold, "sele", options.alpha, 10.0)
        sizes = f"{hog.face_size:9d}  {hog.cell_size:9d}  {hog.chip_size:5d}  {hog.contrast_floor:5g}"
        print(f"{sizes}   {fit.clean:17.1%}  {fit.degraded:8.1%}  {fit.merit:5.1%}")


if __name__ == "__main__":
    main()
