"""Training with and without annotation: python tools/bench/unlabelled.py ../shared/data/faces/300w

Share of the gap between detector score and oracle that a linear score closes on photographs set aside,
trained on so many photographs of the others, with human annotation and with the predictor's own landmarks in
its place. ``--score auto`` trains what `facereject train` does by default.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from facereject.faces import (
    Extractor,
    FaceContext,
    FaceDataset,
    FaceDetector,
    LandmarkHOG,
    LandmarkPredictor,
    extract,
    train_face_rejector,
)
from facereject.faces.models.ranking import gap_closed

sys.path.insert(0, str(Path(__file__).parents[1]))

from train_default_model import TEST_SEED, set_aside


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder with annotated photographs (300-W layout)")
    parser.add_argument("--photographs", type=int, nargs="+", default=[100, 500, 2000])
    parser.add_argument("--score", default="sele")
    parser.add_argument("--degradations", type=int, default=8, help="degraded versions per photograph")
    parser.add_argument("--cache")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    fit, test, _, copies = set_aside(FaceDataset.load(options.data))
    context = FaceContext()
    extractor = Extractor(
        LandmarkPredictor(), FaceDetector(threshold=-1.0), LandmarkHOG(), None, 12, TEST_SEED, context
    )
    held_out = extract(test, extractor, workers=options.workers, cache=options.cache)
    held_out = held_out.rows(~np.isin(held_out.sample, copies))
    boxes = np.array(["box" in kind for kind in held_out.kinds])
    groups = {"clean": held_out.clean, "degraded, detector's box": ~held_out.clean & ~boxes}
    order = np.random.default_rng(0).permutation(len(fit))
    print("| photographs | annotation | " + " | ".join(groups) + " |\n|---|---|---|---|")
    for number in options.photographs:
        samples = FaceDataset([fit[int(i)] for i in np.sort(order[:number])])
        for name, given in (
            ("human", {"samples": samples}),
            ("none", {"unlabelled": [sample.image_path for sample in samples]}),
        ):
            rejector = train_face_rejector(
                **given,
                score=options.score,
                degradations=options.degradations,
                workers=options.workers,
                cache=options.cache,
            )
            seen = np.ascontiguousarray(held_out.features[:, : rejector.score.n_features])
            uncertainty = rejector.score(seen)
            shares = [
                gap_closed(held_out.losses[rows], held_out.detector_scores[rows], uncertainty[rows])
                for rows in groups.values()
            ]
            cells = " | ".join(f"{share:.1%}" for share in shares)
            print(f"| {len(samples)} | {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
