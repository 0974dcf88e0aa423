"""Chooses chip and cell size of LandmarkHOG by cross-validated AuRC, all candidates on the same pictures.

    python tools/select_hog.py ../shared/data/faces/300w --cache cache

prints, for every candidate, the share of the AuRC gap between detector score and oracle that a linear SELE
score closes on photographs it was not fitted to.
"""

from __future__ import annotations

import argparse
import dataclasses
from dataclasses import dataclass

import numpy as np

from facereject.faces.datasets import FaceDataset
from facereject.faces.detector import FaceDetector
from facereject.faces.extraction import Extractor, extract
from facereject.faces.features import LandmarkHOG
from facereject.faces.landmarks import LandmarkPredictor
from facereject.faces.training import cross_fit

CANDIDATES = [(64, 4), (64, 5), (64, 8), (80, 6), (100, 4), (100, 6), (100, 8), (100, 12), (128, 4), (128, 8)]


@dataclass(frozen=True)
class SeveralHOGs:
    """Candidates side by side, so that detection and prediction run once for all of them."""

    parts: tuple[LandmarkHOG, ...]

    @property
    def n_features(self):
        return sum(part.n_features for part in self.parts)

    @property
    def definition(self):
        return {"parts": [part.definition for part in self.parts]}

    def __call__(self, image, landmarks):
        return np.concatenate([part(image, landmarks) for part in self.parts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder with annotated photographs (300-W layout)")
    parser.add_argument("--cache", help="folder for features that were already computed")
    parser.add_argument("--degradations", type=int, default=4)
    parser.add_argument("--alpha", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    samples = FaceDataset.load(options.data)
    photos = [sample.photo for sample in samples]
    hogs = SeveralHOGs(tuple(LandmarkHOG(face, cell) for face, cell in CANDIDATES))
    detector = FaceDetector(threshold=-1.0)
    extractor = Extractor(LandmarkPredictor(), detector, hogs, None, options.degradations, options.seed)
    table = extract(samples, extractor, cache=options.cache)
    print(f"{len(table)} pictures of {len(set(photos))} photographs, alpha = {options.alpha:g}")
    print("face_size  cell_size   chip   gap closed: clean  degraded   mean")
    start = 0
    for hog in hogs.parts:
        part = dataclasses.replace(table, features=table.features[:, start : start + hog.n_features])
        start += hog.n_features
        fit = cross_fit(part, photos, "sele", options.alpha, clip=10.0, folds=4, random_state=options.seed)
        mean = (fit.clean + fit.degraded) / 2
        sizes = f"{hog.face_size:9d}  {hog.cell_size:9d}  {hog.chip_size:5d}"
        print(f"{sizes}   {fit.clean:17.1%}  {fit.degraded:8.1%}  {mean:5.1%}")


if __name__ == "__main__":
    main()
