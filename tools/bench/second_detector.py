"""Whether the default model is calibrated on faces that only the second detector finds.

    facereject models get yunet
    python tools/bench/second_detector.py ../shared/data/faces/300w [--photos 200] [--degradations 5]

Photographs that were set aside in training, each in some degraded versions. Where dlib's detector finds no
face, `detector="both"` takes YuNet's; printed are the mean error of these faces, what the model expects of
them, and how many of them it accepts with which error, beside the same for faces that dlib finds.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from train_default_model import TEST_SEED, set_aside

from facereject.faces import FaceDataset, FaceRejector, match_face, random_degradation
from facereject.faces.detectors.both import BothDetectors
from facereject.losses import landmark_nme


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--photos", type=int, default=200)
    parser.add_argument("--degradations", type=int, default=5)
    parser.add_argument("--model", default="default")
    options = parser.parse_args()
    _, test, _, copies = set_aside(FaceDataset.load(options.data))
    test = [sample for i, sample in enumerate(test) if i not in copies][: options.photos]
    detector, rejector = BothDetectors(), FaceRejector.pretrained(options.model)
    found = {"dlib": [], "YuNet only": []}
    missed = pictures = 0
    for index, sample in enumerate(test):
        image = sample.load()
        for variant in range(options.degradations):
            rng = np.random.default_rng([TEST_SEED, index, variant])
            changed, truth, *_ = random_degradation(image, sample.landmarks, random_state=rng)
            pictures += 1
            first = match_face(detector.first.detect(changed), truth)
            best = first or match_face(detector.detect(changed), truth)
            if best is None:
                missed += 1
                continue
            face = rejector.assess_box(changed, best.box)
            error = float(landmark_nme(truth, face.landmarks))
            found["dlib" if first else "YuNet only"].append((error, face.expected_error, face.accepted))
    print(f"{pictures} degraded pictures: {missed / pictures:.1%} missed by both")
    print("| found by | share | mean error | expected error | accepted | error of the accepted |")
    print("|---|---|---|---|---|---|")
    for name, rows in found.items():
        errors, expected, accepted = np.array(rows).T
        kept = errors[accepted > 0]
        good = f"{kept.mean():.2f}" if len(kept) else "–"
        print(
            f"| {name} | {len(rows) / pictures:.1%} | {errors.mean():.2f} | {expected.mean():.2f} | "
            f"{accepted.mean():.0%} | {good} |"
        )


if __name__ == "__main__":
    main()
